/**
 * Goal: the examples of message-plane 14, with their exact bodies, key order included.
 * Method: the examples run in their order against one node; what the broker mints is taken from the
 * answers and put into the expected text.
 */
import type { FetchAnswer, PopAnswer, PushResult } from '@svc/wire';
import { describe, expect, it } from 'vitest';
import { bodyOf } from './broker-api.js';
import { useNode } from './node-fixture.js';

const node = useNode();

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const STAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;

const OPTIONS =
  '"options":{"priority":0,"leaseTime":%LEASE%,"retryLimit":3,"retryDelay":1000,"maxSize":0,' +
  '"maxQueueSize":0,"ttl":3600,"deadLetterQueue":true,"dlqAfterMaxRetries":true,' +
  '"delayedProcessing":0,"windowBuffer":0,"retentionSeconds":0,"completedRetentionSeconds":0,' +
  '"retentionEnabled":false,"encryptionEnabled":false,"maxWaitTimeSeconds":0,"minPopWaitTime":0,' +
  '"dedupWindowSeconds":%DEDUP%,"retentionSinkHold":"","retentionSinkHoldMaxSeconds":604800}';

describe('one queue from its first push on', () => {
  let first = '';
  let third = '';
  let popped: PopAnswer;

  it('push, mixed', async () => {
    const answer = await node.client.post(
      '/api/v1/push',
      '{"items":[{"queue":"ship.labels","partition":"cust-7","transactionId":"lbl-1",' +
        '"payload":{"n":1.50}},{"queue":"ship.labels","partition":"cust-7",' +
        '"transactionId":"lbl-1","payload":{"n":2}},{"queue":"ship.labels","payload":null}]}',
    );
    const results = bodyOf(answer, 201) as PushResult[];
    first = results[0]?.message_id ?? '';
    third = results[2]?.message_id ?? '';
    expect(first).toMatch(UUID_V7);
    expect(third).toMatch(UUID_V7);
    expect(third).not.toBe(first);
    expect(answer.text).toBe(
      `[{"index":0,"message_id":"${first}","transaction_id":"lbl-1","queueName":"ship.labels",` +
        `"status":"queued"},{"index":1,"message_id":"${first}","transaction_id":"lbl-1",` +
        `"queueName":"ship.labels","status":"duplicate"},{"index":2,"message_id":"${third}",` +
        `"transaction_id":"${third}","queueName":"ship.labels","status":"queued"}]`,
    );
  });

  it('pop', async () => {
    const query = 'consumerGroup=printer&batch=10&leaseSeconds=30';
    const answer = await node.client.get(`/api/v1/pop/queue/ship.labels?${query}`);
    popped = bodyOf(answer, 200) as PopAnswer;
    const { leaseId, partitionId, messages } = popped;
    const createdAt = messages[0]?.createdAt ?? '';
    expect(leaseId).toMatch(UUID_V7);
    expect(partitionId).toMatch(/^\d+$/);
    expect(createdAt).toMatch(STAMP);
    expect(answer.text).toBe(
      `{"success":true,"queue":"ship.labels","partition":"cust-7","partitionId":"${partitionId}",` +
        `"leaseId":"${leaseId}","consumerGroup":"printer","messages":[{"id":"${first}",` +
        `"queue":"ship.labels","transactionId":"lbl-1","traceId":null,"data":{"n":1.50},` +
        `"producerSub":null,"createdAt":"${createdAt}","partitionId":"${partitionId}",` +
        `"partition":"cust-7","leaseId":"${leaseId}","consumerGroup":"printer",` +
        '"deliveryAttempt":1,"retryCount":0,"offset":0}],"partitionsClaimed":1}',
    );
  });

  it('extend', async () => {
    const { leaseId } = popped;
    const answer = await node.client.post(`/api/v1/lease/${leaseId}/extend`, '{"seconds":120}');
    const { expiresAt } = bodyOf(answer, 200) as { expiresAt: string };
    expect(expiresAt).toMatch(STAMP);
    const left = Date.parse(expiresAt) - Date.now();
    expect(left).toBeGreaterThan(100_000);
    expect(left).toBeLessThan(130_000);
    expect(answer.text).toBe(
      `{"leaseId":"${leaseId}","success":true,"renewed":1,"newExpiresAt":"${expiresAt}",` +
        `"expiresAt":"${expiresAt}","lease_expires_at":"${expiresAt}"}`,
    );
  });

  it('extend of what nobody holds', async () => {
    for (const id of ['nothing', '01a2b3c4-1111-7000-8000-00000000000a']) {
      const answer = await node.client.post(`/api/v1/lease/${id}/extend`, '');
      expect(answer.status).toBe(200);
      expect(answer.text).toBe(
        `{"leaseId":"${id}","success":false,"renewed":0,"newExpiresAt":null,"expiresAt":null,` +
          '"lease_expires_at":null}',
      );
    }
  });

  it('depth', async () => {
    const answer = await node.client.get(
      '/api/v1/resources/queues/ship.labels/depth?group=printer',
    );
    expect(answer.text).toBe(
      '{"queue":"ship.labels","group":"printer","pending":2,"processing":1,"ready":1,' +
        '"partitionsPending":2,"partitionsReady":1,"conflation":false,"effectivePending":2,' +
        '"effectiveReady":1,"partitions":[{"partition":"Default","pending":1,"processing":0,' +
        '"ready":1},{"partition":"cust-7","pending":1,"processing":1,"ready":0}]}',
    );
  });

  it('ack, again, and with another lease', async () => {
    const { leaseId, partitionId } = popped;
    const ack = (lease: string) =>
      node.client.post('/api/v1/ack', {
        transactionId: 'lbl-1',
        partitionId,
        consumerGroup: 'printer',
        leaseId: lease,
      });
    const done = await ack(leaseId);
    expect(done.status).toBe(200);
    expect(done.text).toBe(
      '[{"index":0,"transactionId":"lbl-1","success":true,"error":null,"leaseReleased":true,' +
        '"dlq":false,"noop":false}]',
    );
    const again = JSON.parse((await ack(leaseId)).text) as unknown;
    expect(again).toMatchObject([{ success: true, error: null, noop: true }]);
    const other = await ack('01a2b3c4-1111-7000-8000-00000000000a');
    expect(other.status).toBe(200);
    expect(other.text).toBe(
      '[{"index":0,"transactionId":"lbl-1","success":false,"error":"invalid or expired lease",' +
        '"leaseReleased":false,"dlq":false,"noop":false}]',
    );
  });

  it('configure: merge, null, replace, and a mode that does not exist', async () => {
    const configure = async (body: string) => {
      const answer = await node.client.post('/api/v1/configure', body);
      const { queueId } = bodyOf(answer, 200) as { queueId: string };
      expect(queueId).toMatch(/^[0-9a-f-]{36}$/);
      return answer.text.replace(queueId, 'QUEUE');
    };
    const expected = (namespace: string, task: string, lease: number, dedup: number) =>
      '{"configured":true,"queueId":"QUEUE","partitionId":null,"queue":"ship.labels",' +
      `"namespace":"${namespace}","task":"${task}","storage":"segments",` +
      `${OPTIONS.replace('%LEASE%', `${lease}`).replace('%DEDUP%', `${dedup}`)}}`;
    expect(
      await configure('{"queue":"ship.labels","options":{"leaseTime":45,"dedupWindowSeconds":0}}'),
    ).toBe(expected('ship', 'labels', 45, 0));
    expect(await configure('{"queue":"ship.labels","options":{"leaseTime":null}}')).toBe(
      expected('ship', 'labels', 300, 0),
    );
    expect(await configure('{"queue":"ship.labels","mode":"replace","options":{}}')).toBe(
      expected('', '', 300, 3600),
    );
    const refused = await node.client.post(
      '/api/v1/configure',
      '{"queue":"ship.labels","mode":"patch","options":{}}',
    );
    expect(refused.status).toBe(400);
    expect((JSON.parse(refused.text) as { error: string }).error).toBe(
      'mode must be "merge" or "replace", got "patch"',
    );
  });

  it('fetch', async () => {
    const answer = await node.client.post('/api/v1/fetch', {
      entries: [
        { queue: 'ship.labels', partition: 'cust-7', offset: 0 },
        { queue: 'nope', offset: 0 },
        { queue: 'ship.labels', partition: 'cust-7', offset: 99 },
      ],
    });
    const { entries } = bodyOf(answer, 200) as FetchAnswer;
    const ts = entries[0]?.records[0]?.ts ?? '';
    expect(ts).toBe(popped.messages[0]?.createdAt);
    expect(answer.text).toBe(
      '{"entries":[{"queue":"ship.labels","partition":"cust-7","records":[{"offset":0,' +
        `"transactionId":"lbl-1","payload":{"n":1.50},"ts":"${ts}"}],"highWatermark":1,` +
        '"logStartOffset":0},{"queue":"nope","partition":"Default","records":[],' +
        '"highWatermark":0,"logStartOffset":0,"error":"UNKNOWN_TOPIC_OR_PARTITION"},' +
        '{"queue":"ship.labels","partition":"cust-7","records":[],"highWatermark":1,' +
        '"logStartOffset":0,"error":"OFFSET_OUT_OF_RANGE"}]}',
    );
  });

  it('nothing to pop: 204 without a body or a length', async () => {
    await node.client.get('/api/v1/pop/queue/ship.labels?consumerGroup=printer');
    const answer = await node.client.get('/api/v1/pop/queue/ship.labels?consumerGroup=printer');
    expect(answer.status).toBe(204);
    expect(answer.text).toBe('');
    expect(answer.headers['content-length']).toBeUndefined();
    expect(answer.headers['content-type']).toBeUndefined();
  });
});

describe('batch ack', () => {
  it('completed, failed, completed: the failed one and what follows come again', async () => {
    await node.api.pushIds('batch.acks', 'p', ['a', 'b', 'c']);
    const popped = await node.api.popQueue('batch.acks', { consumerGroup: 'printer' });
    if (popped === null) throw new Error('nothing was delivered');
    const { leaseId, partitionId } = popped;
    const item = (transactionId: string, status: string) => ({
      transactionId,
      partitionId,
      leaseId,
      status,
    });
    const answer = await node.client.post('/api/v1/ack/batch', {
      consumerGroup: 'printer',
      acknowledgments: [
        item('a', 'completed'),
        { ...item('b', 'failed'), error: 'jam' },
        item('c', 'completed'),
      ],
    });
    const element = (index: number, id: string) =>
      `{"index":${index},"transactionId":"${id}","success":true,"error":null,` +
      '"leaseReleased":true,"dlq":false,"noop":false}';
    expect(answer.status).toBe(200);
    expect(answer.text).toBe(`[${element(0, 'a')},${element(1, 'b')},${element(2, 'c')}]`);
    const again = await node.api.popQueue('batch.acks', { consumerGroup: 'printer' });
    expect(again?.messages.map(({ transactionId }) => transactionId)).toEqual(['b', 'c']);
  });
});

describe('delete', () => {
  it('answers for a queue that is there, and for one that is not', async () => {
    await node.api.pushIds('to.delete', 'p', ['a']);
    const before = await node.api.detail('to.delete');
    const deleted = await node.client.send('DELETE', '/api/v1/resources/queues/to.delete', '');
    expect(deleted.status).toBe(200);
    expect(deleted.text).toBe('{"deleted":true,"existed":true,"queue":"to.delete"}');
    const again = await node.client.send('DELETE', '/api/v1/resources/queues/to.delete', '');
    expect(again.text).toBe(
      '{"deleted":false,"existed":false,"queue":"to.delete",' +
        '"message":"Queue not found, nothing was deleted"}',
    );
    await node.api.pushIds('to.delete', 'p', ['a']);
    const after = await node.api.detail('to.delete');
    expect(after.id).not.toBe(before.id);
    expect(after.partitions[0]?.id).not.toBe(before.partitions[0]?.id);
    expect((await node.api.fetch('to.delete', 'p')).highWatermark).toBe(1);
  });
});
