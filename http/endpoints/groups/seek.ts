/**
 * POST /api/v1/consumer-groups/{group}/queues/{queue}[/partitions/{partition}]/seek (message-plane
 * 9, inspection 3.6). Nothing in the body means the end on the partition route, and is refused on
 * the queue route, where it would throw away everything that was not read.
 */
import { randomUUID } from 'node:crypto';
import type { GroupChangedOutcome, SeekCommand } from '@svc/engine';
import {
  type AnySchema,
  constant,
  either,
  instant,
  nothing,
  nullable,
  optional,
  text,
  truth,
} from '@svc/schema';
import {
  formatStampUs,
  parseIsoUs,
  type SeekAnswer,
  type SeekNotFoundAnswer,
  type SeekRefusal,
  seekAnswer,
  seekNotFoundAnswer,
  seekRefusal,
} from '@svc/wire';
import type { Exchange } from '../../exchange/exchange.js';
import { nameBudgetRefusal } from '../../exchange/name-budget.js';
import { body } from '../../json/body.js';
import { keySet } from '../../json/json-keys.js';
import { JsonReader, KEYS_END } from '../../json/json-reader.js';
import { answer, type Description, endpoint, refusal } from '../../routing/endpoint.js';
import type { Front, RouteRequest } from '../../routing/route.js';
import { type OutcomeRenderer, submit } from '../../routing/submit.js';

export const SEEK_BODY_KEYS = keySet('toEnd', 'timestamp');

const toEnd = body(SEEK_BODY_KEYS, {
  toEnd: constant(true),
  timestamp: optional(nullable(text)),
});

const toInstant = body(SEEK_BODY_KEYS, {
  toEnd: optional(nullable(truth)),
  timestamp: instant,
});

const unsaid = body(SEEK_BODY_KEYS, {
  toEnd: optional(nothing),
  timestamp: optional(nothing),
});

function seekDescription(summary: string, schema: AnySchema, isOptional: boolean): Description {
  return {
    tag: 'consumer groups',
    summary,
    request: isOptional ? { share: 'drain', schema, optional: true } : { share: 'drain', schema },
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

const TO_END = 0;

const UNSPECIFIED = 'Must specify toEnd=true or a timestamp';
const renderer: OutcomeRenderer<SeekCommand, 'group-changed'> = { kind: 'group-changed', render };

/** What a body asks for; null where it says nothing. */
interface SeekBody {
  readonly toEnd: boolean | null;
  readonly timestamp: string | null;
}

function handle(front: Front, request: RouteRequest): void {
  const { exchange, tenant, params } = request;
  const [group = '', queue = '', partition = null] = params;
  const body = readSeekBody(request.body);
  const targetUs = targetOf(body, partition !== null);
  if (typeof targetUs === 'string') {
    const answer: SeekRefusal = { success: false, error: targetUs };
    exchange.json('400 Bad Request', JSON.stringify(answer));
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

/** Throws `JsonError` when there is a body and it is not an object of these members. */
export function readSeekBody(body: Buffer): SeekBody {
  let toEnd: boolean | null = null;
  let timestamp: string | null = null;
  if (body.length === 0) return { toEnd, timestamp };
  const reader = new JsonReader(body);
  let seen = 0;
  reader.enterObject('the body');
  for (;;) {
    const key = reader.nextKey(SEEK_BODY_KEYS, seen);
    if (key === KEYS_END) break;
    if (key >= 0) seen |= 1 << key;
    if (key < 0) reader.skipValue();
    else if (key === TO_END) toEnd = readToEnd(reader);
    else timestamp = reader.readTextOrNull('timestamp');
  }
  reader.finish();
  return { toEnd, timestamp };
}

function readToEnd(reader: JsonReader): boolean | null {
  const at = reader.at;
  reader.skipValue();
  const text = reader.valueText();
  if (text === 'true') return true;
  if (text === 'false') return false;
  return text === 'null' ? null : reader.fail('toEnd must be a boolean', at);
}

/** null: the end. A string: why the body is refused. */
function targetOf({ toEnd, timestamp }: SeekBody, isPartition: boolean): number | null | string {
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
  const answer: SeekAnswer = {
    success: true,
    consumerGroup,
    queueName: queue,
    partitionName: partition,
    seekToEnd: targetUs === null,
    targetTimestamp: targetUs === null ? null : formatStampUs(targetUs),
    partitionsUpdated: outcome.changed,
    updated: true,
  };
  exchange.json('200 OK', JSON.stringify(answer));
}

function notFound(exchange: Exchange, { consumerGroup, queue, partition }: SeekCommand): void {
  const answer: SeekNotFoundAnswer = {
    success: false,
    error: partition === null ? 'Queue not found or has no partitions' : 'Partition not found',
    consumerGroup,
    queueName: queue,
    partitionsUpdated: 0,
  };
  exchange.json('404 Not Found', JSON.stringify(answer));
}
