/**
 * Goal: an id is found in all entries that hold it, applied or in flight, by ascending offset, and
 * nowhere else. Method: random appends of a few ids to a few partitions, of which the oldest are
 * applied now and then, beside a list of all messages. Prints the seed that replays it.
 */
import { expect, it } from 'vitest';
import type { TransactionMatch } from '../state/transaction-ids/id-index.js';
import { SeededRandom } from '../testing/random.fake.js';
import { PlannedTransactions } from './planned-transaction-ids.js';

interface Message {
  readonly index: number;
  readonly partition: number;
  readonly id: string;
  readonly match: TransactionMatch;
}

const PARTITIONS = 3;
const IDS = 5;
const STEPS = 400;

class Run {
  readonly #random: SeededRandom;
  readonly #messages: Message[] = [];
  readonly #offsets = new Array<number>(PARTITIONS).fill(0);
  readonly #planned: PlannedTransactions;
  #index = 0;
  #applied = 0;

  constructor(seed: number) {
    this.#random = new SeededRandom(seed);
    this.#planned = new PlannedTransactions({
      find: (partition, id) => this.#find(partition, id, (index) => index <= this.#applied),
    });
  }

  step(): void {
    if (this.#random.below(3) === 0 && this.#applied < this.#index) {
      this.#applied += 1 + this.#random.below(this.#index - this.#applied);
      this.#planned.applied(this.#applied);
    } else this.#entry();
    for (let partition = 0; partition < PARTITIONS; partition++) {
      for (let id = 0; id < IDS; id++) {
        const expected = this.#find(partition, `id-${id}`, () => true);
        expect(this.#planned.find(partition, `id-${id}`)).toEqual(expected);
      }
    }
  }

  /** One or two appends, which may be to one partition. */
  #entry(): void {
    this.#planned.begin(++this.#index);
    for (let appends = 1 + this.#random.below(2); appends > 0; appends--) this.#append();
  }

  #append(): void {
    const partition = this.#random.below(PARTITIONS);
    const base = this.#offsets[partition] as number;
    const stampUs = 1000 * this.#index;
    const count = 1 + this.#random.below(4);
    this.#offsets[partition] = base + count;
    const isPromised = this.#random.below(4) === 0;
    const places = new Map<string, number>();
    const matches = new Map<string, TransactionMatch[]>();
    for (let place = 0; place < count; place++) {
      const id = `id-${this.#random.below(IDS)}`;
      const offset = base + place;
      const match = isPromised ? { offset, stampUs, messageId: `m${offset}` } : { offset, stampUs };
      places.set(id, place);
      matches.set(id, [...(matches.get(id) ?? []), match]);
      this.#messages.push({ index: this.#index, partition, id, match });
    }
    const isPlain = !isPromised && places.size === count;
    this.#planned.plan(partition, base, stampUs, isPlain ? places : matches);
  }

  #find(partition: number, id: string, isThere: (index: number) => boolean): TransactionMatch[] {
    return this.#messages
      .filter((each) => each.partition === partition && each.id === id && isThere(each.index))
      .map(({ match }) => match);
  }
}

it.each([1, 7920, 15839])('finds each message once, with seed %i', (seed) => {
  const run = new Run(seed);
  for (let step = 0; step < STEPS; step++) run.step();
});
