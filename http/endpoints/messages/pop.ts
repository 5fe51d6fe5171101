/**
 * The three pop routes (message-plane 3): wildcard, pinned, discovery. They differ in their scope
 * alone. 200 with messages or with something to say of the delivery policy, or 204.
 */
import type { DeliveryTerms, PopCommand, PopScope, RefusedOutcome } from '@svc/engine';
import { count, either, integerBetween, matching, text, truth } from '@svc/schema';
import { errorAnswer, INT32_MAX, INT32_MIN, popAnswer, popRefusal } from '@svc/wire';
import { STREAMED_ANSWER_BYTES_MIN } from '../../base/limits.js';
import { POPS_MAKE_NO_QUEUE, type RoleSet } from '../../exchange/access-level.js';
import { AnswerBytes } from '../../exchange/answer-bytes.js';
import { badRequest } from '../../exchange/errors.js';
import type { Exchange } from '../../exchange/exchange.js';
import { nameBudgetRefusal } from '../../exchange/name-budget.js';
import { isFault } from '../../exchange/query.js';
import { sendParts } from '../../exchange/sliced-answer.js';
import { quotedBytes } from '../../json/json-text.js';
import type { DeliveredOutcome, PoppedMessages } from '../../ports/service.js';
import { answer, endpoint, refusal } from '../../routing/endpoint.js';
import { claimText, expectedBytes, inParts } from '../../routing/message-text.js';
import { parameter } from '../../routing/query-parameter.js';
import { replyBy } from '../../routing/reply.js';
import type { Call, Front } from '../../routing/route.js';
import { type PopParameters, readPopQuery, SUBSCRIPTION_MODE } from './pop-query.js';

const int32 = integerBetween(INT32_MIN, INT32_MAX);

const POP_QUERY = {
  batch: parameter(
    'Messages of the whole call at most; below 1 acts as 1. 200 when absent.',
    int32,
  ),
  partitions: parameter(
    'Partitions of the call at most, clamped to 1..64. Absent 1; with conflation as `batch`.',
    int32,
  ),
  autopilot: parameter('Let the broker size what the request leaves out.', truth),
  autoAck: parameter('Commit at delivery: no lease, at most once.', truth),
  commitOnDelivery: parameter('Another name of `autoAck`; either of them counts.', truth),
  wait: parameter('Wait for a message until `timeout`.', truth),
  timeout: parameter('Milliseconds, capped at 60,000.', count),
  leaseSeconds: parameter('Of the lease; the queue’s `leaseTime` when absent or below 1.', int32),
  consumerGroup: parameter('`__QUEUE_MODE__` when absent or empty.', text),
  subscriptionMode: parameter(
    'Where a new group starts: `all` or `new`.',
    matching(SUBSCRIPTION_MODE),
  ),
  subscriptionFrom: parameter('`now` or an ISO timestamp; beats `subscriptionMode`.', text),
  conflation: parameter('Deliver only the newest message of a partition.', truth),
};

/** The part of the record that a pop with acknowledgements shares. */
export const popShared = {
  level: 'read-write',
  tag: 'messages',
  largeAnswer: 'pop',
  reserves: true,
} as const;

export const badParameters = answer(
  'A parameter of the wrong kind, or two that exclude each other.',
  either(errorAnswer, popRefusal),
);

const popRecord = {
  ...popShared,
  answers: {
    200: answer('Messages, or what there is to say of conflation.', popAnswer),
    204: { description: 'Nothing to deliver.', schema: null },
    400: badParameters,
    413: refusal('`name_too_long`'),
  },
  consumes: true,
} as const;

const reader = 'It is asked for all the time; the order of its refusals is a contract.';

export const exactQuery = { reader, parameters: POP_QUERY };

export const popQueueEndpoint = endpoint({
  at: 'GET /api/v1/pop/queue/{queue}',
  gateway: 'consume',
  summary: 'Take messages of one queue under a lease.',
  exactQuery,
  ...popRecord,
  handle: (front, request) => pop(front, request, { kind: 'queue', queue: request.params.queue }),
});

export const popPartitionEndpoint = endpoint({
  at: 'GET /api/v1/pop/queue/{queue}/partition/{partition}',
  gateway: 'consume',
  summary: 'Take messages of one partition under a lease.',
  exactQuery,
  ...popRecord,
  handle: (front, request) => {
    const { queue, partition } = request.params;
    pop(front, request, { kind: 'partition', queue, partition });
  },
});

export const popDiscoveryEndpoint = endpoint({
  at: 'GET /api/v1/pop',
  gateway: 'blocked',
  summary: 'Take messages of every queue with these labels.',
  exactQuery: {
    reader,
    parameters: {
      ...POP_QUERY,
      namespace: parameter('Exact; this or `task` is required.', text),
      task: parameter('Exact.', text),
    },
  },
  ...popRecord,
  handle: (front, request) => pop(front, request, null),
});

/** What the answer needs of its command. */
export interface PopContext {
  readonly command: PopCommand;
  readonly front: Front;
  /** Monotonic; when the request came. */
  readonly beganMs: number;
  /**
   * The verdicts of acknowledgements that came with the pop, as a byte string: an array. null: it
   * takes none, and its answer is empty when there is nothing to deliver.
   */
  acks: string | null;
}

const US_PER_MS = 1000;

function pop(front: Front, request: Call<unknown>, named: PopScope | null): void {
  const context = popOf(front, request, named);
  if (context === null) return;
  front.service.pop(context.command, replyBy(request.exchange, context, renderPopped));
}

/**
 * The pop that a request asks for; null: it was refused. `named`: the scope that the path names;
 * null: the query names labels.
 */
export function popOf(
  front: Front,
  request: Call<unknown, string, unknown>,
  named: PopScope | null,
): PopContext | null {
  front.meters.calls.popRequests++;
  const { exchange, tenant } = request;
  const parameters = readPopQuery(request.query, front.popTimeoutMs, front.defaultSubscription);
  if (isFault(parameters)) {
    exchange.refuse(badRequest(parameters.fault));
    return null;
  }
  if ('conflict' in parameters) return refuseConflict(exchange, parameters.conflict);
  const scope = madeBy(request.roles, named ?? labelled(parameters));
  if (scope === null) return refuseConflict(exchange, 'namespace or task is required');
  const queue = scope.kind === 'discovery' ? '' : scope.queue;
  const partition = scope.kind === 'partition' ? scope.partition : '';
  // Not `names` of the record, for which each pop would make objects; its query is read by hand.
  const refusal = nameBudgetRefusal(tenant, queue, parameters.consumerGroup, partition);
  if (refusal !== null) {
    exchange.refuse(refusal);
    return null;
  }
  const beganMs = front.service.monotonicMs();
  const command: PopCommand = {
    kind: 'pop',
    tenant,
    scope,
    consumerGroup: parameters.consumerGroup,
    batch: parameters.batch,
    partitions: scope.kind === 'partition' ? 1 : parameters.partitions,
    autoAck: parameters.autoAck,
    wait: parameters.wait,
    deadlineMs: beganMs + parameters.timeoutMs,
    leaseSeconds: parameters.leaseSeconds,
    subscription: parameters.subscription,
    conflation: parameters.conflation,
    autopilot: scope.kind === 'queue' ? parameters.autopilot : null,
  };
  return { command, front, beganMs, acks: null };
}

function madeBy(roles: RoleSet | null, scope: PopScope | null): PopScope | null {
  if (scope?.kind !== 'queue' || ((roles ?? 0) & POPS_MAKE_NO_QUEUE) === 0) return scope;
  return { ...scope, creates: false };
}

/** null: it names no label. */
function labelled({ namespace, task }: PopParameters): PopScope | null {
  if (namespace === '' && task === '') return null;
  return { kind: 'discovery', namespace: namespace || null, task: task || null };
}

function refuseConflict(exchange: Exchange, error: string): null {
  const text = `{"success":false,"error":${JSON.stringify(error)},"messages":[]}`;
  exchange.json('400 Bad Request', text);
  return null;
}

function renderPopped(
  exchange: Exchange,
  context: PopContext,
  outcome: DeliveredOutcome | RefusedOutcome,
): void {
  if (outcome.kind === 'refused') exchange.refuse(outcome.refusal);
  else renderDelivered(exchange, context, outcome);
}

export function renderDelivered(
  exchange: Exchange,
  context: PopContext,
  outcome: DeliveredOutcome,
): void {
  const isEmpty = outcome.claims.length === 0 && !tellsPolicy(outcome.terms);
  if (isEmpty && context.acks === null) exchange.noContent();
  else {
    context.front.meters.calls.popMessages += messageCount(outcome);
    const bytesExpected = bytesOf(outcome.claims);
    if (bytesExpected >= STREAMED_ANSWER_BYTES_MIN) {
      const into = new AnswerBytes(bytesExpected);
      sendParts(exchange, into, largeAnswer(context, outcome, into));
      return;
    }
    exchange.jsonByteText('200 OK', smallAnswer(context, outcome));
  }
  recordTotal(context);
}

function recordTotal({ front, beganMs }: PopContext): void {
  const { meters, service } = front;
  meters.pipeline.popTotal.record((service.monotonicMs() - beganMs) * US_PER_MS);
}

/** Also an answer without messages tells what became of a delivery policy. */
function tellsPolicy(terms: DeliveryTerms | null): boolean {
  return terms !== null && (terms.conflation || terms.conflationConflict);
}

function smallAnswer(context: PopContext, outcome: DeliveredOutcome): string {
  const { consumerGroup } = context.command;
  const { claims, leaseId } = outcome;
  let text = headText(context, outcome);
  let separator = '';
  for (const claim of claims) {
    text += separator + claimText(claim, leaseId, consumerGroup);
    separator = ',';
  }
  return text + tailText(outcome);
}

/** Stops after each part of the messages. */
function* largeAnswer(
  context: PopContext,
  outcome: DeliveredOutcome,
  into: AnswerBytes,
): Generator<void> {
  const { consumerGroup } = context.command;
  const { claims, leaseId } = outcome;
  into.write(headText(context, outcome));
  let separator = '';
  for (const claim of claims) {
    for (const batches of inParts(claim.batches)) {
      into.write(separator);
      into.write(claimText({ ...claim, batches }, leaseId, consumerGroup, into));
      separator = ',';
      yield;
    }
  }
  into.write(tailText(outcome));
  recordTotal(context);
}

function headText({ command, acks }: PopContext, outcome: DeliveredOutcome): string {
  const { scope, consumerGroup } = command;
  const first = outcome.claims[0];
  return (
    `{"success":true,${acks === null ? '' : `"acks":${acks},`}` +
    `"queue":${quotedBytes(scope.kind === 'discovery' ? '' : scope.queue)},` +
    `"partition":${quotedBytes(first?.partition ?? '')},` +
    `"partitionId":"${first?.partitionNumber ?? ''}","leaseId":${quotedBytes(outcome.leaseId)},` +
    `"consumerGroup":${quotedBytes(consumerGroup)},"messages":[`
  );
}

function tailText({ claims, terms }: DeliveredOutcome): string {
  return `],"partitionsClaimed":${claims.length}${terms === null ? '' : termsText(terms)}}`;
}

function bytesOf(claims: readonly PoppedMessages[]): number {
  let bytes = 0;
  for (const { batches } of claims) bytes += expectedBytes(batches);
  return bytes;
}

function termsText({ conflation, conflationConflict, autopilot }: DeliveryTerms): string {
  let text = conflation ? ',"conflation":true' : '';
  if (conflationConflict) text += ',"conflationConflict":true';
  if (autopilot === null) return text;
  return `${text},"autopilot":{"partitions":${autopilot.partitions},"batch":${autopilot.batch}}`;
}

function messageCount(outcome: DeliveredOutcome): number {
  let count = 0;
  for (const claim of outcome.claims) {
    for (const batch of claim.batches) count += batch.last - batch.first + 1;
  }
  return count;
}
