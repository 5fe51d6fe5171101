// What the process of an attack does with itself before its first order.

import { constants, setPriority } from 'node:os';

/**
 * A real attacker has processors of its own; here it yields to the node, and to what measures. It
 * ends with its parent: when the channel to it closes, however that came about.
 */
export function becomeAttacker<Order>(obey: (order: Order) => void): void {
  setPriority(constants.priority.PRIORITY_LOW);
  process.on('disconnect', () => process.exit(0));
  process.on('message', obey);
}
