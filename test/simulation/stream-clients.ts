/**
 * Stream workers: one client sends numbers, others take batches of them, read what their query has
 * counted of the partition, and commit the acknowledgement, the new count and a record of the batch
 * in one cycle; now and then of a part of the batch first, keeping the lease, and of the rest not
 * always. What they did is a history for the checker of streams.
 *
 * A cycle without an answer may have committed, so its batch is left to its lease; some workers
 * send it again first, which the lease allows once, but for those that keep it. Others send one
 * again that has committed, when the next worker may hold the lease.
 */
import type { RefusedOutcome, StreamCycleCommand } from '@svc/engine';
import type { StreamStateView, SubmittedOutcome } from '@svc/http';
import { groupBy, type ReadRecord } from '../checkers/history.js';
import { checkStreams, type StreamCell, type StreamCycle } from '../checkers/stream-checker.js';
import { pushCommand, TENANT } from './client-messages.js';
import type { Caller, NoAnswer } from './client-network.js';
import { type Claimed, pop } from './client-pop.js';
import { Leftover } from './leftover.js';
import { INPUT_PARTITIONS, inputOf, SentInputs } from './sent-inputs.js';
import {
  isRefused,
  isTold,
  type SurfaceClient,
  type SurfaceClientOptions,
} from './surface-client.js';

const SOURCE = 'stream.in';
const SINK = 'stream.out';
const CELL = 'cell';
const LEASE_SECONDS = 1;
const POP_MS = 200;
const LATE_MS = 50;
const AGAIN_MS = 50;

interface Counted {
  readonly count: number;
  readonly sum: number;
}

export class StreamClients implements SurfaceClient {
  readonly places = [SOURCE, SINK].flatMap((queue) =>
    INPUT_PARTITIONS.map((partition) => [queue, partition] as const),
  );
  readonly #options: SurfaceClientOptions;
  readonly #inputs: SentInputs;
  readonly #cycles: (StreamCycle & { readonly endedMs: number })[] = [];
  /** Cycles whose end is still to be learnt: they may have committed. */
  #open = 0;
  /** By name, the id of each partition that was claimed. */
  readonly #partitionIds = new Map<string, string>();
  #leftover: Leftover | null = null;
  #queryId: string | null = null;
  /** How many losses there had been. */
  #registeredIn = 0;
  /** As all machines say in the end; null: they were not asked. */
  #cells: StreamCell[] | null = null;
  #asked: number[] = [];
  #cellsLeft = 0;
  #ended = false;

  constructor(options: SurfaceClientOptions) {
    this.#options = options;
    this.#inputs = new SentInputs(options, SOURCE);
  }

  start(): void {
    const { network, random } = this.#options;
    this.#inputs.start();
    for (let i = random.between(2, 3); i > 0; i--) this.#register(network.caller());
  }

  end(): void {
    this.#ended = true;
    this.#inputs.end();
  }

  unfinished(): string | null {
    const { network } = this.#options;
    if (!this.#inputs.areStored) return 'inputs of the streams are not stored';
    const isRegistered = this.#registeredIn === this.#options.losses();
    if (this.#queryId === null || !isRegistered) return 'the query of streams is not registered';
    this.#leftover ??= new Leftover(network.caller(), SOURCE, groupOf(this.#queryId));
    if (!this.#leftover.isEmpty()) return 'inputs of the streams are left';
    if (this.#open > 0) return `${this.#open} cycles of streams are under way`;
    if (this.#cells === null) this.#readCells();
    return this.#cellsLeft > 0 ? 'the state of the streams was not read' : null;
  }

  judge(records: readonly ReadRecord[]): readonly string[] {
    const of = (queue: string) =>
      records.filter(({ partition }) => partition.startsWith(`${queue}/`));
    const inputs = of(SOURCE).map((record) => {
      const name = inputOf(record);
      return { partition: nameOf(record.partition), name, number: numberOf(name) };
    });
    const { isDoubtful } = this.#options;
    const anomalies = checkStreams({
      inputs,
      cycles: this.#cycles.map(({ endedMs, ...cycle }): StreamCycle => {
        return isDoubtful(endedMs) ? { ...cycle, outcome: 'unknown' } : cycle;
      }),
      outputs: of(SINK).map(inputOf),
      cells: this.#cells ?? [],
      nodes: this.#asked,
    });
    return anomalies.map(({ kind, text }) => `stream ${kind}: ${text}`);
  }

  /** Every worker registers the query; the first one is to be the only one that makes it. */
  #register(caller: Caller): void {
    const { loop, note, pace } = this.#options;
    const names = { name: 'sums', sourceQueue: SOURCE, sinkQueue: SINK, configHash: 'h' };
    caller.call<SubmittedOutcome>(
      (broker, reply) =>
        broker.submit({ kind: 'register-stream', tenant: TENANT, ...names, reset: false }, reply),
      (answer) => {
        if (!isTold(answer) || answer.kind !== 'stream-registered') {
          loop.schedule(pace.stretch(AGAIN_MS), null, () => this.#register(caller));
          return;
        }
        const { verdict } = answer;
        if (verdict.result !== 'registered') throw new Error(`registered as ${verdict.result}`);
        note(`stream is ${verdict.queryId}`);
        const isNew = this.#queryId === null || this.#registeredIn < this.#options.losses();
        if (!isNew && this.#queryId !== verdict.queryId) {
          throw new Error(`one name is ${this.#queryId} and ${verdict.queryId}`);
        }
        this.#registeredIn = this.#options.losses();
        this.#queryId = verdict.queryId;
        this.#work(caller, verdict.queryId);
      },
    );
  }

  #work(caller: Caller, queryId: string): void {
    const { loop, losses, pace, random } = this.#options;
    const timeoutMs = Math.ceil(pace.stretch(POP_MS));
    const group = groupOf(queryId);
    const settings = { queue: SOURCE, group, batch: random.between(1, 5), partitions: 2 };
    const known = losses();
    pop(caller, { ...settings, leaseSeconds: LEASE_SECONDS, timeoutMs }, (claimed) => {
      const again = () => {
        loop.schedule(pace.stretch(random.between(1, 10)), null, () => {
          if (losses() === known) this.#work(caller, queryId);
          else this.#register(caller);
        });
      };
      const batches = [...groupBy(claimed, ({ partition }) => partition).values()];
      const isLate = !this.#ended && random.chance(0.06);
      const thinkMs = isLate ? LEASE_SECONDS * 1000 + LATE_MS : random.next() * 4;
      const next = (): void => {
        const batch = batches.shift();
        if (batch === undefined || losses() !== known) again();
        else this.#commitBatch(caller, queryId, batch, next);
      };
      loop.after(thinkMs, next);
    });
  }

  #commitBatch(caller: Caller, queryId: string, batch: readonly Claimed[], done: () => void): void {
    const { loop, losses, pace, random } = this.#options;
    const [first] = batch;
    if (first === undefined) {
      done();
      return;
    }
    this.#partitionIds.set(first.partition, first.partitionId);
    const isSplit = batch.length > 1 && random.chance(0.2);
    const part = isSplit ? batch.slice(0, random.between(1, batch.length - 1)) : batch;
    const known = losses();
    this.#readCell(caller, queryId, first.partitionId, (cell) => {
      // What was counted of a batch that is lost is not to be added to.
      if (cell === null || losses() !== known) return done();
      this.#cycle(caller, queryId, part, cell, !isSplit, (outcome) => {
        const isCommitted = outcome === 'committed';
        if (losses() !== known) done();
        else if (isSplit && isCommitted && random.chance(0.8)) {
          this.#commitBatch(caller, queryId, batch.slice(part.length), done);
        } else if (isSplit || random.chance(isCommitted ? 0.8 : 0.5)) done();
        else {
          loop.schedule(pace.stretch(random.between(1, 20)), null, () => {
            if (losses() !== known) return done();
            this.#cycle(caller, queryId, part, cell, true, () => done());
          });
        }
      });
    });
  }

  #cycle(
    caller: Caller,
    queryId: string,
    batch: readonly Claimed[],
    cell: Counted,
    releaseLease: boolean,
    done: (outcome: StreamCycle['outcome']) => void,
  ): void {
    const { loop, note } = this.#options;
    const inputs = batch.map(inputOf);
    const partition = batch[0]?.partition ?? '';
    const value = `${partition}.${inputs[0]}.${loop.nowMs.toFixed(3)}`;
    const sum = inputs.reduce((total, name) => total + numberOf(name), cell.sum);
    const counted = { count: cell.count + inputs.length, sum };
    const command = commandOf(queryId, batch, value, counted, releaseLease);
    this.#open++;
    caller.call<SubmittedOutcome>(
      (broker, reply) => broker.submit(command, reply),
      (answer) => {
        this.#open--;
        const outcome = outcomeOf(answer);
        this.#cycles.push({ value, partition, inputs, outcome, endedMs: loop.nowMs });
        note(`stream ${value} of ${inputs.length} ${outcome}`);
        done(outcome);
      },
    );
  }

  /** `done` gets null where there was no answer. */
  #readCell(
    caller: Caller,
    queryId: string,
    partitionId: string,
    done: (cell: Counted | null) => void,
  ): void {
    const scope = { tenant: TENANT, queryId, partitionId };
    const filter = { ...scope, keys: [CELL], keyPrefix: '', ripeAtOrBefore: null };
    caller.call<StreamStateView | RefusedOutcome>(
      (broker, reply) => broker.streams.state(filter, reply),
      (answer) => {
        const isLost = isTold(answer) && answer.answer.result === 'missing';
        if (isLost && this.#options.losses() > 0) done({ count: 0, sum: 0 });
        else done(isTold(answer) ? countedOf(answer) : null);
      },
    );
  }

  #readCells(): void {
    const { network, voters } = this.#options;
    const queryId = this.#queryId ?? '';
    this.#cells = [];
    this.#asked = [...voters()];
    for (const node of this.#asked) {
      for (const [partition, partitionId] of this.#partitionIds) {
        this.#cellsLeft++;
        const ask = () => {
          const caller = network.caller();
          caller.moveTo(node);
          this.#readCell(caller, queryId, partitionId, (cell) => {
            if (cell === null) return ask();
            this.#cells?.push({ node, partition, ...cell });
            this.#cellsLeft--;
          });
        };
        ask();
      }
    }
  }
}

function groupOf(queryId: string): string {
  return `streams.${queryId}`;
}

function nameOf(place: string): string {
  return place.slice(place.lastIndexOf('/') + 1);
}

/** Inputs are numbered as they are sent. */
function numberOf(name: string): number {
  return Number(name.slice(1));
}

function commandOf(
  queryId: string,
  batch: readonly Claimed[],
  value: string,
  counted: Counted,
  releaseLease: boolean,
): StreamCycleCommand {
  const { partition = '', partitionId = '', leaseId = '' } = batch[0] ?? {};
  const record = { value, partition, transactionId: null, payload: `"${value}"` };
  const pushes = pushCommand(SINK, [record]);
  const cell = Buffer.from(JSON.stringify(counted), 'latin1');
  const body = Buffer.concat([pushes.body, cell]);
  return {
    kind: 'stream-cycle',
    tenant: TENANT,
    queryId,
    partitionId,
    consumerGroup: groupOf(queryId),
    body,
    state: {
      keys: [CELL],
      valueStart: [pushes.body.length],
      valueEnd: [body.length],
      isDelete: [false],
      windowEnds: [null],
    },
    pushes: { ...pushes, body },
    ack: { leaseId, completed: true, count: batch.length },
    releaseLease,
  };
}

function outcomeOf(answer: SubmittedOutcome | NoAnswer): StreamCycle['outcome'] {
  if (!isTold(answer)) return isRefused(answer) ? 'refused' : 'unknown';
  if (answer.kind !== 'stream-cycled') throw new Error(`a cycle was answered ${answer.kind}`);
  const { verdict } = answer;
  if (verdict.result === 'committed') return 'committed';
  if (verdict.result === 'refused' && verdict.reason === 'bad_lease') return 'refused';
  throw new Error(`a cycle was refused: ${JSON.stringify(verdict)}`);
}

function countedOf({ answer }: StreamStateView): Counted | null {
  if (answer.result === 'unsteady') return null;
  if (answer.result !== 'rows') throw new Error(`the state of a stream is ${answer.result}`);
  const [row] = answer.pieces;
  if (row === undefined) return { count: 0, sum: 0 };
  return (JSON.parse(Buffer.from(row).toString('utf8')) as { readonly value: Counted }).value;
}
