// Goal: the double of the store is as strict as the broker's. Method: the table that both run.
import { expect, test } from 'vitest';
import { FakeClock } from '../base/clock.fake.js';
import { StoreUnavailableError } from './kv.js';
import { STORE_CASES } from './kv-cases.fake.js';
import { MemoryStore } from './memory-kv.fake.js';

test.each(STORE_CASES)('$name', async ({ run }) => {
  const clock = new FakeClock();
  const passMs = async (ms: number) => clock.advance(ms);
  await run({ store: new MemoryStore(clock), namespace: 'px.cases', passMs });
});

test('a store that is down answers nothing', async () => {
  const store = new MemoryStore(new FakeClock());
  store.down = true;
  await expect(store.get('px.cases', '#k')).rejects.toThrow(StoreUnavailableError);
  await expect(store.batch([])).rejects.toThrow(StoreUnavailableError);
});

test('a lost answer leaves its batch applied', async () => {
  const store = new MemoryStore(new FakeClock());
  store.losesNextAnswer = true;
  const op = { op: 'put', namespace: 'px.cases', key: '#k', value: 1 } as const;
  await expect(store.batch([op])).rejects.toThrow(StoreUnavailableError);
  expect((await store.get('px.cases', '#k'))?.value).toBe(1);
});

test('a batch that names a key twice is an error of the caller', async () => {
  const store = new MemoryStore(new FakeClock());
  const op = { op: 'put', namespace: 'px.cases', key: '#k', value: 1 } as const;
  await expect(store.batch([op, op])).rejects.toThrow('named twice');
});
