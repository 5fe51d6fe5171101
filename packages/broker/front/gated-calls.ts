/**
 * Calls of threads that the gate judges: key/value, and transactions with key/value or timers. The
 * gate is that of the core's own front, so a tenant's tokens and charges are those of the node.
 * Such calls are counted here too, where they show in the next scrape.
 */
import type {
  KvCall,
  KvOp,
  KvOutcome,
  RefusedOutcome,
  TransactedOutcome,
  TransactionCommand,
} from '@svc/engine';
import {
  countKv,
  type Demand,
  type Gate,
  type GateRefusal,
  type Pass,
  type TooFar,
} from '@svc/http';
import type { Meters } from '@svc/wire';

export interface GatedCallsOptions {
  readonly front: { readonly gate: Pick<Gate, 'judge' | 'timerHorizonSeconds'> };
  readonly meters: Meters;
  readonly nowMs: () => number;
}

export type GatedCommand = KvCall | TransactionCommand;
export type GatedOutcome = KvOutcome | TransactedOutcome | RefusedOutcome;

const US_PER_SECOND = 1_000_000;

export class GatedCalls {
  readonly #options: GatedCallsOptions;

  constructor(options: GatedCallsOptions) {
    this.#options = options;
  }

  judge(command: GatedCommand, demand: Demand): GatedCall | GateRefusal | TooFar {
    const { front, meters, nowMs } = this.#options;
    const tooFar = this.#tooFar(command);
    if (tooFar !== null) return tooFar;
    const verdict = front.gate.judge(command.tenant, demand);
    if ('code' in verdict) return verdict;
    return new GatedCall(command, verdict, meters, nowMs);
  }

  /** A call without a command: null: it is let in, which is all that it wanted to know. */
  ask(tenant: string, demand: Demand): GateRefusal | null {
    const verdict = this.#options.front.gate.judge(tenant, demand);
    if ('code' in verdict) return verdict;
    verdict.settle({ kind: 'refused' });
    return null;
  }

  /** The thread knows the configured horizon, and not what is granted. */
  #tooFar(command: GatedCommand): TooFar | null {
    const timers = command.kind === 'transaction' ? command.timers : null;
    if (timers === null) return null;
    const { gate } = this.#options.front;
    const horizonSeconds = gate.timerHorizonSeconds(command.tenant, Number.POSITIVE_INFINITY);
    const index = timers.ops.findIndex(
      (op) => op.op === 'schedule' && op.delayUs > horizonSeconds * US_PER_SECOND,
    );
    return index === -1 ? null : { code: 'timer_horizon_exceeded', index, horizonSeconds };
  }
}

/** The outcome of the key/value operations of a rollback. */
const NOTHING_STORED: KvOutcome = { kind: 'kv', failure: null, results: [] };

/** A call that was let in, until its outcome is known. */
export class GatedCall {
  readonly #command: GatedCommand;
  readonly #pass: Pass;
  readonly #meters: Meters;
  readonly #nowMs: () => number;
  readonly #startMs: number;

  constructor(command: GatedCommand, pass: Pass, meters: Meters, nowMs: () => number) {
    this.#command = command;
    this.#pass = pass;
    this.#meters = meters;
    this.#nowMs = nowMs;
    this.#startMs = nowMs();
  }

  settle(outcome: GatedOutcome): void {
    this.#pass.settle(outcome);
    const command = this.#command;
    if (command.kind === 'kv') this.#count(command.ops, outcome.kind === 'kv' ? outcome : null);
    else if (command.kv !== null && outcome.kind === 'transacted') {
      this.#count(command.kv.ops, outcome.kv ?? NOTHING_STORED);
    }
  }

  #count(ops: readonly KvOp[], outcome: KvOutcome | null): void {
    countKv(this.#meters.kv, ops, outcome, this.#nowMs() - this.#startMs);
  }
}
