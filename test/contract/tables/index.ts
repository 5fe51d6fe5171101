/** Every contract table. */
import type { ContractTable } from '../table.js';
import { ackBodies } from './ack.js';
import { ackAlgorithm, ackOutcomes } from './ack-algorithm.js';
import { acksWithPop } from './ack-and-pop.js';
import { ackScenarios } from './ack-scenarios.js';
import { systemMetrics, workerMetricsTable } from './analytics-processes.js';
import {
  parkedReplicas,
  partitionLiveness,
  queueLag,
  queueOps,
  retentionSeries,
  seriesWindow,
  workloads,
} from './analytics-queues.js';
import { checkOff, levels, ownNames, tokenTexts } from './authentication.js';
import { configuring, implicitQueues, queueOptions } from './configure.js';
import {
  groupDeletion,
  groupDetail,
  groupLag,
  groupList,
  subscriptions,
} from './consumer-groups.js';
import {
  deadLetterList,
  deadLetterPurge,
  deadLetterReplay,
  deadLetterSignatures,
  messageRetry,
} from './dead-letters.js';
import { deduplication } from './deduplication.js';
import { choosing, claims, firstContact, waiting } from './delivery.js';
import {
  commitOnDelivery,
  conflation,
  policyAcks,
  policyAnswers,
  policyContact,
  policyExamples,
  policyOptions,
  policyParameters,
  policyScenarios,
  policySettings,
} from './delivery-policies.js';
import { deliveryScenarios } from './delivery-scenarios.js';
import { encryption, encryptionOption, malformedKey } from './encryption.js';
import { ephemeralBodies, ephemeralModel, ephemeralRestart } from './ephemeral.js';
import {
  ephemeralCluster,
  ephemeralDelivery,
  ephemeralNode,
  ephemeralRefusals,
} from './ephemeral-delivery.js';
import { ephemeralReads } from './ephemeral-reads.js';
import { errorEnvelope } from './errors.js';
import { examples } from './examples.js';
import {
  durability,
  durabilityOverRestarts,
  identifiers,
  nameBudget,
  tenants,
  tenantsOff,
} from './facts.js';
import { fetching, fetchOffsets } from './fetch.js';
import { groupPositions } from './group-positions.js';
import { countingRules, inspectionErrors } from './inspection-conventions.js';
import { kvCommon, kvEnvelopes, kvFields, kvListing, kvRoutes, kvRouting, kvStamps } from './kv.js';
import { kvAnswers, kvOrder, kvSemantics, kvStatuses } from './kv-semantics.js';
import { kvInTransactions } from './kv-transactions.js';
import { kvValidation } from './kv-validation.js';
import { leaseExtend } from './lease-extend.js';
import { lockAlgorithms, lockAnswers } from './lock-answers.js';
import { lockModel, lockRequests } from './locks.js';
import { managementQueries } from './management-queries.js';
import { inspectionParsing, messageDeletion, messageList, oneMessage } from './messages.js';
import { pagedLists } from './pages.js';
import { changed } from './partitions-changed.js';
import { popAnswer, popParameters, popRoutes } from './pop.js';
import { positionExamples } from './position-examples.js';
import { prometheus, prometheusWithoutTimings } from './prometheus.js';
import { push } from './push.js';
import { queueResources } from './queue-resources.js';
import { inspectedResources, queueSizes, truncatedResources } from './resource-views.js';
import {
  retainedIds,
  retainedPushes,
  retainedScenarios,
  retention,
  sealedClaims,
} from './retention.js';
import { seekAnswers, seekExamples, seekScenarios, seeks } from './seek.js';
import { standbyMetrics, standbyRoutes } from './standby-link.js';
import { status, statusAnalytics, statusQueue, statusQueues } from './status.js';
import { routeStatuses } from './statuses.js';
import { cycleAnswers, cycleRepeats } from './stream-cycle-answers.js';
import { cycleElements, cycleFields } from './stream-cycles.js';
import { streamState } from './stream-state.js';
import { streamWorker } from './stream-worker.js';
import { streamQueries, streamRecords, streamRoutes } from './streams.js';
import { gateLadder, occupancy, quotas, tokenBuckets } from './surface-limits.js';
import { gateSwitches, sharedSwitches, surfaceEnvironment, switches } from './surface-switches.js';
import { health, metrics, processStatus, systemRoutes } from './system-routes.js';
import { timerFiring, timerPayloads } from './timer-firing.js';
import { timerRefusals } from './timer-refusals.js';
import { timerOperations, timerRoutes } from './timers.js';
import { traceReads, traceWrites } from './traces.js';
import { transactionExamples, transactionQueues, transactions } from './transaction.js';

export const TABLES: readonly ContractTable[] = [
  identifiers,
  tenants,
  tenantsOff,
  nameBudget,
  errorEnvelope,
  durability,
  durabilityOverRestarts,
  prometheus,
  prometheusWithoutTimings,
  push,
  popRoutes,
  popParameters,
  popAnswer,
  firstContact,
  claims,
  choosing,
  waiting,
  ackBodies,
  acksWithPop,
  ackAlgorithm,
  ackOutcomes,
  leaseExtend,
  ephemeralModel,
  ephemeralRestart,
  ephemeralBodies,
  ephemeralReads,
  ephemeralDelivery,
  ephemeralRefusals,
  ephemeralNode,
  ephemeralCluster,
  transactions,
  transactionExamples,
  transactionQueues,
  deduplication,
  configuring,
  queueOptions,
  implicitQueues,
  routeStatuses,
  managementQueries,
  examples,
  ackScenarios,
  seeks,
  seekAnswers,
  seekExamples,
  seekScenarios,
  groupList,
  groupDetail,
  groupLag,
  groupDeletion,
  subscriptions,
  deliveryScenarios,
  checkOff,
  levels,
  tokenTexts,
  ownNames,
  policyParameters,
  policySettings,
  policyAnswers,
  policyContact,
  policyAcks,
  policyOptions,
  conflation,
  policyExamples,
  policyScenarios,
  commitOnDelivery,
  queueResources,
  inspectedResources,
  queueSizes,
  truncatedResources,
  fetching,
  changed,
  fetchOffsets,
  groupPositions,
  positionExamples,
  encryption,
  encryptionOption,
  malformedKey,
  retention,
  retainedScenarios,
  retainedIds,
  retainedPushes,
  sealedClaims,
  inspectionParsing,
  messageList,
  oneMessage,
  messageDeletion,
  messageRetry,
  deadLetterList,
  deadLetterPurge,
  deadLetterReplay,
  deadLetterSignatures,
  kvCommon,
  kvEnvelopes,
  kvRouting,
  kvStamps,
  kvRoutes,
  kvFields,
  kvValidation,
  kvOrder,
  kvSemantics,
  kvAnswers,
  kvStatuses,
  kvListing,
  kvInTransactions,
  timerRoutes,
  timerOperations,
  timerRefusals,
  timerPayloads,
  timerFiring,
  traceWrites,
  traceReads,
  streamRoutes,
  streamRecords,
  streamQueries,
  streamState,
  cycleFields,
  cycleElements,
  cycleRepeats,
  cycleAnswers,
  streamWorker,
  inspectionErrors,
  countingRules,
  status,
  statusQueues,
  statusQueue,
  statusAnalytics,
  seriesWindow,
  queueOps,
  workloads,
  retentionSeries,
  queueLag,
  parkedReplicas,
  partitionLiveness,
  systemMetrics,
  workerMetricsTable,
  systemRoutes,
  health,
  metrics,
  processStatus,
  lockModel,
  lockRequests,
  lockAnswers,
  lockAlgorithms,
  gateLadder,
  gateSwitches,
  switches,
  sharedSwitches,
  quotas,
  occupancy,
  tokenBuckets,
  surfaceEnvironment,
  pagedLists,
  standbyMetrics,
  standbyRoutes,
];
