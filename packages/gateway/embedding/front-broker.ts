/**
 * The broker as the gateway itself calls it: by calls to the front in the same process, as one of
 * its tenants, who may do everything. What the gateway sees is what a client of that tenant would.
 */
import { type AnswerHead, type CallClient, ROLE_BITS } from '@svc/http';
import { DEFAULT_TENANT } from '@svc/wire';
import type { Clock } from '../base/clock.js';
import type { Upstream } from '../listener/relay.js';
import type { BrokerRequest } from '../routes/route.js';
import { BrokerUnavailableError } from '../upkeep/inventory.js';

export interface BrokerAnswer {
  readonly status: number;
  readonly body: Uint8Array;
}

/** An answer of 5,000 partitions with the longest names has fewer. */
const ANSWER_BYTES_MAX = 32 * 1_048_576;
/** Its part of the front's budgets. */
const PEER = new TextEncoder().encode('gateway');

export class FrontBroker {
  readonly #upstream: Upstream;
  readonly #clock: Pick<Clock, 'after'>;
  readonly #hasTenants: boolean;

  /** `hasTenants` false: all clusters are the default tenant, as their requests are. */
  constructor(upstream: Upstream, clock: Pick<Clock, 'after'>, hasTenants: boolean) {
    this.#upstream = upstream;
    this.#clock = clock;
    this.#hasTenants = hasTenants;
  }

  /** Rejects with `BrokerUnavailableError`: late, cut off, or too long. */
  call(tenant: string, request: BrokerRequest): Promise<BrokerAnswer> {
    const { method, target, body, timeoutMs } = request;
    return new Promise((resolve, reject) => {
      const answer = new WholeAnswer(
        (whole) => {
          cancel();
          resolve(whole);
        },
        (why) => {
          cancel();
          reject(new BrokerUnavailableError(why));
        },
      );
      const cancel = this.#clock.after(timeoutMs, () => {
        call.abort();
        reject(new BrokerUnavailableError(`no answer within ${timeoutMs} ms`));
      });
      const identity = {
        caller: { kind: 'caller', subject: null, roles: ROLE_BITS.admin },
        tenant: this.#hasTenants ? tenant : DEFAULT_TENANT,
      } as const;
      const call = this.#upstream.call(
        { method, target, headers: [], body, peer: PEER, identity },
        answer,
      );
    });
  }
}

class WholeAnswer implements CallClient {
  readonly #resolve: (answer: BrokerAnswer) => void;
  readonly #reject: (why: string) => void;
  readonly #chunks: Buffer[] = [];
  #length = 0;
  #status = 0;

  constructor(resolve: (answer: BrokerAnswer) => void, reject: (why: string) => void) {
    this.#resolve = resolve;
    this.#reject = reject;
  }

  onHead({ status }: AnswerHead): void {
    this.#status = Number.parseInt(status, 10);
  }

  onBytes(bytes: Uint8Array): number {
    this.#length += bytes.length;
    if (this.#length <= ANSWER_BYTES_MAX) this.#chunks.push(Buffer.from(bytes));
    return bytes.length;
  }

  onEnd(): void {
    if (this.#length > ANSWER_BYTES_MAX) this.#reject('the answer is too long');
    else this.#resolve({ status: this.#status, body: Buffer.concat(this.#chunks) });
  }

  onBroken(): void {
    this.#reject('the node stops');
  }

  onReadOn(): void {}
}
