// Goal: the gateway asks the broker about the tenant that the cluster's requests are relayed for,
// and knows all that it keeps. Method: a front that answers with the tenant that it is asked for,
// or with what a test says.
import type { CallClient, CallRequest } from '@svc/http';
import { DEFAULT_TENANT } from '@svc/wire';
import { expect, test } from 'vitest';
import { FakeClock } from '../base/clock.fake.js';
import { FrontInventory } from './broker-inventory.js';
import { FrontBroker } from './front-broker.js';

const TENANT = '3d1c0000-0000-4000-8000-000000000000';

const upstream = {
  call({ identity }: CallRequest, client: CallClient) {
    const body = Buffer.from(identity?.tenant ?? '');
    client.onHead({ status: '200 OK', headers: [], length: body.length, closes: false });
    client.onBytes(body);
    client.onEnd();
    return { sendBody: () => true, takesMore: () => {}, abort: () => {} };
  },
};

test.each([
  [true, TENANT],
  [false, DEFAULT_TENANT],
])('tenants of their own: %s', async (hasTenants, wanted) => {
  const broker = new FrontBroker(upstream, new FakeClock(), hasTenants);
  const request = { method: 'GET', target: '/', body: null, timeoutMs: 1 } as const;
  const { body } = await broker.call(TENANT, request);
  expect(Buffer.from(body).toString()).toBe(wanted);
});

test('what a tenant keeps is messages of all queues, key/value and timers', async () => {
  const beside = { kvRows: 1, kvBytes: 10, timerRows: 1, timerBytes: 200 };
  const queue = (name: string) => ({ name, partitions: 1, retainedBytes: 3_000 });
  const pages = [
    { queues: [queue('a'), queue('b')], ...beside, nextAfter: 'b' },
    { queues: [queue('c')], ...beside, nextAfter: null },
    { queues: [], ...beside, nextAfter: null },
  ];
  const call = async () => ({ status: 200, body: Buffer.from(JSON.stringify(pages.shift())) });
  const inventory = new FrontInventory({ call });
  expect(await inventory.retainedBytes(TENANT)).toBe(9_210);
  expect(await inventory.retainedBytes(TENANT)).toBe(210);
});
