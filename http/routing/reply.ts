/**
 * The front's side of `Reply`: remembers what the answer is rendered from. A failure while
 * rendering is this request's alone: it is logged and answered 500, and the broker learns that
 * nobody received the answer.
 */
import type { RefusedOutcome } from '@svc/engine';
import type { Schema } from '@svc/schema';
import type { AnswerRoom } from '../exchange/answer-budget.js';
import { INTERNAL_REFUSAL, type Status } from '../exchange/errors.js';
import type { Exchange, FrontLogger } from '../exchange/exchange.js';
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

export type Render<Context, Answer> = (
  exchange: Exchange,
  context: Context,
  answer: Answer,
) => void;

export class PendingReply<Context, Answer> implements Reply<Answer> {
  readonly #exchange: Exchange;
  readonly #context: Context;
  readonly #render: Render<Context, Answer>;
  readonly #logger: FrontLogger;

  constructor(
    exchange: Exchange,
    logger: FrontLogger,
    context: Context,
    render: Render<Context, Answer>,
  ) {
    this.#exchange = exchange;
    this.#logger = logger;
    this.#context = context;
    this.#render = render;
  }

  get gone(): boolean {
    return this.#exchange.gone;
  }

  get onGone(): (() => void) | null {
    return this.#exchange.onGone;
  }

  set onGone(hook: (() => void) | null) {
    this.#exchange.onGone = hook;
  }

  get room(): AnswerRoom {
    return this.#exchange;
  }

  send(answer: Answer): boolean {
    const exchange = this.#exchange;
    if (!exchange.open) {
      exchange.releaseBody();
      return false;
    }
    try {
      this.#render(exchange, this.#context, answer);
      return true;
    } catch (error) {
      this.#logger.error('an answer could not be rendered', error);
      exchange.refuse(INTERNAL_REFUSAL);
      return false;
    }
  }
}

/** A reply to a call that may be refused: `render` gets all but refusals, answered here. */
export function viewReply<Context, View extends { readonly kind: string }>(
  front: { readonly logger: FrontLogger },
  exchange: Exchange,
  context: Context,
  render: Render<Context, View>,
): Reply<View | RefusedOutcome> {
  return new PendingReply(exchange, front.logger, { context, render }, renderView<Context, View>);
}

/** A reply whose answer is made of the view. */
export function shownReply<View extends { readonly kind: string }, More, Value>(
  front: { readonly logger: FrontLogger },
  exchange: Exchange,
  schema: Shown<View, More, Value>,
  ...more: Rest<More>
): Reply<View | RefusedOutcome> {
  return viewReply(front, exchange, null, (to: Exchange, _: null, view: View) =>
    sendShown(to, '200 OK', schema, view, ...more),
  );
}

/** As `viewReply`; `notFound` answers where there is no such thing. */
export function foundReply<Context, View extends { readonly kind: string }>(
  front: { readonly logger: FrontLogger },
  exchange: Exchange,
  context: Context,
  notFound: (exchange: Exchange) => void,
  render: Render<Context, View>,
): Reply<View | NotFoundOutcome | RefusedOutcome> {
  return viewReply(front, exchange, context, (to: Exchange, _, view: View | NotFoundOutcome) => {
    if (isNotFound(view)) notFound(to);
    else render(to, context, view);
  });
}

function isNotFound(view: { readonly kind: string }): view is NotFoundOutcome {
  return view.kind === 'not-found';
}

interface Rendering<Context, View> {
  readonly context: Context;
  readonly render: Render<Context, View>;
}

function renderView<Context, View extends { readonly kind: string }>(
  exchange: Exchange,
  { context, render }: Rendering<Context, View>,
  outcome: View | RefusedOutcome,
): void {
  if (isRefused(outcome)) exchange.refuse(outcome.refusal);
  else render(exchange, context, outcome);
}

function isRefused(outcome: { readonly kind: string }): outcome is RefusedOutcome {
  return outcome.kind === 'refused';
}
