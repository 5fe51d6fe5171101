/**
 * A pipeline: one client sends inputs, others take one each and settle it by a transaction with its
 * acknowledgement, a result, and a count. What they did is a history for the checker of pipelines.
 *
 * A transaction without an answer is now and then sent once more, with a result of its own: its
 * lease allows it once. And some are made to fail, by a guard of the store that cannot hold; the
 * same input is settled properly after it.
 */
import {
  type KvJson,
  type KvOp,
  type KvOutcome,
  kvText,
  type RefusedOutcome,
  type TransactionCommand,
} from '@svc/engine';
import type { SubmittedOutcome } from '@svc/http';
import type { ReadRecord } from '../checkers/history.js';
import { checkPipeline, type PipelineAttempt } from '../checkers/pipeline-checker.js';
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

const INPUTS = 'pipe.in';
const RESULTS = 'pipe.out';
const GROUP = 'pipe';
const NAMESPACE = 'pipe';
const COUNTER = 'done';
const LEASE_SECONDS = 1;
const POP_MS = 200;
const LATE_MS = 50;

export class PipelineClients implements SurfaceClient {
  readonly places = [INPUTS, RESULTS].flatMap((queue) =>
    INPUT_PARTITIONS.map((partition) => [queue, partition] as const),
  );
  readonly #options: SurfaceClientOptions;
  readonly #inputs: SentInputs;
  readonly #leftover: Leftover;
  readonly #attempts: PipelineAttempt[] = [];
  /** Attempts whose end is still to be learnt: they may have committed. */
  #open = 0;
  readonly #wrong: string[] = [];
  #counter: number | null = null;
  #isCounting = false;
  #ended = false;

  constructor(options: SurfaceClientOptions) {
    this.#options = options;
    this.#inputs = new SentInputs(options, INPUTS);
    this.#leftover = new Leftover(options.network.caller(), INPUTS, GROUP);
  }

  start(): void {
    const { network, random } = this.#options;
    this.#inputs.start();
    for (let i = random.between(2, 3); i > 0; i--) this.#work(network.caller());
  }

  end(): void {
    this.#ended = true;
    this.#inputs.end();
  }

  unfinished(): string | null {
    if (!this.#inputs.areStored) return 'inputs of the pipeline are not stored';
    if (!this.#leftover.isEmpty()) return 'inputs of the pipeline are left';
    if (this.#open > 0) return `${this.#open} attempts of the pipeline are under way`;
    if (this.#counter !== null) return null;
    if (!this.#isCounting) this.#count(this.#options.network.caller());
    return 'the pipeline was not counted';
  }

  judge(records: readonly ReadRecord[]): readonly string[] {
    const of = (queue: string) =>
      records.filter(({ partition }) => partition.startsWith(`${queue}/`));
    const { isDoubtful } = this.#options;
    const anomalies = checkPipeline({
      inputs: of(INPUTS).map(inputOf),
      attempts: this.#attempts.map((attempt): PipelineAttempt => {
        return isDoubtful(attempt.endedMs)
          ? { ...attempt, outcome: 'unknown', count: null }
          : attempt;
      }),
      outputs: of(RESULTS).map(inputOf),
      counter: this.#counter ?? 0,
    });
    return [...this.#wrong, ...anomalies.map(({ kind, text }) => `pipeline ${kind}: ${text}`)];
  }

  #work(caller: Caller): void {
    const { loop, pace, random } = this.#options;
    const timeoutMs = Math.ceil(pace.stretch(POP_MS));
    const settings = { queue: INPUTS, group: GROUP, batch: 1, partitions: 1 };
    pop(caller, { ...settings, leaseSeconds: LEASE_SECONDS, timeoutMs }, ([claimed]) => {
      const again = () => {
        loop.schedule(pace.stretch(random.between(1, 10)), null, () => this.#work(caller));
      };
      if (claimed === undefined) return again();
      const isLate = !this.#ended && random.chance(0.03);
      const thinkMs = isLate ? LEASE_SECONDS * 1000 + LATE_MS : random.next() * 4;
      const fails = !this.#ended && random.chance(0.15);
      loop.after(thinkMs, () => {
        if (!fails) this.#settle(caller, claimed, again);
        else this.#attempt(caller, claimed, true, () => this.#settle(caller, claimed, again));
      });
    });
  }

  #settle(caller: Caller, claimed: Claimed, done: () => void): void {
    const { loop, pace, random } = this.#options;
    this.#attempt(caller, claimed, false, (outcome) => {
      const isOpen = outcome === 'unknown' || outcome === 'refused';
      if (!isOpen || random.chance(0.5)) return done();
      loop.after(pace.again(0), () => this.#attempt(caller, claimed, false, () => done()));
    });
  }

  #attempt(
    caller: Caller,
    claimed: Claimed,
    fails: boolean,
    done: (outcome: PipelineAttempt['outcome']) => void,
  ): void {
    const { loop, note } = this.#options;
    const input = inputOf(claimed);
    const beganMs = loop.nowMs;
    const value = `${input}.${beganMs.toFixed(3)}`;
    this.#open++;
    caller.call<SubmittedOutcome>(
      (broker, reply) => broker.submit(commandOf(claimed, value, fails), reply),
      (answer) => {
        this.#open--;
        const outcome = this.#outcomeOf(answer, fails);
        const count = countOf(answer);
        this.#attempts.push({ value, input, beganMs, endedMs: loop.nowMs, outcome, count });
        note(`pipeline ${value} ${outcome} ${count}`);
        done(outcome);
      },
    );
  }

  #outcomeOf(answer: SubmittedOutcome | NoAnswer, fails: boolean): PipelineAttempt['outcome'] {
    if (!isTold(answer)) return isRefused(answer) ? 'refused' : 'unknown';
    if (answer.kind !== 'transacted') throw new Error(`a transaction was answered ${answer.kind}`);
    const { rollback } = answer;
    if (rollback === null) return 'committed';
    const { reason, error } = rollback;
    const isMeant = reason === 'rejected_ack' || (fails && reason === 'kv_precondition');
    if (!isMeant) this.#wrong.push(`pipeline: a transaction failed: ${reason} ${error}`);
    return 'rolled-back';
  }

  #count(caller: Caller): void {
    const ops: KvOp[] = [{ op: 'get', namespace: NAMESPACE, key: COUNTER }];
    this.#isCounting = true;
    caller.call<KvOutcome | RefusedOutcome>(
      (broker, reply) => broker.kv.call({ kind: 'kv', tenant: TENANT, ops }, reply),
      (answer) => {
        this.#isCounting = false;
        const [result] = isTold(answer) ? answer.results : [];
        if (result?.kind === 'got') this.#counter = numberIn(result.row?.value ?? null) ?? 0;
      },
    );
  }
}

function commandOf(claimed: Claimed, value: string, fails: boolean): TransactionCommand {
  const { transactionId, partitionId, leaseId, partition } = claimed;
  const ack = { transactionId, partitionId, leaseId, status: 'completed', error: null } as const;
  const result = { value, partition, transactionId: null, payload: `"${value}"` };
  const place = { namespace: NAMESPACE, required: true };
  const bounds = { min: null, max: null, ttlSeconds: null };
  const count: KvOp = { op: 'incr', ...place, key: COUNTER, delta: '1', ...bounds };
  const never: KvOp = { op: 'check', ...place, key: 'never', expect: 1 };
  return {
    kind: 'transaction',
    tenant: TENANT,
    acks: [{ consumerGroup: GROUP, ...ack }],
    pushes: pushCommand(RESULTS, [result]),
    traceIds: null,
    positions: [],
    kv: { kind: 'kv', tenant: TENANT, ops: fails ? [count, never] : [count] },
    timers: null,
    flaw: null,
  };
}

function countOf(answer: SubmittedOutcome | NoAnswer): number | null {
  if (!isTold(answer) || answer.kind !== 'transacted') return null;
  const [result] = answer.kv?.results ?? [];
  return result?.kind === 'judged' ? numberIn(result.value) : null;
}

function numberIn(value: KvJson | null): number | null {
  return value === null ? null : Number(kvText(value));
}
