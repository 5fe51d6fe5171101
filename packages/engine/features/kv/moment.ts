/**
 * Reads of key/value rows that show one moment, although they yield between portions of rows and
 * entries are applied meanwhile: half of a call, or of a transaction, must never be seen.
 *
 * The moment is told by the version that was given last in the store, and the rows that the tenant
 * has. Whatever is put takes the next version; as long as none was given rows can only go, and then
 * they become fewer. So while both are the same, nothing of the tenant has changed.
 *
 * A read that finds them changed begins anew, with the time of what is applied by then. In a store
 * that never rests it would do so for ever: after a few attempts it goes on to its end without
 * yielding, which is no more than planning the same read within a call that writes would cost.
 */

import type { Tenant } from '../../base/commands/commands.js';
import type { State } from '../../base/state.js';
import { readMeta } from '../../state/apply.js';
import { kvUseOf, lastKvVersion } from '../../state/kv/tables.js';

/** That yield. */
const ATTEMPTS_MAX = 3;

/** `begin` starts the read, for rows as they are at that time. */
export function* atOneMoment<Result>(
  state: State,
  tenant: Tenant,
  nowUs: number,
  begin: (nowUs: number) => Generator<void, Result>,
): Generator<void, Result> {
  for (let attempt = 1; ; attempt++) {
    const version = lastKvVersion(state);
    const { rows } = kvUseOf(state, tenant);
    // A row that an entry has found expired does not come back to life.
    const walk = begin(Math.max(nowUs, readMeta(state).stampUs));
    for (;;) {
      const step = walk.next();
      if (step.done === true) return step.value;
      if (attempt > ATTEMPTS_MAX) continue;
      yield;
      if (lastKvVersion(state) !== version || kvUseOf(state, tenant).rows !== rows) break;
    }
  }
}
