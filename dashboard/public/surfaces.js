/**
 * The pages beside the first one, each a table of what one surface holds: what is asked, and what
 * of an answer is shown. Everything is read; nothing here changes anything.
 *
 * A page:
 * - `fields`: what the reader chooses; one of them with `choices`, which `choicesOf` makes of an
 *   answer from `choicesFrom`, and of which the first is taken.
 * - `question`: what to ask with these values, and how many rows; null until something is chosen.
 * - `rows`: of an answer; each is a list of cells as long as `columns`.
 * - `more`: there are rows that are not shown.
 */
import { formatBytes, formatDuration, formatInteger } from './format.js';

export const ROWS_MAX = 200;
const TEXT_SHOWN = 160;
const LOCKS = 'svc-locks';
/** Consumer groups of stream queries are called so. */
const STREAM_GROUP = 'streams.';
const NEVER = '–';

const text = (value) => ({ text: value ?? NEVER });
const count = (value) => ({ text: formatInteger(value), isZero: value === 0 });
const bytes = (value) => ({ text: formatBytes(value), isZero: value === 0 });
const bad = (value) => ({ ...count(value), isBad: value > 0 });
const choice = (isOn) => ({ text: isOn ? 'on' : 'off', isBad: !isOn });
const listing = (answer) => answer.truncated === true;

/** "2026-10-09T10:00:00.000000Z" -> "2026-10-09 10:00:00". */
export function formatMoment(stamp) {
  return stamp === null || stamp === undefined ? NEVER : stamp.slice(0, 19).replace('T', ' ');
}

/** JSON on one line, cut where it grows long. */
export function formatValue(value) {
  const whole = JSON.stringify(value) ?? NEVER;
  return whole.length <= TEXT_SHOWN ? whole : `${whole.slice(0, TEXT_SHOWN)}…`;
}

export const PAGES = [
  {
    path: '/kv',
    title: 'Key/value',
    empty: 'No key here.',
    fields: [
      { name: 'namespace', label: 'Namespace', choices: true },
      { name: 'prefix', label: 'Keys that begin with' },
    ],
    choicesFrom: '/api/v1/resources/kv/namespaces',
    choicesOf: ({ namespaces }) => namespaces.map(({ namespace }) => namespace),
    wanted: 'Choose a namespace.',
    question: ({ namespace, prefix }) =>
      namespace === '' ? null : listOf({ namespace, prefix, includeExpired: false }),
    columns: ['Key', 'Version', 'Expires', 'Updated', 'Value'],
    rows: ({ rows }) =>
      rows.map(({ key, value, version, expiresAt, updatedAt }) => [
        text(key),
        count(version),
        text(formatMoment(expiresAt)),
        text(formatMoment(updatedAt)),
        { text: formatValue(value), isLong: true },
      ]),
    more: listing,
  },
  {
    path: '/timers',
    title: 'Timers',
    empty: 'No timer waits for this queue.',
    fields: [{ name: 'queue', label: 'Queue', choices: true }],
    choicesFrom: '/api/v1/resources/queues?stats=lanes',
    choicesOf: ({ queues }) => queues.map(({ name }) => name),
    wanted: 'Choose a queue.',
    question: ({ queue }) =>
      queue === '' ? null : `/api/v1/timers/${encodeURIComponent(queue)}?limit=${ROWS_MAX}`,
    columns: ['Timer', 'Partition', 'Delivers', 'Attempts', 'Last error'],
    rows: ({ rows }) =>
      rows.map(({ timerKey, partition, deliverAt, attempts, lastError }) => [
        text(timerKey),
        text(partition),
        text(formatMoment(deliverAt)),
        bad(attempts),
        { ...text(lastError), isLong: true },
      ]),
    more: listing,
  },
  {
    path: '/locks',
    title: 'Locks',
    empty: 'Nobody holds a lock.',
    fields: [{ name: 'prefix', label: 'Names that begin with' }],
    question: ({ prefix }) => listOf({ namespace: LOCKS, prefix, includeExpired: false }),
    columns: ['Lock', 'Slot', 'Owner', 'Token', 'Renewed', 'Expires'],
    rows: ({ rows }) => rows.map(lockRow),
    more: listing,
  },
  {
    path: '/ephemeral',
    title: 'Ephemeral queues',
    empty: 'This node holds no ephemeral queue.',
    note: ({ cellBytes }) => `${formatBytes(cellBytes)} in the memory of this node, of all tenants`,
    fields: [],
    question: () => `/api/v1/ephemeral/queues?limit=${ROWS_MAX}`,
    columns: ['Queue', 'Tier', 'Depth', 'Bytes', 'Partitions', 'Groups', 'Dropped', 'When full'],
    rows: ({ queues }) =>
      queues.map(({ queue, tier, depth, bytes: held, partitions, groups, drops, options }) => [
        text(queue),
        text(tier),
        count(depth),
        bytes(held),
        count(partitions),
        count(groups),
        bad(drops.bounds + drops.ttl + drops.retry),
        text(options.policy),
      ]),
    more: listing,
  },
  {
    path: '/streams',
    title: 'Streams',
    empty: 'No stream has read anything yet.',
    fields: [],
    question: () => '/api/v1/consumer-groups',
    columns: ['Stream', 'Source', 'State', 'Lag', 'Oldest', 'Behind on', 'Workers'],
    rows: (groups) =>
      groups
        .filter(({ name }) => name.startsWith(STREAM_GROUP))
        .slice(0, ROWS_MAX)
        .map((group) => [
          text(group.name.slice(STREAM_GROUP.length)),
          text(group.queueName),
          { text: group.state, isBad: group.state === 'Dead' },
          count(group.totalLag),
          text(formatDuration(group.maxTimeLag)),
          count(group.partitionsWithLag),
          count(group.members),
        ]),
    more: (groups) => groups.filter(({ name }) => name.startsWith(STREAM_GROUP)).length > ROWS_MAX,
  },
  {
    path: '/tenants',
    title: 'Tenants',
    empty: '',
    fields: [],
    question: () => '/api/v1/system/kv-timers',
    columns: ['Of this node', ''],
    rows: (answer) => [
      [text('key/value and locks'), choice(answer.kvEnabled)],
      [text('timers: scheduling'), choice(answer.timersScheduleEnabled)],
      [text('timers: firing'), choice(answer.timersFireEnabled)],
      [text('tenants with an allowance that were measured'), count(answer.quotaTenants)],
      [text('of them near its end'), bad(answer.quotaHot)],
    ],
    more: () => false,
    note: () => 'Another tenant than the default one is chosen under Access.',
  },
];

function listOf({ namespace, prefix, includeExpired }) {
  const body = { namespace, includeExpired, limit: ROWS_MAX };
  if (prefix !== '') body.prefix = prefix;
  return { path: '/api/v1/resources/kv/list', body };
}

/** A permit is a key `name#slot`. */
function lockRow({ key, value, version, updatedAt, expiresAt }) {
  const at = key.lastIndexOf('#');
  return [
    text(at < 0 ? key : key.slice(0, at)),
    text(at < 0 ? null : key.slice(at + 1)),
    text(typeof value?.owner === 'string' ? value.owner : null),
    count(version),
    text(formatMoment(updatedAt)),
    text(formatMoment(expiresAt)),
  ];
}
