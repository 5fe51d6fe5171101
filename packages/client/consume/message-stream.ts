/**
 * Messages one after the other, for `for await`. A message is completed when the next one is asked
 * for. A loop that is left gives back the message it was at and what was popped with it: whether
 * the message was worked on, `break` and an error in the body do not tell. When the lease is lost
 * nothing is settled: its messages are delivered again.
 */
import type { Message } from '../messages/message.js';
import type { Transport } from '../transport/transport.js';
import type { ConsumeTerms } from './consume-terms.js';
import { Lease } from './lease.js';
import { OwedAcks } from './owed-acks.js';
import { checked, poll } from './poll.js';
import { errorText, Settlement } from './settlement.js';

export async function* messageStream<Data>(
  transport: Transport,
  terms: ConsumeTerms,
  signal: AbortSignal,
): AsyncGenerator<Message<Data>, void, undefined> {
  const owed = new OwedAcks(transport);
  let idleSinceMs = transport.platform.nowMs();
  try {
    for (let taken = 0; taken < terms.limit && !signal.aborted; ) {
      const restMs = terms.idleMs - (transport.platform.nowMs() - idleSinceMs);
      if (restMs <= 0) return;
      const batch = Math.min(terms.pop.batch ?? 1, terms.limit - taken);
      const waitMs = Math.ceil(Math.min(terms.pop.waitMs, restMs));
      const messages = await poll<Data>(transport, { ...terms.pop, batch, waitMs }, signal, owed);
      if (messages.length === 0) continue;
      taken += messages.length;
      yield* settled(transport, terms, messages, signal, owed);
      idleSinceMs = transport.platform.nowMs();
    }
  } finally {
    await owed.send();
  }
}

async function* settled<Data>(
  transport: Transport,
  terms: ConsumeTerms,
  messages: readonly Message<Data>[],
  signal: AbortSignal,
  owed: OwedAcks,
): AsyncGenerator<Message<Data>, void, undefined> {
  const lease = new Lease(transport, messages, signal, terms.renewMs);
  const begun = new Set<string>();
  const held = new Set<string>();
  const settlement = new Settlement(transport, (partitionId) => held.add(partitionId));
  let next = 0;
  try {
    for (; next < messages.length && !signal.aborted && lease.lost === null; next++) {
      const message = messages[next] as Message<Data>;
      if (held.has(message.partitionId)) continue;
      try {
        await checked(message, terms.schema);
      } catch (error) {
        held.add(message.partitionId);
        settlement.settle([message], false, errorText(error));
        continue;
      }
      begun.add(message.partitionId);
      yield message;
      if (terms.autoAck && lease.lost === null) settlement.settle([message], true);
    }
  } finally {
    const kept = terms.autoAck ? held : begun;
    const rest = messages.slice(next).filter(({ partitionId }) => !kept.has(partitionId));
    if (lease.lost === null) settlement.settle(rest, 'retry');
    if (terms.renewMs === null) await settlement.leave(owed);
    else await settlement.done();
    lease.end();
  }
}
