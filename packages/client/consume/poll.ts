/** A pop of a loop: what it is answered decides whether the loop goes on. */
import { ClientError } from '../base/errors.js';
import { onAbort } from '../base/on-abort.js';
import { sleep } from '../base/platform.js';
import { type StandardSchema, validated } from '../base/standard-schema.js';
import type { Message } from '../messages/message.js';
import type { PopTerms } from '../messages/pop.js';
import type { Transport } from '../transport/transport.js';
import { OwedAcks } from './owed-acks.js';
import { Settlement } from './settlement.js';

const PAUSE_MS = 1000;
/** An answer that is on its way has come by then, unless the broker is very busy. */
const GRACE_MS = 250;

/**
 * Carries what is owed for the batch before, or sends it.
 *
 * Nothing, when there was nothing, when the signal was aborted (what came about then is given
 * back), and after the pause that follows a failure. Rejects with a 4xx: asking again would give
 * the same.
 *
 * A request that is cut off while its answer is on the way leaves a lease that nobody knows of: its
 * partitions stand still until it ends, minutes later. So an aborted one is let go on for a moment.
 * One that is still without an answer waits for messages, and the broker learns of the cut.
 */
export async function poll<Data>(
  transport: Transport,
  terms: PopTerms,
  signal: AbortSignal,
  owed = new OwedAcks(transport),
): Promise<Message<Data>[]> {
  if (signal.aborted) return [];
  const cutting = new AbortController();
  let cancel = (): void => undefined;
  const forget = onAbort(signal, () => {
    cancel = transport.platform.after(GRACE_MS, () => cutting.abort(signal.reason));
  });
  try {
    const messages = await owed.pop<Data>(terms, cutting.signal);
    if (!signal.aborted) return messages;
    const settlement = new Settlement(transport);
    settlement.settle(messages, 'retry');
    await settlement.done();
    return [];
  } catch (error) {
    if (signal.aborted) return [];
    if (!(error instanceof ClientError) || error.code === 'closed') throw error;
    if (error.status >= 400 && error.status < 500 && error.status !== 429) throw error;
    transport.settings.logger.warn('a pop failed', { error: error.message });
    await pause(transport, signal);
    return [];
  } finally {
    forget();
    cancel();
  }
}

export async function pause({ platform }: Transport, signal: AbortSignal): Promise<void> {
  await sleep(platform, PAUSE_MS, signal).catch(() => undefined);
}

/** Puts what the schema makes of the payload in its place; rejects when it does not fit. */
export async function checked<Data>(
  message: Message<Data>,
  schema: StandardSchema | undefined,
): Promise<void> {
  if (schema === undefined) return;
  message.replaceData((await validated(schema, message.data, 'data')) as Data);
}
