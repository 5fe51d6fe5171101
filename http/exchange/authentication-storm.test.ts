// Goal: whatever mixture of callers, bodies and departures comes, each request is answered as its
// caller may be, bodies are whole, and at the end nothing is held. Method: random requests over
// real sockets and an authenticator that takes random time; the seed is printed and replays them.
import type { PushCommand } from '@svc/engine';
import { expect, test } from 'vitest';
import { TestFront, until } from '../testing/front.fake.js';
import { requestBytes } from '../testing/raw-client.fake.js';
import type { CheckedCaller } from './access-level.js';
import { ROLE_BITS } from './access-level.js';

const REQUESTS = 400;
const AT_ONCE = 12;

/** mulberry32 */
function seeded(seed: number): (bound: number) => number {
  let state = seed >>> 0;
  return (bound) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000) * bound);
  };
}

const STATUS_OF = { nobody: 401, 'read-only': 403, 'write-only': 201 } as const;
type Who = keyof typeof STATUS_OF;
const WHO = Object.keys(STATUS_OF) as Who[];

function verdictOf(who: Who): CheckedCaller {
  if (who === 'nobody') return { kind: 'unauthenticated', status: '401 Unauthorized', error: '' };
  return { kind: 'caller', subject: null, roles: ROLE_BITS[who] };
}

test('storm', async () => {
  const seed = Number(process.env.SVC_SEED ?? Date.now() % 1_000_000);
  console.log(`SVC_SEED=${seed}`);
  const below = seeded(seed);
  const front = await TestFront.start({
    authenticator: {
      check: (authorization) => {
        const [who, delay] = authorization.split(' ') as [Who, string];
        if (delay === 'now') return verdictOf(who);
        return new Promise((resolve) => {
          setTimeout(() => resolve(verdictOf(who)), Number(delay));
        });
      },
    },
  });
  const bodies = new Set<string>();
  front.service.onSubmit = (command, reply) => {
    expect(bodies.has(Buffer.from((command as PushCommand).body).toString())).toBe(true);
    const messageIds = ['00000000-0000-7000-8000-000000000000'];
    reply.send({ kind: 'pushed', status: new Uint8Array(1), messageIds });
  };
  let left = REQUESTS;
  const one = async () => {
    let client = front.client();
    while (left-- > 0) {
      const who = WHO[below(WHO.length)] as Who;
      const size = [1, 500, 40_000, 700_000, 3_000_000][below(5)] as number;
      const body = `{"items":[{"queue":"q${left}","payload":"${'x'.repeat(size)}"}]}`;
      const delay = below(3) === 0 ? 'now' : `${below(8)}`;
      const leaves = below(4) === 0;
      bodies.add(body);
      const bytes = requestBytes('/api/v1/push', {
        method: 'POST',
        body,
        headers: { Authorization: `${who} ${delay}` },
      });
      const cut = leaves ? below(bytes.length) : bytes.length;
      client.send(bytes.subarray(0, cut));
      if (leaves) {
        await new Promise((resolve) => setTimeout(resolve, below(6)));
        client.destroy();
        client = front.client();
      } else expect((await client.answer()).status, `${who} ${delay} ${size}`).toBe(STATUS_OF[who]);
      bodies.delete(body);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one));
  await until(() => front.server.inFlight() === 0);
  const { budget } = front.rim;
  expect([budget.used('growing'), budget.used('drain')]).toEqual([0, 0]);
  expect(front.logged).toEqual([]);
  await front.stop();
});
