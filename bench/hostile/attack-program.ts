// The process of a hostile client.

import { becomeAttacker } from '../abuse/attacker.js';
import { attackHostile, type HostileOrder } from './attacks.js';

becomeAttacker((order: HostileOrder) => {
  attackHostile(order, () => process.send?.('begun')).then(
    () => process.send?.('over'),
    (error: unknown) => {
      process.stderr.write(`${String(error)}\n`);
      process.exit(1);
    },
  );
});
