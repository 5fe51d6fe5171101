import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { DeliveredOutcome, Reply } from '../../ports/service.js';
import { TestFront, until } from '../../testing/front.fake.js';
import { batchOf } from '../../testing/message-batch.fake.js';
import { requestBytes } from '../../testing/raw-client.fake.js';

let front: TestFront;

beforeEach(async () => {
  front = await TestFront.start();
});
afterEach(() => front.stop());

function delivery(payload: string, count = 1): DeliveredOutcome {
  return {
    kind: 'delivered',
    leaseId: 'lease-1',
    claims: [
      {
        queue: 'ship.labels',
        partition: 'cust-7',
        partitionNumber: 12,
        deliveryAttempt: 1,
        batches: [batchOf(payload, count)],
      },
    ],
    terms: null,
  };
}

describe('commands', () => {
  test.each([
    [
      '/api/v1/pop/queue/q?conflation=true&consumerGroup=g&batch=9',
      { conflation: true, partitions: 9, autopilot: null },
    ],
    [
      '/api/v1/pop/queue/q?autopilot=true&batch=9',
      { batch: 9, autopilot: { partitions: true, batch: false }, conflation: null },
    ],
    ['/api/v1/pop/queue/q/partition/p?autopilot=true', { autopilot: null }],
    ['/api/v1/pop?namespace=n&autopilot=true', { autopilot: null }],
  ])('%s', async (path, expected) => {
    const answer = await front.client().request(path);
    expect(answer.status).toBe(204);
    expect(front.service.pops[0]).toMatchObject(expected);
  });
});

describe('answers', () => {
  test('nothing is 204, without body, length and type', async () => {
    const client = front.client();
    const answer = await client.request('/api/v1/pop/queue/q');
    expect(answer.status).toBe(204);
    const names = ['date', 'uwebsockets', 'x-content-type-options'];
    expect([...answer.headers.keys()].sort()).toEqual(names);
    // The connection is in step: the next answer follows at once.
    expect((await client.request('/api/v1/pop/queue/q')).status).toBe(204);
    expect(client.unread).toBe('');
  });

  test.each([
    [{ conflation: true, conflationConflict: false, autopilot: null }, ',"conflation":true}'],
    [
      { conflation: true, conflationConflict: true, autopilot: null },
      ',"conflation":true,"conflationConflict":true}',
    ],
    [
      { conflation: false, conflationConflict: true, autopilot: null },
      ',"conflationConflict":true}',
    ],
  ])('an empty answer that tells the policy: %o', async (terms, text) => {
    front.service.onPop = (_, reply) => {
      reply.send({ kind: 'delivered', leaseId: '', claims: [], terms });
    };
    const path = '/api/v1/pop/queue/rates?consumerGroup=calc&conflation=true';
    const answer = await front.client().request(path);
    expect([answer.status, answer.body]).toEqual([
      200,
      '{"success":true,"queue":"rates","partition":"","partitionId":"","leaseId":"",' +
        `"consumerGroup":"calc","messages":[],"partitionsClaimed":0${text}`,
    ]);
  });

  test('the sizes of the autopilot, with messages only', async () => {
    const autopilot = { partitions: 4, batch: 250 };
    const terms = { conflation: false, conflationConflict: false, autopilot };
    front.service.onPop = (_, reply) => {
      reply.send({ ...delivery('1'), terms });
    };
    const client = front.client();
    const answer = await client.request('/api/v1/pop/queue/q?autopilot=true');
    const tail = ',"partitionsClaimed":1,"autopilot":{"partitions":4,"batch":250}}';
    expect(answer.body.slice(-tail.length)).toBe(tail);
    front.service.onPop = (_, reply) => {
      reply.send({ kind: 'delivered', leaseId: '', claims: [], terms });
    };
    expect((await client.request('/api/v1/pop/queue/q?autopilot=true')).status).toBe(204);
  });

  test('a refusal', async () => {
    front.service.onPop = (_, reply) => {
      const error = 'no leader is known; retry after';
      reply.send({ kind: 'refused', refusal: { reason: 'no_leader', error } });
    };
    const answer = await front.client().request('/api/v1/pop/queue/q');
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1']);
  });

  test('names over the budget', async () => {
    const path = `/api/v1/pop/queue/${'q'.repeat(100)}?consumerGroup=${'g'.repeat(312)}`;
    const answer = await front.client().request(path);
    expect([answer.status, JSON.parse(answer.body).code]).toEqual([413, 'name_too_long']);
    expect(JSON.parse(answer.body).error).toMatch(/^group name is 312 bytes/);
  });
});

describe('clients that go', () => {
  test('a parked pop learns it, and an answer reaches nobody', async () => {
    const parked: Reply<DeliveredOutcome>[] = [];
    let gone = 0;
    front.service.onPop = (_, reply) => {
      reply.onGone = () => gone++;
      parked.push(reply);
    };
    const client = front.client();
    client.send(requestBytes('/api/v1/pop/queue/q?wait=true'));
    await until(() => parked.length === 1);
    expect([parked[0]?.gone, front.server.inFlight()]).toEqual([false, 1]);
    client.destroy();
    await until(() => gone === 1);
    expect([parked[0]?.gone, front.server.inFlight()]).toEqual([true, 0]);
    expect(parked[0]?.send(delivery('1'))).toBe(false);
    expect(front.server.meters.calls.popMessages).toBe(0);
    expect(gone).toBe(1);
  });

  test('an answer that was received counts as such, and no one is called afterwards', async () => {
    let sent: boolean | null = null;
    let gone = 0;
    front.service.onPop = (_, reply) => {
      reply.onGone = () => gone++;
      setTimeout(() => {
        sent = reply.send(delivery('1'));
      }, 5);
    };
    const client = front.client();
    expect((await client.request('/api/v1/pop/queue/q?wait=true')).status).toBe(200);
    expect(sent).toBe(true);
    client.destroy();
    // Another connection's round trip: the close has been seen by then.
    front.service.onPop = (_, reply) => {
      reply.send({ kind: 'delivered', leaseId: '', claims: [], terms: null });
    };
    await front.client().request('/api/v1/pop/queue/q');
    expect([gone, front.server.inFlight()]).toEqual([0, 0]);
  });

  test('a delivery that cannot be rendered is given back', async () => {
    let sent: boolean | null = null;
    front.service.onPop = (_, reply) => {
      const broken = { ...delivery('1'), claims: [null as never] };
      sent = reply.send(broken);
    };
    const answer = await front.client().request('/api/v1/pop/queue/q');
    expect([answer.status, sent]).toEqual([500, false]);
    expect(front.logged).toHaveLength(1);
  });
});

describe('large deliveries', () => {
  const payload = `"${'x'.repeat(400_000)}"`;

  test('arrive whole through a reader that pauses', async () => {
    front.service.onPop = (_, reply) => {
      reply.send(delivery(payload, 30));
    };
    const client = front.client();
    client.send(requestBytes('/api/v1/pop/queue/q'));
    await until(() => client.unread.length > 0);
    client.pauseReading();
    expect(front.server.inFlight()).toBe(1);
    client.resumeReading();
    const answer = await client.answer();
    const body = JSON.parse(answer.body);
    expect(body.messages).toHaveLength(30);
    expect(body.messages[29].data).toHaveLength(400_000);
    await until(() => front.server.inFlight() === 0);
    expect((await client.request('/health')).status).toBe(200);
  });

  test('of a reader that goes cost nothing afterwards', async () => {
    front.service.onPop = (_, reply) => {
      reply.send(delivery(payload, 30));
    };
    const client = front.client();
    client.send(requestBytes('/api/v1/pop/queue/q'));
    await until(() => client.unread.length > 0);
    client.destroy();
    await until(() => front.server.inFlight() === 0);
    expect((await front.client().request('/health')).status).toBe(200);
  });
});
