/** A row of each table and an effect of each kind, for tests of their binary forms. */
import type { KvJson } from '../base/commands/kv.js';
import { grants } from '../base/grants.js';
import { CONFIGURE_DEFAULTS } from '../base/queue-options.js';
import type {
  CursorRow,
  DeadLetterBody,
  DeadLetterRow,
  GroupRow,
  PartitionRow,
  QueueRow,
} from '../base/rows.js';
import type { Key } from '../base/state.js';
import { switches } from '../base/switches.js';
import * as base from '../base/tables.js';
import { clusterTotals } from '../state/cluster-totals.js';
import * as dead from '../state/dead-letters/tables.js';
import type { Effect } from '../state/effects.js';
import { ephemeralQueues } from '../state/ephemeral-queues.js';
import { type GroupChangeRow, groupChanges } from '../state/group-change-table.js';
import * as kv from '../state/kv/tables.js';
import * as names from '../state/names/name-index.js';
import { purges } from '../state/purge-table.js';
import { newRequestSession } from '../state/request-id.js';
import { type StandbyRoleRow, sourcePositions, standbyRoles } from '../state/standby/tables.js';
import * as streams from '../state/streams/tables.js';
import * as timing from '../state/timers/tables.js';
import * as traces from '../state/traces/tables.js';

const ID = '01a2b3c4-0000-7000-8000-000000000001';
const OTHER = '01a2b3c4-1111-7000-8000-00000000000a';
const US = 1_800_000_000_000_001;
const NUMBER = 4_000_000_000;
const PLACE = '\0\u0006\u00ff\u0080\n\0\0\0\0\0\0\u0005' as Key;

function json(text: string): KvJson {
  return new TextEncoder().encode(text) as KvJson;
}

const queue: QueueRow = {
  number: 7,
  id: ID,
  tenant: OTHER,
  name: 'grüße.✓😀',
  createdAtUs: US,
  partitions: 3,
  options: { ...CONFIGURE_DEFAULTS, retryLimit: -1, namespace: 'a', retentionSinkHold: 's' },
};
const partition: PartitionRow = {
  number: NUMBER,
  queue: 7,
  id: ID,
  name: '',
  createdAtUs: US,
  nextOffset: 2 ** 41 - 1,
  logStart: 128,
  lastStampUs: US,
  retainedBytes: Number.MAX_SAFE_INTEGER,
  appends: 127,
  deadLetters: 0,
};
const cursor: CursorRow = {
  committed: -1,
  lease: { id: ID, batchEnd: 41, expiresAtUs: US, grantedBy: 2, conflation: true },
  settled: { leaseId: OTHER, first: 0, last: 2 ** 41 - 1 },
  attemptOffset: -1,
  attempt: 0,
  retries: 3,
  totalConsumed: 9,
  createdAtUs: 5,
  signalled: { first: 0, last: 2 ** 41 - 1 },
  metadata: 'note',
  heldUntilUs: 0,
  aloneTo: -1,
  aloneAt: -1,
};
const bare: CursorRow = { ...cursor, lease: null, settled: null, signalled: null, metadata: null };
const group: GroupRow = {
  subscription: { mode: 'timestamp', atUs: 12 },
  registeredAtUs: 13,
  conflation: true,
  isSeeded: false,
};
const body: DeadLetterBody = {
  messageId: OTHER,
  transactionId: 'lbl-1',
  producerSub: null,
  retries: 3,
  error: 'jam',
  failedAtUs: 5,
  payload: json('{"n":1.50}'),
  reason: null,
};
const letter: DeadLetterRow = {
  id: ID,
  queue: 7,
  partition: 1,
  group: 'g',
  offset: -1,
  ...body,
};
const trace: traces.TraceRow = {
  tenant: OTHER,
  traceId: ID,
  partition: 0,
  transactionId: 't',
  names: ['one', 'zwö'],
  eventType: 'info',
  consumerGroup: 'g',
  worker: null,
  messageId: OTHER,
};
const timer: timing.TimerRow = {
  place: PLACE,
  partition: 'Default',
  deliverAtUs: US,
  dueUs: US + 1,
  txn: 'order-1',
  messageId: ID,
  payloadBytes: 4,
  isJson: true,
  encrypted: false,
  producerSub: 'sub',
  attempts: 2,
  lastError: null,
  createdAtUs: US,
  updatedAtUs: US,
};
const query: streams.StreamQueryRow = {
  id: ID,
  tenant: OTHER,
  name: 'grüße.✓',
  sourceQueue: 'q',
  sinkQueue: null,
  configHash: 'h',
  createdAtUs: US,
  updatedAtUs: US + 1,
  store: NUMBER,
};
const grant = {
  enabled: true,
  maxRows: 0,
  maxBytes: null,
  maxTimers: 5,
  maxTimerHorizonSeconds: null,
  maxReadsPerSecond: null,
  maxWritesPerSecond: 1000,
  maxQueues: null,
  maxMessagesPerSecond: null,
  maxQueries: Number.MAX_SAFE_INTEGER,
};
const change: GroupChangeRow = {
  id: OTHER,
  order: 9,
  tenant: OTHER,
  group: 'grüße',
  what: { kind: 'seek', targetUs: null },
  queue: 7,
  partitionsEnd: NUMBER,
  nextQueue: `${OTHER}\u00ff`,
  nextPartition: 3,
  youngUs: US,
  wasSeeded: true,
  queues: 2,
  changed: 300,
  isDone: false,
};
const standby: StandbyRoleRow = {
  role: 'standby',
  id: '5e1f09c2',
  source: 'a:7400,b:7400',
  sourceCluster: null,
  atUs: 0,
  wallUs: US,
  position: null,
};
const promoted: StandbyRoleRow = {
  ...standby,
  role: 'promoted',
  sourceCluster: ID,
  atUs: US,
  position: { index: 41_233, term: 7, stampUs: US },
};
const off = { kv: true, timersSchedule: false, timersFire: true, ephemeral: false };
const purge = { stage: 2, next: '\0', partitionsDeleted: 3 } as const;

type Sample = readonly [base.FormTable<unknown>, unknown];

function sample<Row>(table: base.FormTable<Row>, row: NoInfer<Row>): Sample {
  return [table as base.FormTable<unknown>, row];
}

/** Several of a table where its rows differ in shape. */
export const SAMPLE_ROWS: readonly Sample[] = [
  sample(base.meta, { nextQueue: 8, nextPartition: 9, stampUs: US, timerUs: 0 }),
  sample(base.queueNumbers, 7),
  sample(base.queues, queue),
  sample(base.partitionNumbers, 300),
  sample(base.partitions, partition),
  sample(base.queuePartitions, true),
  sample(base.appends, {
    count: 100,
    stampUs: US,
    index: 5,
    position: 9,
    length: 70_000,
    hasMessageIds: false,
  }),
  sample(base.appends, {
    count: 1,
    stampUs: US,
    index: 5,
    position: 9,
    length: 70,
    hasMessageIds: true,
  }),
  sample(base.cursors, cursor),
  sample(base.cursors, bare),
  sample(base.groups, group),
  sample(base.groups, { ...group, subscription: { mode: 'all' } }),
  sample(base.doomedQueues, { queue, stage: 'ages', nextPartition: 3, nextKey: 'k\u00ff' }),
  sample(base.sharedLeases, { partition: NUMBER, group: 'g' }),
  sample(base.clusterVersions, 5),
  sample(base.logUse, { appends: 3, bytes: 70_000 }),
  sample(base.oldestAppends, true),
  sample(clusterTotals, { pushed: 3, acked: 2, deadLettered: 1 }),
  sample(names.queuesByAge, true),
  sample(names.groupQueues, { queue: 7, group: 'g', cursors: 3, isRegistered: true }),
  sample(names.queueLabels, true),
  sample(names.labelCounts, 3),
  sample(names.nameCounts, { queues: 1, partitions: 2, groups: 3, namespaces: 4, tasks: 5 }),
  sample(dead.deadLetters, {
    partition: 1,
    group: 'g',
    offset: 41,
    transactionDigest: dead.transactionDigest('lbl-1'),
    payloadBytes: 10,
  }),
  sample(dead.deadLetterBodies, body),
  sample(dead.deadLetterOffsets, true),
  sample(dead.deadLetterTransactions, true),
  sample(dead.deadLetterCounts, 3),
  sample(traces.traces, trace),
  sample(traces.traceData, json('{"a":1}')),
  sample(traces.traceIndex, true),
  sample(traces.traceTotals, { traces: 3, messages: 2, lastUs: US }),
  sample(traces.traceMessages, 2),
  sample(groupChanges, change),
  sample(groupChanges, {
    ...change,
    queue: null,
    what: { kind: 'delete', deleteMetadata: true },
  }),
  sample(groupChanges, { ...change, what: { kind: 'subscribe', atUs: 5 } }),
  sample(timing.timers, timer),
  sample(timing.timerDue, { timer: `${OTHER}q\0k` as Key, bytes: 132 }),
  sample(timing.timerPayloads, json('null')),
  sample(timing.timerUse, { timers: 1, bytes: 4 }),
  sample(kv.kvRows, { version: 3, expiresAtUs: 0, updatedAtUs: US, value: json('{"k":1}') }),
  sample(kv.kvExpiries, true),
  sample(kv.kvNamespaces, 4),
  sample(kv.kvUse, { rows: 4, bytes: 1000 }),
  sample(kv.kvCounter, 3),
  sample(switches, off),
  sample(grants, grant),
  sample(purges, purge),
  sample(ephemeralQueues, '{"ttlSeconds":5}'),
  sample(standbyRoles, standby),
  sample(standbyRoles, promoted),
  sample(sourcePositions, { index: 41_233, term: 7, stampUs: US }),
  sample(streams.streamNames, ID),
  sample(streams.streamQueries, query),
  sample(streams.streamCounts, 1),
  sample(streams.streamStores, 2),
  sample(streams.streamStates, {
    value: json('1'),
    valueBytes: 1,
    windowEnd: -1_787_133_660_000,
    updatedAtUs: US,
  }),
  sample(streams.streamStates, {
    value: null,
    valueBytes: 70_000,
    windowEnd: null,
    updatedAtUs: US,
  }),
  sample(streams.streamValues, json('"long"')),
  sample(streams.streamShards, { rows: 1, bytes: 10, changedAtUs: US }),
  sample(streams.streamPartitions, true),
  sample(streams.doomedStreams, { next: 3, nextKey: '' }),
];

export const SAMPLE_EFFECTS: readonly Effect[] = [
  { kind: 'queue', row: queue },
  { kind: 'partition', number: NUMBER, queue: 7, id: ID, name: '' },
  { kind: 'cursor', partition: 1, group: 'g', row: null },
  { kind: 'cursor', partition: 1, group: 'g', row: cursor },
  { kind: 'group', queue: 7, group: 'g', row: group },
  { kind: 'group', queue: 7, group: 'n', row: null },
  { kind: 'dead-letter', row: letter },
  { kind: 'delete-queue', queue: 7 },
  { kind: 'sweep-queue', queue: 7, rowsMax: 1000, partitionRows: 1 },
  {
    kind: 'requests',
    session: newRequestSession(2 ** 52 - 1, 0xffff_ffff, 0x80),
    settled: [1, 2, 900, 2 ** 48 - 2],
    records: [
      { sequence: 901, outcome: Uint8Array.from([1, 2, 255]) },
      { sequence: 2 ** 48 - 1, outcome: new Uint8Array(0) },
    ],
  },
  { kind: 'requests', session: newRequestSession(0, 0, 0), settled: [], records: [] },
  { kind: 'cluster-version', version: 6 },
  { kind: 'group-change', id: ID, row: null },
  { kind: 'group-change', id: OTHER, row: change },
  { kind: 'drop-dead-letters', queue: 7, ids: [ID, OTHER] },
  { kind: 'trace', number: 2, row: trace, data: json('{"a":1}') },
  { kind: 'expire-traces', from: PLACE, beforeUs: US, rowsMax: 100 },
  { kind: 'trim', partition: 3, upTo: 2 ** 41 - 1, cause: 'wait' },
  { kind: 'drop-partition', partition: 3 },
  {
    kind: 'kv',
    tenant: OTHER,
    writes: [
      { place: 'ns\0key' as Key, value: json('1'), expiresAtUs: US, replaced: null },
      {
        place: 'ns\0gone' as Key,
        value: null,
        expiresAtUs: 0,
        replaced: { bytes: 300, expiresAtUs: 0 },
      },
    ],
    versionBefore: 0,
  },
  { kind: 'expire-kv', from: PLACE, beforeUs: US, rowsMax: 100 },
  { kind: 'switches', row: off },
  { kind: 'grant', tenant: OTHER, surface: 'streams', row: grant },
  { kind: 'grant', tenant: OTHER, surface: 'kv', row: null },
  { kind: 'purge', tenant: OTHER, row: purge },
  { kind: 'purge', tenant: OTHER, row: null },
  { kind: 'drop-traces', places: [PLACE] },
  { kind: 'timer', key: `${OTHER}q\0k` as Key, row: timer, payload: json('null') },
  { kind: 'remove-timers', keys: [`${OTHER}q\0k` as Key] },
  {
    kind: 'delay-timer',
    key: `${OTHER}q\0k` as Key,
    delay: { dueUs: US, attempts: 3, lastError: 'jam', updatedAtUs: US },
  },
  { kind: 'timer-clock', us: US },
  { kind: 'stream-query', row: query },
  { kind: 'drop-stream-query', id: ID },
  {
    kind: 'stream-state',
    store: 1,
    partition: NUMBER,
    changes: [
      { key: 'a\u001fé', value: json('1'), windowEnd: -1_787_133_660_000, replacedBytes: null },
      { key: '', value: new Uint8Array(0), windowEnd: 1_787_133_660_000, replacedBytes: 0 },
      { key: 'gone', value: null, windowEnd: null, replacedBytes: 70_000_000 },
    ],
  },
  { kind: 'sweep-streams', from: 'p\0\0\0\u00ff' as Key, rowsMax: 1000 },
  { kind: 'ephemeral-queue', tenant: OTHER, queue: 'q', options: '{}' },
  { kind: 'ephemeral-queue', tenant: OTHER, queue: '', options: null },
  { kind: 'standby-role', row: standby },
  { kind: 'mirror', previous: 41_230, index: 41_233, term: 7 },
  { kind: 'seed', position: { index: 41_233, term: 7, stampUs: US }, row: standby },
  { kind: 'kv', tenant: OTHER, writes: [], versionBefore: 300 },
  { kind: 'dead-letter', row: { ...letter, reason: 'dlq' } },
  { kind: 'cursor', partition: 1, group: 'g', row: { ...cursor, lease: null, heldUntilUs: US } },
  {
    kind: 'queue',
    row: { ...queue, options: { ...queue.options, retryBackoffMs: 500, retryBackoffMaxMs: 9000 } },
  },
  { kind: 'cursor', partition: 1, group: 'g', row: { ...cursor, aloneTo: 41, aloneAt: 7 } },
  { kind: 'queue', row: { ...queue, options: { ...queue.options, deliveryLimit: 5 } } },
  { kind: 'dead-letter', row: { ...letter, reason: 'delivery_limit' } },
];
