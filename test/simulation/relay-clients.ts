/**
 * Consumers that settle what they take by transactions: the ack of each message, a result for it in
 * another queue, and a position of a second group that follows the first. Nothing but atomicity
 * keeps these in step: results have no ids of their own, so no deduplication hides a second one.
 *
 * What must be so in the end, whatever happened on the way: every message has exactly one result,
 * and the group that follows stands where the relaying group does. Deliveries and acks are a
 * history for the checkers that judge all other consumers too.
 *
 * Now and then a transaction is made to fail by its last guard, and the same batch is settled
 * properly after it: had the failed one left its acks, results would be missing; had it left its
 * results, they would be there twice.
 *
 * A transaction without an answer is sent again: its lease allows it once. One that is rejected
 * after that has been committed before, or its lease is over; asking for a retry under the lease
 * tells which. A lease that was settled is still known then, and nothing changes. Any other is
 * given back where it is held, and its messages come again. An ack would settle these without a
 * result: of a batch from several partitions one part may be held yet and another not, and so may a
 * lease be that was over for one leader and has its grace from the next.
 */
import { type TransactionCommand, WHOLE } from '@svc/engine';
import type { DeliveredOutcome, QueueDepthView, SubmittedOutcome } from '@svc/http';
import {
  type Ack,
  type AckOutcome,
  type Delivery,
  groupBy,
  type ReadRecord,
} from '../checkers/history.js';
import type { SeededRandom } from '../seeded-random.js';
import { ackOf, type Claimed, claimedOf, haveCompleted } from './claims.js';
import { type Message, pushCommand, TENANT } from './client-messages.js';
import type { Caller, ClientNetwork, NoAnswer } from './client-network.js';
import type { Pace } from './pace.js';
import type { SimulatedLoop } from './simulated-loop.js';

export const RELAY_GROUP = 'relay';
export const RELAYED_QUEUE = 'sim.relayed';
/** Its positions are set by these clients alone. */
const FOLLOWER_GROUP = 'follower';
/** An id that makes a transaction fail, but for the first one in each partition. */
const ONCE = 'once';
const LEASE_SECONDS = 1;

export interface RelayClientsOptions {
  readonly loop: SimulatedLoop;
  readonly random: SeededRandom;
  readonly network: ClientNetwork;
  readonly pace: Pace;
  /** What they take from. */
  readonly queue: string;
  readonly note: (text: string) => void;
}

/** What one transaction says of its messages. */
interface Move {
  readonly claimed: readonly Claimed[];
  /** The last message is to come again. */
  readonly retriesLast: boolean;
  /** It pushes what is there already. */
  readonly fails: boolean;
}

export class RelayClients {
  readonly deliveries: Delivery[] = [];
  readonly acks: Ack[] = [];
  /** What a client saw that is wrong by itself. */
  readonly wrong: string[] = [];
  readonly #options: RelayClientsOptions;
  #orderly = false;
  #open = 0;
  #calls = 0;

  constructor(options: RelayClientsOptions) {
    this.#options = options;
  }

  /** Nothing that was asked for is without its end. */
  get idle(): boolean {
    return this.#open === 0;
  }

  start(): void {
    const { network, random } = this.#options;
    for (let i = random.between(1, 2); i > 0; i--) this.#relay(network.caller());
  }

  /** From here on no message is asked for again, and no transaction is made to fail. */
  end(): void {
    this.#orderly = true;
  }

  /** Every message has been settled, as far as the answers say. */
  haveConsumed(records: readonly ReadRecord[]): boolean {
    return haveCompleted(this.acks, records);
  }

  /** Whether the group that follows has nothing left to read; null: there was no answer. */
  hasFollowed(caller: Caller, done: (followed: boolean | null) => void): void {
    const { queue } = this.#options;
    caller.call<QueueDepthView | { readonly kind: 'not-found' | 'refused' }>(
      (broker, reply) => broker.queueDepth(TENANT, queue, FOLLOWER_GROUP, WHOLE, reply),
      (answer) => {
        if (answer === 'refused' || answer === 'unknown') done(null);
        else if (answer.kind === 'queue-depth') {
          done(answer.partitions.every(({ pending }) => pending === 0));
        } else done(answer.kind === 'not-found' ? true : null);
      },
    );
  }

  #relay(caller: Caller): void {
    const { loop, pace, random } = this.#options;
    this.#pop(caller, (claimed) => {
      const again = (delayMs: number) => {
        loop.schedule(pace.stretch(delayMs), null, () => this.#relay(caller));
      };
      if (claimed.length === 0) return again(random.between(1, 30));
      const dawdles = !this.#orderly && random.chance(0.03);
      const thinkMs = dawdles ? LEASE_SECONDS * 1000 + 50 : random.next() * 4;
      loop.after(thinkMs, () => this.#settle(caller, claimed, () => again(0)));
    });
  }

  #pop(caller: Caller, done: (claimed: readonly Claimed[]) => void): void {
    const { loop, pace, queue, random } = this.#options;
    const call = this.#calls++;
    const beganMs = loop.nowMs;
    const batch = random.between(1, 8);
    const partitions = random.between(1, 3);
    const timeoutMs = Math.ceil(pace.stretch(random.between(20, 400)));
    caller.call<DeliveredOutcome | { readonly kind: 'refused' }>(
      (broker, reply) =>
        broker.pop(
          {
            kind: 'pop',
            tenant: TENANT,
            scope: { kind: 'queue', queue },
            consumerGroup: RELAY_GROUP,
            batch,
            partitions,
            autoAck: false,
            wait: true,
            deadlineMs: broker.monotonicMs() + timeoutMs,
            leaseSeconds: LEASE_SECONDS,
            subscription: { mode: 'all' },
            conflation: null,
            autopilot: null,
          },
          reply,
        ),
      (answer) => {
        const isAnswered = answer !== 'refused' && answer !== 'unknown';
        const isDelivered = isAnswered && answer.kind === 'delivered';
        done(isDelivered ? this.#claimedOf(answer, call, beganMs) : []);
      },
      timeoutMs,
    );
  }

  #claimedOf(answer: DeliveredOutcome, call: number, beganMs: number): Claimed[] {
    const { loop, queue } = this.#options;
    const lease = { group: RELAY_GROUP, call, leaseMs: LEASE_SECONDS * 1000 };
    const claimed = claimedOf(answer, queue, { ...lease, beganMs, endedMs: loop.nowMs });
    this.deliveries.push(...claimed.map(({ delivery }) => delivery));
    return claimed;
  }

  #settle(caller: Caller, claimed: readonly Claimed[], done: () => void): void {
    const { random } = this.#options;
    const isSingle = new Set(claimed.map(({ partitionId }) => partitionId)).size === 1;
    const retriesLast = !this.#orderly && isSingle && random.chance(0.1);
    const move = { claimed, retriesLast, fails: false };
    if (this.#orderly || !random.chance(0.2)) {
      this.#transact(caller, move, 0, done);
      return;
    }
    this.#transact(caller, { claimed, retriesLast: false, fails: true }, 0, (outcome) => {
      if (outcome === null || outcome === 'unknown') {
        this.#transact(caller, move, outcome === null ? 0 : 1, done);
      } else done();
    });
  }

  /** `tries`: sendings of which nothing was heard. */
  #transact(
    caller: Caller,
    move: Move,
    tries: number,
    done: (outcome: AckOutcome | null) => void,
  ): void {
    const { loop, pace } = this.#options;
    const beganMs = loop.nowMs;
    this.#open++;
    caller.call<SubmittedOutcome>(
      (broker, reply) => broker.submit(commandOf(move), reply),
      (answer) => {
        this.#open--;
        const outcome = this.#outcomeOf(move, answer);
        if (outcome !== null && answer !== 'refused') this.#record(move, outcome, beganMs);
        const isRepeated = tries > 0 && !move.retriesLast;
        if (outcome === 'refused' && isRepeated) {
          this.#ask(caller, move.claimed, () => done(outcome));
        } else if (outcome !== 'unknown' || move.retriesLast || move.fails) done(outcome);
        else {
          const delayMs = pace.again(tries);
          loop.after(delayMs, () => this.#transact(caller, move, tries + 1, done));
        }
      },
    );
  }

  /** null: it had no effect, and says nothing of the lease. */
  #outcomeOf({ fails }: Move, answer: SubmittedOutcome | NoAnswer): AckOutcome | null {
    if (answer === 'refused' || answer === 'unknown' || answer.kind !== 'transacted') {
      return 'unknown';
    }
    const { rollback } = answer;
    if (rollback === null) return 'done';
    if (rollback.reason === 'rejected_ack') return 'refused';
    if (!fails || rollback.reason !== 'duplicate') {
      this.wrong.push(`a transaction failed: ${rollback.reason} ${rollback.error}`);
    }
    return null;
  }

  #record({ claimed, retriesLast }: Move, outcome: AckOutcome, beganMs: number): void {
    claimed.forEach((each, i) => {
      const signal = retriesLast && i === claimed.length - 1;
      this.#recordOne(each, signal, signal && outcome === 'done' ? 'released' : outcome, beganMs);
    });
    const { partition, offset } = claimed[0]?.delivery ?? {};
    this.#options.note(`relay ${partition}@${offset}+${claimed.length} ${outcome}`);
  }

  #recordOne({ delivery }: Claimed, signal: boolean, outcome: AckOutcome, beganMs: number): void {
    const { group, partition, offset, leaseId } = delivery;
    const endedMs = this.#options.loop.nowMs;
    this.acks.push({ group, partition, offset, leaseId, signal, beganMs, endedMs, outcome });
  }

  /** Whether a batch was settled whose transaction was rejected; if not, it is given back. */
  #ask(caller: Caller, claimed: readonly Claimed[], done: () => void): void {
    const { loop, pace } = this.#options;
    const beganMs = loop.nowMs;
    const items = claimed.map((each) => ackOf(each, 'retry'));
    this.#open++;
    caller.call<SubmittedOutcome>(
      (broker, reply) =>
        broker.submit({ kind: 'ack', tenant: TENANT, consumerGroup: RELAY_GROUP, items }, reply),
      (answer) => {
        this.#open--;
        if (answer === 'refused' || answer === 'unknown' || answer.kind !== 'acked') {
          loop.after(pace.again(0), () => this.#ask(caller, claimed, done));
          return;
        }
        claimed.forEach((each, i) => {
          const item = answer.items[i];
          if (item?.success !== true) this.#recordOne(each, true, 'refused', beganMs);
          else if (item.noop) this.#recordOne(each, false, 'noop', beganMs);
          else this.#recordOne(each, true, 'released', beganMs);
        });
        done();
      },
    );
  }
}

function commandOf({ claimed, retriesLast, fails }: Move): TransactionCommand {
  const completed = retriesLast ? claimed.slice(0, -1) : claimed;
  const messages = completed.map(({ delivery }) => resultOf(delivery));
  if (fails) {
    const partition = nameOf(claimed[0]?.delivery.partition ?? '');
    messages.push({ value: '', partition, transactionId: ONCE, payload: `"${ONCE}"` });
  }
  return {
    kind: 'transaction',
    tenant: TENANT,
    acks: claimed.map((each, i) => {
      const isLast = retriesLast && i === claimed.length - 1;
      return { consumerGroup: RELAY_GROUP, ...ackOf(each, isLast ? 'retry' : 'completed') };
    }),
    pushes: messages.length === 0 ? null : pushCommand(RELAYED_QUEUE, messages),
    traceIds: null,
    positions: positionsOf(completed),
    kv: null,
    timers: null,
    flaw: null,
  };
}

function positionsOf(completed: readonly Claimed[]): TransactionCommand['positions'] {
  const next = new Map<string, number>();
  for (const { delivery } of completed) next.set(delivery.partition, delivery.offset + 1);
  return [...next].map(([place, offset]) => ({
    queue: place.slice(0, place.lastIndexOf('/')),
    consumerGroup: FOLLOWER_GROUP,
    partition: nameOf(place),
    offset,
    metadata: null,
    subscription: { mode: 'all' },
  }));
}

function resultOf({ partition, offset }: ReadRecord): Message {
  const payload = JSON.stringify(`${partition}@${offset}`);
  return { value: '', partition: nameOf(partition), transactionId: null, payload };
}

function nameOf(place: string): string {
  return place.slice(place.lastIndexOf('/') + 1);
}

/**
 * Returns the anomalies in the results of these messages. For each of them some transaction was
 * told that it had settled it, or was told nothing.
 */
export function checkResults(
  messages: readonly ReadRecord[],
  relayed: readonly ReadRecord[],
  acks: readonly Ack[],
): readonly string[] {
  const wrong: string[] = [];
  const settled = new Set<string>();
  for (const { partition, offset, outcome } of acks) {
    const isSettled = outcome === 'done' || outcome === 'noop' || outcome === 'unknown';
    if (isSettled) settled.add(JSON.stringify(`${partition}@${offset}`));
  }
  const results = groupBy(relayed, ({ payload }) => payload);
  for (const message of messages) {
    const { payload, partition } = resultOf(message);
    const found = results.get(payload) ?? [];
    const isThere = found.every((result) => nameOf(result.partition) === partition);
    if (found.length !== 1 || !isThere) wrong.push(`relay: ${found.length} results of ${payload}`);
    if (!settled.has(payload)) wrong.push(`relay: ${payload} was settled, and nobody was told`);
    results.delete(payload);
  }
  const onces = results.get(`"${ONCE}"`) ?? [];
  const places = new Set(onces.map(({ partition }) => partition));
  if (places.size < onces.length) wrong.push(`relay: "${ONCE}" is there ${onces.length} times`);
  results.delete(`"${ONCE}"`);
  for (const payload of results.keys()) wrong.push(`relay: ${payload} is the result of nothing`);
  return wrong;
}
