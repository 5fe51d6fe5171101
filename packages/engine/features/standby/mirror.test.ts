/**
 * Goal: a standby that logs the entries of its source has the state of its source, but for where
 * appends stand, and goes on from there as the source would; and an entry that it cannot apply is
 * refused before it is logged.
 *
 * Method: a source under random commands of every feature; its entries go through admission into a
 * second state, several in flight at a time, through their bytes. Then one change of an entry, or
 * of the second state, for each thing that admission proves.
 */
import { describe, expect, test } from 'vitest';
import { ByteWriter } from '../../base/bytes.js';
import type { Command } from '../../base/commands/commands.js';
import type { KvJson, KvOp } from '../../base/commands/kv.js';
import { SINGLETON_KEY } from '../../base/keys.js';
import type { AppendRow } from '../../base/rows.js';
import type { Key } from '../../base/state.js';
import { appends, meta } from '../../base/tables.js';
import { readMeta } from '../../state/apply.js';
import {
  type Effect,
  ENTRY_HEADER_BYTES,
  writeEffect,
  writeEntryHeader,
} from '../../state/effects.js';
import { kvCounter } from '../../state/kv/tables.js';
import { MIRROR_CODE } from '../../state/standby/effects.js';
import { type StandbyRoleRow, standbyRoleOf } from '../../state/standby/tables.js';
import { TABLES } from '../../state/table-list.js';
import { EngineRig, pushCommand, TENANT, utf8 } from '../../testing/engine.fake.js';
import { randomKvCall } from '../../testing/kv.fake.js';
import { wrongCounts } from '../../testing/log-use.fake.js';
import { SeededRandom } from '../../testing/random.fake.js';
import { MIRROR_BYTES_MAX, MirrorPlan, type SourceEntry, seedBody } from './mirror.js';

const SEEDS = 20;
const TURNS = 60;
const READABLE = 5;
const ROLE: StandbyRoleRow = {
  role: 'standby',
  id: '5e1f09c2',
  source: 'a:7400',
  sourceCluster: null,
  atUs: 0,
  wallUs: 1,
  position: null,
};
/** Their rows say where something stands in the log, or are the standby's own. */
const OWN_TABLES = ['logUse', 'memberships', 'standbyRoles', 'sourcePositions'];

class Pair {
  readonly source = new EngineRig();
  readonly standby = new EngineRig();
  readonly term = 3;
  plan: MirrorPlan;
  readonly #inFlight: Uint8Array[] = [];

  constructor() {
    this.plan = new MirrorPlan(this.standby.state);
    this.logged(this.plan.takeRole(this.next, ROLE));
  }

  /** The index that the next entry of the standby will have. */
  get next(): number {
    return this.standby.nextIndex + this.#inFlight.length;
  }

  logged(body: Uint8Array): void {
    this.#inFlight.push(body);
  }

  apply(left: number): void {
    while (this.#inFlight.length > left) {
      const index = this.standby.nextIndex;
      this.standby.take(this.#inFlight.shift() as Uint8Array);
      this.plan.applied(index);
    }
  }

  entries(after: number): SourceEntry[] {
    return [...this.source.written]
      .filter(([index]) => index > after)
      .map(([index, body]) => ({ index, term: this.term, body }));
  }

  /** Brings the standby up to its source, `lag` entries in flight. */
  follow(lag = 0): void {
    for (const entry of this.entries(this.plan.position.index)) {
      const verdict = this.plan.admit(this.next, this.plan.position.index, entry, READABLE);
      if (verdict.kind !== 'admitted') throw new Error(JSON.stringify(verdict));
      this.logged(verdict.body);
      this.apply(lag);
    }
    this.apply(0);
  }

  admit(entry: SourceEntry, previous = this.plan.position.index, readable = READABLE) {
    return this.plan.admit(this.next, previous, entry, readable);
  }
}

/** Rows of all features as text, without places in the log. */
function rowsOf(rig: EngineRig): string[] {
  const shared = TABLES.filter(({ local, name }) => !local && !OWN_TABLES.includes(name));
  return shared.flatMap((table) => {
    const rows = rig.state.range(table, '' as Key, '\xff'.repeat(600) as Key, 1_000_000);
    return rows.map(({ key, row }) => {
      const placed = table.id === appends.id ? withoutPlace(row as AppendRow) : row;
      const bytes = Buffer.from(table.encode(placed)).toString('hex');
      return `${table.name} ${JSON.stringify(key)} ${bytes}`;
    });
  });
}

function withoutPlace(row: AppendRow): AppendRow {
  return { ...row, index: 0, position: 0 };
}

const QUEUES = ['q', 'r'];
const GROUPS = ['g', 'h'];

class Load {
  readonly #rig: EngineRig;
  readonly #random: SeededRandom;
  #ids = 0;
  readonly #leases: { partition: number; leaseId: string; group: string; ids: string[] }[] = [];

  constructor(rig: EngineRig, random: SeededRandom) {
    this.#rig = rig;
    this.#random = random;
  }

  turn(): void {
    const random = this.#random;
    this.#rig.advance(random.below(5) === 0 ? 40_000 : random.below(100));
    const sent = Array.from({ length: 1 + random.below(4) }, () => this.#command());
    const requests = sent.map((command) => ({ command, request: this.#rig.send(command) }));
    if (random.below(6) === 0) this.#rig.moveOldest(3);
    this.#rig.turn();
    for (const { command, request } of requests) {
      const { outcome } = request;
      if (command.kind !== 'pop' || outcome?.kind !== 'popped') continue;
      for (const { partitionNumber } of outcome.claims) {
        const ids = this.#rig.texts(outcome);
        const { consumerGroup: group, leaseId } = outcome;
        this.#leases.push({ partition: partitionNumber, leaseId, group, ids });
      }
    }
  }

  #of<One>(list: readonly One[]): One {
    return list[this.#random.below(list.length)] as One;
  }

  #command(): Command {
    const random = this.#random;
    const queue = this.#of(QUEUES);
    const dice = random.below(20);
    if (dice < 7) {
      const ids = Array.from({ length: 1 + random.below(3) }, () => `m${this.#ids++}`);
      return pushCommand(queue, this.#of(['x', 'y']), ids, random.below(3) > 0);
    }
    if (dice < 11)
      return this.#rig.popCommand({ queue, consumerGroup: this.#of(GROUPS), batch: 2 });
    if (dice < 14) return this.#ack();
    if (dice < 16) return randomKvCall(random, TENANT, () => random.below(9));
    if (dice === 16) return this.#timer(queue);
    if (dice === 17) return this.#trace();
    if (dice === 18) return this.#configure(queue);
    return random.below(3) === 0
      ? { kind: 'delete-queue', tenant: TENANT, queue }
      : { kind: 'ephemeral-configure', tenant: TENANT, queue, options: `{"ttl":${dice}}` };
  }

  #ack(): Command {
    const lease = this.#leases.splice(this.#random.below(this.#leases.length + 1), 1)[0];
    const { partition, leaseId, group, ids } = lease ?? {
      partition: 1,
      leaseId: '01a2b3c4-0000-7000-8000-000000000001',
      group: 'g',
      ids: ['m0'],
    };
    const status = this.#of(['completed', 'failed', 'retry', 'dlq'] as const);
    const items = ids.map((transactionId) => {
      return { transactionId, partitionId: String(partition), leaseId, status, error: 'jam' };
    });
    return { kind: 'ack', tenant: TENANT, consumerGroup: group, items };
  }

  #timer(queue: string): Command {
    const ops = [
      {
        op: 'schedule' as const,
        queue,
        timerKey: `t${this.#random.below(5)}`,
        partition: 'x',
        delayUs: this.#random.below(60_000_000),
        txn: `t${this.#ids++}`,
        payload: utf8('7'),
        isJson: true,
        encrypted: false,
      },
    ];
    return { kind: 'timers', tenant: TENANT, producerSub: null, ops };
  }

  #trace(): Command {
    return {
      kind: 'trace',
      tenant: TENANT,
      transactionId: 'm0',
      partitionId: null,
      names: ['n'],
      eventType: 'info',
      consumerGroup: null,
      worker: null,
      messageId: null,
      traceId: null,
      data: utf8('{}'),
    };
  }

  #configure(queue: string): Command {
    const changes = {
      retryLimit: this.#random.below(3),
      retentionSeconds: 30,
      retentionEnabled: true,
    };
    return { kind: 'configure', tenant: TENANT, queue, replace: false, changes };
  }
}

function entryOf(stampUs: number, ...effects: Effect[]): Uint8Array {
  const writer = new ByteWriter(256);
  writeEntryHeader(writer, stampUs);
  for (const effect of effects) writeEffect(writer, effect);
  return writer.finish();
}

describe('a standby that follows', () => {
  test('has the rows of its source, whatever came', () => {
    for (let seed = 1; seed <= SEEDS; seed++) {
      const random = new SeededRandom(seed);
      const pair = new Pair();
      const load = new Load(pair.source, random);
      for (let turn = 0; turn < TURNS; turn++) {
        load.turn();
        if (random.below(4) === 0) pair.follow(random.below(5));
      }
      pair.follow();
      expect(rowsOf(pair.standby), `seed ${seed}`).toEqual(rowsOf(pair.source));
      expect(wrongCounts(pair.standby.state), `seed ${seed}`).toEqual([]);
    }
  });

  test('goes on when it is promoted: leases, duplicates, versions and numbers', () => {
    const pair = new Pair();
    const { source, standby } = pair;
    source.push('q', 'x', ['a', 'b', 'c']);
    const popped = source.pop({ batch: 1 });
    source.call({ kind: 'kv', tenant: TENANT, ops: [put('k', '1')] });
    pair.follow();
    const { position } = pair.plan;
    const promoted = { ...ROLE, role: 'promoted' as const, position };
    pair.logged(pair.plan.takeRole(pair.next, promoted));
    pair.apply(0);
    standby.nowMs = source.nowMs;
    standby.wallUs = source.wallUs;
    standby.restart(2);
    const [claim] = popped.claims;
    const acked = standby.ack(claim?.partitionNumber ?? 0, popped.leaseId, [['a', 'completed']]);
    expect(acked.items.map(({ success }) => success)).toEqual([true]);
    const again = standby.call(pushCommand('q', 'x', ['b'], true)).outcome;
    expect(again).toMatchObject({ kind: 'pushed', status: new Uint8Array([1]) });
    expect(standby.texts(standby.pop())).toEqual(['b', 'c']);
    const written = standby.call({ kind: 'kv', tenant: TENANT, ops: [put('l', '2')] }).outcome;
    expect(written).toMatchObject({ results: [{ version: 2 }] });
    standby.push('new', 'p', ['z']);
    expect(readMeta(standby.state)).toMatchObject({ nextQueue: 3, nextPartition: 3 });
  });

  test('begins at its source when it was seeded from it, whatever that source was', () => {
    const pair = new Pair();
    const { source, standby } = pair;
    source.push('q', 'x', ['a']);
    pair.follow();
    const { position } = pair.plan;
    const seeded = { ...ROLE, id: '00000002' };
    standby.take(seedBody(position, seeded));
    pair.plan = new MirrorPlan(standby.state);
    expect([pair.plan.role, pair.plan.position]).toEqual([seeded, position]);
    source.push('q', 'x', ['b']);
    pair.follow();
    expect(rowsOf(standby)).toEqual(rowsOf(source));
    expect(() => standby.take(seedBody(position, { ...seeded, role: 'promoted' }))).toThrow();
  });

  test('takes what its source mirrored as an entry of its source', () => {
    const far = new Pair();
    far.source.push('q', 'x', ['a']);
    far.follow();
    const chain = new EngineRig();
    const plan = new MirrorPlan(chain.state);
    chain.take(plan.takeRole(chain.nextIndex, { ...ROLE, id: '00000002' }));
    for (const [index, body] of far.standby.written) {
      const verdict = plan.admit(index + 1, plan.position.index, { index, term: 1, body }, 5);
      if (verdict.kind !== 'admitted') throw new Error(JSON.stringify(verdict));
      chain.take(verdict.body);
      // It names the place in its own source alone: a longer chain makes no longer entry.
      if (body[ENTRY_HEADER_BYTES] === MIRROR_CODE) expect(verdict.body.length).toBe(body.length);
    }
    expect(rowsOf(chain)).toEqual(rowsOf(far.source));
    expect(standbyRoleOf(chain.state)?.id).toBe('00000002');
  });

  test('has entries that are as much longer as is allowed for, at the most', () => {
    const pair = new Pair();
    pair.follow();
    const last = Number.MAX_SAFE_INTEGER;
    pair.standby.take(seedBody({ index: last - 1, term: last, stampUs: 0 }, ROLE));
    pair.plan = new MirrorPlan(pair.standby.state);
    const body = entryOf(1, { kind: 'timer-clock', us: 9 });
    const verdict = pair.admit({ index: last, term: last, body });
    const { length = 0 } = verdict.kind === 'admitted' ? verdict.body : {};
    expect(length).toBe(body.length + MIRROR_BYTES_MAX);
  });
});

function put(key: string, text: string): KvOp {
  const value = utf8(text) as KvJson;
  const rules = { expect: null, required: false, ttlSeconds: null };
  return { op: 'put', namespace: 'n', key, value, ...rules };
}

describe('an entry is refused', () => {
  function followed(): Pair {
    const pair = new Pair();
    pair.source.push('q', 'x', ['a']);
    pair.source.call({ kind: 'kv', tenant: TENANT, ops: [put('k', '1')] });
    pair.follow();
    return pair;
  }

  function next(pair: Pair): SourceEntry {
    const [entry] = pair.entries(pair.plan.position.index);
    if (entry === undefined) throw new Error('the source wrote nothing');
    return entry;
  }

  test('that does not follow the last one, or came before', () => {
    const pair = followed();
    pair.source.push('q', 'x', ['b']);
    const entry = next(pair);
    expect(pair.admit(entry, 1).kind).toBe('moved');
    expect(pair.admit({ ...entry, index: pair.plan.position.index }).kind).toBe('moved');
    expect(pair.plan.isSpoiled).toBe(false);
    expect(pair.admit(entry).kind).toBe('admitted');
  });

  test('whose stamp is before that of the state', () => {
    const pair = followed();
    const { stampUs } = readMeta(pair.standby.state);
    const early = {
      index: 90,
      term: 3,
      body: entryOf(stampUs - 1, { kind: 'timer-clock', us: 9 }),
    };
    expect(pair.admit(early)).toMatchObject({ kind: 'diverged' });
  });

  test.each<[string, (pair: Pair) => void, (pair: Pair) => void]>([
    [
      'that makes a partition by another number',
      ({ standby }) => {
        const row = readMeta(standby.state);
        standby.state.put(meta, SINGLETON_KEY, { ...row, nextPartition: row.nextPartition + 1 });
      },
      ({ source }) => source.push('q', 'other', ['b']),
    ],
    [
      'that makes a queue by another number',
      ({ standby }) => {
        const row = readMeta(standby.state);
        standby.state.put(meta, SINGLETON_KEY, { ...row, nextQueue: row.nextQueue + 1 });
      },
      ({ source }) => source.push('other', 'x', ['b']),
    ],
    [
      'whose keys get other versions',
      ({ standby }) => standby.state.put(kvCounter, SINGLETON_KEY, 9),
      ({ source }) => {
        source.call({ kind: 'kv', tenant: TENANT, ops: [put('k', '2')] });
      },
    ],
  ])('%s', (_, change, write) => {
    const pair = followed();
    change(pair);
    write(pair);
    const entry = next(pair);
    const verdict = pair.admit(entry);
    expect(verdict).toMatchObject({ kind: 'diverged' });
    expect('error' in verdict && verdict.error).toContain(`source entry ${entry.index}: `);
    expect(pair.plan.isSpoiled).toBe(true);
    expect(pair.admit(entry).kind).toBe('moved');
    // What is applied is untouched, and another plan can be made of it.
    expect(new MirrorPlan(pair.standby.state).position).toEqual(pair.plan.position);
  });

  test('that appends behind another offset', () => {
    const pair = followed();
    pair.source.push('q', 'x', ['b']);
    pair.source.push('q', 'x', ['c']);
    const [skipped, entry] = pair.entries(pair.plan.position.index);
    expect(skipped?.index).toBeLessThan(entry?.index ?? 0);
    expect(pair.admit(entry as SourceEntry)).toMatchObject({ kind: 'diverged' });
  });

  test('that raises the version above what every member reads, until they do', () => {
    const pair = followed();
    const stampUs = readMeta(pair.standby.state).stampUs + 1;
    const body = entryOf(stampUs, { kind: 'cluster-version', version: 6 });
    expect(pair.admit({ index: 90, term: 3, body })).toEqual({
      kind: 'waits',
      error:
        'source entry 90 raises the cluster version to 6, and not every member of this standby ' +
        'is known to read it: upgrade the standby first',
    });
    expect(pair.admit({ index: 90, term: 3, body }, pair.plan.position.index, 6).kind).toBe(
      'admitted',
    );
  });

  test('that holds an effect no build here knows', () => {
    const pair = followed();
    const body = entryOf(readMeta(pair.standby.state).stampUs + 1);
    const unknown = new Uint8Array([...body, 200, 0, 0, 0, 0]);
    expect(pair.admit({ index: 90, term: 3, body: unknown })).toMatchObject({
      kind: 'diverged',
      error: expect.stringContaining('effect kind 200 is not known to this build'),
    });
  });

  test('that is cut', () => {
    const pair = followed();
    pair.source.push('q', 'x', ['b']);
    const entry = next(pair);
    for (let length = 1; length < entry.body.length; length++) {
      const cut = followed();
      const verdict = cut.admit({ ...entry, body: entry.body.subarray(0, length) });
      // An entry that ends behind its header has no effects, and is none of the source's.
      expect(verdict.kind, `${length} bytes`).toBe(length === 9 ? 'admitted' : 'diverged');
    }
  });

  test('of which a byte is another one, unless every node can apply it so', () => {
    const pair = followed();
    pair.source.call(pushCommand('q', 'x', ['b', 'c'], true));
    const entry = next(pair);
    for (let at = 0; at < entry.body.length; at++) {
      const changed = followed();
      const body = entry.body.slice();
      body[at] = 0x7f;
      const verdict = changed.admit({ ...entry, body });
      if (verdict.kind === 'admitted') changed.standby.take(verdict.body);
    }
  });

  test('that is a role entry of this very cluster', () => {
    const pair = followed();
    const { stampUs } = readMeta(pair.standby.state);
    const body = entryOf(stampUs, { kind: 'standby-role', row: ROLE });
    expect(pair.admit({ index: 90, term: 3, body })).toEqual({
      kind: 'own-entry',
      error:
        "source entry 90 is this cluster's own standby entry: SVC_LINK_SOURCE names this " +
        'cluster itself, or a cluster that follows it',
    });
  });
});

describe('apply', () => {
  const mirror = (previous: number, index: number): Effect => {
    return { kind: 'mirror', previous, index, term: 1 };
  };

  test.each<[string, Effect[], boolean]>([
    ['an entry of a source in a primary', [mirror(0, 1)], false],
    ['a promotion of a primary', [{ kind: 'standby-role', row: promotedAt(0) }], false],
    ['an entry behind another one', [mirror(5, 6)], true],
    ['an entry once more', [mirror(0, 0)], true],
    ['a promotion at another entry', [{ kind: 'standby-role', row: promotedAt(4) }], true],
    [
      'a role of another standby',
      [{ kind: 'standby-role', row: { ...ROLE, id: 'x'.repeat(8) } }],
      true,
    ],
  ])('refuses %s', (_, effects, isStandby) => {
    const rig = new EngineRig();
    if (isStandby) rig.take(new MirrorPlan(rig.state).takeRole(1, ROLE));
    expect(() => rig.take(entryOf(0, ...effects))).toThrow();
  });

  test('refuses a role entry that takes time', () => {
    const rig = new EngineRig();
    expect(() => rig.take(entryOf(5, { kind: 'standby-role', row: ROLE }))).toThrow(/stamp 5/);
  });
});

function promotedAt(index: number): StandbyRoleRow {
  return { ...ROLE, role: 'promoted', position: { index, term: 0, stampUs: 0 } };
}
