/** POST /api/v1/consumer-groups/{group}/subscription (inspection 3.5): another start point. */
import { randomUUID } from 'node:crypto';
import type { GroupChangedOutcome, SubscribeGroupCommand } from '@svc/engine';
import { instant } from '@svc/schema';
import { parseIsoUs, subscriptionAnswer } from '@svc/wire';
import { badRequest } from '../../exchange/errors.js';
import type { Exchange } from '../../exchange/exchange.js';
import { nameBudgetRefusal } from '../../exchange/name-budget.js';
import { bodyForm, describedBy, given } from '../../json/body-form.js';
import type { JsonReader } from '../../json/json-reader.js';
import { answer, endpoint, refusal } from '../../routing/endpoint.js';
import type { Front, RouteRequest } from '../../routing/route.js';
import { sendAnswer } from '../../routing/send-answer.js';
import { type OutcomeRenderer, submit } from '../../routing/submit.js';

const subscriptionForm = bodyForm({
  // Something else than a string is as invalid as a string that is no instant.
  subscriptionTimestamp: describedBy(instant, given(null, { field: instant, read: readText })),
});

function readText(reader: JsonReader, name: string): string {
  if (reader.isString()) return reader.readText(name);
  reader.skipValue();
  return '';
}

export const groupSubscriptionEndpoint = endpoint({
  at: 'POST /api/v1/consumer-groups/{group}/subscription',
  level: 'read-write',
  tag: 'consumer groups',
  summary: 'Another start point for partitions that the group has not met.',
  request: {
    share: 'drain',
    reader: subscriptionForm,
  },
  answers: {
    200: answer('How many registrations were rewritten.', subscriptionAnswer),
    413: refusal('`name_too_long`'),
  },
  handle,
});

const REQUIRED = 'subscriptionTimestamp is required';
const INVALID = 'subscriptionTimestamp is invalid';

/** The command beside the text that the answer repeats. */
interface Subscribe extends SubscribeGroupCommand {
  readonly text: string;
}

const renderer: OutcomeRenderer<Subscribe, 'group-changed'> = { kind: 'group-changed', render };

function handle(front: Front, request: RouteRequest): void {
  const { exchange, tenant, params } = request;
  const [group = ''] = params;
  const { subscriptionTimestamp: text } = subscriptionForm.readOrEmpty(request.body);
  const atUs = text === null ? null : parseIsoUs(text);
  if (text === null || atUs === null) {
    exchange.refuse(badRequest(text === null ? REQUIRED : INVALID));
    return;
  }
  const refusal = nameBudgetRefusal(tenant, '', group, '');
  if (refusal !== null) {
    exchange.refuse(refusal);
    return;
  }
  const command: Subscribe = {
    kind: 'subscribe-group',
    tenant,
    changeId: randomUUID(),
    consumerGroup: group,
    atUs: Math.min(Math.max(atUs, 0), Number.MAX_SAFE_INTEGER),
    text,
  };
  submit(front, exchange, command, renderer);
}

function render(exchange: Exchange, command: Subscribe, outcome: GroupChangedOutcome): void {
  sendAnswer(exchange, '200 OK', subscriptionAnswer, {
    success: true,
    consumerGroup: command.consumerGroup,
    newTimestamp: command.text,
    rowsUpdated: outcome.changed,
  });
}
