/**
 * All commands and outcomes. Those whose form is a field list are joined here, once for the types
 * and for the codecs between nodes (`forwarding/`); pushes, pops, acknowledgements and the commands
 * that hold pushes have codecs by hand. No two kinds of a list have one number.
 */
import type { ChoiceOf } from '../fields/choice.js';
import {
  type AckCommand,
  type AckedOutcome,
  leaseCommands,
  leaseOutcomes,
  otherOutcomes,
  type PopCommand,
  type PoppedOutcome,
  type PushCommand,
  type PushedOutcome,
  queueCommands,
  queueOutcomes,
} from './commands.js';
import { deadLetterCommands, deadLetterOutcomes } from './dead-letters.js';
import { ephemeralCommands, ephemeralOutcomes } from './ephemeral.js';
import { groupCommands, groupOutcomes } from './groups.js';
import { kvCommands, kvOutcomes } from './kv.js';
import { standbyCommands, standbyOutcomes } from './standby.js';
import {
  type StreamCycleCommand,
  type StreamCycledOutcome,
  streamCommands,
  streamOutcomes,
} from './streams.js';
import { surfaceCommands, surfaceOutcomes } from './surfaces.js';
import { timerCommands, timerOutcomes } from './timers.js';
import { type TraceCommand, traceCommands, traceOutcomes } from './traces.js';
import type { TransactedOutcome, TransactionCommand } from './transaction.js';

export const commandFields = {
  ...leaseCommands,
  ...queueCommands,
  ...groupCommands,
  ...deadLetterCommands,
  ...traceCommands,
  ...timerCommands,
  ...kvCommands,
  ...surfaceCommands,
  ...streamCommands,
  ...ephemeralCommands,
  ...standbyCommands,
};

export const outcomeFields = {
  ...leaseOutcomes,
  ...queueOutcomes,
  ...otherOutcomes,
  ...groupOutcomes,
  ...deadLetterOutcomes,
  ...traceOutcomes,
  ...timerOutcomes,
  ...kvOutcomes,
  ...surfaceOutcomes,
  ...streamOutcomes,
  ...ephemeralOutcomes,
  ...standbyOutcomes,
};

export type CommandByHand =
  | PushCommand
  | PopCommand
  | AckCommand
  | TransactionCommand
  | StreamCycleCommand;
export type OutcomeByHand =
  | PushedOutcome
  | PoppedOutcome
  | AckedOutcome
  | TransactedOutcome
  | StreamCycledOutcome;

/** The data of a trace stand behind its fields. */
export type Command =
  | CommandByHand
  | TraceCommand
  | ChoiceOf<'kind', Omit<typeof commandFields, 'trace'>>;
export type Outcome = OutcomeByHand | ChoiceOf<'kind', typeof outcomeFields>;
