/** One row against the broker, from its first request until what it made is gone again. */
import { BrokerUnderTest, type Observe, type Place, Unmet } from '../contract/broker-under-test.js';
import { runRow } from '../contract/run-row.js';
import type { ContractRow } from '../contract/table.js';
import {
  type Answer,
  type Caller,
  callerOf,
  NoAnswer,
  type RequestOptions,
} from '../process/http-client.js';
import { remove, type Traces } from './cleanup.js';
import { type Mode, RowGuard } from './guard.js';
import type { Outcome } from './tap.js';
import type { Target, TokenClient } from './target.js';

export interface RowPlan {
  readonly target: Target;
  readonly mode: Mode;
  readonly tenants: string;
  readonly number: number;
  readonly row: ContractRow;
  readonly observe: Observe;
  /** Ends what is under way; what was made is removed all the same. */
  readonly signal: AbortSignal;
  /** Called with a tenant of the row before its first request. */
  readonly prepare: (tenant: string) => Promise<void>;
}

export interface RowResult {
  readonly outcome: Outcome;
  readonly traces: Traces;
}

export async function runOne(plan: RowPlan): Promise<RowResult> {
  const { target, mode, tenants, number, row, observe, signal } = plan;
  const isRefusal = 'answer' in row && row.answer.status >= 400;
  const guard = new RowGuard(mode, tenants, number, isRefusal);
  const guarded = target.clients.map((one) => new GuardedClient(one, guard, signal));
  const clients = guarded.map(({ caller }) => caller);
  const { nodes, isPinned } = target;
  const place: Place = { nodes, isPinned, tenants, observe, clients };
  const broker = new BrokerUnderTest(place, number, mode === 'tenants' ? undefined : {});
  if (mode === 'tenants') await plan.prepare(broker.tenant);
  const outcome = await outcomeOf(() => runRow(broker, row), guard);
  // A request that the row did not wait for could make something after the removal.
  await Promise.all(guarded.map((client) => client.settled()));
  const traces = { tenants: guard.tenants, queues: guard.queues };
  await remove(target, traces);
  return { outcome, traces };
}

async function outcomeOf(run: () => Promise<void>, guard: RowGuard): Promise<Outcome> {
  let failure: unknown = null;
  try {
    await run();
  } catch (error) {
    failure = error;
  }
  const unmet = guard.unmet ?? (failure instanceof Unmet ? failure : null);
  if (unmet !== null) return { kind: 'skipped', reason: unmet.message };
  if (failure === null) return { kind: 'met' };
  return { kind: 'failed', message: failure instanceof Error ? failure.message : `${failure}` };
}

class GuardedClient {
  readonly caller: Caller = callerOf((...request) => this.#send(...request));
  readonly #client: TokenClient;
  readonly #guard: RowGuard;
  readonly #signal: AbortSignal;
  readonly #open = new Set<Promise<unknown>>();

  constructor(client: TokenClient, guard: RowGuard, signal: AbortSignal) {
    this.#client = client;
    this.#guard = guard;
    this.#signal = signal;
  }

  async #send(
    method: string,
    path: string,
    body: Uint8Array | string | undefined,
    options: RequestOptions = {},
  ): Promise<Answer> {
    this.#guard.judge({ method, path, tenant: options.headers?.['x-svc-tenant'], body });
    const { signal } = options;
    const signals = signal === undefined ? [this.#signal] : [this.#signal, signal];
    const sent = this.#client.send(method, path, body, {
      ...options,
      signal: AbortSignal.any(signals),
    });
    const settled = sent.catch(() => null);
    this.#open.add(settled);
    try {
      const answer = await sent;
      this.#guard.saw(answer.text);
      return answer;
    } catch (error) {
      if (error instanceof NoAnswer && this.#signal.aborted) throw new Unmet('interrupted');
      throw error;
    } finally {
      this.#open.delete(settled);
    }
  }

  /** Once every request has its answer or will have none. */
  async settled(): Promise<void> {
    while (this.#open.size > 0) await Promise.all(this.#open);
  }
}
