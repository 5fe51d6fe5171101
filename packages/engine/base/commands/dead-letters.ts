/** Commands over dead letters (inspection 1.3, 1.4, 2.2, 2.3). */
import { type ChoiceOf, choice, kind } from '../fields/choice.js';
import { count, flag, type Infer, nullable, oneOf, text, textTo } from '../fields/field.js';
import { maybe, record } from '../fields/record.js';
import { name, tenant, transactionId } from './names.js';

/** A message as requests call it: its partition by digits or UUID, and its transaction id. */
const address = kind(0, { partitionId: text, transactionId });

const target = choice('kind', {
  address,
  /** `group` null: every group. */
  queue: kind(1, { queue: name, group: nullable(name) }),
});
const letter = choice('kind', { address, id: kind(1, { id: text }) });

export type MessageAddress = Extract<Infer<typeof target>, { readonly kind: 'address' }>;

export const deadLetterCommands = {
  /** Removes what it names, in as many entries as it takes; answered when the last row is gone. */
  'drop-dead-letters': kind(11, { tenant, target }),
  /** Pushes a dead letter again and removes it, in one entry. */
  replay: kind(12, {
    tenant,
    letter,
    /** Where to, instead of where it came from; null: not named. */
    queue: nullable(name),
    partition: nullable(name),
  }),
};
type DeadLetterCommand = ChoiceOf<'kind', typeof deadLetterCommands>;
export type DropDeadLettersCommand = Extract<
  DeadLetterCommand,
  { readonly kind: 'drop-dead-letters' }
>;
export type ReplayCommand = Extract<DeadLetterCommand, { readonly kind: 'replay' }>;

const UUID_CHARS = 36;

export const REPLAY_RESULTS = ['moved', 'duplicate', 'too_large', 'name_too_long'] as const;

/** `moved`: pushed, and the row is gone. Everything else leaves the row alone. */
const replay = record({
  result: oneOf(REPLAY_RESULTS),
  /** Where to. */
  queue: name,
  partition: name,
  group: name,
  deadLetterId: textTo(UUID_CHARS),
  /** The message that died had it. */
  transactionId,
  /** The message that was stored has it; "" when none was. */
  messageId: textTo(UUID_CHARS),
});
export type Replay = Infer<typeof replay>;

export const deadLetterOutcomes = {
  'dead-letters-dropped': kind(10, {
    deleted: count,
    /** False only in the record of a request that is still at work. */
    isDone: flag,
  }),
  /** null: there is no such dead letter. */
  replayed: kind(11, { replay: maybe(replay) }),
};
type DeadLetterOutcome = ChoiceOf<'kind', typeof deadLetterOutcomes>;
export type DeadLettersDroppedOutcome = Extract<
  DeadLetterOutcome,
  { readonly kind: 'dead-letters-dropped' }
>;
export type ReplayedOutcome = Extract<DeadLetterOutcome, { readonly kind: 'replayed' }>;
