/** Shows switches, grants and what tenants have stored, as this node has applied them. */
import {
  type GrantRow,
  grantOf,
  kvUseOf,
  type RefusedOutcome,
  type State,
  type Switches,
  switchesOf,
  type Tenant,
  timerUseOf,
} from '@svc/engine';
import type { Reply, SurfaceService, SurfaceUse, SwitchesView } from '@svc/http';
import type { GrantKind } from '@svc/wire';
import type { StateReads } from '../reads/state-reads.js';

export class SurfaceReads implements SurfaceService {
  readonly #state: State;
  readonly #reads: StateReads;

  constructor(state: State, reads: StateReads) {
    this.#state = state;
    this.#reads = reads;
  }

  switches(): Switches {
    return switchesOf(this.#state);
  }

  grant(tenant: Tenant, kind: GrantKind): GrantRow | undefined {
    return grantOf(this.#state, tenant, kind);
  }

  use(tenant: Tenant): SurfaceUse {
    const { rows, bytes } = kvUseOf(this.#state, tenant);
    return { kvRows: rows, kvBytes: bytes, timers: timerUseOf(this.#state, tenant).timers };
  }

  readSwitches(reply: Reply<SwitchesView | RefusedOutcome>): void {
    // biome-ignore lint/correctness/useYield: a walk over one row ends with its first step.
    const walk = function* (state: State): Generator<void, Switches> {
      return switchesOf(state);
    };
    this.#reads.confirmed(
      'switches',
      () => walk(this.#state),
      reply,
      (switches) => reply.send({ kind: 'switches', switches }),
    );
  }
}
