/** Whether a group has anything left of a queue, as the machines say that are asked for it. */
import { WHOLE } from '@svc/engine';
import type { QueueDepthView } from '@svc/http';
import { TENANT } from './client-messages.js';
import type { Caller } from './client-network.js';

export class Leftover {
  readonly #caller: Caller;
  readonly #queue: string;
  readonly #group: string;
  #isAsking = false;
  #isEmpty = false;

  constructor(caller: Caller, queue: string, group: string) {
    this.#caller = caller;
    this.#queue = queue;
    this.#group = group;
  }

  /** True once nothing was left; nobody may add to the queue any more. */
  isEmpty(): boolean {
    if (!this.#isEmpty && !this.#isAsking) this.#ask();
    return this.#isEmpty;
  }

  #ask(): void {
    this.#isAsking = true;
    this.#caller.call<QueueDepthView | { readonly kind: 'not-found' | 'refused' }>(
      (broker, reply) => broker.queueDepth(TENANT, this.#queue, this.#group, WHOLE, reply),
      (answer) => {
        this.#isAsking = false;
        if (answer === 'refused' || answer === 'unknown') return;
        if (answer.kind === 'queue-depth') {
          this.#isEmpty = answer.partitions.every(({ pending }) => pending === 0);
        } else this.#isEmpty = answer.kind === 'not-found';
      },
    );
  }
}
