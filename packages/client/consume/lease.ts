/**
 * The lease of one popped batch, as far as the client knows of it: one id for all partitions of the
 * batch. While a handler works it is renewed, if the program asked for that.
 *
 * What must hold: once the lease is known to be lost, its messages are somebody else's. The signal
 * says so to the handler, nothing of the batch that was not begun is begun, and nothing is
 * acknowledged. It is lost when the broker refuses a renewal, and when no renewal was answered
 * before the end that the last one gave it, by the clock of this process from the sending on.
 */
import { Deadline } from '../base/deadline.js';
import { ClientError } from '../base/errors.js';
import { onAbort } from '../base/on-abort.js';
import { renew } from '../messages/acks.js';
import type { Message } from '../messages/message.js';
import type { Transport } from '../transport/transport.js';

/** As long as the default lease of the broker, or three renewals if that is more. */
const SECONDS_MIN = 60;

/** The reason of a loop that is to end. */
export function loopEnded(): ClientError {
  return new ClientError('the consume loop ended', { code: 'ended' });
}

export class Lease {
  /** Aborted when the loop is to end: nothing more is begun. */
  readonly ending: AbortSignal;
  readonly #transport: Transport;
  readonly #id: string;
  /** Made when somebody asks for the signal: most handlers do not, and a batch may be small. */
  #stopping: AbortController | null = null;
  #forget: () => void = () => undefined;
  /** As the last renewal has it. */
  #until: Deadline | null = null;
  #cancel: () => void = () => undefined;
  #isOver = false;
  #lost: ClientError | null = null;

  /** `everyMs` null: it is not renewed. */
  constructor(
    transport: Transport,
    messages: readonly Message[],
    ending: AbortSignal,
    everyMs: number | null,
  ) {
    this.ending = ending;
    this.#transport = transport;
    this.#id = messages[0]?.leaseId ?? '';
    for (const message of messages) message.takenUnder(this);
    if (everyMs !== null && this.#id !== '') this.#renewAfter(everyMs);
  }

  /** Aborted when the lease is lost, with `lost`, and when the loop is to end. */
  get signal(): AbortSignal {
    if (this.#stopping !== null) return this.#stopping.signal;
    const stopping = new AbortController();
    this.#stopping = stopping;
    const stop = () => stopping.abort(this.#lost ?? this.ending.reason);
    if (this.#lost !== null || this.ending.aborted) stop();
    else if (!this.#isOver) this.#forget = onAbort(this.ending, stop);
    return stopping.signal;
  }

  /** Why it is lost; null: it is not, as far as is known. */
  get lost(): ClientError | null {
    return this.#lost;
  }

  /** The batch is settled: what the broker says of the lease from now on means nothing. */
  end(): void {
    this.#isOver = true;
    this.#forget();
    this.#cancel();
  }

  #renewAfter(everyMs: number): void {
    const { platform, settings } = this.#transport;
    this.#cancel = platform.after(everyMs, () => {
      const isLate = this.#until !== null && this.#until.leftMs <= 0;
      if (isLate) return this.#lose('no renewal was answered in time');
      const seconds = Math.max(SECONDS_MIN, Math.ceil((3 * everyMs) / 1000));
      const until = new Deadline(platform, seconds * 1000);
      renew(this.#transport, [this.#id], seconds).then(
        ([result]) => {
          if (result?.renewed !== true) this.#lose('the broker does not renew it');
          else this.#until = until;
        },
        (error) => settings.logger.warn('a lease was not renewed', { error: String(error) }),
      );
      this.#renewAfter(everyMs);
    });
  }

  #lose(why: string): void {
    if (this.#isOver || this.#lost !== null) return;
    const text = `the lease ${this.#id} is lost: ${why}`;
    this.#lost = new ClientError(text, { code: 'lease_lost' });
    this.#cancel();
    this.#transport.settings.logger.warn(`${text}; its messages are delivered again`);
    this.#stopping?.abort(this.#lost);
  }
}
