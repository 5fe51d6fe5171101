// What the cases of `npm run bench -- --prices` run on: a planner, and a state over LMDB that
// applies what it plans, in one thread and without a log.

import { crc32 } from 'node:zlib';
import {
  applyEntry,
  type Command,
  LOCAL_TABLES,
  type Outcome,
  Planner,
  type PushCommand,
  TABLES,
  TransactionIndex,
} from '@svc/engine';
import { Checkpoint, openLmdb, RealDisk } from '@svc/storage';
import { uuidV7 } from '@svc/wire';

export const TENANT = '00000000-0000-0000-0000-000000000001';
export const BODY = new TextEncoder().encode(
  '{"n":1234567890,"text":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}',
);
const US_PER_MS = 1000;

export interface Case {
  readonly what: string;
  readonly price: number;
  readonly count: number;
  readonly commands: (round: number, engine: PriceEngine) => readonly Command[];
  /** Monotonic milliseconds that pass before; what falls due then is done too. */
  readonly afterMs?: number;
}

/** A planner, and the state of a node that applies what it plans. */
export class PriceEngine {
  /** Outcomes of the commands that were run last. */
  outcomes: readonly (Outcome | undefined)[] = [];
  #skewMs = 0;
  readonly #backing: ReturnType<typeof openLmdb>;
  readonly #state: Checkpoint;
  readonly #transactions: TransactionIndex;
  readonly #planner: Planner;
  readonly #entries = new Map<number, Uint8Array>();
  #index = 0;

  constructor(directory: string) {
    const disk = new RealDisk();
    const identity = new Uint8Array(16);
    this.#backing = openLmdb({ disk, directory, identity, localTables: LOCAL_TABLES });
    const onFailure = (error: Error): void => {
      throw error;
    };
    this.#state = new Checkpoint({ backing: this.#backing, tables: TABLES, onFailure });
    this.#transactions = TransactionIndex.load(this.#state);
    const word = () => Math.floor(Math.random() * 2 ** 32);
    this.#planner = new Planner(this.#state, this.#transactions, {
      nodeId: 1,
      checksum: crc32,
      newUuid: (us) => uuidV7(Math.floor(us / US_PER_MS), word(), word(), word()),
      readLog: ({ index, position: at, length }) =>
        (this.#entries.get(index) ?? BODY).subarray(at, at + length),
      cipher: null,
    });
  }

  /** Microseconds of the processor for planning the commands and applying what they do. */
  run(commands: readonly Command[], afterMs = 0): number {
    this.#skewMs += afterMs;
    const tickets = commands.map(() => ({}));
    const began = process.cpuUsage();
    for (const [i, command] of commands.entries()) {
      this.#planner.enqueue(command, tickets[i] ?? {});
    }
    const outcomes = new Map<object, Outcome>();
    do this.#turn(outcomes);
    while (this.#planner.waiting > 0 || this.#planner.busy);
    const { user, system } = process.cpuUsage(began);
    this.outcomes = tickets.map((ticket) => outcomes.get(ticket));
    const bad = this.outcomes.find((outcome) => outcome?.kind === 'refused');
    if (bad !== undefined) throw new Error(`refused: ${JSON.stringify(bad)}`);
    return user + system;
  }

  #turn(outcomes: Map<object, Outcome>): void {
    const index = this.#index + 1;
    const nowMs = performance.now() + this.#skewMs;
    const wallUs = (Date.now() + this.#skewMs) * US_PER_MS;
    const { body, answers } = this.#planner.turn({ index, wallUs, nowMs });
    for (const { ticket, outcome } of answers) outcomes.set(ticket, outcome);
    if (body === null) return;
    this.#index = index;
    this.#entries.set(index, body);
    applyEntry(this.#state, this.#transactions, index, body, { appended: () => {} });
    this.#planner.applied(index);
  }

  /** Rows are read from the store from now on, as those of a node that runs for long are. */
  async checkpoint(): Promise<void> {
    this.#transactions.flush();
    await new Promise<void>((resolve) => {
      this.#state.checkpoint(this.#index, 1, this.#index, () => resolve());
    });
  }

  async close(): Promise<void> {
    await this.#backing.close();
  }
}

export function pushOf(
  groups: PushCommand['groups'],
  itemGroup: readonly number[],
  ids: readonly (string | null)[],
): PushCommand {
  return {
    kind: 'push',
    tenant: TENANT,
    producerSub: null,
    body: BODY,
    groups,
    itemGroup,
    transactionIds: ids,
    payloadStart: itemGroup.map(() => 0),
    payloadEnd: itemGroup.map(() => BODY.length),
  };
}

export function numbers(count: number): readonly number[] {
  return Array.from({ length: count }, (_, i) => i);
}
