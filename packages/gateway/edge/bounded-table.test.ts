// Goal: a table that is full gives nobody a fresh entry. Method: random visits with few keys and a
// clock, beside a model that never forgets: an entry may be stricter than its own, never milder.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Bucket } from '../base/bucket.js';
import { AddressRates } from './address-rates.js';
import { BoundedTable } from './bounded-table.js';

const RATE = { perSecond: 1, burst: 3 };

function tableOf(entriesMax: number): BoundedTable<Bucket> {
  return new BoundedTable({
    entriesMax,
    create: (nowMs) => new Bucket(RATE, nowMs),
    isAsNew: (bucket, nowMs) => bucket.isFull(RATE, nowMs),
  });
}

test('no visitor gets more than with a table without bound', () => {
  const visit = fc.record({ key: fc.integer({ min: 0, max: 9 }), restMs: fc.nat(1500) });
  fc.assert(
    fc.property(fc.array(visit, { maxLength: 200 }), fc.integer({ min: 1, max: 6 }), (all, max) => {
      const table = tableOf(max);
      const model = new Map<number, Bucket>();
      let nowMs = 0;
      for (const { key, restMs } of all) {
        nowMs += restMs;
        const free = model.get(key) ?? new Bucket(RATE, nowMs);
        model.set(key, free);
        const isTaken = table.at(`key ${key}`, nowMs).take(1, RATE, nowMs) === 0;
        // The model takes back a key that the table refused, so that both have let in the same.
        const mayPass = free.take(1, RATE, nowMs) === 0;
        if (isTaken) expect(mayPass).toBe(true);
        else if (mayPass) free.debit(-1, RATE, nowMs);
        expect(table.size).toBeLessThanOrEqual(max);
      }
    }),
    { numRuns: 200 },
  );
});

test('has room again when its entries are as good as new', () => {
  const table = tableOf(2);
  for (const key of ['a', 'b', 'c']) table.at(key, 0).take(3, RATE, 0);
  expect(table.at('c', 0).take(1, RATE, 0)).toBe(1);
  expect(table.size).toBe(2);
  expect(table.at('d', 3000).take(3, RATE, 3000)).toBe(0);
  expect(table.size).toBe(1);
});

test('an address that is over its rate waits, and others do not', () => {
  const web = { perSecond: 20, burst: 60 };
  const rates = new AddressRates({ data: null, web, trackedMax: 100 });
  for (let i = 0; i < 60; i++) expect(rates.take('web', 'one', 0)).toBeNull();
  expect(rates.take('web', 'one', 0)).toEqual({
    status: 429,
    code: 'rate_limited',
    error: 'too many requests from this address',
    retryAfterS: 1,
  });
  expect(rates.take('web', 'other', 0)).toBeNull();
  expect(rates.take('web', 'one', 50)).toBeNull();
  expect(rates.take('data', 'one', 0)).toBeNull();
});
