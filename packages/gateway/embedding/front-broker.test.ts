// Goal: the gateway asks the broker about the tenant that the cluster's requests are relayed for.
// Method: a front that answers with the tenant that it is asked for.
import type { CallClient, CallRequest } from '@svc/http';
import { DEFAULT_TENANT } from '@svc/wire';
import { expect, test } from 'vitest';
import { FakeClock } from '../base/clock.fake.js';
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
