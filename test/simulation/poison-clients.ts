/**
 * Workers that some messages kill, in a queue with a limit of deliveries. A worker that is given
 * such a message acknowledges nothing of its answer: it is silent until its leases end, or says at
 * its end that all of it is to come again.
 *
 * What must be so in the end, whatever happened on the way: every message that kills is one dead
 * letter, every other one was completed, and none is a dead letter for its company. An innocent
 * message can be filed too, when it was alone in an answer that nobody got, or whose
 * acknowledgement did not arrive; so there are at most as many as there were such calls. Where
 * there were none, a message that kills was given to workers as often as the limit says, the last
 * time alone.
 *
 * An acknowledgement is cumulative: one of a message behind a message that kills, before that is
 * filed, would complete it, and its dead letter would be missing.
 */
import type { AckStatus, DeadLetterList, RefusedOutcome } from '@svc/engine';
import type { DeadLetterListView, SubmittedOutcome } from '@svc/http';
import type { ReadRecord } from '../checkers/history.js';
import { TENANT } from './client-messages.js';
import type { Caller } from './client-network.js';
import { type Claimed, pop } from './client-pop.js';
import { Leftover } from './leftover.js';
import { INPUT_PARTITIONS, inputOf, SentInputs } from './sent-inputs.js';
import { isTold, type SurfaceClient, type SurfaceClientOptions } from './surface-client.js';

const QUEUE = 'poison.in';
const GROUP = 'poison';
const LIMIT = 3;
const OPTIONS = { deliveryLimit: LIMIT, retryLimit: 9, dedupWindowSeconds: 3600 };
const LEASE_SECONDS = 1;
const POP_MS = 200;
const LETTERS_MAX = 1000;
/** Three of all inputs. */
const KILLS = /^i(7|23|41)$/;

/** What workers were given of one input. */
interface Given {
  count: number;
  wasAlone: boolean;
}

export class PoisonClients implements SurfaceClient {
  readonly places = INPUT_PARTITIONS.map((partition) => [QUEUE, partition] as const);
  readonly #options: SurfaceClientOptions;
  readonly #inputs: SentInputs;
  readonly #leftover: Leftover;
  readonly #given = new Map<string, Given>();
  /** Answers and acknowledgements that may not have arrived. */
  #doubts = 0;
  #letters: DeadLetterList['letters'] | null = null;
  #isReading = false;
  /** How many there were when the limit was set. */
  #losses = 0;

  constructor(options: SurfaceClientOptions) {
    this.#options = options;
    this.#inputs = new SentInputs(options, QUEUE);
    this.#leftover = new Leftover(options.network.caller(), QUEUE, GROUP);
  }

  start(): void {
    const { network, random } = this.#options;
    this.#configure(network.caller(), () => {
      this.#inputs.start();
      for (let i = random.between(1, 3); i > 0; i--) this.#work(network.caller());
    });
  }

  end(): void {
    this.#inputs.end();
  }

  unfinished(): string | null {
    if (!this.#inputs.areStored) return 'messages that kill are not stored';
    if (!this.#leftover.isEmpty()) return 'messages are left behind one that kills';
    if (this.#letters !== null) return null;
    if (!this.#isReading) this.#read(this.#options.network.caller());
    return 'the dead letters were not read';
  }

  judge(records: readonly ReadRecord[]): readonly string[] {
    const wrong: string[] = [];
    const filed = new Map<string, number>();
    for (const { transactionId, reason } of this.#letters ?? []) {
      filed.set(transactionId, (filed.get(transactionId) ?? 0) + 1);
      if (reason !== 'delivery_limit') wrong.push(`poison: ${transactionId} filed for ${reason}`);
    }
    let innocents = 0;
    for (const input of records.map(inputOf)) {
      const count = filed.get(input) ?? 0;
      filed.delete(input);
      if (!KILLS.test(input)) innocents += count;
      else if (count !== 1) wrong.push(`poison: ${count} dead letters of ${input}`);
      else if (this.#doubts === 0) wrong.push(...this.#hasty(input));
    }
    if (innocents > this.#doubts) {
      wrong.push(`poison: ${innocents} innocent messages filed, ${this.#doubts} calls in doubt`);
    }
    for (const input of filed.keys()) wrong.push(`poison: ${input} was filed and is not stored`);
    return wrong;
  }

  #hasty(input: string): string[] {
    const { count = 0, wasAlone = false } = this.#given.get(input) ?? {};
    if (count >= LIMIT && wasAlone) return [];
    return [`poison: ${input} was filed after ${count} deliveries, alone: ${wasAlone}`];
  }

  #configure(caller: Caller, done: () => void): void {
    const { loop, pace } = this.#options;
    this.#losses = this.#options.losses();
    const command = { kind: 'configure', tenant: TENANT, queue: QUEUE, replace: false } as const;
    caller.call<SubmittedOutcome>(
      (broker, reply) => broker.submit({ ...command, changes: OPTIONS }, reply),
      (answer) => {
        if (isTold(answer) && answer.kind === 'configured') done();
        else loop.after(pace.again(0), () => this.#configure(caller, done));
      },
    );
  }

  #work(caller: Caller): void {
    const { loop, losses, pace, random } = this.#options;
    // The limit may be lost too.
    if (losses() > this.#losses) {
      this.#configure(caller, () => this.#work(caller));
      return;
    }
    const timeoutMs = Math.ceil(pace.stretch(POP_MS));
    const size = { batch: random.between(1, 5), partitions: random.between(1, 2) };
    const settings = { queue: QUEUE, group: GROUP, ...size, leaseSeconds: LEASE_SECONDS };
    pop(caller, { ...settings, timeoutMs }, (claimed, isUnknown) => {
      const again = () => {
        loop.schedule(pace.stretch(random.between(1, 10)), null, () => this.#work(caller));
      };
      if (isUnknown) this.#doubts++;
      if (claimed.length === 0) return again();
      for (const message of claimed) this.#note(message, claimed.length === 1);
      const isKilled = claimed.some((message) => KILLS.test(inputOf(message)));
      if (isKilled && random.chance(0.3)) return again();
      this.#settle(caller, claimed, isKilled ? 'retry' : 'completed', again);
    });
  }

  #note(message: Claimed, wasAlone: boolean): void {
    const input = inputOf(message);
    const count = (this.#given.get(input)?.count ?? 0) + 1;
    this.#given.set(input, { count, wasAlone });
  }

  #settle(caller: Caller, claimed: readonly Claimed[], status: AckStatus, done: () => void): void {
    const items = claimed.map(({ transactionId, partitionId, leaseId }) => {
      return { transactionId, partitionId, leaseId, status, error: null };
    });
    caller.call<SubmittedOutcome>(
      (broker, reply) =>
        broker.submit({ kind: 'ack', tenant: TENANT, consumerGroup: GROUP, items }, reply),
      (answer) => {
        const isAcked = isTold(answer) && answer.kind === 'acked';
        const isDone = isAcked && answer.items.every(({ success }) => success);
        if (!isDone) this.#doubts++;
        this.#options.note(`poison ${claimed.map(inputOf).join(' ')} ${status} ${isDone}`);
        done();
      },
    );
  }

  #read(caller: Caller): void {
    const filter = { tenant: TENANT, queue: QUEUE, group: GROUP, limit: LETTERS_MAX, offset: 0 };
    this.#isReading = true;
    caller.call<DeadLetterListView | RefusedOutcome>(
      (broker, reply) => broker.records.deadLetters(filter, reply),
      (answer) => {
        this.#isReading = false;
        if (isTold(answer)) this.#letters = answer.letters;
      },
    );
  }
}
