/** A push as the program holds it: a promise of its results, with callbacks. */
import { ClientError } from '../base/errors.js';
import type { PushResult } from './push-items.js';

/** What a buffered push resolves to. */
export interface Buffered {
  readonly buffered: true;
  readonly count: number;
}

export class Pushing<Result extends readonly PushResult[] | Buffered>
  implements PromiseLike<Result>
{
  #onSuccess: ((stored: PushResult[]) => unknown) | undefined;
  #onDuplicate: ((duplicates: PushResult[]) => unknown) | undefined;
  #onError: ((error: unknown, refused: PushResult[]) => unknown) | undefined;
  readonly #done: Promise<Result>;

  /** It begins one step later, so that the callbacks are known; it is sent without `await` too. */
  constructor(send: () => Result | Promise<Result>, nothing: Result) {
    this.#done = Promise.resolve()
      .then(send)
      .then(
        (result) => ('buffered' in result ? result : this.#sent(result).then(() => result)),
        async (error: unknown) => {
          if (this.#onError === undefined) throw error;
          await this.#onError(error, []);
          return nothing;
        },
      );
  }

  /** Gets the results of what was stored. */
  onSuccess(callback: (stored: PushResult[]) => unknown): this {
    this.#onSuccess = callback;
    return this;
  }

  /** Gets the results of what was stored before under the same `transactionId`. */
  onDuplicate(callback: (duplicates: PushResult[]) => unknown): this {
    this.#onDuplicate = callback;
    return this;
  }

  /** Gets what failed: then the promise does not reject. */
  onError(callback: (error: unknown, refused: PushResult[]) => unknown): this {
    this.#onError = callback;
    return this;
  }

  async #sent(result: readonly PushResult[]): Promise<void> {
    const of = (wanted: string) => result.filter(({ status }) => status === wanted);
    const [stored, duplicates, refused] = [of('queued'), of('duplicate'), of('error')];
    if (stored.length > 0) await this.#onSuccess?.(stored);
    if (duplicates.length > 0) await this.#onDuplicate?.(duplicates);
    if (refused.length > 0) {
      await this.#onError?.(new ClientError('larger than an entry of the log'), refused);
    }
  }

  // biome-ignore lint/suspicious/noThenProperty: it is awaited like the promise that it holds
  then<Done = Result, Failed = never>(
    done?: ((value: Result) => Done | PromiseLike<Done>) | null,
    failed?: ((error: unknown) => Failed | PromiseLike<Failed>) | null,
  ): Promise<Done | Failed> {
    return this.#done.then(done, failed);
  }

  catch<Failed = never>(
    failed: (error: unknown) => Failed | PromiseLike<Failed>,
  ): Promise<Result | Failed> {
    return this.#done.catch(failed);
  }

  finally(act: () => void): Promise<Result> {
    return this.#done.finally(act);
  }
}
