/** GET /api/v1/ephemeral/pop (state-surfaces 4.2): 200 always, also without messages. */
import { EPHEMERAL_ITEMS_MAX, QUEUE_MODE_GROUP } from '@svc/wire';
import { nameFault, refuseEphemeral, refuseEphemeralBody } from '../ephemeral-refusals.js';
import type { EphemeralPop, EphemeralPopped, EphemeralRefused } from '../ephemeral-service.js';
import type { Exchange } from '../exchange.js';
import { quotedBytes } from '../json-text.js';
import { bufferOf } from '../message-text.js';
import { type DecodeFault, isFault } from '../path.js';
import { parseQuery, textOf, typedBoolean, typedInteger, typedUint64 } from '../query.js';
import { PendingReply } from '../reply.js';
import { type Front, ROUTE_DEFAULTS, type Route, type RouteRequest } from '../route.js';

const TIMEOUT_MS_MAX = 300_000;
const INT32 = 2 ** 31;

export const ephemeralPopRoute: Route = {
  ...ROUTE_DEFAULTS,
  method: 'GET',
  path: '/api/v1/ephemeral/pop',
  level: 'read-write',
  consumes: true,
  largeAnswer: 'pop',
  handle,
};

function handle(front: Front, { exchange, tenant, query }: RouteRequest): void {
  const request = readPop(front, tenant, query);
  if (isFault(request)) {
    refuseEphemeralBody(exchange, request.fault);
    return;
  }
  const pass = front.gate.enter(exchange, tenant, { kind: 'ephemeral' });
  if (pass === null) return;
  const { queue } = request;
  front.service.ephemeral.pop(request, new PendingReply(exchange, front.logger, queue, render));
}

function readPop(front: Front, tenant: string, text: string): EphemeralPop | DecodeFault {
  const query = parseQuery(text);
  if (isFault(query)) return query;
  const batch = typedInteger(query, 'batch', -INT32, INT32 - 1);
  if (isFault(batch)) return batch;
  const wait = typedBoolean(query, 'wait');
  if (isFault(wait)) return wait;
  const timeoutMs = typedUint64(query, 'timeout');
  if (isFault(timeoutMs)) return timeoutMs;
  const autoAck = typedBoolean(query, 'autoAck');
  if (isFault(autoAck)) return autoAck;
  const commitOnDelivery = typedBoolean(query, 'commitOnDelivery');
  if (isFault(commitOnDelivery)) return commitOnDelivery;
  const [queue, partition, group] = ['queue', 'partition', 'group'].map((name) =>
    textOf(query, name),
  ) as [string, string, string];
  const fault =
    nameFault('queue', queue) ??
    (partition === '' ? null : nameFault('partition', partition)) ??
    (group === '' ? null : nameFault('group', group));
  if (fault !== null) return { fault };
  const waitsMs = Math.min(timeoutMs ?? front.popTimeoutMs, TIMEOUT_MS_MAX);
  return {
    tenant,
    queue,
    partition: partition === '' ? null : partition,
    group: group === '' ? QUEUE_MODE_GROUP : group,
    batch: Math.min(Math.max(batch ?? 1, 1), EPHEMERAL_ITEMS_MAX),
    autoAck: autoAck === true || commitOnDelivery === true,
    deadlineMs: wait === true ? front.service.monotonicMs() + waitsMs : null,
  };
}

/** A byte string, so that payloads come through as they were pushed. */
function render(
  exchange: Exchange,
  queue: string,
  outcome: EphemeralPopped | EphemeralRefused,
): void {
  if (outcome.kind === 'ephemeral-refused') {
    refuseEphemeral(exchange, outcome.code);
    return;
  }
  let text = `{"queue":${quotedBytes(queue)},"messages":[`;
  let separator = '';
  for (const { id, partition, attempts, bytes, start, end } of outcome.messages) {
    text +=
      `${separator}{"id":${quotedBytes(id)},"partition":${quotedBytes(partition)},` +
      `"attempts":${attempts},"payload":${bufferOf(bytes).toString('latin1', start, end)}}`;
    separator = ',';
  }
  exchange.jsonBytes('200 OK', Buffer.from(`${text}]}`, 'latin1'));
}
