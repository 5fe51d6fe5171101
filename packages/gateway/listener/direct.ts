/**
 * A request that the front carries out on the exchange of its client: one whose body was read and
 * whose answer is counted and small, which is a push. There is one exchange, one body and one
 * rendering then, where a relayed call has two of each; and a push is what a node does most.
 *
 * Invariants, as of a relayed one (`relay.ts`):
 * - Its answer is counted before it leaves, also when its client has gone: its messages are there.
 * - What ends it here, its time, is counted as a request without messages, and what the broker
 *   answers later comes to nobody.
 */
import type { Exchange, ReadRequest } from '@svc/http';
import type { Admitted } from '../passage/passage.js';
import { refuse } from './answers.js';
import type { RelayedRequest, TimeLimit } from './relay.js';
import type { TimeLimited, TimeLimits } from './time-limits.js';

/** The front of this process, which carries it out. */
export interface DirectUpstream {
  carryOut(request: ReadRequest, exchange: Exchange): void;
}

/**
 * Bytes of 491 items of the shortest kind. An answer for more than 512 is made in parts, and not
 * for a client that has gone.
 */
const BODY_BYTES_MAX = 12_288;

export function isDirect({ passed, countsAnswer }: Admitted, body: Uint8Array): boolean {
  return passed.target.body === 'push' && countsAnswer && body.length <= BODY_BYTES_MAX;
}

export class Direct implements TimeLimited {
  readonly #exchange: Exchange;
  readonly #admitted: RelayedRequest;
  readonly #limits: TimeLimits;
  readonly #limit: TimeLimit;
  #bytesIn = 0;
  atMs = 0;

  constructor(exchange: Exchange, admitted: RelayedRequest, limits: TimeLimits, limit: TimeLimit) {
    this.#exchange = exchange;
    this.#admitted = admitted;
    this.#limits = limits;
    this.#limit = limit;
  }

  begin(upstream: DirectUpstream, request: ReadRequest): void {
    this.#limits.begin(this.#limit.ms, this);
    this.#bytesIn = request.body.length;
    this.#exchange.gate = (status, body, go) => {
      this.#limits.end(this.#limit.ms, this);
      this.#admitted.finish({
        status: Number.parseInt(status, 10),
        bytesIn: request.body.length,
        bytesOut: body.length,
        body,
      });
      this.#admitted.whenCounted(go);
    };
    upstream.carryOut(request, this.#exchange);
  }

  onLate(): void {
    const { refusal } = this.#limit;
    const { status } = refusal;
    this.#exchange.gate = null;
    this.#admitted.finish({ status, bytesIn: this.#bytesIn, bytesOut: 0, body: null });
    refuse(this.#exchange, refusal);
  }
}
