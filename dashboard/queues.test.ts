// Goal: the table shows the queues that are looked for, in the order that was asked for.
// Method: the selection alone, which needs no page.
import { expect, test } from 'vitest';
import { select } from './public/queues.js';

const queue = (name: string, pending: number) => ({ name, partitions: 1, messages: { pending } });
const queues = [queue('orders', 5), queue('billing', 5), queue('Old-orders', 9)];
const names = (view: object) => select(queues, view).map(({ name }: { name: string }) => name);

test('by name', () => {
  expect(names({ text: '', column: 'name', descending: false })).toEqual([
    'Old-orders',
    'billing',
    'orders',
  ]);
});

test('by a figure, ties by name', () => {
  expect(names({ text: '', column: 'pending', descending: true })).toEqual([
    'Old-orders',
    'billing',
    'orders',
  ]);
  expect(names({ text: '', column: 'pending', descending: false })).toEqual([
    'billing',
    'orders',
    'Old-orders',
  ]);
});

test('by a part of the name in any case', () => {
  expect(names({ text: ' ORDERS', column: 'name', descending: true })).toEqual([
    'orders',
    'Old-orders',
  ]);
  expect(names({ text: '<b>', column: 'name', descending: true })).toEqual([]);
});
