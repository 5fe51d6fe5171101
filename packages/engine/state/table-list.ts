/** Every table there is, for the store that keeps them. A number stands for one table for ever. */

import { grants } from '../base/grants.js';
import type { Table } from '../base/state.js';
import { switches } from '../base/switches.js';
import * as replicated from '../base/tables.js';
import { clusterTotals } from './cluster-totals.js';
import * as dead from './dead-letters/tables.js';
import { ephemeralQueues } from './ephemeral-queues.js';
import { groupChanges } from './group-change-table.js';
import * as kv from './kv/tables.js';
import * as names from './names/name-index.js';
import { purges } from './purge-table.js';
import * as standby from './standby/tables.js';
import * as streams from './streams/tables.js';
import * as timing from './timers/tables.js';
import * as tracing from './traces/tables.js';
import { transactionRuns } from './transaction-ids/rows.js';

/** The row types differ, which the store does not care about: it moves bytes. */
export const TABLES = [
  replicated.meta,
  replicated.queueNumbers,
  replicated.queues,
  replicated.partitionNumbers,
  replicated.partitions,
  replicated.queuePartitions,
  replicated.appends,
  replicated.cursors,
  replicated.groups,
  replicated.doomedQueues,
  replicated.sharedLeases,
  replicated.memberships,
  replicated.requests,
  replicated.clusterVersions,
  clusterTotals,
  replicated.logUse,
  replicated.oldestAppends,
  names.queuesByAge,
  names.groupQueues,
  names.queueLabels,
  names.labelCounts,
  names.nameCounts,
  dead.deadLetters,
  dead.deadLetterBodies,
  dead.deadLetterOffsets,
  dead.deadLetterTransactions,
  dead.deadLetterCounts,
  tracing.traces,
  tracing.traceData,
  tracing.traceIndex,
  tracing.traceTotals,
  tracing.traceMessages,
  groupChanges,
  timing.timers,
  timing.timerDue,
  timing.timerPayloads,
  timing.timerUse,
  kv.kvRows,
  kv.kvExpiries,
  kv.kvNamespaces,
  kv.kvUse,
  kv.kvCounter,
  switches,
  grants,
  purges,
  ephemeralQueues,
  standby.standbyRoles,
  standby.sourcePositions,
  streams.streamNames,
  streams.streamQueries,
  streams.streamCounts,
  streams.streamStores,
  streams.streamStates,
  streams.streamValues,
  streams.streamShards,
  streams.streamPartitions,
  streams.doomedStreams,
  transactionRuns,
] as unknown as readonly Table<unknown>[];

/** The tables whose rows are this node's own. */
export const LOCAL_TABLES: readonly number[] = TABLES.filter((table) => table.local).map(
  (table) => table.id,
);
