// The process of a hostile client. It ends with its parent.

import { constants, getPriority, setPriority } from 'node:os';
import { attackHostile, type HostileOrder } from './hostile-attacks.js';

/** Steps of niceness below its parent: a real one has processors of its own. */
const YIELDS = 10;

setPriority(Math.min(constants.priority.PRIORITY_LOW, getPriority() + YIELDS));
process.on('disconnect', () => process.exit(0));
process.on('message', (order: HostileOrder) => {
  attackHostile(order, () => process.send?.('begun')).then(
    () => process.send?.('over'),
    (error: unknown) => {
      process.stderr.write(`${String(error)}\n`);
      process.exit(1);
    },
  );
});
