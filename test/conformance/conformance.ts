/**
 * A run: finds out how the broker can be used without touching what is another's, runs each row
 * that can be run there, takes away what was made, and looks whether anything is left.
 *
 * What must hold: whatever a run made is known by its names before it is made (`RunNames`), so it
 * can be removed after a row that failed, and after an interruption.
 */
import { bodyOf } from '../contract/broker-api.js';
import type { Observe } from '../contract/broker-under-test.js';
import { type OpenApi, OpenApiJudge } from '../contract/openapi-judge.js';
import { SHARED } from '../contract/places.js';
import type { SectionName } from '../contract/sections.js';
import type { ContractRow, ContractTable } from '../contract/table.js';
import { TABLES } from '../contract/tables/index.js';
import type { Environment } from '../process/node-under-test.js';
import { UsageError } from './arguments.js';
import { leftovers, remove, type Traces } from './cleanup.js';
import type { Mode } from './guard.js';
import { needsOf } from './needs.js';
import { type Need, PROBES, UNGRANTED } from './probes.js';
import { type RowPlan, type RowResult, runOne } from './row-run.js';
import { RunNames } from './run-names.js';
import type { Outcome, TapWriter } from './tap.js';
import type { Target, TokenClient } from './target.js';

/** Most of a row is waiting for an answer; a broker has others to serve. */
const SIDE_BY_SIDE = 16;
const GRANTED = ['kv', 'ephemeral'] as const;

export class Conformance {
  readonly #target: Target;
  readonly #names = new RunNames();
  readonly #observe: Observe;
  readonly #interruption = new AbortController();
  readonly #tenants = new Set<string>();
  readonly #queues = new Set<string>();
  #mode: Mode = 'queues';
  #modeText = '';
  #needsGrants = false;
  #probed: ReadonlyMap<Need, boolean> = new Map();
  #rows = 0;

  constructor(target: Target) {
    this.#target = target;
    const judge = new OpenApiJudge(JSON.parse(target.openApi) as OpenApi);
    this.#observe = (exchange) => judge.judge(exchange);
  }

  /** No further row begins, and requests under way end. */
  interrupt(): void {
    this.#interruption.abort();
  }

  get isInterrupted(): boolean {
    return this.#interruption.signal.aborted;
  }

  /** Rows that were skipped, by reason, and counts of all. */
  async run(sections: ReadonlySet<SectionName>, tap: TapWriter): Promise<Counts> {
    const rows = TABLES.filter(({ section }) => sections.has(section)).flatMap((table) =>
      table.rows.map((row) => ({ table, row })),
    );
    const counts = new Counts();
    await this.#chooseMode();
    this.#probed = await this.#probe(rows.flatMap(({ table, row }) => this.#needsHere(table, row)));
    tap.plan(rows.length + 1);
    tap.comment(this.#modeText);
    const note = (name: string, outcome: Outcome) => {
      tap.result(name, outcome);
      counts.add(outcome);
    };
    try {
      await sideBySide(rows, async ({ table, row }) => {
        if (this.isInterrupted) return;
        const outcome = await this.#outcomeOf(table, row);
        note(`${table.section} / ${row.row}: ${row.does.slice(0, 200)}`, outcome);
      });
    } finally {
      note('nothing is left behind', await this.#nothingLeft());
    }
    return counts;
  }

  /** Removes all that was made, again. */
  async #nothingLeft(): Promise<Outcome> {
    const tenants = [...this.#tenants].map((tenant) => ({ tenants: [tenant], queues: [] }));
    const queues = [...this.#queues].map((queue) => ({ tenants: [], queues: [queue] }));
    const found: string[] = [];
    await sideBySide([...tenants, ...queues], async (one) => {
      if ((await leftovers(this.#target, one)).length === 0) return;
      await remove(this.#target, one);
      found.push(...(await leftovers(this.#target, one)));
    });
    return found.length === 0 ? { kind: 'met' } : { kind: 'failed', message: found.join('\n') };
  }

  async #outcomeOf(table: ContractTable, row: ContractRow): Promise<Outcome> {
    const { environment, pair = false } = table;
    if (pair) return { kind: 'skipped', reason: 'needs a source and a standby of its own' };
    if (environment !== undefined) {
      return { kind: 'skipped', reason: `needs a node of its own${settingsText(environment)}` };
    }
    const missing = this.#needsHere(table, row).find((need) => this.#probed.get(need) === false);
    if (missing !== undefined) return { kind: 'skipped', reason: `needs ${missing}` };
    return (await this.#runOne(row)).outcome;
  }

  #needsHere({ section, environment }: ContractTable, row: ContractRow): readonly Need[] {
    return environment === undefined ? needsOf(section, row) : [];
  }

  async #runOne(row: ContractRow, changes: Partial<RowPlan> = {}): Promise<RowResult> {
    const { tenants } = this.#names;
    this.#rows++;
    const result = await runOne({
      target: this.#target,
      mode: this.#mode,
      tenants,
      number: this.#names.numberOf(this.#rows),
      row,
      observe: this.#observe,
      signal: this.#interruption.signal,
      prepare: (tenant) => this.#grant(tenant),
      ...changes,
    });
    this.#note(result.traces);
    return result;
  }

  #note({ tenants, queues }: Traces): void {
    for (const tenant of tenants) this.#tenants.add(tenant);
    for (const queue of queues) this.#queues.add(queue);
  }

  /**
   * Tenants of its own, where the broker reads the header that names one and lets this caller purge
   * it. A balancer that takes the header away, or keeps purges from clients, leaves the queues.
   */
  async #chooseMode(): Promise<void> {
    const [client] = this.#target.clients;
    if (client === undefined) return;
    const list = '/api/v1/resources/queues?limit=1';
    const malformed = await client.send('GET', list, undefined, {
      headers: { 'x-svc-tenant': 'none' },
    });
    const tenant = `${this.#names.tenants}-0000-4000-8000-000000000000`;
    const headers = { 'x-svc-tenant': tenant };
    if (malformed.status !== 400) {
      await expectRemovals(client, `row.q${this.#names.numberOf(0)}`);
      this.#modeText = 'queues with names of this run alone: the broker reads no tenant header';
      return;
    }
    const path = `/api/v1/resources/tenant?tenant=${tenant}`;
    const purged = await client.send('DELETE', path, undefined, { headers });
    if (purged.status !== 200) {
      await expectRemovals(client, `row.q${this.#names.numberOf(0)}`);
      const why = `purging a tenant is answered ${purged.status}`;
      this.#modeText = `queues with names of this run alone: ${why}`;
      return;
    }
    this.#mode = 'tenants';
    this.#modeText = 'tenants of this run alone, purged after each row';
    const kv = JSON.stringify([{ op: 'get', ns: 'n', key: 'k' }]);
    const gated = await client.send('POST', '/api/v1/kv', kv, { headers });
    this.#needsGrants = gated.status === 403 && gated.text.includes('feature_gated');
  }

  async #grant(tenant: string): Promise<void> {
    const [client] = this.#target.clients;
    if (!this.#needsGrants || client === undefined) return;
    for (const kind of GRANTED) {
      const body = JSON.stringify({ kind, tenant });
      bodyOf(await client.send('POST', '/api/v1/resources/quota', body), 200);
    }
  }

  async #probe(needs: readonly Need[]): Promise<ReadonlyMap<Need, boolean>> {
    const found = new Map<Need, boolean>();
    await sideBySide([...new Set(needs)], async (need) => {
      const probe: ContractRow = { row: 'probe', does: need, run: PROBES[need] };
      const changes = { observe: () => undefined };
      const bare = { ...changes, prepare: () => Promise.resolve() };
      const { outcome } = await this.#runOne(probe, UNGRANTED.has(need) ? bare : changes);
      // What a row of this mode may not send, it does not need either: the row itself is skipped.
      found.set(need, outcome.kind !== 'failed');
    });
    return found;
  }
}

/** Settings that the shared node of the tests does not have. */
function settingsText(environment: Environment): string {
  const [first, ...more] = Object.keys(environment).filter(
    (one) => environment[one] !== SHARED[one],
  );
  if (first === undefined) return '';
  return ` with ${first}${more.length === 0 ? '' : ` and ${more.length} more`}`;
}

/** Whatever cannot be removed again is not made. */
async function expectRemovals(client: TokenClient, queue: string): Promise<void> {
  const { status } = await client.send('DELETE', `/api/v1/resources/queues/${queue}`);
  if (status === 200) return;
  throw new UsageError(
    `${client.base.origin}: what a run makes could not be removed: ` +
      `deleting a queue is answered ${status}; an admin's token may`,
  );
}

export class Counts {
  met = 0;
  failed = 0;
  readonly skipped = new Map<string, number>();

  add(outcome: Outcome): void {
    if (outcome.kind === 'met') this.met++;
    else if (outcome.kind === 'failed') this.failed++;
    else this.skipped.set(outcome.reason, (this.skipped.get(outcome.reason) ?? 0) + 1);
  }

  /** Lines for the end. */
  get summary(): readonly string[] {
    const skipped = [...this.skipped.values()].reduce((sum, count) => sum + count, 0);
    const rows = this.met + this.failed + skipped;
    const reasons = [...this.skipped].sort(([, a], [, b]) => b - a);
    return [
      ...reasons.map(([reason, count]) => `skipped ${count}: ${reason}`),
      `rows ${rows}, met ${this.met}, failed ${this.failed}, skipped ${skipped}`,
    ];
  }
}

async function sideBySide<Item>(
  items: readonly Item[],
  work: (item: Item) => Promise<void>,
): Promise<void> {
  let next = 0;
  const worker = async () => {
    for (;;) {
      const item = items[next++];
      if (item === undefined) return;
      await work(item);
    }
  };
  await Promise.all(Array.from({ length: SIDE_BY_SIDE }, worker));
}
