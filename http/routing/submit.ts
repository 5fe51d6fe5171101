/** Hands a validated command over; what is common to the rendering of all outcomes. */
import { assert } from '../base/assert.js';
import type { Exchange } from '../exchange/exchange.js';
import type { Render } from '../exchange/rendering.js';
import type { Pass } from '../gate/gate.js';
import type { SubmittedCommand, SubmittedOutcome } from '../ports/service.js';
import { replyBy } from './reply.js';
import type { Front } from './route.js';

type OutcomeOf<Kind> = Extract<SubmittedOutcome, { readonly kind: Kind }>;

/**
 * One for each route: renders the outcome of its commands, which is of this kind or a refusal.
 * `Context` is the command, or what holds it.
 */
export function outcomeRender<Context, Kind extends SubmittedOutcome['kind']>(
  kind: Kind,
  render: Render<Context, OutcomeOf<Kind>>,
): Render<Context, SubmittedOutcome> {
  return (exchange, context, outcome) => {
    if (outcome.kind === 'refused') {
      exchange.refuse(outcome.refusal);
      return;
    }
    assert(outcome.kind === kind, () => `${outcome.kind} came in answer, and not ${kind}`);
    render(exchange, context, outcome as OutcomeOf<Kind>);
  };
}

export function submit<Command extends SubmittedCommand>(
  front: Front,
  exchange: Exchange,
  command: Command,
  render: Render<Command, SubmittedOutcome>,
  pass: Pass | null = null,
): void {
  exchange.handBody();
  front.service.submit(command, replyBy(exchange, command, render, pass));
}
