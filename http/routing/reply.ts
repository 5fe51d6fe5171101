/**
 * What a handler gives to the broker for its answer: its own exchange, told how that is rendered.
 */
import type { RefusedOutcome } from '@svc/engine';
import type { Schema } from '@svc/schema';
import type { Status } from '../exchange/errors.js';
import type { Exchange } from '../exchange/exchange.js';
import type { AnswerWatcher, Render } from '../exchange/rendering.js';
import { jsonOf } from '../json/answer-writer.js';
import { type Rest, type Shown, textOf } from '../json/shown.js';
import type { NotFoundOutcome, Reply } from '../ports/service.js';

/** Answers with what is made of the view. */
export function sendShown<View, More, Value>(
  exchange: Exchange,
  status: Status,
  schema: Shown<View, More, Value>,
  view: View,
  ...more: Rest<More>
): void {
  exchange.json(status, textOf(schema, view, ...more));
}

/** Answers with an object, written by its schema. */
export function sendAnswer<Value>(
  exchange: Exchange,
  status: Status,
  schema: Schema<Value>,
  value: NoInfer<Value>,
  retryAfter = false,
): void {
  exchange.json(status, jsonOf(schema, value), retryAfter);
}

/**
 * `context`: what the answer is rendered from, beside what the broker brings. `pass`: of a call
 * that a gate let in; it is settled though the client may have gone.
 */
export function replyBy<Context, Answer>(
  exchange: Exchange,
  context: Context,
  render: Render<Context, Answer>,
  pass: AnswerWatcher<NoInfer<Answer>> | null = null,
): Reply<Answer> {
  exchange.renderBy(context, render, pass);
  return exchange;
}

/** A reply to a call that may be refused: `render` gets all but refusals, answered here. */
export function viewReply<Context, View extends { readonly kind: string }>(
  exchange: Exchange,
  context: Context,
  render: Render<Context, View>,
): Reply<View | RefusedOutcome> {
  return replyBy(exchange, context, (to, from, view: View | RefusedOutcome) => {
    if (isRefused(view)) to.refuse(view.refusal);
    else render(to, from, view);
  });
}

/** A reply whose answer is made of the view. */
export function shownReply<View extends { readonly kind: string }, More, Value>(
  exchange: Exchange,
  schema: Shown<View, More, Value>,
  ...more: Rest<More>
): Reply<View | RefusedOutcome> {
  return viewReply(exchange, null, (to: Exchange, _: null, view: View) =>
    sendShown(to, '200 OK', schema, view, ...more),
  );
}

/** As `viewReply`; `notFound` answers where there is no such thing. */
export function foundReply<Context, View extends { readonly kind: string }>(
  exchange: Exchange,
  context: Context,
  notFound: (exchange: Exchange) => void,
  render: Render<Context, View>,
): Reply<View | NotFoundOutcome | RefusedOutcome> {
  return viewReply(exchange, context, (to: Exchange, _, view: View | NotFoundOutcome) => {
    if (isNotFound(view)) notFound(to);
    else render(to, context, view);
  });
}

function isNotFound(view: { readonly kind: string }): view is NotFoundOutcome {
  return view.kind === 'not-found';
}

function isRefused(outcome: { readonly kind: string }): outcome is RefusedOutcome {
  return outcome.kind === 'refused';
}
