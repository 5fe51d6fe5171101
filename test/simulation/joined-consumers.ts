/**
 * Consumers that acknowledge a batch in the request that pops the next one, in a group of their
 * own. Deliveries and acks are a history for the checkers that judge all other consumers too.
 *
 * What must be so besides: a call whose verdict says that a message is done does not deliver it,
 * for its acks go before its pop; and verdicts hold whatever the pop finds, so a process that is
 * killed while the pop waits takes back none that was told.
 *
 * A call without an answer is not repeated as a whole: its acks are, by themselves, until there is
 * a verdict, as a client does whose loop ends. Another lease may be on the partition by then, that
 * of the lost answer: the verdict is a refusal then, and the messages behind come again.
 */
import type { AckCommand, PopCommand } from '@svc/engine';
import type { AckedPop, DeliveredOutcome, SubmittedOutcome } from '@svc/http';
import type { Ack, AckOutcome, Delivery, ReadRecord } from '../checkers/history.js';
import type { SeededRandom } from '../seeded-random.js';
import { ackOf, type Claimed, claimedOf, haveCompleted } from './claims.js';
import { TENANT } from './client-messages.js';
import type { Caller, ClientNetwork } from './client-network.js';
import type { Pace } from './pace.js';
import type { SimulatedLoop } from './simulated-loop.js';

export const JOINED_GROUP = 'joined';
const LEASE_SECONDS = 1;

interface JoinedOptions {
  readonly loop: SimulatedLoop;
  readonly random: SeededRandom;
  readonly network: ClientNetwork;
  readonly pace: Pace;
  /** The queue that they take from. */
  readonly queue: string;
  readonly note: (text: string) => void;
}

/** A batch, and whether its last message is to come again. */
interface Batch {
  readonly claimed: readonly Claimed[];
  readonly retriesLast: boolean;
}

type Refused = { readonly kind: 'refused' };

export class JoinedConsumers {
  readonly deliveries: Delivery[] = [];
  readonly acks: Ack[] = [];
  /** Faults that a client saw by itself. */
  readonly wrong: string[] = [];
  readonly #options: JoinedOptions;
  #orderly = false;
  #open = 0;
  #calls = 0;

  constructor(options: JoinedOptions) {
    this.#options = options;
  }

  /** Every ack has its verdict; one that came with a pop is told when that ends. */
  get idle(): boolean {
    return this.#open === 0;
  }

  start(): void {
    const { network, random } = this.#options;
    for (let i = random.between(1, 3); i > 0; i--) this.#begin(network.caller());
  }

  /** From here on everything is completed, and nobody dawdles. */
  end(): void {
    this.#orderly = true;
  }

  /** Every message has been completed, as far as the verdicts say. */
  haveConsumed(records: readonly ReadRecord[]): boolean {
    return haveCompleted(this.acks, records);
  }

  #begin(caller: Caller): void {
    const pop = this.#popCommand();
    caller.call<DeliveredOutcome | Refused>(
      (broker, reply) => broker.pop(pop.at(broker.monotonicMs()), reply),
      (answer) => {
        const isDelivered = typeof answer !== 'string' && answer.kind === 'delivered';
        this.#work(caller, isDelivered ? this.#claimedOf(answer, pop.beganMs) : []);
      },
      pop.timeoutMs,
    );
  }

  #work(caller: Caller, claimed: readonly Claimed[]): void {
    const { loop, pace, random } = this.#options;
    const begin = () => this.#begin(caller);
    if (claimed.length === 0) {
      loop.schedule(pace.stretch(random.between(1, 30)), null, begin);
      return;
    }
    // A worker that vanished with its batch.
    if (!this.#orderly && random.chance(0.02)) {
      begin();
      return;
    }
    const dawdles = !this.#orderly && random.chance(0.03);
    const thinkMs = dawdles ? LEASE_SECONDS * 1000 + 50 : random.next() * 4;
    const isSingle = new Set(claimed.map(({ partitionId }) => partitionId)).size === 1;
    const retriesLast = !this.#orderly && isSingle && random.chance(0.1);
    loop.after(thinkMs, () => this.#ackAndPop(caller, { claimed, retriesLast }));
  }

  #ackAndPop(caller: Caller, batch: Batch): void {
    const pop = this.#popCommand();
    this.#open++;
    caller.call<AckedPop | Refused>(
      (broker, reply) => broker.ackAndPop(ackCommand(batch), pop.at(broker.monotonicMs()), reply),
      (answer) => {
        this.#open--;
        if (typeof answer === 'string' || answer.kind === 'refused') {
          if (answer !== 'refused') this.#record(batch, null, pop.beganMs);
          if (batch.retriesLast) this.#begin(caller);
          else this.#ack(caller, batch, 0);
          return;
        }
        const { acked, popped } = answer;
        this.#record(batch, acked.items, pop.beganMs);
        const claimed = popped.kind === 'refused' ? [] : this.#claimedOf(popped, pop.beganMs);
        this.#checkOrder(batch, acked.items, claimed);
        this.#work(caller, claimed);
      },
      pop.timeoutMs,
    );
  }

  /** By itself, until there is a verdict. */
  #ack(caller: Caller, batch: Batch, tries: number): void {
    const { loop, pace } = this.#options;
    const beganMs = loop.nowMs;
    this.#open++;
    caller.call<SubmittedOutcome>(
      (broker, reply) => broker.submit(ackCommand(batch), reply),
      (answer) => {
        this.#open--;
        const isKnown = typeof answer !== 'string' && answer.kind === 'acked';
        if (answer !== 'refused') this.#record(batch, isKnown ? answer.items : null, beganMs);
        if (isKnown) this.#begin(caller);
        else loop.after(pace.again(tries), () => this.#ack(caller, batch, tries + 1));
      },
    );
  }

  #popCommand() {
    const { loop, pace, queue, random } = this.#options;
    const timeoutMs = Math.ceil(pace.stretch(random.between(20, 400)));
    const command: Omit<PopCommand, 'deadlineMs'> = {
      kind: 'pop',
      tenant: TENANT,
      scope: { kind: 'queue', queue },
      consumerGroup: JOINED_GROUP,
      batch: random.between(1, 8),
      partitions: random.between(1, 3),
      autoAck: false,
      wait: random.chance(0.7),
      leaseSeconds: LEASE_SECONDS,
      subscription: { mode: 'all' },
      conflation: null,
      autopilot: null,
    };
    const at = (nowMs: number): PopCommand => ({ ...command, deadlineMs: nowMs + timeoutMs });
    return { at, timeoutMs, beganMs: loop.nowMs };
  }

  #claimedOf(answer: DeliveredOutcome, beganMs: number): Claimed[] {
    const { loop, queue } = this.#options;
    const times = { beganMs, endedMs: loop.nowMs };
    const lease = { group: JOINED_GROUP, call: this.#calls++, leaseMs: LEASE_SECONDS * 1000 };
    const claimed = claimedOf(answer, queue, { ...lease, ...times });
    this.deliveries.push(...claimed.map(({ delivery }) => delivery));
    return claimed;
  }

  /** `verdicts` null: there was no answer. */
  #record(
    { claimed, retriesLast }: Batch,
    verdicts: AckedPop['acked']['items'] | null,
    beganMs: number,
  ): void {
    const { loop, note } = this.#options;
    claimed.forEach(({ delivery }, i) => {
      const { group, partition, offset, leaseId } = delivery;
      const signal = retriesLast && i === claimed.length - 1;
      const verdict = verdicts?.[i];
      let outcome: AckOutcome = 'unknown';
      if (verdict !== undefined) {
        if (!verdict.success) outcome = 'refused';
        else if (signal) outcome = 'released';
        else outcome = verdict.noop ? 'noop' : 'done';
      }
      const ended = { beganMs, endedMs: loop.nowMs };
      this.acks.push({ group, partition, offset, leaseId, signal, ...ended, outcome });
      note(`joined ${partition}@${offset} ${outcome}`);
    });
  }

  #checkOrder(
    batch: Batch,
    verdicts: AckedPop['acked']['items'],
    claimed: readonly Claimed[],
  ): void {
    batch.claimed.forEach(({ delivery }, i) => {
      const { partition, offset } = delivery;
      const isSignal = batch.retriesLast && i === batch.claimed.length - 1;
      if (isSignal || verdicts[i]?.success !== true) return;
      const again = claimed.some(
        (one) => one.delivery.partition === partition && one.delivery.offset === offset,
      );
      if (again) this.wrong.push(`delivered by the call that completed it: ${partition}@${offset}`);
    });
  }
}

function ackCommand({ claimed, retriesLast }: Batch): AckCommand {
  const items = claimed.map((each, i) => {
    const isSignal = retriesLast && i === claimed.length - 1;
    return ackOf(each, isSignal ? 'retry' : 'completed');
  });
  return { kind: 'ack', tenant: TENANT, consumerGroup: JOINED_GROUP, items };
}
