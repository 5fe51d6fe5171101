/**
 * A client that sends a bounded number of inputs, for consumers that have to come to their end.
 * They have ids, so that what got no answer is sent again until it is known to be stored.
 */
import type { SubmittedOutcome } from '@svc/http';
import { type Message, pushCommand } from './client-messages.js';
import type { Caller } from './client-network.js';
import { isTold, type SurfaceClientOptions } from './surface-client.js';

export const INPUT_PARTITIONS: readonly string[] = ['0', '1'];
const INPUTS_MAX = 60;

export class SentInputs {
  readonly #options: SurfaceClientOptions;
  readonly #queue: string;
  #count = 0;
  #open = 0;
  #ended = false;

  constructor(options: SurfaceClientOptions, queue: string) {
    this.#options = options;
    this.#queue = queue;
  }

  /** Whatever was sent is stored. */
  get areStored(): boolean {
    return this.#open === 0;
  }

  start(): void {
    const caller = this.#options.network.caller();
    this.#soon(() => this.#send(caller));
  }

  end(): void {
    this.#ended = true;
  }

  #soon(work: () => void): void {
    const { loop, pace, random } = this.#options;
    loop.schedule(pace.stretch(random.between(5, 60)), null, work);
  }

  #send(caller: Caller): void {
    const { random } = this.#options;
    if (this.#ended || this.#count >= INPUTS_MAX) return;
    const messages = Array.from({ length: random.between(1, 4) }, () => {
      const value = `i${this.#count++}`;
      const partition = random.pick(INPUT_PARTITIONS);
      return { value, partition, transactionId: value, payload: `"${value}"` };
    });
    this.#open++;
    this.#push(caller, messages, 0, () => {
      this.#open--;
      this.#soon(() => this.#send(caller));
    });
  }

  #push(caller: Caller, messages: readonly Message[], tries: number, done: () => void): void {
    const { loop, pace } = this.#options;
    caller.call<SubmittedOutcome>(
      (broker, reply) => broker.submit(pushCommand(this.#queue, messages), reply),
      (answer) => {
        if (isTold(answer) && answer.kind === 'pushed') done();
        else loop.after(pace.again(tries), () => this.#push(caller, messages, tries + 1, done));
      },
    );
  }
}

/** The name of an input, by which its results refer to it. */
export function inputOf({ payload }: { readonly payload: string }): string {
  return JSON.parse(payload) as string;
}
