/** Shows switches, grants and what tenants have stored, as this node has applied them. */
import { grantOf, kvUseOf, type State, type Switches, switchesOf, timerUseOf } from '@svc/engine';
import type { SurfaceService } from '@svc/http';
import type { StateReads } from '../reads/state-reads.js';

export function surfaceReads(state: State, reads: StateReads): SurfaceService {
  return {
    switches: () => switchesOf(state),
    grant: (tenant, kind) => grantOf(state, tenant, kind),
    use(tenant) {
      const { rows, bytes } = kvUseOf(state, tenant);
      return { kvRows: rows, kvBytes: bytes, timers: timerUseOf(state, tenant).timers };
    },
    readSwitches(reply) {
      // biome-ignore lint/correctness/useYield: a walk over one row ends with its first step.
      const walk = function* (): Generator<void, Switches> {
        return switchesOf(state);
      };
      reads.confirmed('switches', walk, reply, (switches) =>
        reply.send({ kind: 'switches', switches }),
      );
    },
  };
}
