/**
 * Goal: the tenant header scopes every row (message-plane 1.2), and only where it is switched on.
 * Method: the same calls for two tenants of one node that reads the header, and of one that does
 * not.
 */
import { describe, expect, it } from 'vitest';
import type { RequestOptions } from '../process/http-client.js';
import { bodyOf } from './broker-api.js';
import { type NodeFixture, useNode } from './node-fixture.js';

const on = useNode({ SVC_TENANCY_HEADER: 'true', SVC_KV_TRUSTED_PROXY: '1' });
const off = useNode();

function as(tenant: string): RequestOptions {
  return { headers: { 'x-svc-tenant': tenant } };
}

const A = as('aaaaaaaa-0000-4000-8000-00000000000a');
const B = as('bbbbbbbb-0000-4000-8000-00000000000b');

async function push(node: NodeFixture, queue: string, options: RequestOptions): Promise<void> {
  const body = { items: [{ queue, partition: 'p', transactionId: 't', payload: 1 }] };
  bodyOf(await node.client.post('/api/v1/push', body, options), 201);
}

describe('with the header read', () => {
  it('a queue of one tenant does not exist for another', async () => {
    await push(on, 'mine', A);
    const path = '/api/v1/pop/queue/mine/partition/p?consumerGroup=g';
    expect((await on.client.get(path, B)).status).toBe(204);
    expect((await on.client.get(path)).status).toBe(204);
    const detail = '/api/v1/resources/queues/mine';
    expect((await on.client.get(detail, B)).status).toBe(404);
    expect((await on.client.get(detail, A)).status).toBe(200);
    const popped = bodyOf(await on.client.get(path, A), 200) as {
      leaseId: string;
      partitionId: string;
    };
    const { leaseId, partitionId } = popped;
    const ack = { transactionId: 't', partitionId, leaseId, consumerGroup: 'g' };
    const stranger = bodyOf(await on.client.post('/api/v1/ack', ack, B), 200);
    expect(stranger).toMatchObject([{ success: false, error: `no partition ${partitionId}` }]);
    const extended = await on.client.post(`/api/v1/lease/${leaseId}/extend`, '', B);
    expect(bodyOf(extended, 200)).toMatchObject({ success: false, renewed: 0 });
    const owner = bodyOf(await on.client.post('/api/v1/ack', ack, A), 200);
    expect(owner).toMatchObject([{ success: true }]);
  });

  it('no header and an empty one mean the default tenant', async () => {
    await push(on, 'default', as(''));
    const detail = '/api/v1/resources/queues/default';
    expect((await on.client.get(detail)).status).toBe(200);
    const explicit = as('00000000-0000-0000-0000-000000000001');
    expect((await on.client.get(detail, explicit)).status).toBe(200);
  });

  it('the case of a tenant does not matter', async () => {
    await push(on, 'cased', as('AAAAAAAA-0000-4000-8000-00000000000A'));
    expect((await on.client.get('/api/v1/resources/queues/cased', A)).status).toBe(200);
  });

  it('a malformed tenant is 400 and a reserved one 403', async () => {
    const malformed = await on.client.get('/api/v1/resources/queues', as('me'));
    expect(malformed.status).toBe(400);
    expect(malformed.text).toBe('{"error":"invalid x-svc-tenant header (must be a UUID)"}');
    const reserved = as('00000000-0000-0000-0000-00000000fffe');
    const refused = await on.client.get('/api/v1/resources/queues', reserved);
    expect(refused.status).toBe(403);
    expect(refused.text).toBe(
      '{"error":"this tenant is reserved: no route acts on it","code":"reserved_tenant"}',
    );
  });
});

describe('without', () => {
  it('the header means nothing', async () => {
    await push(off, 'shared', A);
    expect((await off.client.get('/api/v1/resources/queues/shared', B)).status).toBe(200);
    expect((await off.client.get('/api/v1/resources/queues/shared', as('me'))).status).toBe(200);
  });
});
