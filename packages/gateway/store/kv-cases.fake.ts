/**
 * What every implementation of the store must do, as a table of cases: the double runs them here,
 * the broker's own store where it is embedded. Each case gets a namespace of its own.
 */
import { type BatchOutcome, type KeyValueStore, pages, type WriteOp } from './kv.js';

export interface StoreUnderTest {
  readonly store: KeyValueStore;
  /** A namespace without a row. */
  readonly namespace: string;
  /** Comes back when so much time has passed for the store. */
  readonly passMs: (ms: number) => Promise<void>;
}

export interface StoreCase {
  readonly name: string;
  /** Throws where the store does something else. */
  readonly run: (under: StoreUnderTest) => Promise<void>;
}

export const STORE_CASES: readonly StoreCase[] = [
  {
    name: 'a row is as it was put, whatever JSON it is',
    run: async (under) => {
      const values = [null, true, 0, -1.5, 9007199254740991, '', 'ä€😀', [], { a: [1, { b: '' }] }];
      await applied(under, ...values.map((value, at) => ({ ...put(`#${at}`), value })));
      for (const [at, value] of values.entries()) equal(await storedAt(under, `#${at}`), value);
    },
  },
  {
    name: 'a key without a row is null, and missing among many',
    run: async (under) => {
      await applied(under, put('#b'), put('#a'));
      equal(await under.store.get(under.namespace, '#c'), null);
      const rows = await under.store.getMany(under.namespace, ['#b', '#c', '#a']);
      equal(rows.map(({ key }) => key).sort(), ['#a', '#b']);
      equal(await under.store.getMany(under.namespace, []), []);
    },
  },
  {
    name: 'versions rise with each write, also over a deletion',
    run: async (under) => {
      const versions: number[] = [];
      for (const op of [put('#k'), put('#k'), del('#k'), putIfAbsent('#k'), incr('#n', 1)]) {
        const [result] = await applied(under, op);
        if (op.op !== 'delete') versions.push(result?.version ?? 0);
      }
      for (let at = 1; at < versions.length; at++) {
        truth((versions[at] ?? 0) > (versions[at - 1] ?? 0), `versions ${versions.join()}`);
      }
      equal((await under.store.get(under.namespace, '#k'))?.version, versions[2]);
    },
  },
  {
    name: 'expect compares versions, and 0 is no row',
    run: async (under) => {
      const [first] = await applied(under, { ...put('#k'), expect: 0, required: true });
      const version = first?.version ?? 0;
      equal(await lost(under, { ...put('#k'), expect: 0, required: true }), 0);
      equal(await lost(under, { ...put('#k'), expect: version + 1, required: true }), 0);
      equal(await lost(under, { ...del('#k'), expect: version + 1, required: true }), 0);
      await applied(under, { ...put('#k'), expect: version, required: true });
      equal(await lost(under, { ...put('#absent'), expect: version, required: true }), 0);
    },
  },
  {
    name: 'putIfAbsent takes a key once',
    run: async (under) => {
      await applied(under, { ...putIfAbsent('#k'), value: 1 });
      equal(await lost(under, { ...putIfAbsent('#k'), value: 2, required: true }), 0);
      const [result] = await applied(under, { ...putIfAbsent('#k'), value: 2 });
      equal(result?.applied, false);
      equal(await storedAt(under, '#k'), 1);
    },
  },
  {
    name: 'a lost required operation takes the whole batch with it',
    run: async (under) => {
      await applied(under, put('#taken'), put('#old'));
      const ops = [put('#new'), del('#old'), incr('#n', 5)];
      equal(await lost(under, ...ops, { ...putIfAbsent('#taken'), required: true }), 3);
      equal(await storedAt(under, '#new'), undefined);
      equal(await storedAt(under, '#n'), undefined);
      equal(await storedAt(under, '#old'), 'v');
    },
  },
  {
    name: 'a lost operation that is not required leaves the rest',
    run: async (under) => {
      await applied(under, put('#k'));
      const ops = [{ ...put('#k'), expect: 0, value: 'other' }, put('#beside')];
      const results = await applied(under, ...ops);
      equal(
        results.map((result) => result.applied),
        [false, true],
      );
      equal(await storedAt(under, '#k'), 'v');
    },
  },
  {
    name: 'a deletion of nothing is no loss unless it expects a version',
    run: async (under) => {
      await applied(under, { ...del('#none'), required: true });
      await applied(under, { ...del('#none'), expect: 0, required: true });
      equal(await lost(under, { ...del('#none'), expect: 7, required: true }), 0);
    },
  },
  {
    name: 'check writes nothing and guards the batch',
    run: async (under) => {
      const [first] = await applied(under, put('#k'));
      const version = first?.version ?? 0;
      await applied(under, check('#k', version), check('#none', 0), put('#a'));
      equal(await lost(under, put('#b'), check('#k', version + 1)), 1);
      equal(await lost(under, put('#b'), check('#k', 0)), 1);
      equal(await lost(under, put('#b'), check('#none', version)), 1);
      equal((await under.store.get(under.namespace, '#k'))?.version, version);
      equal(await storedAt(under, '#b'), undefined);
    },
  },
  {
    name: 'incr begins at 0 and adds',
    run: async (under) => {
      await applied(under, incr('#n', 5));
      await applied(under, incr('#n', -7));
      equal(await storedAt(under, '#n'), -2);
      await applied(under, put('#text'));
      equal(await lost(under, { ...incr('#text', 1), required: true }), 0);
    },
  },
  {
    name: 'a prefix is answered in the order of bytes, page by page',
    run: async (under) => {
      const keys = ['#a/10', '#a/2', '#a/ä', '#a/z', '#b/1', '#a', '#a/'];
      await applied(under, ...keys.map(put));
      const found: string[] = [];
      let after: string | undefined;
      do {
        const query = { prefix: '#a/', limit: 2, ...(after === undefined ? {} : { after }) };
        const page = await under.store.getPrefix(under.namespace, query);
        truth(page.rows.length <= 2, `${page.rows.length} rows on a page of 2`);
        for (const { key } of page.rows) found.push(key);
        after = page.nextAfter ?? undefined;
      } while (after !== undefined);
      equal(found, ['#a/', '#a/10', '#a/2', '#a/z', '#a/ä']);
    },
  },
  {
    name: 'all pages of a prefix hold each row once',
    run: async (under) => {
      const keys = Array.from({ length: 250 }, (_, at) => `#many/${at}`);
      await applied(under, ...keys.map(put));
      const found: string[] = [];
      for await (const rows of pages(under.store, under.namespace, '#many/')) {
        for (const { key } of rows) found.push(key);
      }
      equal(found, [...keys].sort());
    },
  },
  {
    name: 'a row with a lifetime ends, and its key is free',
    run: async (under) => {
      await applied(under, { ...put('#k'), ttlMs: 1_500 }, { ...incr('#n', 1), ttlMs: 1_000 });
      await applied(under, { ...incr('#n', 1), ttlMs: 3_600_000 });
      equal(await storedAt(under, '#k'), 'v');
      equal(await storedAt(under, '#n'), 2);
      await under.passMs(2_100);
      equal(await storedAt(under, '#k'), undefined);
      equal(await storedAt(under, '#n'), undefined);
      const query = { prefix: '#', limit: 10 };
      equal((await under.store.getPrefix(under.namespace, query)).rows, []);
      await applied(under, { ...putIfAbsent('#k'), required: true });
    },
  },
  {
    name: 'a put without a lifetime takes an earlier one away',
    run: async (under) => {
      await applied(under, { ...put('#k'), ttlMs: 1_000 });
      await applied(under, put('#k'));
      await under.passMs(2_100);
      equal(await storedAt(under, '#k'), 'v');
    },
  },
  {
    name: 'a batch has up to 256 operations, and none is one too',
    run: async (under) => {
      equal(await applied(under), []);
      const keys = Array.from({ length: 256 }, (_, at) => `#${at}`);
      await applied(under, ...keys.map(put));
      equal((await under.store.getMany(under.namespace, keys)).length, 256);
    },
  },
  {
    name: 'of batches at the same time one takes a key',
    run: async (under) => {
      const takes = [1, 2, 3, 4].map(async (value): Promise<BatchOutcome> => {
        const op = { ...putIfAbsent('#k'), value, required: true };
        return under.store.batch([named(under, op), named(under, incr('#taken', 1))]);
      });
      const outcomes = await Promise.all(takes);
      equal(outcomes.filter(({ kind }) => kind === 'applied').length, 1);
      equal(await storedAt(under, '#taken'), 1);
    },
  },
];

type Unnamed<Op> = Op extends WriteOp ? Omit<Op, 'namespace'> : never;
type CaseOp = Unnamed<WriteOp>;

const put = (key: string) => ({ op: 'put' as const, key, value: 'v' as const });
const putIfAbsent = (key: string) => ({ op: 'putIfAbsent' as const, key, value: 'v' as const });
const del = (key: string) => ({ op: 'delete' as const, key });
const incr = (key: string, delta: number) => ({ op: 'incr' as const, key, delta });
const check = (key: string, expect: number) => {
  return { op: 'check' as const, key, expect, required: true };
};

function named({ namespace }: StoreUnderTest, op: CaseOp): WriteOp {
  return { ...op, namespace } as WriteOp;
}

async function applied(under: StoreUnderTest, ...ops: readonly CaseOp[]) {
  const outcome = await under.store.batch(ops.map((op) => named(under, op)));
  if (outcome.kind === 'conflict') throw new Error(`operation ${outcome.index} was lost`);
  truth(outcome.results.length === ops.length, `${outcome.results.length} results`);
  return outcome.results;
}

/** The place of the operation that was lost. */
async function lost(under: StoreUnderTest, ...ops: readonly CaseOp[]): Promise<number> {
  const outcome = await under.store.batch(ops.map((op) => named(under, op)));
  if (outcome.kind === 'applied') throw new Error('the batch was applied');
  return outcome.index;
}

async function storedAt({ store, namespace }: StoreUnderTest, key: string): Promise<unknown> {
  return (await store.get(namespace, key))?.value;
}

function equal(found: unknown, wanted: unknown): void {
  const [one, other] = [JSON.stringify(found), JSON.stringify(wanted)];
  truth(one === other, `${one} instead of ${other}`);
}

function truth(condition: boolean, text: string): void {
  if (!condition) throw new Error(text);
}
