// Goal: every parameter of message-plane 3.1 has its default, its clamp and its refusal.
// Method: a table of query strings.
import { describe, expect, test } from 'vitest';
import { type PopParameters, readPopQuery } from './pop-query.js';

const DEFAULTS: PopParameters = {
  batch: 200,
  partitions: 1,
  autoAck: false,
  wait: false,
  timeoutMs: 30_000,
  leaseSeconds: null,
  consumerGroup: '__QUEUE_MODE__',
  subscription: { mode: 'all' },
  conflation: null,
  autopilot: null,
  namespace: '',
  task: '',
};

const read = (text: string): ReturnType<typeof readPopQuery> =>
  readPopQuery(text, 30_000, { mode: 'all' });

describe('values', () => {
  test.each<[string, Partial<PopParameters>]>([
    ['', {}],
    ['unknown=1&&=x&y', {}],
    ['batch=10', { batch: 10 }],
    ['batch=0', { batch: 1 }],
    ['batch=-5', { batch: 1 }],
    ['batch=%2B7', { batch: 7 }],
    ['batch=2147483647', { batch: 2_147_483_647 }],
    ['batch=1&batch=2', { batch: 2 }],
    ['b%61tch=3', { batch: 3 }],
    ['partitions=8', { partitions: 8 }],
    ['partitions=0', { partitions: 1 }],
    ['partitions=1000', { partitions: 64 }],
    ['autoAck=true', { autoAck: true }],
    ['autoAck=false', {}],
    ['commitOnDelivery=true', { autoAck: true }],
    ['commitOnDelivery=true&autoAck=false', { autoAck: true }],
    ['wait=true', { wait: true }],
    ['wait=true&timeout=1500', { wait: true, timeoutMs: 1500 }],
    ['wait=true&timeout=0', { wait: true, timeoutMs: 1 }],
    ['wait=true&timeout=999999999', { wait: true, timeoutMs: 60_000 }],
    ['wait=true&timeout=18446744073709551615', { wait: true, timeoutMs: 60_000 }],
    ['timeout=5', {}],
    ['leaseSeconds=30', { leaseSeconds: 30 }],
    ['leaseSeconds=0', {}],
    ['leaseSeconds=-1', {}],
    ['consumerGroup=g', { consumerGroup: 'g' }],
    ['consumerGroup=', {}],
    ['consumerGroup', {}],
    ['consumerGroup=a+b%20%C3%BC%2B', { consumerGroup: 'a b ü+' }],
    ['subscriptionMode=all', {}],
    ['subscriptionMode=new', { subscription: { mode: 'new' } }],
    ['subscriptionMode=%20NEW-only%20', { subscription: { mode: 'new' } }],
    ['subscriptionMode=new_only', { subscription: { mode: 'new' } }],
    ['subscriptionMode=newonly', { subscription: { mode: 'new' } }],
    ['subscriptionFrom=NOW', { subscription: { mode: 'new' } }],
    ['subscriptionMode=', {}],
    ['subscriptionMode=ALL', {}],
    ['subscriptionFrom=&subscriptionMode=new', { subscription: { mode: 'new' } }],
    [
      'subscriptionFrom=1970-01-01T00:00:01.5Z&subscriptionMode=new',
      { subscription: { mode: 'timestamp', atUs: 1_500_000 } },
    ],
    [
      'subscriptionFrom=9999-12-31T23:59:59Z',
      { subscription: { mode: 'timestamp', atUs: Number.MAX_SAFE_INTEGER } },
    ],
    ['subscriptionFrom=1969-12-31T23:59:59Z', { subscription: { mode: 'timestamp', atUs: 0 } }],
    ['conflation=false', { conflation: false }],
    ['conflation=true&consumerGroup=g', { conflation: true, consumerGroup: 'g', partitions: 64 }],
    [
      'conflation=true&consumerGroup=g&batch=3',
      { conflation: true, consumerGroup: 'g', batch: 3, partitions: 3 },
    ],
    [
      'conflation=true&consumerGroup=g&partitions=2',
      { conflation: true, consumerGroup: 'g', partitions: 2 },
    ],
    ['namespace=n&task=t', { namespace: 'n', task: 't' }],
    ['autopilot=true', { autopilot: { partitions: true, batch: true } }],
    ['autopilot=true&batch=7', { batch: 7, autopilot: { partitions: true, batch: false } }],
    [
      'autopilot=true&partitions=3',
      { partitions: 3, autopilot: { partitions: false, batch: true } },
    ],
    ['autopilot=true&partitions=3&batch=7', { partitions: 3, batch: 7 }],
    ['autopilot=false', {}],
    [
      'autopilot=true&conflation=true&consumerGroup=g',
      { conflation: true, consumerGroup: 'g', partitions: 64 },
    ],
  ])('%s', (text, expected) => {
    expect(read(text)).toEqual({ ...DEFAULTS, ...expected });
  });

  test('the configured defaults', () => {
    const read = readPopQuery('wait=true', 5, { mode: 'new' });
    expect(read).toMatchObject({ timeoutMs: 5, subscription: { mode: 'new' } });
    const named = readPopQuery('subscriptionMode=all', 5, { mode: 'new' });
    expect(named).toMatchObject({ subscription: { mode: 'all' } });
  });
});

describe('refusals', () => {
  test.each([
    ['batch=ten', 'batch: invalid digit found in string'],
    ['batch=', 'batch: cannot parse integer from empty string'],
    ['batch=1.0', 'batch: invalid digit'],
    ['batch=1e3', 'batch: invalid digit'],
    ['batch=%201', 'batch: invalid digit'],
    ['batch=0x10', 'batch: invalid digit'],
    ['batch=2147483648', 'batch: number too large'],
    ['batch=-2147483649', 'batch: number too small'],
    ['partitions=all', 'partitions: invalid digit'],
    ['leaseSeconds=99999999999', 'leaseSeconds: number too large'],
    ['timeout=-1', 'timeout: invalid digit'],
    ['timeout=18446744073709551616', 'timeout: number too large'],
    ['timeout=soon', 'timeout: invalid digit'],
    ['wait=1', 'wait: provided string was not `true` or `false`'],
    ['wait=True', 'wait: provided'],
    ['wait=', 'wait: provided'],
    ['wait', 'wait: provided'],
    ['autoAck=yes', 'autoAck: provided'],
    ['commitOnDelivery=1', 'commitOnDelivery: provided'],
    ['conflation=on', 'conflation: provided'],
    ['autopilot=2', 'autopilot: provided'],
  ])('%s', (text, message) => {
    expect(read(text)).toEqual({
      fault: expect.stringContaining(`Failed to deserialize query string: ${message}`),
    });
  });

  test.each([
    ['subscriptionMode=newest', 'subscriptionMode must be'],
    ['subscriptionMode=latest&subscriptionFrom=now', 'subscriptionMode must be'],
    ['subscriptionFrom=rubbish&subscriptionMode=new', 'subscriptionFrom must be'],
    ['subscriptionFrom=2026-11-25T18:20:38+02:00', 'subscriptionFrom must be'],
    ['subscriptionFrom=2026-11-25', 'subscriptionFrom must be'],
  ])('a start point that is not understood: %s', (text, message) => {
    expect(read(text)).toEqual({ fault: expect.stringContaining(message) });
  });

  test.each([
    ['consumerGroup=%', 'malformed percent escape'],
    ['consumerGroup=%zz', 'malformed percent escape'],
    ['%4=1', 'malformed percent escape'],
    ['consumerGroup=%ff', 'invalid UTF-8'],
    ['consumerGroup=%ed%a0%80', 'invalid UTF-8'],
    ['consumerGroup=\ufffd', 'invalid UTF-8'],
    ['consumerGroup=a%00b', 'NUL is not allowed'],
  ])('%s', (text, message) => {
    expect(read(text)).toEqual({ fault: `query string: ${message}` });
  });

  test.each([
    ['conflation=true', 'conflation requires consumerGroup: queue mode is a shared cursor'],
    ['conflation=true&consumerGroup=', 'conflation requires consumerGroup'],
    ['conflation=true&consumerGroup=__QUEUE_MODE__', 'conflation requires consumerGroup'],
    [
      'conflation=true&consumerGroup=g&autoAck=true',
      'conflation cannot be combined with autoAck: ',
    ],
    ['conflation=true&consumerGroup=g&commitOnDelivery=true', 'autoAck or commitOnDelivery: '],
  ])('%s', (text, message) => {
    expect(read(text)).toEqual({ conflict: expect.stringContaining(message) });
  });
});
