/**
 * The facts of a command that need no look-up: its line, its price and its bytes. Each fact is
 * written out for commands of the hot path, and for all others in their descriptor.
 */
import type { Command } from '../base/commands/commands.js';
import { kvStoredBytes } from '../base/commands/kv.js';
import { timerStoredBytes } from '../base/commands/timers.js';
import { kvPrice, PRICES, pushPrice, timersPrice } from '../base/work-prices.js';
import type { AnyForm, HotKind } from './feature.js';
import { FEATURES } from './features.js';

/** Written out, so that a command of the hot path costs no look-up. */
export function isHot(command: Command): command is Extract<Command, { readonly kind: HotKind }> {
  switch (command.kind) {
    case 'push':
    case 'pop':
    case 'ack':
    case 'transaction':
    case 'extend':
    case 'give-back':
      return true;
    default:
      return false;
  }
}

const FORMS = new Map<string, AnyForm>(
  FEATURES.flatMap(({ commands = {} }) => Object.entries(commands)),
);

/** null: a command of the hot path. */
function formOf(command: Command): AnyForm | null {
  return isHot(command) ? null : (FORMS.get(command.kind) ?? null);
}

/** It waits in the line of commands that fill the log; else in that of commands that drain. */
export function fills(command: Command, form = formOf(command)): boolean {
  if (command.kind === 'push') return true;
  if (command.kind === 'transaction') return command.pushes !== null;
  return form?.fills?.(command) === true;
}

/**
 * The price of a command by what can be seen without looking anything up: exact for what it asks
 * of known names, too low where it makes new ones. O(1) for what comes often.
 */
export function priceOf(command: Command, form = formOf(command)): number {
  switch (command.kind) {
    case 'push':
      return PRICES.command + pushPrice(command);
    case 'pop':
      return PRICES.command + PRICES.pop;
    case 'ack':
      return PRICES.command + PRICES.ackTarget + command.items.length * PRICES.ackItem;
    case 'transaction': {
      const { acks, pushes, positions, kv, timers } = command;
      const units = PRICES.command + acks.length * PRICES.ackItem;
      const moved = positions.length * PRICES.position + (kv === null ? 0 : kvPrice(kv));
      const filled = (pushes === null ? 0 : pushPrice(pushes)) + timersPrice(timers);
      return units + moved + filled;
    }
    default:
      return PRICES.command + (form?.units?.(command) ?? PRICES.append);
  }
}

/** Bytes of what is to be stored, as they were sent; 0: the command adds nothing. */
export function growingBytes(command: Command, form = formOf(command)): number {
  if (command.kind === 'push') return command.body.length;
  if (command.kind === 'transaction') {
    const { pushes, kv, timers } = command;
    const beside = (kv && kvStoredBytes(kv)) ?? 0;
    return (pushes?.body.length ?? 0) + beside + ((timers && timerStoredBytes(timers)) ?? 0);
  }
  return form?.bytes?.(command) ?? 0;
}

/** Whether the command adds to what is stored; what drains or only looks never does. */
export function growsStorage(command: Command): boolean {
  return growingBytes(command) > 0 || formOf(command)?.grows === true;
}

/**
 * Its effects stand in several entries, each of which may be the last of its leadership, and only
 * the record of a request says how far they came.
 */
export function takesSeveralTurns(command: Command): boolean {
  return formOf(command)?.takesSeveralTurns === true;
}
