/** A consume loop as the program holds it: a promise of its end, with callbacks and a stop. */
import type { Message } from '../messages/message.js';
import type { Transport } from '../transport/transport.js';
import { ConsumeLoop, type RunningLoops } from './consume-loop.js';
import type { ConsumeOptions, ConsumeTerms, Handler } from './consume-terms.js';

export class Consuming<Data> implements PromiseLike<undefined> {
  #onSuccess: ((messages: Message<Data>[]) => unknown) | undefined;
  #onError: ((messages: Message<Data>[], error: unknown) => unknown) | undefined;
  #loop: ConsumeLoop<Data> | null = null;
  #isStopped = false;
  readonly #done: Promise<undefined>;

  constructor(
    transport: Transport,
    loops: RunningLoops,
    terms: ConsumeTerms,
    handler: Handler<Data>,
    options: ConsumeOptions,
  ) {
    // It begins one step later, so that the callbacks are known.
    this.#done = Promise.resolve().then(async () => {
      const callbacks = {
        ...(this.#onSuccess && { onSuccess: this.#onSuccess }),
        ...(this.#onError && { onError: this.#onError }),
      };
      this.#loop = new ConsumeLoop(transport, terms, handler, callbacks);
      if (this.#isStopped) this.#loop.end();
      try {
        await this.#loop.run(options);
        return undefined;
      } finally {
        loops.delete(this);
      }
    });
    loops.add(this);
  }

  /** Called after a handler returned. Automatic acks are off then: it acknowledges. */
  onSuccess(callback: (messages: Message<Data>[]) => unknown): this {
    this.#onSuccess = callback;
    return this;
  }

  /** Called after a handler threw. Automatic acks are off then: it acknowledges. */
  onError(callback: (messages: Message<Data>[], error: unknown) => unknown): this {
    this.#onError = callback;
    return this;
  }

  /** Ends the loop; resolves when its handlers have finished and are settled. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#loop?.end();
    await this.#done;
  }

  // biome-ignore lint/suspicious/noThenProperty: it is awaited like the promise that it holds
  then<Done = undefined, Failed = never>(
    done?: ((value: undefined) => Done | PromiseLike<Done>) | null,
    failed?: ((error: unknown) => Failed | PromiseLike<Failed>) | null,
  ): Promise<Done | Failed> {
    return this.#done.then(done, failed);
  }

  catch<Failed = never>(
    failed: (error: unknown) => Failed | PromiseLike<Failed>,
  ): Promise<undefined | Failed> {
    return this.#done.catch(failed);
  }

  finally(act: () => void): Promise<undefined> {
    return this.#done.finally(act);
  }
}
