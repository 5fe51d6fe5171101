// Goal: the budget of message-plane 1.3 at its borders, in bytes. Method: names just within and
// beyond.
import { DEFAULT_TENANT } from '@svc/wire';
import { expect, test } from 'vitest';
import { nameBudgetRefusal } from './name-budget.js';

const ROOM = 447 - 36;
const refused = (queue: string, group: string, partition: string): string | undefined =>
  nameBudgetRefusal(DEFAULT_TENANT, queue, group, partition)?.error;

test('names share 411 bytes beside the default tenant', () => {
  expect(refused('q'.repeat(ROOM), '', '')).toBeUndefined();
  expect(refused('q'.repeat(200), 'g'.repeat(ROOM - 200), 'p'.repeat(ROOM - 200))).toBeUndefined();
  expect(nameBudgetRefusal(DEFAULT_TENANT, 'q'.repeat(ROOM + 1), '', '')).toEqual({
    reason: 'name_too_long',
    error: 'queue name is 412 bytes; the composite store key limit leaves 447 bytes for names',
  });
});

test('the longest name is named, the queue first', () => {
  expect(refused('q'.repeat(200), 'g'.repeat(212), '')).toMatch(/^group name is 212 bytes/);
  expect(refused('q'.repeat(200), '', 'p'.repeat(212))).toMatch(/^partition name is 212 bytes/);
  expect(refused('q'.repeat(206), 'g'.repeat(206), '')).toMatch(/^queue name is 206 bytes/);
  expect(refused('q'.repeat(10), 'g'.repeat(402), 'p'.repeat(402))).toMatch(/^group name is 402/);
});

test('bytes count, not characters', () => {
  expect(refused('ü'.repeat(205), '', '')).toBeUndefined();
  expect(refused('ü'.repeat(206), '', '')).toMatch(/^queue name is 412 bytes/);
  expect(refused('€'.repeat(137), '', '')).toBeUndefined();
  expect(refused('€'.repeat(138), '', '')).toMatch(/^queue name is 414 bytes/);
  expect(refused('😀'.repeat(103), '', '')).toMatch(/^queue name is 412 bytes/);
});
