/**
 * The examples of the contract with their exact bodies, key order included (message-plane 14). What
 * the broker mints is taken from the answers and put into the expected text.
 */
import type { PopAnswer, PushResult } from '@svc/wire';
import { expect } from 'vitest';
import { bodyOf, idsOf } from '../broker-api.js';
import type { BrokerUnderTest } from '../broker-under-test.js';
import type { ContractTable } from '../table.js';

const QUEUE = 'ship.labels';
const A_STRANGER = '01a2b3c4-1111-7000-8000-00000000000a';
const PRINTER = 'consumerGroup=printer&batch=10&leaseSeconds=30';

const PUSH =
  '{"items":[{"queue":"ship.labels","partition":"cust-7","transactionId":"lbl-1",' +
  '"payload":{"n":1.50}},{"queue":"ship.labels","partition":"cust-7",' +
  '"transactionId":"lbl-1","payload":{"n":2}},{"queue":"ship.labels","payload":null}]}';

const OPTIONS =
  '"options":{"priority":0,"leaseTime":%LEASE%,"retryLimit":3,"retryDelay":1000,"maxSize":0,' +
  '"maxQueueSize":0,"ttl":3600,"deadLetterQueue":true,"dlqAfterMaxRetries":true,' +
  '"delayedProcessing":0,"windowBuffer":0,"retentionSeconds":0,"completedRetentionSeconds":0,' +
  '"retentionEnabled":false,"encryptionEnabled":false,"maxWaitTimeSeconds":0,"minPopWaitTime":0,' +
  '"dedupWindowSeconds":%DEDUP%,"retentionSinkHold":"","retentionSinkHoldMaxSeconds":604800}';

async function pushed({ client }: BrokerUnderTest): Promise<readonly PushResult[]> {
  return bodyOf(await client.post('/api/v1/push', PUSH), 201) as PushResult[];
}

async function popped({ client }: BrokerUnderTest): Promise<PopAnswer> {
  const answer = await client.get(`/api/v1/pop/queue/${QUEUE}?${PRINTER}`);
  return bodyOf(answer, 200) as PopAnswer;
}

export const examples: ContractTable = {
  section: 'message-plane 14',
  rows: [
    {
      row: 'push',
      does: 'mixed: queued, its follower, and one without an id',
      run: async ({ client }) => {
        const { text } = await client.post('/api/v1/push', PUSH);
        const results = JSON.parse(text) as PushResult[];
        const [first, , third] = results.map((one) => one.message_id);
        expect(third).not.toBe(first);
        expect(text).toBe(
          `[{"index":0,"message_id":"${first}","transaction_id":"lbl-1",` +
            `"queueName":"ship.labels","status":"queued"},{"index":1,"message_id":"${first}",` +
            '"transaction_id":"lbl-1","queueName":"ship.labels","status":"duplicate"},' +
            `{"index":2,"message_id":"${third}","transaction_id":"${third}",` +
            '"queueName":"ship.labels","status":"queued"}]',
        );
      },
    },
    {
      row: 'push errors',
      does: 'data instead of payload',
      send: 'POST /api/v1/push',
      body: { items: [{ queue: 'a', data: 1 }] },
      answer: { status: 400, error: 'payload', code: 'bad_body' },
    },
    {
      row: 'push errors',
      does: '{} is 400',
      send: 'POST /api/v1/push',
      body: {},
      answer: { status: 400, error: 'bad push body: ' },
    },
    {
      row: 'push errors',
      does: 'a queue of 500 bytes',
      send: 'POST /api/v1/push',
      body: { items: [{ queue: 'q'.repeat(500), payload: 1 }] },
      answer: { status: 413, code: 'name_too_long' },
    },
    {
      row: 'pop',
      does: 'one message of a named group',
      run: async (broker) => {
        const [first] = await pushed(broker);
        const answer = await broker.client.get(`/api/v1/pop/queue/${QUEUE}?${PRINTER}`);
        const { leaseId, partitionId, messages } = bodyOf(answer, 200) as PopAnswer;
        const createdAt = messages[0]?.createdAt ?? '';
        expect(answer.text).toBe(
          '{"success":true,"queue":"ship.labels","partition":"cust-7",' +
            `"partitionId":"${partitionId}","leaseId":"${leaseId}","consumerGroup":"printer",` +
            `"messages":[{"id":"${first?.message_id}","queue":"ship.labels",` +
            '"transactionId":"lbl-1","traceId":null,"data":{"n":1.50},"producerSub":null,' +
            `"createdAt":"${createdAt}","partitionId":"${partitionId}","partition":"cust-7",` +
            `"leaseId":"${leaseId}","consumerGroup":"printer","deliveryAttempt":1,` +
            '"retryCount":0,"offset":0}],"partitionsClaimed":1}',
        );
      },
    },
    ...['batch=ten', 'timeout=-1', 'wait=1'].map((query) => ({
      row: 'pop errors',
      does: `${query} is 400`,
      send: `GET /api/v1/pop/queue/${QUEUE}?${query}`,
      answer: { status: 400 },
    })),
    {
      row: 'ack',
      does: 'done, again, and with another lease',
      run: async (broker) => {
        await pushed(broker);
        const { leaseId, partitionId } = await popped(broker);
        const ack = async (lease: string) => {
          const body = { transactionId: 'lbl-1', partitionId, consumerGroup: 'printer' };
          return broker.client.post('/api/v1/ack', { ...body, leaseId: lease });
        };
        const done = await ack(leaseId);
        expect([done.status, done.text]).toEqual([
          200,
          '[{"index":0,"transactionId":"lbl-1","success":true,"error":null,' +
            '"leaseReleased":true,"dlq":false,"noop":false}]',
        ]);
        const again = JSON.parse((await ack(leaseId)).text) as unknown;
        expect(again).toMatchObject([{ success: true, noop: true }]);
        const other = JSON.parse((await ack(A_STRANGER)).text) as unknown;
        expect(other).toMatchObject([{ success: false, error: 'invalid or expired lease' }]);
      },
    },
    {
      row: 'ack/batch',
      does: 'completed, failed, completed: the next pop delivers b, c',
      run: async ({ api, client }) => {
        await api.pushIds(QUEUE, 'p', ['a', 'b', 'c']);
        const lease = await api.popQueue(QUEUE, { consumerGroup: 'printer' });
        const { leaseId = '', partitionId = '' } = lease ?? {};
        const of = (transactionId: string, status: string) => ({
          transactionId,
          partitionId,
          leaseId,
          status,
        });
        const answer = await client.post('/api/v1/ack/batch', {
          consumerGroup: 'printer',
          acknowledgments: [
            of('a', 'completed'),
            { ...of('b', 'failed'), error: 'jam' },
            of('c', 'completed'),
          ],
        });
        const element = (id: string, index: number) =>
          `{"index":${index},"transactionId":"${id}","success":true,"error":null,` +
          '"leaseReleased":true,"dlq":false,"noop":false}';
        expect(answer.text).toBe(`[${['a', 'b', 'c'].map(element).join()}]`);
        const again = await api.popQueue(QUEUE, { consumerGroup: 'printer' });
        expect(idsOf(again)).toEqual(['b', 'c']);
      },
    },
    {
      row: 'extend',
      does: 'a live lease, and an unknown one',
      run: async (broker) => {
        await pushed(broker);
        const { leaseId } = await popped(broker);
        const { text } = await broker.client.post(`/api/v1/lease/${leaseId}/extend`, {
          seconds: 120,
        });
        const { expiresAt } = JSON.parse(text) as { expiresAt: string };
        expect(text).toBe(
          `{"leaseId":"${leaseId}","success":true,"renewed":1,"newExpiresAt":"${expiresAt}",` +
            `"expiresAt":"${expiresAt}","lease_expires_at":"${expiresAt}"}`,
        );
        const unknown = await broker.client.post(`/api/v1/lease/${A_STRANGER}/extend`, '');
        expect(unknown.text).toBe(
          `{"leaseId":"${A_STRANGER}","success":false,"renewed":0,"newExpiresAt":null,` +
            '"expiresAt":null,"lease_expires_at":null}',
        );
      },
    },
    {
      row: 'configure',
      does: 'a push-created queue: merged, null, replaced, and a mode that is none',
      run: async (broker) => {
        await pushed(broker);
        const configure = async (members: string) => {
          const body = `{"queue":"ship.labels",${members}}`;
          const answer = await broker.client.post('/api/v1/configure', body);
          const { queueId } = bodyOf(answer, 200) as { queueId: string };
          return answer.text.replace(queueId, 'QUEUE');
        };
        const expected = (namespace: string, task: string, lease: number, dedup: number) =>
          '{"configured":true,"queueId":"QUEUE","partitionId":null,"queue":"ship.labels",' +
          `"namespace":"${namespace}","task":"${task}","storage":"segments",` +
          `${OPTIONS.replace('%LEASE%', `${lease}`).replace('%DEDUP%', `${dedup}`)}}`;
        expect(await configure('"options":{"leaseTime":45,"dedupWindowSeconds":0}')).toBe(
          expected('ship', 'labels', 45, 0),
        );
        const restored = await configure('"options":{"leaseTime":null}');
        expect(restored).toBe(expected('ship', 'labels', 300, 0));
        const replaced = await configure('"mode":"replace","options":{}');
        expect(replaced).toBe(expected('', '', 300, 3600));
        const body = { queue: QUEUE, mode: 'patch' };
        const refused = await broker.client.post('/api/v1/configure', body);
        expect([refused.status, JSON.parse(refused.text).error]).toEqual([
          400,
          'mode must be "merge" or "replace", got "patch"',
        ]);
      },
    },
  ],
};
