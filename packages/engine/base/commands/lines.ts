/**
 * The two lines of commands that wait for a turn: what drains, asks or arranges, and what fills.
 * What drains is planned first in every turn, so it never waits behind what fills.
 */
import type { Command, Outcome, PushCommand } from './commands.js';
import type { ReplayCommand } from './dead-letters.js';
import type { KvCall } from './kv.js';
import type { StreamCycleCommand } from './streams.js';
import { schedulesOf, type TimerCall } from './timers.js';
import type { TransactionCommand } from './transaction.js';

/** Some come in both lines: a transaction or a cycle may push nothing, a timer call may cancel. */
export type DrainCommand = Exclude<Command, PushCommand | ReplayCommand | KvCall>;
export type FillCommand =
  | PushCommand
  | TransactionCommand
  | ReplayCommand
  | StreamCycleCommand
  | KvCall
  | TimerCall;

/** It pushes, or writes rows of its own. */
export function isFill(command: Command): command is FillCommand {
  switch (command.kind) {
    case 'push':
    case 'replay':
    case 'kv':
      return true;
    case 'transaction':
    case 'stream-cycle':
      return command.pushes !== null;
    case 'timers':
      return schedulesOf(command) > 0;
    default:
      return false;
  }
}

/**
 * What a record says of a command that made the entry longer; null when that says nothing yet: a
 * pop is judged by what it took.
 */
export function outcomeToKeep(command: DrainCommand, outcome: Outcome | null): Outcome | null {
  switch (command.kind) {
    case 'ack':
    case 'transaction':
    case 'extend':
    case 'configure':
    // Null while it goes on: then its row says what became of it.
    case 'seek':
    case 'delete-group':
    case 'subscribe-group':
    case 'trace':
    case 'set-switches':
    case 'set-grant':
    case 'register-stream':
    case 'stream-cycle':
    case 'timers':
    case 'ephemeral-configure':
    case 'ephemeral-delete':
      return outcome;
    case 'delete-queue':
      return { kind: 'deleted', existed: true };
    case 'pop':
    // Its lease is gone, so it does nothing the second time.
    case 'give-back':
    // Its entries say how far it has come.
    case 'drop-dead-letters':
    case 'purge-tenant':
      return null;
  }
}
