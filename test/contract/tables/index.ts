/** Every contract table. */
import type { ContractTable } from '../table.js';
import { ackBodies } from './ack.js';
import { ackAlgorithm, ackOutcomes } from './ack-algorithm.js';
import { ackScenarios } from './ack-scenarios.js';
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
import { leaseExtend } from './lease-extend.js';
import { managementQueries } from './management-queries.js';
import { inspectionParsing, messageDeletion, messageList, oneMessage } from './messages.js';
import { changed } from './partitions-changed.js';
import { popAnswer, popParameters, popRoutes } from './pop.js';
import { positionExamples } from './position-examples.js';
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
import { routeStatuses } from './statuses.js';
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
  push,
  popRoutes,
  popParameters,
  popAnswer,
  firstContact,
  claims,
  choosing,
  waiting,
  ackBodies,
  ackAlgorithm,
  ackOutcomes,
  leaseExtend,
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
  traceWrites,
  traceReads,
];
