/**
 * POST /api/v1/consumer-groups/{group}/queues/{queue}[/partitions/{partition}]/seek (message-plane
 * 9, inspection 3.6). Nothing in the body means the end on the partition route, and is refused on
 * the queue route, where it would throw away everything that was not read.
 */
import { randomUUID } from 'node:crypto';
import type { GroupChangedOutcome, Refusal, SeekCommand } from '@svc/engine';
import {
  constant,
  count,
  either,
  instant,
  nothing,
  nullable,
  object,
  optional,
  stamp,
  text,
  truth,
} from '@svc/schema';
import { formatStampUs, parseIsoUs } from '@svc/wire';
import { RequestFault } from '../../exchange/errors.js';
import type { Exchange } from '../../exchange/exchange.js';
import { keyNamesRefusal } from '../../exchange/name-budget.js';
import { jsonOf } from '../../json/answer-writer.js';
import { bodyForm, flagMember, given, textMember } from '../../json/body-form.js';
import { shown } from '../../json/shown.js';
import { answer, endpoint, refusal } from '../../routing/endpoint.js';
import { sendShown } from '../../routing/reply.js';
import type { Front } from '../../routing/route.js';
import { outcomeRender, submit } from '../../routing/submit.js';

const seekForm = bodyForm({
  toEnd: given(null, flagMember()),
  timestamp: given(null, textMember()),
});

const toEnd = seekForm.variant({ toEnd: constant(true) });
const toInstant = seekForm.variant({ timestamp: instant });
const unsaid = seekForm.variant({ toEnd: optional(nothing), timestamp: optional(nothing) });

const seekAnswer = shown<GroupChangedOutcome, SeekCommand>()({
  success: constant(true),
  consumerGroup: [text, (_, { consumerGroup }) => consumerGroup],
  queueName: [text, (_, { queue }) => queue],
  partitionName: [nullable(text), (_, { partition }) => partition],
  seekToEnd: [truth, (_, { targetUs }) => targetUs === null],
  targetTimestamp: [
    nullable(stamp),
    (_, { targetUs }) => (targetUs === null ? null : formatStampUs(targetUs)),
  ],
  partitionsUpdated: [count, ({ changed }) => changed],
  updated: constant(true),
});

const seekRefusal = object({ success: constant(false), error: text });

const seekNotFoundAnswer = shown<Place>()({
  success: constant(false),
  error: [
    text,
    ({ partition }) =>
      partition === null ? 'Queue not found or has no partitions' : 'Partition not found',
  ],
  consumerGroup: [text, ({ group }) => group],
  queueName: [text, ({ queue }) => queue],
  partitionsUpdated: constant(0),
});

const seekDescription = {
  tag: 'consumer groups',
  answers: {
    200: answer('Leases and attempts of the cursors are gone.', seekAnswer),
    400: answer('Neither `toEnd` nor a timestamp, or one that cannot be read.', seekRefusal),
    404: answer('No such queue or partition.', seekNotFoundAnswer),
    413: refusal('`name_too_long`'),
  },
} as const;

export const seekQueueEndpoint = endpoint({
  at: 'POST /api/v1/consumer-groups/{group}/queues/{queue}/seek',
  level: 'read-write',
  gateway: 'queue-admin',
  ...seekDescription,
  summary: 'Moves every cursor of a group at a queue.',
  request: {
    share: 'drain',
    form: seekForm,
    schema: either(toEnd, toInstant),
    emptyIsRead: true,
  },
  check: ({ body }) => void targetOf(body, false),
  names: ({ params }) => params,
  tooLong: ({ exchange, tenant, params }, refusal) =>
    refuseNames(exchange, tenant, { ...params, partition: null }, refusal),
  handle: (front, { exchange, tenant, params, body }) =>
    seek(front, exchange, tenant, { ...params, partition: null }, targetOf(body, false)),
});

export const seekPartitionEndpoint = endpoint({
  at: 'POST /api/v1/consumer-groups/{group}/queues/{queue}/partitions/{partition}/seek',
  level: 'read-write',
  gateway: 'queue-admin',
  ...seekDescription,
  summary: 'Moves the cursor of a group at one partition; nothing said means the end.',
  request: {
    share: 'drain',
    form: seekForm,
    schema: either(toEnd, toInstant, unsaid),
    optional: true,
  },
  check: ({ body }) => void targetOf(body, true),
  names: ({ params }) => params,
  tooLong: ({ exchange, tenant, params }, refusal) =>
    refuseNames(exchange, tenant, params, refusal),
  handle: (front, { exchange, tenant, params, body }) =>
    seek(front, exchange, tenant, params, targetOf(body, true)),
});

const renderer = outcomeRender('group-changed', render);

interface Place {
  readonly group: string;
  readonly queue: string;
  /** null: every partition of the queue. */
  readonly partition: string | null;
}

function seek(
  front: Front,
  exchange: Exchange,
  tenant: string,
  { group, queue, partition }: Place,
  targetUs: number | null,
): void {
  const command: SeekCommand = {
    kind: 'seek',
    tenant,
    changeId: randomUUID(),
    consumerGroup: group,
    queue,
    partition,
    targetUs,
  };
  submit(front, exchange, command, renderer);
}

/** 404 where no queue or partition can have the name, with any group. */
function refuseNames(exchange: Exchange, tenant: string, place: Place, refusal: Refusal): void {
  const { queue, partition } = place;
  if (keyNamesRefusal(tenant, { queue, partition }) === null) exchange.refuse(refusal);
  else sendShown(exchange, '404 Not Found', seekNotFoundAnswer, place);
}

/** null: the end. Throws `RequestFault`. */
function targetOf(
  { toEnd, timestamp }: ReturnType<typeof seekForm.read>,
  isPartition: boolean,
): number | null {
  if (toEnd === true) return null;
  if (timestamp === null) {
    if (isPartition && toEnd === null) return null;
    throw wrong('Must specify toEnd=true or a timestamp');
  }
  const atUs = parseIsoUs(timestamp);
  if (atUs === null) throw wrong('timestamp is invalid: it must be an ISO-8601 date and time');
  // Nothing is stamped before the epoch, or so late.
  return Math.min(Math.max(atUs, 0), Number.MAX_SAFE_INTEGER);
}

function wrong(error: string): RequestFault {
  const text = jsonOf(seekRefusal, { success: false, error });
  return new RequestFault({ status: '400 Bad Request', text });
}

function render(exchange: Exchange, command: SeekCommand, outcome: GroupChangedOutcome): void {
  if (outcome.changed > 0) {
    sendShown(exchange, '200 OK', seekAnswer, outcome, command);
    return;
  }
  const { consumerGroup: group, queue, partition } = command;
  sendShown(exchange, '404 Not Found', seekNotFoundAnswer, { group, queue, partition });
}
