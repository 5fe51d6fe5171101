/**
 * Tells the operator of payloads that the key does not open.
 *
 * Their readers get the envelope as data and no error, so nobody else would
 * tell that a node runs with another key than the one that wrote. A line for each would be as many
 * as there are messages, and a client can push what only looks like an envelope. So each is
 * counted, and a line comes once a minute at most, with how many there were since the one before.
 */
import type { EncryptionMeters } from '@svc/wire';
import type { Clock } from '../system/clock.js';
import type { Logger } from '../system/logging.js';

const LINE_EVERY_MS = 60_000;

export class UnopenedPayloads {
  readonly #meters: EncryptionMeters;
  readonly #clock: Pick<Clock, 'nowMs'>;
  readonly #logger: Pick<Logger, 'warn'>;
  #told = 0;
  #toldMs = Number.NEGATIVE_INFINITY;

  constructor(meters: EncryptionMeters, clock: Pick<Clock, 'nowMs'>, logger: Pick<Logger, 'warn'>) {
    this.#meters = meters;
    this.#clock = clock;
    this.#logger = logger;
  }

  met(): void {
    this.#meters.unopened++;
    const nowMs = this.#clock.nowMs();
    if (nowMs - this.#toldMs < LINE_EVERY_MS) return;
    const payloads = this.#meters.unopened - this.#told;
    this.#told = this.#meters.unopened;
    this.#toldMs = nowMs;
    const text =
      'SVC_ENCRYPTION_KEY does not open payloads that are stored encrypted: readers get them ' +
      'as they are stored. Another key wrote them, or a client pushed what looks like an envelope';
    this.#logger.warn('encryption', text, { payloads });
  }
}
