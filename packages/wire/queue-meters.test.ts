// Goal: no column of a queue changes its number, by which stored series and other nodes know it.
// Method: the numbers of the first release, beside those of the code.
import { expect, test } from 'vitest';
import { QUEUE_COLUMN_NUMBERS, QUEUE_COLUMNS } from './queue-meters.js';

const RELEASED: readonly string[] = [
  'pushRequests',
  'pushMessages',
  'popRequests',
  'popMessages',
  'popEmpty',
  'ackRequests',
  'ackSuccess',
  'ackFailed',
  'transactions',
  'deadLetters',
  'lagMsSum',
  'lagMsMax',
  'conflated',
  'parkedSum',
  'parkedSamples',
  'partitionsCreated',
  'partitionsDeleted',
  'agedMessages',
  'readMessages',
  'waitedMessages',
  'trims',
];

test('columns keep their numbers', () => {
  expect(QUEUE_COLUMNS.slice(0, RELEASED.length)).toEqual(RELEASED);
});

test('numbers are dense, and fit into the mask of a row', () => {
  QUEUE_COLUMNS.forEach((column, number) => {
    expect(QUEUE_COLUMN_NUMBERS[column]).toBe(number);
  });
  expect(QUEUE_COLUMNS.length).toBeLessThanOrEqual(31);
});
