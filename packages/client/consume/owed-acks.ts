/**
 * Acknowledgements of a batch that is done: the next pop of its worker carries them, one request in
 * place of two (docs/api.md, "Acknowledge and pop in one request").
 *
 * What must hold:
 * - Nothing is acknowledged later than by a request of its own: the broker carries acks out at
 *   once, however long it lets the pop wait; and where no pop follows at once (the end of a loop, a
 *   limit, an idle pause, a pop that cannot carry them), `send` is called.
 * - It is known hardly later that nothing was acknowledged. A connection may die without a word,
 *   before the request or after it, and then there is no answer until the time of a call is over,
 *   with that of its wait. Acks are sent again after the first, and the lease should last for
 *   that; so a pop that carries them waits for a second at most, and the long poll behind it
 *   carries none. Where messages come every second or faster this costs no request.
 * - A pop that fails tells nothing of its acks but by their verdicts: without those they are sent
 *   once more. They may have been applied, so a refusal for their lease is no news then: it was
 *   released by them.
 * - A server that refuses a pop with acks with a 4xx (an older one has no such route, a proxy lets
 *   none pass) has done nothing. The acks go by themselves, the pop is asked for without them, and
 *   for a minute no pop carries any to that server. Behind one address there may be old and new
 *   servers, so what one of them said is not held for longer.
 */
import { ClientError } from '../base/errors.js';
import { type AckResult, type AckStatus, ack, ackItem } from '../messages/acks.js';
import type { Message } from '../messages/message.js';
import { type AckedPop, ackAndPop, affinityOf, type PopTerms, pop } from '../messages/pop.js';
import type { Transport } from '../transport/transport.js';

export interface Settled {
  readonly message: Message;
  readonly status: AckStatus;
  readonly error: string | undefined;
}

/** In the broker's answer for a message. */
const LEASE_OVER = 'expired lease';
/** Bounds of the broker for acks with a pop. */
const CARRIED_MAX = 256;
const CARRIED_BYTES_MAX = 65_536;
const CARRYING_WAIT_MS_MAX = 1000;

type OnLost = (partitionId: string) => void;

export class OwedAcks {
  readonly #transport: Transport;
  #owed: Settled[] = [];

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  add(settled: readonly Settled[]): void {
    this.#owed = this.#owed.concat(settled);
  }

  /** By a request of their own. It never rejects: see `sendSettled`. */
  async send(isRepeat = false): Promise<void> {
    const owed = this.#owed;
    this.#owed = [];
    if (owed.length > 0) await sendSettled(this.#transport, owed, { isRepeat });
  }

  /** Rejects as a pop does; what is owed has been sent then, as far as it can be. */
  async pop<Data>(terms: PopTerms, signal: AbortSignal): Promise<Message<Data>[]> {
    const transport = this.#transport;
    const body = this.#carried(terms);
    if (body !== null) {
      try {
        const count = this.#owed.length;
        const short = { ...terms, waitMs: Math.min(terms.waitMs, CARRYING_WAIT_MS_MAX) };
        const acked = await ackAndPop<Data>(transport, short, body, count, signal);
        this.#told(acked);
        return acked.messages;
      } catch (error) {
        await this.#failed(error);
        if (!isRejected(error)) throw error;
      }
    }
    await this.send();
    return (await pop<Data>(transport, terms, signal)).messages;
  }

  /** null: the pop carries nothing. */
  #carried(terms: PopTerms): string | null {
    const count = this.#owed.length;
    if (count === 0 || count > CARRIED_MAX || terms.queue === undefined) return null;
    if (!this.#transport.takesAcks(affinityOf(terms))) return null;
    const acks = this.#owed.map(({ message, status, error }) => ackItem(message, status, error));
    const body = JSON.stringify({ acks });
    if (body.length * 3 <= CARRIED_BYTES_MAX) return body;
    return new TextEncoder().encode(body).length <= CARRIED_BYTES_MAX ? body : null;
  }

  #told({ acks, isRepeat }: Pick<AckedPop<unknown>, 'acks' | 'isRepeat'>): void {
    const owed = this.#owed;
    this.#owed = [];
    tell(this.#transport, owed, acks, { isRepeat });
  }

  async #failed(error: unknown): Promise<void> {
    const { acks } = (bodyOf(error) ?? {}) as { readonly acks?: readonly AckResult[] };
    if (Array.isArray(acks) && acks.length === this.#owed.length) {
      this.#told({ acks, isRepeat: true });
    } else await this.send(true);
  }
}

function bodyOf(error: unknown): unknown {
  return error instanceof ClientError ? error.body : undefined;
}

function isRejected(error: unknown): boolean {
  if (!(error instanceof ClientError)) return false;
  return error.status >= 400 && error.status < 500 && error.status !== 429;
}

interface Telling {
  /** They may have been applied before. */
  readonly isRepeat?: boolean;
  /** Another consumer has the partition, or will. */
  readonly onLost?: OnLost;
}

/** It never rejects: what could not be acknowledged is delivered again. */
export async function sendSettled(
  transport: Transport,
  settled: readonly Settled[],
  telling: Telling,
): Promise<void> {
  const items = settled.map(({ message, status, error }) => {
    const { transactionId, partitionId, leaseId, consumerGroup } = message;
    const _status = status === true ? 'completed' : status === false ? 'failed' : status;
    const names = { transactionId, partitionId, leaseId, consumerGroup, _status };
    return error === undefined ? names : { ...names, _error: error };
  });
  try {
    tell(transport, settled, await ack(transport, items, true, {}), telling);
  } catch (error) {
    transport.settings.logger.warn(
      'an ack failed; its messages are delivered again when their lease ends',
      { messages: items.length, error: String(error) },
    );
  }
}

function tell(
  { settings }: Transport,
  settled: readonly Settled[],
  results: readonly Pick<AckResult, 'success' | 'error' | 'transactionId'>[],
  { isRepeat = false, onLost }: Telling,
): void {
  results.forEach(({ success, error, transactionId }, i) => {
    if (success) return;
    const isOver = error?.includes(LEASE_OVER) === true;
    if (isOver && isRepeat) return;
    const facts = { transactionId, error };
    settings.logger.warn('an ack was refused; the message is delivered again', facts);
    if (isOver) onLost?.(settled[i]?.message.partitionId ?? '');
  });
}
