/** A leader without a log, for tests of calls that are cut: it plans and applies over maps. */
import { crc32 } from 'node:zlib';
import {
  applyEntry,
  type Command,
  MapState,
  type Outcome,
  Planner,
  TransactionIndex,
} from '@svc/engine';
import { type CallSlices, runSlices } from '../requests/sliced-call.js';

/** Turns in which a command has its answer; a test whose command has none fails. */
const TURNS_MAX = 1000;

export class LoneLeader {
  readonly state = new MapState();
  /** What each turn has cost. */
  readonly units: number[] = [];
  readonly #transactions = TransactionIndex.load(this.state);
  readonly #entries = new Map<number, Uint8Array>();
  readonly #planner: Planner;
  #index = 0;
  #minted = 0;

  constructor() {
    this.#planner = new Planner(this.state, this.#transactions, {
      nodeId: 1,
      checksum: crc32,
      newUuid: () => `01a2b3c4-0000-7000-8000-${String(++this.#minted).padStart(12, '0')}`,
      readLog: ({ index, position, length }) =>
        (this.#entries.get(index) ?? new Uint8Array(0)).subarray(position, position + length),
      cipher: null,
    });
  }

  call(command: Command): Outcome {
    const ticket = {};
    this.#planner.enqueue(command, ticket);
    for (let turns = 0; turns < TURNS_MAX; turns++) {
      const index = this.#index + 1;
      const at = { index, wallUs: 1_800_000_000_000_000 + index, nowMs: 1000 };
      const { body, answers, units } = this.#planner.turn(at);
      this.units.push(units);
      if (body !== null) {
        this.#index = index;
        this.#entries.set(index, body);
        applyEntry(this.state, this.#transactions, index, body, { appended: () => {} });
        this.#planner.applied(index);
      }
      const answer = answers.find((each) => each.ticket === ticket);
      if (answer !== undefined) return answer.outcome;
    }
    throw new Error('no answer');
  }

  /** Calls with each slice in turn; gives the commands that were sent, and the joined outcome. */
  callInSlices<C extends Command, O extends Outcome>(
    slices: CallSlices<C, O>,
    kind: O['kind'],
  ): { readonly sent: C[]; readonly outcome: O } {
    const sent: C[] = [];
    const later: (() => void)[] = [];
    let joined: O | null = null;
    runSlices<C, O>({
      slices,
      kind,
      submit: (slice, onOutcome) => {
        sent.push(slice);
        onOutcome(this.call(slice));
      },
      soon: (work) => later.push(work),
      isGone: () => false,
      done: (outcome) => {
        joined = outcome;
      },
    });
    for (let work = later.shift(); work !== undefined; work = later.shift()) work();
    if (joined === null) throw new Error('no outcome');
    return { sent, outcome: joined };
  }
}
