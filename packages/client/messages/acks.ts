/** Acknowledgements and renewals: one call for each group, verdicts in the order of the request. */
import { misuse, nameOf, oneOf, refuseUnknown } from '../base/checks.js';
import { notItsResult } from '../base/errors.js';
import { path, type Transport } from '../transport/transport.js';

/** What names a message; a `Message` does. */
export interface Acked {
  readonly transactionId: string;
  readonly partitionId: string;
  readonly leaseId?: string | undefined;
  readonly consumerGroup?: string | undefined;
  /** Instead of the status of the call. */
  readonly _status?: AckStatus;
  /** Instead of the error of the call. */
  readonly _error?: string;
}

export type StatusWord = 'completed' | 'failed' | 'retry' | 'dlq';
/** `true` is `completed`, `false` is `failed`. */
export type AckStatus = boolean | StatusWord;

export interface AckOptions {
  /** That of the message without. */
  readonly group?: string;
  /** Kept with a dead letter. */
  readonly error?: string;
}

export interface AckResult {
  readonly transactionId: string;
  /** Whether the instruction was carried out, `failed` too. */
  readonly success: boolean;
  /** Why not. */
  readonly error: string | null;
  readonly leaseReleased: boolean;
  /** This message is a dead letter now. */
  readonly dlq: boolean;
  /** It was completed before. */
  readonly noop: boolean;
}

/** 10,000 messages of a call are within what the broker takes. */
const ERROR_CHARACTERS_MAX = 4096;
const STATUSES: readonly AckStatus[] = [true, false, 'completed', 'failed', 'retry', 'dlq'];

export function statusWord(status: AckStatus): StatusWord {
  oneOf(status, 'the status of an ack', STATUSES);
  return typeof status === 'boolean' ? (status ? 'completed' : 'failed') : status;
}

/** As the wire has it. */
export function ackItem(message: Acked, status: AckStatus, error: string | undefined) {
  refuseUnnamed(message);
  const { transactionId, partitionId, leaseId, _status, _error } = message;
  return {
    transactionId,
    partitionId,
    leaseId: leaseId === '' ? undefined : leaseId,
    status: statusWord(_status ?? status),
    error: sentText(_error ?? error),
  };
}

/**
 * Half of a character (a text that was cut within one) would have the broker refuse the acks of the
 * whole call, and a long text for each message of a batch would make the call too large.
 */
function sentText(error: string | undefined): string | undefined {
  if (error === undefined) return undefined;
  if (typeof error !== 'string') throw misuse('the error of an ack', error, 'a text');
  return error.slice(0, ERROR_CHARACTERS_MAX).replace(/\p{Surrogate}/gu, '\ufffd');
}

export async function ack(
  transport: Transport,
  messages: readonly Acked[],
  status: AckStatus,
  options: AckOptions,
): Promise<AckResult[]> {
  refuseUnknown(options, 'group error', 'ack');
  if (options.group !== undefined) nameOf(options.group, 'group');
  const items = messages.map((message) => ackItem(message, status, options.error));
  const results: AckResult[] = [];
  const groups = new Map<string | undefined, number[]>();
  messages.forEach((message, i) => {
    const group = options.group ?? message.consumerGroup;
    const places = groups.get(group);
    if (places === undefined) groups.set(group, [i]);
    else places.push(i);
  });
  for (const [consumerGroup, places] of groups) {
    const acknowledgments = places.map((i) => items[i]);
    const { body } = await transport.call<readonly AckResult[]>({
      method: 'POST',
      path: '/api/v1/ack/batch',
      body: JSON.stringify({ consumerGroup, acknowledgments }),
      repeat: 'any',
    });
    if (!Array.isArray(body) || body.length !== places.length) {
      throw notItsResult(`an ack of ${places.length} messages`);
    }
    places.forEach((place, i) => {
      const { transactionId, success, error, leaseReleased, dlq, noop } = body[i] as AckResult;
      results[place] = { transactionId, success, error, leaseReleased, dlq, noop };
    });
  }
  return results;
}

export interface RenewResult {
  readonly leaseId: string;
  /** false: the lease is over, and its messages are delivered again. */
  readonly renewed: boolean;
  /** The earliest end of what was renewed. */
  readonly expiresAt: string | null;
}

/** A lease by its id, or the lease of a message. */
export type Leased = string | { readonly leaseId: string };

export async function renew(
  transport: Transport,
  leases: readonly Leased[],
  seconds: number,
): Promise<RenewResult[]> {
  const ids = leases.map(leaseIdOf);
  const results = new Map<string, RenewResult>();
  for (const id of new Set(ids)) {
    const { body } = await transport.call<{ success: boolean; newExpiresAt: string | null }>({
      method: 'POST',
      path: path`/api/v1/lease/${id}/extend`,
      body: JSON.stringify({ seconds }),
      repeat: 'any',
    });
    const renewed = body?.success === true;
    results.set(id, { leaseId: id, renewed, expiresAt: body?.newExpiresAt ?? null });
  }
  return ids.map((id) => results.get(id) as RenewResult);
}

function leaseIdOf(lease: Leased): string {
  const id = typeof lease === 'string' ? lease : lease?.leaseId;
  if (typeof id === 'string' && id !== '') return id;
  throw misuse('the lease', lease, 'a message, or its leaseId');
}

function refuseUnnamed(message: Acked): void {
  const { transactionId, partitionId } = (message ?? {}) as Partial<Acked>;
  const isNamed = typeof transactionId === 'string' && /^\d+$/.test(String(partitionId));
  if (isNamed && typeof partitionId === 'string') return;
  throw misuse('what ack got', message, 'a message of a pop, or its transactionId and partitionId');
}
