/**
 * The variables of a standby cluster and of its source (standby-link 1). All of them may stay set
 * for ever: what they ask of an empty cluster, they ask of no other.
 */
import { type HostAndPort, hostAndPortOf, hostAndPortText } from './addresses.js';
import { NODE_NUMBER_MAX } from './member-id.js';
import {
  accepted,
  integerOf,
  type Kind,
  percent,
  positive,
  quoted,
  refused,
  TIMER_MS_MAX,
} from './values.js';
import { variable } from './variable.js';

const HOLD_S_MIN = 10;
const TIMER_S_MAX = Math.floor(TIMER_MS_MAX / 1000);
/** Entries that a standby may have between reading and applying them. */
const PIPELINE_MAX = 256;
/** A quarter of what the head of a request may have. */
const TOKEN_BYTES_MAX = 1024;
/** As many as a source takes. */
const NAME_LENGTH_MAX = 200;
const LOW_PCT = 'SVC_RAFT_DISK_LOW_PCT';
const LOW_PCT_STANDARD = 80;
const ON_WORDS = ['1', 'true', 'on', 'yes'];
const OFF_WORDS = ['0', 'false', 'off', 'no'];

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it finds
const CONTROL = /[\u0000-\u001f\u007f]/;

/** What no header of HTTP can carry is taken from its ends, or refused. Null when unset. */
const tokenKind: Kind<string | null> = {
  label: 'secret',
  defaultText: '',
  minimum: null,
  parse: (given, name) => {
    const token = given?.trim() || null;
    if (token !== null && CONTROL.test(token)) return refused(`${name} has a control character`);
    const bytes = Buffer.byteLength(token ?? '');
    if (bytes > TOKEN_BYTES_MAX) return refused(`${name} has more than ${TOKEN_BYTES_MAX} bytes`);
    return accepted(token);
  },
  show: (value) => (value === null ? '<unset>' : `<set:${value.length} chars>`),
};

const holdPctKind: Kind<number> = {
  ...percent(LOW_PCT_STANDARD),
  defaultText: `\`${LOW_PCT}\``,
  parse: (given, name, environment) => {
    const low = percent(LOW_PCT_STANDARD).parse(environment[LOW_PCT], LOW_PCT, environment);
    return percent(low.ok ? low.value : LOW_PCT_STANDARD).parse(given, name, environment);
  },
  doubt: (given) =>
    percent(LOW_PCT_STANDARD).doubt?.(given) == null
      ? null
      : `is not a number from 1 to 100: that of ${LOW_PCT} is used`,
};

/** Each part may be written as the address of a plain HTTP server. */
const sourceKind: Kind<readonly HostAndPort[]> = {
  label: 'host:port list',
  defaultText: '',
  minimum: null,
  parse: (given, name) => {
    if (given === undefined || given.trim() === '') return accepted([]);
    const addresses: HostAndPort[] = [];
    for (const part of given.split(',').map((one) => one.trim())) {
      const address = hostAndPortOf(part.replace(/^http:\/\//, '').replace(/\/$/, ''));
      if (address === null) {
        const expected = "`host:port` (a source node's Raft RPC address)";
        return refused(`${name}: \`${part}\` is not ${expected}`);
      }
      addresses.push(address);
    }
    return accepted(addresses);
  },
  show: (addresses) =>
    addresses.length === 0 ? '<unset>' : addresses.map(hostAndPortText).join(','),
};

/** Anything but a word for yes leaves an ordinary cluster what it is. */
const switchKind: Kind<boolean> = {
  label: 'switch',
  defaultText: 'false',
  minimum: null,
  parse: (given) => accepted(ON_WORDS.includes(given?.trim().toLowerCase() ?? '')),
  doubt: (given) =>
    [...ON_WORDS, ...OFF_WORDS].includes(given.toLowerCase())
      ? null
      : `is none of ${ON_WORDS.join(', ')}: it counts as off`,
  show: String,
};

const seedKind: Kind<number | null> = {
  label: 'node id',
  defaultText: '',
  minimum: null,
  parse: (given, name) => {
    if (given === undefined || given.trim() === '') return accepted(null);
    const id = integerOf(given);
    return id === null || id < 1 || id > NODE_NUMBER_MAX
      ? refused(`${name}=${given}: expected the id of the one node that takes the seed`)
      : accepted(id);
  },
  show: (value) => (value === null ? '<unset>' : String(value)),
};

const nameKind: Kind<string | null> = {
  label: 'string',
  defaultText: '`standby-` and the id of the cluster',
  minimum: null,
  parse: (given, name) => {
    const value = given?.trim() ?? '';
    const isName = value.length <= NAME_LENGTH_MAX && !CONTROL.test(value);
    if (isName) return accepted(value || null);
    const most = `at most ${NAME_LENGTH_MAX} characters, none of them a control character`;
    return refused(`${name}=${quoted(value.slice(0, NAME_LENGTH_MAX))}: expected ${most}`);
  },
  show: (value) => (value === null ? '<unset>' : quoted(value)),
};

export const STANDBY_VARIABLES = {
  standbyToken: variable(
    'link',
    'SVC_LINK_TOKEN',
    tokenKind,
    'secret that a standby presents to this source; unset: nobody can follow this cluster',
  ),
  standbyHoldSeconds: variable(
    'link',
    'SVC_LINK_HOLD_S',
    positive(3600, { min: HOLD_S_MIN, max: TIMER_S_MAX }),
    'seconds for which the log is kept for a standby that is silent',
  ),
  standbyHoldDiskPct: variable(
    'link',
    'SVC_LINK_HOLD_DISK_PCT',
    holdPctKind,
    'fullness of the volume at which the log is kept for no standby; 100: it always is',
  ),
  sourceAddresses: variable(
    'link',
    'SVC_LINK_SOURCE',
    sourceKind,
    'raft addresses of the nodes that a standby follows',
  ),
  sourceToken: variable('link', 'SVC_LINK_SOURCE_TOKEN', tokenKind, 'the secret of that source'),
  beginsAsStandby: variable(
    'link',
    'SVC_LINK_STANDBY',
    switchKind,
    'an empty cluster begins as a standby; needs `SVC_LINK_SOURCE`',
  ),
  seedNode: variable(
    'link',
    'SVC_LINK_SEED',
    seedKind,
    'the one node that takes its first state from the source; the same on every node',
  ),
  standbyName: variable(
    'link',
    'SVC_LINK_NAME',
    nameKind,
    'what the source calls this standby; standbys of one source need different names',
  ),
  standbyPipelineMax: variable(
    'link',
    'SVC_LINK_PIPELINE',
    positive(64, { min: 1, max: PIPELINE_MAX }),
    'entries of the source that may be in flight at once',
  ),
};

export interface StandbySettings {
  readonly replicator: 'local' | 'raft';
  readonly standbyToken: string | null;
  readonly sourceAddresses: readonly HostAndPort[];
  readonly beginsAsStandby: boolean;
  readonly seedNode: number | null;
  readonly peers: readonly { readonly id: number }[];
}

/** What single values cannot tell; null: nothing is wrong. */
export function standbyContradictionOf(settings: StandbySettings): string | null {
  const { replicator, standbyToken, sourceAddresses, beginsAsStandby, seedNode, peers } = settings;
  const hasSource = sourceAddresses.length > 0;
  // Only a node of a group has the port that both sides need.
  if (replicator === 'local' && (standbyToken !== null || hasSource)) {
    const name = standbyToken === null ? 'SVC_LINK_SOURCE' : 'SVC_LINK_TOKEN';
    return `${name} needs SVC_RAFT_REPLICATOR=openraft`;
  }
  if (beginsAsStandby && !hasSource) {
    return 'SVC_LINK_STANDBY needs SVC_LINK_SOURCE: a standby replays a source';
  }
  if (seedNode === null) return null;
  if (!hasSource) return "SVC_LINK_SEED needs SVC_LINK_SOURCE: a seed is the source's snapshot";
  if (peers.length === 0 || peers.some(({ id }) => id === seedNode)) return null;
  return `SVC_LINK_SEED=${seedNode} is not in SVC_RAFT_PEERS`;
}
