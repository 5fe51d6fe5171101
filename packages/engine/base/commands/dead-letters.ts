/** Commands over dead letters (inspection 1.3, 1.4, 2.2, 2.3). */
import { REDRIVE_LETTERS_MAX } from '@svc/wire';
import { type ChoiceOf, choice, kind } from '../fields/choice.js';
import { count, flag, type Infer, nullable, oneOf, text, textTo, within } from '../fields/field.js';
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

const UUID_CHARS = 36;

/** How far a redrive has come, and where it ends: what is filed while it goes on is not its own. */
const redrivePlace = record({
  /** The id of the dead letter that was looked at last; "": none yet. */
  after: textTo(UUID_CHARS),
  /** Filed before this. */
  endUs: count,
});
export type RedrivePlace = Infer<typeof redrivePlace>;

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
  /** Replays dead letters of a queue, oldest first, as many as one entry takes. */
  redrive: kind(24, {
    tenant,
    queue: name,
    /** null: of every group. */
    group: nullable(name),
    /** Filed at this time or later. */
    fromUs: count,
    /** null: the beginning of a redrive of all that is filed now. */
    place: maybe(redrivePlace),
    limit: within(1, REDRIVE_LETTERS_MAX),
  }),
};
type DeadLetterCommand = ChoiceOf<'kind', typeof deadLetterCommands>;
export type DropDeadLettersCommand = Extract<
  DeadLetterCommand,
  { readonly kind: 'drop-dead-letters' }
>;
export type ReplayCommand = Extract<DeadLetterCommand, { readonly kind: 'replay' }>;
export type RedriveCommand = Extract<DeadLetterCommand, { readonly kind: 'redrive' }>;

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
  redriven: kind(23, {
    moved: count,
    /** Those that stay: the queue has the message already, or it cannot be stored. */
    duplicates: count,
    refused: count,
    /** null: nothing is left. */
    next: maybe(redrivePlace),
  }),
};
type DeadLetterOutcome = ChoiceOf<'kind', typeof deadLetterOutcomes>;
export type DeadLettersDroppedOutcome = Extract<
  DeadLetterOutcome,
  { readonly kind: 'dead-letters-dropped' }
>;
export type ReplayedOutcome = Extract<DeadLetterOutcome, { readonly kind: 'replayed' }>;
export type RedrivenOutcome = Extract<DeadLetterOutcome, { readonly kind: 'redriven' }>;
