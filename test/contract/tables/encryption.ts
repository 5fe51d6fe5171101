/** Payloads at rest (message-plane 11.5). The key is that of the shared places. */
import { createCipheriv } from 'node:crypto';
import type { Answer } from '@svc/http/api';
import type { PopAnswer } from '@svc/wire';
import { expect } from 'vitest';
import { bodyOf } from '../broker-api.js';
import type { BrokerUnderTest } from '../broker-under-test.js';
import { ENCRYPTION_KEY, SHARED } from '../places.js';
import type { ContractRow, ContractTable } from '../table.js';

type QueueSizesAnswer = Answer<'GET /api/v1/resources/queues/{queue}/sizes'>;

const PAYLOAD = '{"b":1,"a":1.0,"x":12345678901234567890,"ü":"ß"}';

/** As another program with the key would write it. */
function envelopeOf(payload: string, key: string): string {
  const iv = Buffer.from(Array.from({ length: 16 }, (_, i) => i * 7));
  const cipher = createCipheriv('aes-256-gcm', Buffer.from(key, 'hex'), iv.subarray(0, 12));
  const encrypted = Buffer.concat([cipher.update(payload, 'utf8'), cipher.final()]);
  const [text, ivText, tag] = [encrypted, iv, cipher.getAuthTag()].map((bytes) =>
    bytes.toString('base64'),
  );
  return `{"encrypted":"${text}","iv":"${ivText}","authTag":"${tag}"}`;
}

async function pushText({ client, queue }: BrokerUnderTest, ...payloads: string[]): Promise<void> {
  const items = payloads.map((payload) => `{"queue":"${queue}","payload":${payload}}`);
  bodyOf(await client.post('/api/v1/push', `{"items":[${items.join(',')}]}`), 201);
}

/** The payloads of a pop, as their text stands in the answer. */
async function poppedTexts({ client, queue }: BrokerUnderTest): Promise<string[]> {
  const { text } = await client.get(`/api/v1/pop/queue/${queue}?consumerGroup=reader`);
  return [...text.matchAll(/"data":(.*?),"producerSub"/g)].map((found) => found[1] ?? '');
}

async function fetchedTexts({ client, queue }: BrokerUnderTest): Promise<string[]> {
  const { text } = await client.post('/api/v1/fetch', { entries: [{ queue, offset: 0 }] });
  return [...text.matchAll(/"payload":(.*?),"ts"/g)].map((found) => found[1] ?? '');
}

/** What the queue's one partition takes in the log. */
async function bytesStored({ client, queue }: BrokerUnderTest): Promise<number> {
  const answer = await client.get(`/api/v1/resources/queues/${queue}/sizes`);
  return (bodyOf(answer, 200) as QueueSizesAnswer).partitions.Default ?? 0;
}

const LONG = JSON.stringify('x'.repeat(2998));
/** Envelope of 3,000 bytes; one length of the message takes a byte more. */
const ENVELOPE_BYTES = 85 + 4000;

/** What `write` adds to the log when the queue encrypts, beyond what it adds when it does not. */
async function bytesAdded(
  broker: BrokerUnderTest,
  write: (to: BrokerUnderTest) => Promise<void>,
): Promise<number> {
  const { api, queue } = broker;
  await api.configure(queue, {});
  await write(broker);
  const plain = await bytesStored(broker);
  await api.configure(queue, { encryptionEnabled: true });
  await write(broker);
  return (await bytesStored(broker)) - 2 * plain;
}

export const encryption: ContractTable = {
  section: 'message-plane 11.5',
  rows: [
    {
      row: 'stored envelope',
      does: 'takes its place in the log, one for each message',
      run: async (broker) => {
        const added = await bytesAdded(broker, (to) => pushText(to, LONG, LONG));
        expect(added).toBe(2 * (ENVELOPE_BYTES - 3000));
      },
    },
    {
      row: 'stored envelope',
      does: 'of another program with the key is opened, in a plain queue too',
      run: async (broker) => {
        const one = broker.sameNode;
        const { encrypted, iv, authTag } = JSON.parse(envelopeOf(PAYLOAD, ENCRYPTION_KEY));
        await pushText(
          one,
          envelopeOf(PAYLOAD, ENCRYPTION_KEY),
          JSON.stringify({ authTag, iv, encrypted }, null, 1),
        );
        expect(await poppedTexts(one)).toEqual([PAYLOAD, PAYLOAD]);
        expect(await fetchedTexts(one)).toEqual([PAYLOAD, PAYLOAD]);
      },
    },
    {
      row: 'new messages only',
      does: 'by the option at push time',
      run: async (broker) => {
        const one = broker.sameNode;
        await pushText(one, '1');
        await one.api.configure(one.queue, { encryptionEnabled: true });
        await pushText(one, '2');
        await one.api.configure(one.queue, { encryptionEnabled: false });
        const before = await bytesStored(one);
        await pushText(one, LONG);
        expect((await bytesStored(one)) - before).toBeLessThan(3100);
        expect(await poppedTexts(one)).toEqual(['1', '2', LONG]);
      },
    },
    {
      row: 'transaction push',
      does: 'is encrypted like any other',
      run: async (broker) => {
        const added = await bytesAdded(broker, async ({ client, queue }) => {
          const items = `[{"queue":"${queue}","payload":${LONG}}]`;
          const body = `{"operations":[{"type":"push","items":${items}}]}`;
          const answer = bodyOf(await client.post('/api/v1/transaction', body), 200);
          expect(answer).toMatchObject({ success: true });
        });
        expect(added).toBe(ENVELOPE_BYTES - 3000);
        expect(await poppedTexts(broker)).toEqual([LONG, LONG]);
      },
    },
    {
      row: 'reads decrypt',
      does: 'pop, fetch and message views, byte for byte, whatever the option is by then',
      run: async (broker) => {
        const one = broker.sameNode;
        const { api, client, queue } = one;
        await api.configure(queue, { encryptionEnabled: true });
        await pushText(one, PAYLOAD, 'null');
        expect(await poppedTexts(one)).toEqual([PAYLOAD, 'null']);
        await api.configure(queue, { encryptionEnabled: false });
        expect(await fetchedTexts(one)).toEqual([PAYLOAD, 'null']);
        const { text } = await client.get(`/api/v1/messages?queue=${queue}`);
        expect(text).toContain(`"data":${PAYLOAD}`);
        expect(text).not.toContain('"encrypted"');
      },
    },
    {
      row: 'reads decrypt',
      does: 'in small batches out of one large append, redelivered too',
      run: async ({ api, queue }) => {
        await api.configure(queue, { encryptionEnabled: true });
        const items = Array.from({ length: 50 }, (_, n) => ({
          queue,
          partition: 'p',
          payload: { n },
        }));
        await api.push(items);
        const seen: unknown[] = [];
        for (let i = 0; i < 10; i++) {
          const again = await api.popQueue(queue, {
            consumerGroup: 'g',
            batch: 5,
            leaseSeconds: 60,
          });
          const { leaseId = '', partitionId = '', messages = [] } = again ?? ({} as PopAnswer);
          seen.push(...messages.map(({ data }) => data));
          await api.ack(
            'g',
            messages.map(({ transactionId }) => ({ transactionId, partitionId, leaseId })),
          );
        }
        expect(seen).toEqual(items.map(({ payload }) => payload));
      },
    },
    {
      row: 'dead letters decrypted',
      does: 'and encrypted again when they are replayed',
      run: async (broker) => {
        const { api, client, queue } = broker;
        await api.configure(queue, { encryptionEnabled: true });
        await pushText(broker, LONG);
        const stored = await bytesStored(broker);
        const popped = await api.popQueue(queue, { consumerGroup: 'g' });
        const { leaseId = '', partitionId = '', messages = [] } = popped ?? ({} as PopAnswer);
        const [{ transactionId = '' } = {}] = messages;
        await api.ack('g', [{ transactionId, partitionId, leaseId, status: 'dlq' }]);
        const { text } = await client.get(`/api/v1/dlq?queue=${queue}`);
        expect(text).toContain(`"data":${LONG}`);
        const [{ id = '' } = {}] = (JSON.parse(text) as { messages: { id: string }[] }).messages;
        bodyOf(await client.post(`/api/v1/dlq/${id}/replay`, ''), 200);
        expect(await bytesStored(broker)).toBeGreaterThanOrEqual(2 * stored);
        expect(await poppedTexts(broker)).toEqual([LONG, LONG]);
      },
    },
    ...lookAlikes(),
  ],
};

/** What looks like an envelope, and what another key wrote, are payloads like any other. */
function lookAlikes(): ContractRow[] {
  const { encrypted, iv } = JSON.parse(envelopeOf(PAYLOAD, ENCRYPTION_KEY));
  const stored = [
    envelopeOf(PAYLOAD, 'ff'.repeat(32)),
    JSON.stringify({ encrypted, iv, authTag: Buffer.alloc(16).toString('base64') }),
    '{"encrypted":"","iv":"","authTag":""}',
    '{"encrypted":true}',
  ];
  return [true, false].map((encryptionEnabled) => ({
    row: 'a failed decryption',
    does: `gives back what was pushed; encryptionEnabled ${encryptionEnabled}`,
    run: async (broker: BrokerUnderTest) => {
      const one = broker.sameNode;
      await one.api.configure(one.queue, { encryptionEnabled });
      await pushText(one, ...stored);
      expect(await poppedTexts(one)).toEqual(stored);
      expect(await fetchedTexts(one)).toEqual(stored);
    },
  }));
}

export const encryptionOption: ContractTable = {
  section: 'message-plane 7.1',
  rows: [
    {
      row: 'encryptionEnabled',
      does: 'off by default; shown as it was set; changes what is stored and not what is read',
      run: async (broker) => {
        const { api, queue } = broker;
        expect((await api.configure(queue, {})).options.encryptionEnabled).toBe(false);
        const { options } = await api.configure(queue, { encryptionEnabled: true });
        expect(options.encryptionEnabled).toBe(true);
        await pushText(broker, PAYLOAD);
        expect(await poppedTexts(broker)).toEqual([PAYLOAD]);
      },
    },
  ],
};

export const malformedKey: ContractTable = {
  section: 'message-plane 11.5',
  environment: { ...SHARED, SVC_ENCRYPTION_KEY: 'a passphrase' },
  rows: [
    {
      row: 'without a key',
      does: 'or with a malformed one, the node starts and payloads are stored as they come',
      run: async (broker) => {
        expect(await bytesAdded(broker, (to) => pushText(to, LONG))).toBe(0);
        expect(await poppedTexts(broker)).toEqual([LONG, LONG]);
      },
    },
    {
      row: 'without a key',
      does: 'an envelope is a payload like any other',
      run: async (broker) => {
        const stored = envelopeOf(PAYLOAD, ENCRYPTION_KEY);
        await pushText(broker, stored);
        expect(await poppedTexts(broker)).toEqual([stored]);
      },
    },
  ],
};
