// Goal: a client whose key/value call ran, whose answer was lost with the leader, and whose outcome
// cannot be put together any more is told so over HTTP, and the call ran once.
// Method: the HTTP front of a follower over a whole simulated group; the test moves the group's
// clock while the socket waits.
import { request as httpRequest } from 'node:http';
import { type KvCall, kvJson } from '@svc/engine';
import { createServer } from '@svc/http';
import { expect, test } from 'vitest';
import { FakeGroup, type FakeMachine } from '../testing/group.fake.js';
import { Answers } from '../testing/group-clients.fake.js';

const TENANT = '00000000-0000-0000-0000-000000000001';
/** Longer than what a record keeps of a value that its call has not replaced. */
const LONG = 'x'.repeat(500);

interface Told {
  readonly status: number;
  readonly retryAfter: string | undefined;
  readonly body: unknown;
}

function post(port: number, operations: readonly object[]): Promise<Told> {
  return new Promise((resolve, reject) => {
    const asked = { port, method: 'POST', path: '/api/v1/kv', agent: false };
    const request = httpRequest(asked, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => {
        text += part;
      });
      response.on('end', () => {
        const { statusCode: status = 0, headers } = response;
        resolve({ status, retryAfter: headers['retry-after'], body: JSON.parse(text) });
      });
    });
    request.on('error', reject).end(JSON.stringify({ operations }));
  });
}

function put(key: string, value: string): object {
  return { op: 'put', ns: 'n', key, value, forever: true };
}

/** The socket has its turns, and so has the group. */
async function pass(group: FakeGroup, isOver: () => boolean): Promise<void> {
  for (let turns = 0; !isOver(); turns++) {
    if (turns > 5000) throw new Error('it did not come');
    await new Promise((resolve) => setTimeout(resolve, 1));
    group.run(10);
  }
}

async function told(group: FakeGroup, answer: Promise<Told>): Promise<Told> {
  let one: Told | null = null;
  void answer.then((found) => {
    one = found;
  });
  await pass(group, () => one !== null);
  return answer;
}

function changes(leader: FakeMachine, key: string, value: string): void {
  const op = { op: 'put', namespace: 'n', key, value: kvJson(JSON.stringify(value)) } as const;
  const more = { ttlSeconds: null, expect: null, required: false } as const;
  const call: KvCall = { kind: 'kv', tenant: TENANT, ops: [{ ...op, ...more }] };
  leader.inProcess(({ broker }) => broker.kv.call(call, new Answers()));
}

test.each([
  ['what it found has changed', true],
  ['it is all there still', false],
])('the answer is lost with the leader, and %s', async (_, isChanged) => {
  const group = new FakeGroup({ founders: 3, seed: 1 });
  const leader = group.leader();
  const [follower] = [...group.machines.values()].filter((machine) => machine !== leader);
  const service = follower?.node?.broker;
  if (follower === undefined || service === undefined) throw new Error('no follower');
  const logger = { error: (text: string, error: unknown) => expect(error, text).toBeNull() };
  const server = createServer({ logger }, service);
  const port = await server.listen('127.0.0.1', 0);
  try {
    expect((await told(group, post(port, [put('long', LONG)]))).status).toBe(200);
    group.lost = (from, _to, channel) => from === leader.number && channel === 'answers';
    const before = leader.status.commit;
    const call = [{ op: 'incr', ns: 'n', key: 'count', delta: 1, forever: true }];
    const answer = post(port, [...call, { op: 'get', ns: 'n', key: 'long' }]);
    await pass(group, () => follower.status.commit > before);
    if (isChanged) changes(leader, 'long', 'short');
    group.run(100);
    leader.crash();
    group.until('another leader', () => group.leaders.some((machine) => machine !== leader));
    group.heal();
    const { status, retryAfter, body } = await told(group, answer);
    if (isChanged) {
      expect([status, retryAfter]).toEqual([503, '1']);
      expect(body).toEqual({ error: expect.stringMatching(/changed/), code: 'outcome_unknown' });
    } else {
      expect(status).toBe(200);
      expect(body).toMatchObject({ results: [{ value: 1 }, { value: LONG }] });
    }
    const read = await told(group, post(port, [{ op: 'get', ns: 'n', key: 'count' }]));
    expect(read.body, 'it ran once').toMatchObject({ results: [{ value: 1 }] });
  } finally {
    await server.stop(0);
  }
});
