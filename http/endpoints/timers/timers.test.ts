// Goal: what the routes of timers hand over is sound, decompressed and known to be JSON or not;
// what the gate lets through is settled whatever comes of it; refusals of the engine look as the
// contract says. Method: real requests against a fake service; what needs a broker is in
// test/contract.
import type { TimerCall, TimersOutcome } from '@svc/engine';
import { DEFAULT_TENANT } from '@svc/wire';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { GateOptions } from '../../gate/gate.js';
import { GATE_DEFAULTS } from '../../gate/gate.js';
import { TestFront } from '../../testing/front.fake.js';

let front: TestFront;

const SCHEDULED: TimersOutcome = {
  kind: 'timers',
  flaw: null,
  results: [
    {
      status: 'scheduled',
      messageId: '0199d0c4-7b1e-7c7e-9a10-3f5b2c8d9e01',
      deliverAtUs: 1_760_261_464_118_217,
    },
  ],
};

/** `{"a":1}`, in a block as it is. */
const COMPRESSED = Buffer.from([
  0x28,
  0xb5,
  0x2f,
  0xfd,
  0x20,
  7,
  7 * 8 + 1,
  0,
  0,
  ...Buffer.from('{"a":1}'),
]).toString('base64');

beforeEach(() => start());

afterEach(() => front.stop());

async function start(gate: Partial<GateOptions> = {}): Promise<void> {
  front = await TestFront.start({ gate: { ...GATE_DEFAULTS, ...gate } });
  front.service.onSubmit = (_, reply) => reply.send(SCHEDULED);
}

function op(more: object = {}): object {
  const names = { op: 'schedule', queue: 'mail', timerKey: 'k', txn: 't' };
  return { ...names, delayMs: 1.5, payload: 'e30=', ...more };
}

function post(...ops: readonly object[]) {
  return front.client().request('/api/v1/timers', { method: 'POST', body: JSON.stringify(ops) });
}

describe('a call', () => {
  test('is handed over with what it leaves out', async () => {
    const answer = await post(op());
    expect(answer.body).toBe(
      '{"results":[{"ok":true,"status":"scheduled","queue":"mail","timerKey":"k","txn":"t",' +
        '"messageId":"0199d0c4-7b1e-7c7e-9a10-3f5b2c8d9e01",' +
        '"deliverAt":"2025-10-12T09:31:04.118217Z"}]}',
    );
    const [command] = front.service.submitted;
    expect(command).toEqual({
      kind: 'timers',
      tenant: DEFAULT_TENANT,
      producerSub: null,
      ops: [
        {
          op: 'schedule',
          queue: 'mail',
          timerKey: 'k',
          partition: 'Default',
          delayUs: 1500,
          txn: 't',
          payload: Buffer.from('{}'),
          isJson: true,
          encrypted: false,
        },
      ],
    } satisfies TimerCall);
  });

  test.each([
    ['e30=', false, '{}', true],
    ['', false, '', false],
    ['/w==', false, '\xff', false],
    [Buffer.from('{"a":1} x').toString('base64'), false, '{"a":1} x', false],
    [COMPRESSED, true, '{"a":1}', true],
    ['e30=', true, '', false],
  ])('payload %j, compressed: %j', async (payload, payloadZstd, bytes, isJson) => {
    await post(op({ payload, payloadZstd }));
    const [command] = front.service.submitted as TimerCall[];
    const [sent] = command?.ops ?? [];
    expect(sent).toMatchObject({ isJson });
    expect(sent?.op === 'schedule' && Buffer.from(sent.payload).toString('latin1')).toBe(bytes);
  });

  test('compressed and plain ones keep their order', async () => {
    const compressed = { payload: COMPRESSED, payloadZstd: true };
    front.service.onSubmit = (_, reply) =>
      reply.send({ ...SCHEDULED, results: Array(5).fill(SCHEDULED.results[0]) });
    const ops = [0, 1, 2, 3, 4].map((i) => {
      return op({ timerKey: `k${i}`, ...(i % 2 === 0 ? compressed : {}) });
    });
    expect((await post(...ops)).status).toBe(200);
    const [command] = front.service.submitted as TimerCall[];
    expect(command?.ops.map(({ timerKey }) => timerKey)).toEqual(['k0', 'k1', 'k2', 'k3', 'k4']);
  });

  test('of a thousand that are corrupt nothing grows deep', async () => {
    await front.stop();
    const limits = { opsMax: 10_000, payloadBytesMax: 99, horizonSeconds: 60 };
    front = await TestFront.start({ timerLimits: limits });
    const count = 5000;
    front.service.onSubmit = (_, reply) =>
      reply.send({ ...SCHEDULED, results: Array(count).fill(SCHEDULED.results[0]) });
    const ops = Array.from({ length: count }, (_, i) =>
      op({ timerKey: `${i}`, payloadZstd: true }),
    );
    expect((await post(...ops)).status).toBe(200);
  });

  test('a client that goes while its payload is decompressed disturbs nobody', async () => {
    const client = front.client();
    const body = JSON.stringify([op({ payload: COMPRESSED, payloadZstd: true })]);
    const request = client.request('/api/v1/timers', { method: 'POST', body });
    request.catch(() => {});
    setImmediate(() => client.destroy());
    await expect.poll(() => front.server.inFlight()).toBe(0);
    expect(front.logged).toEqual([]);
  });
});

describe('what the engine refuses', () => {
  test('overload is 429 here, unlike on the message plane', async () => {
    front.service.onSubmit = (_, reply) =>
      reply.send({ kind: 'refused', refusal: { reason: 'overloaded', error: 'later' } });
    const answer = await post(op());
    expect(answer.status).toBe(429);
    expect(answer.headers.get('retry-after')).toBe('1');
  });

  test('a call that no entry holds is 413', async () => {
    front.service.onSubmit = (_, reply) =>
      reply.send({ kind: 'refused', refusal: { reason: 'too_large', error: 'much' } });
    const answer = await post(op());
    expect(answer.status).toBe(413);
    expect(JSON.parse(answer.body)).toMatchObject({ error: 'payload_too_large' });
  });

  test('no leader looks as everywhere', async () => {
    front.service.onSubmit = (_, reply) =>
      reply.send({ kind: 'refused', refusal: { reason: 'no_leader', error: 'none' } });
    expect(JSON.parse((await post(op())).body)).toEqual({ error: 'none', code: 'no_leader' });
  });
});

describe('the gate', () => {
  test('a call that is malformed costs a token; one that is too large does not', async () => {
    await front.stop();
    await start({ kvWrites: { perSecond: 1, burst: 1 } });
    expect((await post(op({ payload: 'A'.repeat(1_500_000) }))).status).toBe(413);
    expect((await post(op({ txn: '' }))).status).toBe(400);
    const refused = await post(op());
    expect(refused.status).toBe(429);
    expect(JSON.parse(refused.body)).toEqual({ error: 'rate_limited', reason: 'rate_limited' });
    expect(front.service.submitted).toEqual([]);
  });

  test('nothing stops a cancellation', async () => {
    await front.stop();
    await start({ kvWrites: { perSecond: 1, burst: 1 } });
    front.service.surfaces.on = {
      kv: false,
      timersSchedule: false,
      timersFire: false,
      ephemeral: false,
    };
    front.service.onSubmit = (_, reply) =>
      reply.send({ kind: 'timers', flaw: null, results: [{ status: 'absent' }] });
    expect((await post(op())).status).toBe(503);
    for (let i = 0; i < 5; i++) {
      const answer = await front.client().request('/api/v1/timers/mail/a/b', { method: 'DELETE' });
      expect(answer.body).toBe(
        '{"ok":false,"status":"absent","queue":"mail","timerKey":"a/b","txn":null}',
      );
    }
  });
});
