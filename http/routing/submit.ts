/**
 * Hands a validated command over and renders the outcome of its kind; refusals are rendered alike.
 */
import { assert } from '../base/assert.js';
import type { Exchange } from '../exchange/exchange.js';
import type { Pass } from '../gate/gate.js';
import { GatedReply } from '../gate/gated-reply.js';
import type { SubmittedCommand, SubmittedOutcome } from '../ports/service.js';
import { PendingReply } from './reply.js';
import type { Front } from './route.js';

type OutcomeOf<Kind> = Extract<SubmittedOutcome, { readonly kind: Kind }>;

/** One per route: which outcome belongs to its command, and how that is rendered. */
export interface OutcomeRenderer<Command, Kind extends SubmittedOutcome['kind']> {
  readonly kind: Kind;
  render(exchange: Exchange, command: Command, outcome: OutcomeOf<Kind>): void;
}

interface Submission<Command, Kind extends SubmittedOutcome['kind']> {
  readonly command: Command;
  readonly renderer: OutcomeRenderer<Command, Kind>;
}

export function submit<Command extends SubmittedCommand, Kind extends SubmittedOutcome['kind']>(
  front: Front,
  exchange: Exchange,
  command: Command,
  renderer: OutcomeRenderer<Command, Kind>,
  pass: Pass | null = null,
): void {
  exchange.handBody();
  const submission = { command, renderer };
  const reply = new PendingReply(exchange, front.logger, submission, renderOutcome<Command, Kind>);
  front.service.submit(command, pass === null ? reply : new GatedReply(pass, reply));
}

function renderOutcome<Command extends SubmittedCommand, Kind extends SubmittedOutcome['kind']>(
  exchange: Exchange,
  submission: Submission<Command, Kind>,
  outcome: SubmittedOutcome,
): void {
  if (outcome.kind === 'refused') {
    exchange.refuse(outcome.refusal);
    return;
  }
  const { command, renderer } = submission;
  assert(outcome.kind === renderer.kind, () => `${command.kind} was answered by ${outcome.kind}`);
  renderer.render(exchange, command, outcome as OutcomeOf<Kind>);
}
