/**
 * POST /api/v1/consumer-groups/{group}/queues/{queue}[/partitions/{partition}]/seek (message-plane
 * 9, inspection 3.6). Nothing in the body means the end on the partition route, and is refused on
 * the queue route, where it would throw away everything that was not read.
 */
import { randomUUID } from 'node:crypto';
import type { GroupChangedOutcome, SeekCommand } from '@svc/engine';
import { type AnySchema, constant, either, instant, nothing, optional } from '@svc/schema';
import { formatStampUs, parseIsoUs, seekAnswer, seekNotFoundAnswer, seekRefusal } from '@svc/wire';
import type { Exchange } from '../../exchange/exchange.js';
import { nameBudgetRefusal } from '../../exchange/name-budget.js';
import { bodyForm, flagMember, given, textMember } from '../../json/body-form.js';
import { answer, type Description, endpoint, refusal } from '../../routing/endpoint.js';
import type { Front, RouteRequest } from '../../routing/route.js';
import { sendAnswer } from '../../routing/send-answer.js';
import { type OutcomeRenderer, submit } from '../../routing/submit.js';

const seekForm = bodyForm({
  toEnd: given(null, flagMember()),
  timestamp: given(null, textMember()),
});

const toEnd = seekForm.variant({ toEnd: constant(true) });
const toInstant = seekForm.variant({ timestamp: instant });
const unsaid = seekForm.variant({ toEnd: optional(nothing), timestamp: optional(nothing) });

function seekDescription(summary: string, schema: AnySchema, isOptional: boolean): Description {
  return {
    tag: 'consumer groups',
    summary,
    request: isOptional
      ? { share: 'drain', reader: seekForm, schema, optional: true }
      : { share: 'drain', reader: seekForm, schema },
    answers: {
      200: answer('Leases and attempts of the cursors are gone.', seekAnswer),
      400: answer('Neither `toEnd` nor a timestamp, or one that cannot be read.', seekRefusal),
      404: answer('No such queue or partition.', seekNotFoundAnswer),
      413: refusal('`name_too_long`'),
    },
  };
}

export const seekQueueEndpoint = endpoint({
  at: 'POST /api/v1/consumer-groups/{group}/queues/{queue}/seek',
  level: 'read-write',
  ...seekDescription('Moves every cursor of a group at a queue.', either(toEnd, toInstant), false),
  handle,
});

export const seekPartitionEndpoint = endpoint({
  at: 'POST /api/v1/consumer-groups/{group}/queues/{queue}/partitions/{partition}/seek',
  level: 'read-write',
  ...seekDescription(
    'Moves the cursor of a group at one partition; nothing said means the end.',
    either(toEnd, toInstant, unsaid),
    true,
  ),
  handle,
});

const UNSPECIFIED = 'Must specify toEnd=true or a timestamp';
const renderer: OutcomeRenderer<SeekCommand, 'group-changed'> = { kind: 'group-changed', render };

function handle(front: Front, request: RouteRequest): void {
  const { exchange, tenant, params } = request;
  const [group = '', queue = '', partition = null] = params;
  const body = seekForm.readOrEmpty(request.body);
  const targetUs = targetOf(body, partition !== null);
  if (typeof targetUs === 'string') {
    sendAnswer(exchange, '400 Bad Request', seekRefusal, { success: false, error: targetUs });
    return;
  }
  const command: SeekCommand = {
    kind: 'seek',
    tenant,
    changeId: randomUUID(),
    consumerGroup: group,
    queue,
    partition,
    targetUs,
  };
  if (nameBudgetRefusal(tenant, queue, '', partition ?? '') !== null) {
    notFound(exchange, command);
    return;
  }
  const refusal = nameBudgetRefusal(tenant, queue, group, partition ?? '');
  if (refusal !== null) exchange.refuse(refusal);
  else submit(front, exchange, command, renderer);
}

/** null: the end. A string: why the body is refused. */
function targetOf(
  { toEnd, timestamp }: ReturnType<typeof seekForm.read>,
  isPartition: boolean,
): number | null | string {
  if (toEnd === true) return null;
  if (timestamp === null) return isPartition && toEnd === null ? null : UNSPECIFIED;
  const atUs = parseIsoUs(timestamp);
  if (atUs === null) return 'timestamp is invalid: it must be an ISO-8601 date and time';
  // Nothing is stamped before the epoch, or so late.
  return Math.min(Math.max(atUs, 0), Number.MAX_SAFE_INTEGER);
}

function render(exchange: Exchange, command: SeekCommand, outcome: GroupChangedOutcome): void {
  if (outcome.changed === 0) {
    notFound(exchange, command);
    return;
  }
  const { consumerGroup, queue, partition, targetUs } = command;
  sendAnswer(exchange, '200 OK', seekAnswer, {
    success: true,
    consumerGroup,
    queueName: queue,
    partitionName: partition,
    seekToEnd: targetUs === null,
    targetTimestamp: targetUs === null ? null : formatStampUs(targetUs),
    partitionsUpdated: outcome.changed,
    updated: true,
  });
}

function notFound(exchange: Exchange, { consumerGroup, queue, partition }: SeekCommand): void {
  sendAnswer(exchange, '404 Not Found', seekNotFoundAnswer, {
    success: false,
    error: partition === null ? 'Queue not found or has no partitions' : 'Partition not found',
    consumerGroup,
    queueName: queue,
    partitionsUpdated: 0,
  });
}
