/** POST /api/v1/consumer-groups/{group}/subscription (inspection 3.5): another start point. */
import { randomUUID } from 'node:crypto';
import type { GroupChangedOutcome, SubscribeGroupCommand } from '@svc/engine';
import { constant, count, describedAs, instant, text } from '@svc/schema';
import { parseIsoUs } from '@svc/wire';
import { badRequestFault } from '../../exchange/errors.js';
import { bodyForm, describedBy, given } from '../../json/body-form.js';
import type { JsonReader } from '../../json/json-reader.js';
import { shown } from '../../json/shown.js';
import { answer, endpoint, refusal } from '../../routing/endpoint.js';
import { sendShown } from '../../routing/reply.js';
import { outcomeRender, submit } from '../../routing/submit.js';

const subscriptionForm = bodyForm({
  // Something else than a string is as invalid as a string that is no instant.
  subscriptionTimestamp: describedBy(instant, given(null, { field: instant, read: readText })),
});

function readText(reader: JsonReader, name: string): string {
  if (reader.isString()) return reader.readText(name);
  reader.skipValue();
  return '';
}

/** The command beside the text that the answer repeats. */
interface Subscribe extends SubscribeGroupCommand {
  readonly text: string;
}

const subscriptionAnswer = shown<GroupChangedOutcome, Subscribe>()({
  success: constant(true),
  consumerGroup: [text, (_, { consumerGroup }) => consumerGroup],
  newTimestamp: [describedAs('As the request spelled it.', text), (_, { text }) => text],
  rowsUpdated: [count, ({ changed }) => changed],
});

export const groupSubscriptionEndpoint = endpoint({
  at: 'POST /api/v1/consumer-groups/{group}/subscription',
  level: 'read-write',
  gateway: 'queue-admin',
  tag: 'consumer groups',
  summary: 'Another start point for partitions that the group has not met.',
  request: {
    share: 'drain',
    form: subscriptionForm,
    emptyIsRead: true,
  },
  answers: {
    200: answer('How many registrations were rewritten.', subscriptionAnswer),
    413: refusal('`name_too_long`'),
  },
  check: ({ body }) => void startUs(body.subscriptionTimestamp),
  names: ({ params }) => params,
  handle: (front, { exchange, tenant, params, body }) => {
    const command: Subscribe = {
      kind: 'subscribe-group',
      tenant,
      changeId: randomUUID(),
      consumerGroup: params.group,
      atUs: startUs(body.subscriptionTimestamp),
      text: body.subscriptionTimestamp ?? '',
    };
    submit(front, exchange, command, renderer);
  },
});

const renderer = outcomeRender('group-changed', (exchange, command: Subscribe, outcome) =>
  sendShown(exchange, '200 OK', subscriptionAnswer, outcome, command),
);

/** Throws `RequestFault`. */
function startUs(text: string | null): number {
  const atUs = text === null ? null : parseIsoUs(text);
  if (atUs !== null) return Math.min(Math.max(atUs, 0), Number.MAX_SAFE_INTEGER);
  const why = text === null ? 'is required' : 'is invalid';
  throw badRequestFault(`subscriptionTimestamp ${why}`);
}
