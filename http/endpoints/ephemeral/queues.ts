/**
 * Endpoints of ephemeral queues as a whole (state-surfaces 4.2): configure, reset,
 * delete, and the two reads, which tell of the node that is asked.
 */

import type { EphemeralConfiguredOutcome, EphemeralDeletedOutcome } from '@svc/engine';
import { count, describedAs, integer, text, truth } from '@svc/schema';
import {
  EPHEMERAL_OPTIONS_BYTES_MAX,
  type EphemeralQueuesAnswer,
  ephemeralConfigureAnswer,
  ephemeralDeclaredOptions,
  ephemeralDepthAnswer,
  ephemeralQueuesAnswer,
  ephemeralQueueView,
} from '@svc/wire';
import { type RoleSet, SEES_ITS_TENANT_ALONE } from '../../exchange/access-level.js';
import { badRequestFault, errorText } from '../../exchange/errors.js';
import type { Exchange } from '../../exchange/exchange.js';
import { listText, sendSliced } from '../../exchange/sliced-answer.js';
import { jsonOf } from '../../json/answer-writer.js';
import { describedBy, given, jsonMember, textMember } from '../../json/body-form.js';
import { quoted } from '../../json/json-text.js';
import { shown } from '../../json/shown.js';
import type { EphemeralQueuesPage, EphemeralReset } from '../../ports/ephemeral-service.js';
import { answer, endpoint, refusal } from '../../routing/endpoint.js';
import { integerParameter, textParameter } from '../../routing/query-parameter.js';
import { replyBy, sendAnswer, sendShown, shownReply, viewReply } from '../../routing/reply.js';
import {
  AWAY,
  BAD,
  badEphemeral,
  checkName,
  checkNameGiven,
  ephemeralForm,
  GATED,
  queueName,
  refuseEphemeral,
  TOO_LONG,
} from './refusals.js';

const configureForm = ephemeralForm({
  queue: describedBy(queueName, given('', textMember())),
  options: given('{}', jsonMember(ephemeralDeclaredOptions)),
});
const resetForm = ephemeralForm({ queue: describedBy(queueName, given('', textMember())) });

/** Queues that a list shows, also when it asks for no number: some 2.6 MB, 13 of long names. */
const LIST_LIMIT_MAX = 10_000;

export const ephemeralConfigureEndpoint = endpoint({
  at: 'POST /api/v1/ephemeral/configure',
  level: 'read-write',
  gateway: 'ephemeral-open',
  tag: 'ephemeral queues',
  summary: 'Declares a queue: it is kept, with these options, until it is deleted',
  request: {
    share: 'drain',
    form: configureForm,
  },
  answers: {
    201: answer(
      'The options as they were sent; in force are those that the list shows.',
      ephemeralConfigureAnswer,
    ),
    400: BAD,
    403: GATED,
    413: TOO_LONG,
    503: AWAY,
  },
  check: ({ body: { queue, options } }) => {
    if (queue === '') throw badRequestFault('queue is required');
    checkName('queue', queue);
    const fault = optionsFault(options);
    if (fault !== null) throw badEphemeral(fault);
  },
  names: ({ body }) => ({ queue: body.queue }),
  handle: (front, { exchange, tenant, body }) => {
    if (front.gate.enter(exchange, tenant, { kind: 'ephemeral' }) === null) return;
    const reply = viewReply(exchange, body, renderConfigured);
    front.service.ephemeral.configure({ kind: 'ephemeral-configure', tenant, ...body }, reply);
  },
});

/** Beside it, the name of the queue. */
const ephemeralResetAnswer = shown<EphemeralReset, string>()({
  queue: [text, (_, queue) => queue],
  dropped: describedAs('The number of messages that the node that was asked has dropped.', count),
});

export const ephemeralResetEndpoint = endpoint({
  at: 'POST /api/v1/ephemeral/reset',
  level: 'read-write',
  gateway: 'ephemeral-open',
  tag: 'ephemeral queues',
  summary: 'Drops the messages of a queue on every node; its options stay',
  request: { share: 'drain', form: resetForm },
  answers: {
    200: answer('What the node that was asked has dropped.', ephemeralResetAnswer),
    400: BAD,
    403: GATED,
    503: AWAY,
  },
  handle: (front, { exchange, tenant, body: { queue } }) => {
    checkName('queue', queue);
    if (front.gate.enter(exchange, tenant, { kind: 'ephemeral' }) === null) return;
    const reply = replyBy(exchange, queue, renderReset);
    front.service.ephemeral.reset(tenant, queue, reply);
  },
});

const ephemeralDeleteAnswer = shown<EphemeralDeletedOutcome, string>()({
  queue: [text, (_, queue) => queue],
  deleted: [
    describedAs('Whether the queue was declared.', truth),
    ({ wasDeclared }) => wasDeclared,
  ],
  declared: [describedAs('The same as `deleted`.', truth), ({ wasDeclared }) => wasDeclared],
});

export const ephemeralDeleteEndpoint = endpoint({
  at: 'DELETE /api/v1/ephemeral/queue/{queue}',
  level: 'read-write',
  gateway: 'ephemeral-open',
  tag: 'ephemeral queues',
  summary: 'Ends a queue on every node; it may come again by its name',
  answers: {
    200: answer('Whether it was declared, twice.', ephemeralDeleteAnswer),
    400: BAD,
    403: GATED,
    413: TOO_LONG,
    503: AWAY,
  },
  check: ({ params }) => checkName('queue', params.queue),
  names: ({ params }) => params,
  handle: (front, { exchange, tenant, params: { queue } }) => {
    if (front.gate.enter(exchange, tenant, { kind: 'ephemeral' }) === null) return;
    const reply = shownReply(exchange, ephemeralDeleteAnswer, queue);
    front.service.ephemeral.delete({ kind: 'ephemeral-delete', tenant, queue }, reply);
  },
});

export const ephemeralListEndpoint = endpoint({
  at: 'GET /api/v1/ephemeral/queues',
  level: 'read-only',
  gateway: 'ephemeral-read',
  tag: 'ephemeral queues',
  summary: 'The queues of the tenant, as the node that is asked holds them',
  query: {
    after: textParameter('Of queues with names behind this one.'),
    limit: integerParameter({ standard: LIST_LIMIT_MAX, min: 1, max: LIST_LIMIT_MAX }, integer),
  },
  answers: {
    200: answer('By the bytes of their names.', ephemeralQueuesAnswer),
    400: BAD,
    403: GATED,
    503: AWAY,
  },
  largeAnswer: 'read',
  handle: (front, { exchange, tenant, roles, query: { after, limit } }) => {
    checkNameGiven('after', after);
    if (front.gate.enter(exchange, tenant, { kind: 'ephemeral' }) === null) return;
    const reply = viewReply(exchange, roles, renderList);
    front.service.ephemeral.queues(tenant, after, limit, reply);
  },
});

export const ephemeralDepthEndpoint = endpoint({
  at: 'GET /api/v1/ephemeral/queues/{queue}/depth',
  level: 'read-only',
  gateway: 'ephemeral-read',
  tag: 'ephemeral queues',
  summary: 'What is pending in a queue on the node that is asked',
  query: { group: textParameter('Of this group alone.') },
  answers: {
    200: answer('Partitions and groups by name.', ephemeralDepthAnswer),
    400: BAD,
    403: GATED,
    404: refusal('`ephemeral_queue_not_found`: this node knows no such queue.'),
    503: AWAY,
  },
  largeAnswer: 'read',
  handle: (front, { exchange, tenant, params: { queue }, query: { group } }) => {
    checkName('queue', queue);
    checkNameGiven('group', group);
    if (front.gate.enter(exchange, tenant, { kind: 'ephemeral' }) === null) return;
    const answer = front.service.ephemeral.depth(tenant, queue, group === '' ? null : group);
    if (answer !== null) sendAnswer(exchange, '200 OK', ephemeralDepthAnswer, answer);
    else exchange.json('404 Not Found', errorText(NOT_FOUND, 'ephemeral_queue_not_found'));
  },
});

function renderConfigured(
  exchange: Exchange,
  { queue, options }: ReturnType<typeof configureForm.read>,
  outcome: EphemeralConfiguredOutcome,
): void {
  if (outcome.isOverQuota) refuseEphemeral(exchange, 'ephemeral_quota_exceeded');
  else {
    const text = `{"queue":${quoted(queue)},"options":${options},"declared":true}`;
    exchange.json('201 Created', text);
  }
}

function renderReset(exchange: Exchange, queue: string, outcome: EphemeralReset): void {
  sendShown(exchange, '200 OK', ephemeralResetAnswer, outcome, queue);
}

function renderList(exchange: Exchange, roles: RoleSet | null, outcome: EphemeralQueuesPage): void {
  const { queues, nodeId, truncated, nextAfter } = outcome;
  const isTenants = ((roles ?? 0) & SEES_ITS_TENANT_ALONE) !== 0;
  const cellBytes = isTenants ? outcome.tenantBytes : outcome.cellBytes;
  const tail: Omit<EphemeralQueuesAnswer, 'queues'> = {
    count: queues.length,
    nodeId,
    cellBytes,
    truncated,
    nextAfter,
  };
  sendSliced(exchange, listText({}, 'queues', queueTexts(queues), tail));
}

function* queueTexts(queues: EphemeralQueuesPage['queues']): Generator<string> {
  for (const queue of queues) yield jsonOf(ephemeralQueueView, queue);
}

const NOT_FOUND = 'no ephemeral queue by that name exists on this broker';

/** The options of a declared queue (state-surfaces 4.2): a closed set, kept as sent. */
const EPHEMERAL_OPTION_NAMES = [
  'maxBytes',
  'maxLength',
  'policy',
  'ttlSeconds',
  'leaseSeconds',
  'retryLimit',
  'windowBuffer',
] as const;

/** Why the JSON text is no such object; null: it is one. */
function optionsFault(text: string): string | null {
  if (Buffer.byteLength(text) > EPHEMERAL_OPTIONS_BYTES_MAX) {
    return `options are more than ${EPHEMERAL_OPTIONS_BYTES_MAX} bytes`;
  }
  const options: unknown = JSON.parse(text);
  if (!isObject(options)) return 'options must be an object';
  for (const [name, value] of Object.entries(options)) {
    const fault = optionFault(name, value);
    if (fault !== null) return fault;
  }
  return null;
}

function optionFault(name: string, value: unknown): string | null {
  if (!(EPHEMERAL_OPTION_NAMES as readonly string[]).includes(name)) {
    return `unknown option ${JSON.stringify(name)}`;
  }
  if (value === null) return null;
  if (name === 'policy') {
    const isPolicy = value === 'reject' || value === 'dropOldest';
    return isPolicy ? null : 'policy must be "reject" or "dropOldest"';
  }
  if (name !== 'windowBuffer') {
    return isCount(value) ? null : `${name} must be an integer of 0 or more`;
  }
  const isWindow =
    isObject(value) &&
    Object.keys(value).every((key) => key === 'ms' || key === 'count') &&
    isCount(value.ms) &&
    isCount(value.count);
  return isWindow ? null : 'windowBuffer must be {"ms","count"}, integers of 0 or more';
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
