/**
 * Goal: an operator of real nodes finds the members, changes them and replaces a node through any
 * node's port, and a client behind a balancer does not notice when a node is stopped. Method: three
 * processes and a fourth; a load that does what a balancer does, which goes elsewhere when a
 * connection is refused or `/health` is not 200, and counts everything else as a failure.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Cluster, until } from '../cluster/cluster.js';
import type { ClusterNode } from '../cluster/cluster-node.js';
import { type Answer, NoAnswer } from '../process/http-client.js';
import { sleep } from '../process/node-under-test.js';

const BASE = '/api/v1/system/raft/membership';
let cluster: Cluster;
let failed = false;

beforeAll(async () => {
  cluster = await Cluster.create({ size: 3 });
  await cluster.startAll();
});

afterAll(() => cluster.close(failed));

/** The logs are kept when one of them fails. */
function test(name: string, run: () => Promise<void>): void {
  it(name, { timeout: 60_000 }, async () => {
    failed = true;
    await run();
    failed = false;
  });
}

async function ask(node: ClusterNode, method: string, path: string, body?: object) {
  const text = body === undefined ? undefined : JSON.stringify(body);
  const options = { timeoutMs: 40_000 };
  const answer = await node.client.send(method, `${BASE}${path}`, text, options);
  return { status: answer.status, json: JSON.parse(answer.text) };
}

function addressed(number: number) {
  const { raft, http } = cluster.addresses(number);
  return { id: number, raft, http };
}

describe('the members', () => {
  test('are alike at every node, as the leader sees them', async () => {
    const leader = await cluster.waitForLeader();
    for (const node of cluster.nodes) {
      const { status, json } = await ask(node, 'GET', '');
      expect(status).toBe(200);
      expect(json).toMatchObject({
        engine: 'raft',
        membership: {
          nodeId: leader.number,
          source: 'leader',
          leader: leader.number,
          voters: [1, 2, 3],
          learners: [],
          joint: null,
          members: [1, 2, 3].map((nodeId) => {
            const { raft, http } = cluster.addresses(nodeId);
            return { nodeId, voter: true, raft, http, live: true };
          }),
        },
      });
      const list = await node.client.get('/api/v1/raft/members');
      expect(JSON.parse(list.text)).toMatchObject({
        self: node.number,
        leaderId: leader.number,
        members: [1, 2, 3].map((nodeId) => ({
          nodeId,
          local: nodeId === node.number,
          reachable: true,
          state: nodeId === leader.number ? 'leader' : 'follower',
          error: null,
        })),
      });
      const liveness = await node.client.get('/api/v1/raft/liveness');
      expect(JSON.parse(liveness.text)).toMatchObject({
        nodeId: node.number,
        leaderId: leader.number,
        viewLeaderId: leader.number,
        members: [1, 2, 3].map((nodeId) => ({
          nodeId,
          role: 'voter',
          state: nodeId === leader.number ? 'leader' : 'follower',
          ...cluster.addresses(nodeId),
          local: nodeId === node.number,
        })),
      });
    }
  });

  test('that cannot be changed so', async () => {
    const [node] = await cluster.followers();
    if (node === undefined) throw new Error('no follower');
    const refusals: [string, string, object | undefined, number, string][] = [
      ['POST', '/learners', { id: 4 }, 400, 'bad_request'],
      ['POST', '/learners', { ...addressed(1), raft: 'x' }, 400, 'bad_request'],
      ['POST', '/learners', addressed(1), 409, 'already_voter'],
      ['POST', '/learners', { ...addressed(1), id: 9 }, 409, 'address_mismatch'],
      ['POST', '/learners?timeoutMs=300', { id: 9, raft: 'h:1', http: 'h:2' }, 504, 'timeout'],
      ['POST', '/promote', { ids: [9] }, 409, 'not_a_learner'],
      ['PUT', '/voters', { voters: [1, 9] }, 409, 'not_a_member'],
      ['PUT', '/voters', { voters: [] }, 409, 'last_voter'],
      ['DELETE', '/members/0', undefined, 400, 'bad_request'],
    ];
    for (const [method, path, body, status, code] of refusals) {
      const answer = await ask(node, method, path, body);
      expect([answer.status, answer.json.ok, answer.json.code], path).toEqual([
        status,
        false,
        code,
      ]);
      expect(answer.json.error).toBeTypeOf('string');
    }
  });
});

test('leadership goes to the voter that is named, asked of any node', async () => {
  const send = async (node: ClusterNode, body: object | undefined) => {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const path = '/api/v1/system/raft/transfer';
    const answer = await node.client.send('POST', path, text, { timeoutMs: 40_000 });
    return { status: answer.status, json: JSON.parse(answer.text) };
  };
  for (const node of cluster.nodes) {
    const to = (await cluster.followers())[0]?.number ?? 0;
    const { status, json } = await send(node, { to });
    expect([status, json]).toEqual([200, { ok: true, leader: to, term: json.term }]);
    expect(await send(node, { to })).toEqual({ status, json });
    expect((await cluster.waitForLeader()).number).toBe(to);
  }
  const [node] = cluster.nodes;
  if (node === undefined) throw new Error('no node');
  const refusals: [object | undefined, number, string][] = [
    [undefined, 400, 'bad_request'],
    [{ to: '2' }, 400, 'bad_request'],
    [{ to: 0 }, 400, 'bad_request'],
    [{ to: 9 }, 409, 'not_a_voter'],
  ];
  for (const [body, status, code] of refusals) {
    const answer = await send(node, body);
    expect([answer.status, answer.json.ok, answer.json.code]).toEqual([status, false, code]);
  }
  const gone = (await cluster.followers())[0];
  if (gone === undefined) throw new Error('no follower');
  await gone.stop();
  const leader = await cluster.waitForLeader();
  await until(20_000, 'it counts as silent', async () => {
    const { status, json } = await send(leader, { to: gone.number });
    return status === 409 && json.code === 'learner_behind' ? true : null;
  });
  gone.start();
  await cluster.ready();
});

test('a node is replaced, asked of itself and of the others', async () => {
  const [gone] = await cluster.followers();
  if (gone === undefined) throw new Error('no follower');
  const { number } = gone;
  const left = [1, 2, 3].filter((one) => one !== number);
  expect((await ask(gone, 'DELETE', `/members/${number}`)).json).toMatchObject({
    ok: true,
    membership: { voters: left },
  });
  await until(5000, 'it says that it is out', async () =>
    (await gone.client.get('/health')).status === 503 ? true : null,
  );
  await gone.stop();
  gone.wipe();
  const life = gone.start({ SVC_RAFT_JOIN: 'true' });
  await until(20_000, 'its port', async () => {
    const health = await health503(gone);
    return health === 503 ? true : null;
  });
  expect(life.exit).toBeNull();
  const refused = await gone.client.get('/api/v1/resources/queues', { timeoutMs: 35_000 });
  expect([refused.status, JSON.parse(refused.text).code]).toEqual([503, 'no_leader']);
  const leader = await cluster.waitForLeader();
  expect((await ask(leader, 'POST', '/learners', addressed(number))).json).toMatchObject({
    ok: true,
    membership: { voters: left, learners: [number] },
  });
  expect((await ask(gone, 'POST', '/promote', { ids: [number] })).json).toMatchObject({
    ok: true,
    membership: { voters: [1, 2, 3], learners: [] },
  });
  await cluster.ready();
  await cluster.converged();
});

async function health503(node: ClusterNode): Promise<number> {
  try {
    return (await node.client.get('/health')).status;
  } catch (error) {
    if (error instanceof NoAnswer) return 0;
    throw error;
  }
}

/** Failed looks in a row after which a node gets no requests; one may fall into a hand-over. */
const FALL = 2;

/** Pushes, and pops that wait, as they come through a balancer. */
class BalancedLoad {
  readonly failures: string[] = [];
  answered = 0;
  slowestMs = 0;
  #running = true;
  /** Looks in a row that failed, by node. */
  readonly #failedLooks = new Map<number, number>();
  readonly #done: Promise<unknown>;

  constructor() {
    const workers = Array.from({ length: 8 }, (_, worker) => this.#work(worker));
    this.#done = Promise.all([this.#look(), ...workers]);
  }

  async end(): Promise<void> {
    this.#running = false;
    await this.#done;
  }

  async #look(): Promise<void> {
    while (this.#running) {
      for (const node of cluster.nodes) {
        const failed = (await health503(node)) === 200 ? 0 : this.#failedLooksOf(node) + 1;
        this.#failedLooks.set(node.number, failed);
      }
      await sleep(500);
    }
  }

  #failedLooksOf({ number }: ClusterNode): number {
    return this.#failedLooks.get(number) ?? 0;
  }

  async #work(worker: number): Promise<void> {
    for (let n = 0; this.#running; n++) {
      const beganMs = performance.now();
      const answer = await this.#send(worker, n);
      this.slowestMs = Math.max(this.slowestMs, performance.now() - beganMs);
      if (typeof answer === 'string') this.failures.push(answer);
      else if (![200, 201, 204].includes(answer.status)) {
        this.failures.push(`${answer.status} ${answer.text}`);
      } else this.answered++;
      await sleep(5);
    }
  }

  /** A refused connection is tried elsewhere, as every balancer does. */
  async #send(worker: number, n: number): Promise<Answer | string> {
    for (let attempt = 0; ; attempt++) {
      const up = cluster.nodes.filter((node) => this.#failedLooksOf(node) < FALL);
      const node = up[(worker + n + attempt) % up.length];
      if (node === undefined) return 'no node is healthy';
      const item = { queue: 'q', partition: `p${worker}`, payload: `${worker}-${n}` };
      try {
        return worker % 4 === 0
          ? await node.client.get('/api/v1/pop/queue/q?wait=true&timeout=500&autoAck=true')
          : await node.client.post('/api/v1/push', { items: [item] });
      } catch (error) {
        if (!(error instanceof NoAnswer)) throw error;
        if (error.code !== 'refused' || attempt > 10) return `${error.code}: ${error.message}`;
      }
    }
  }
}

describe('SIGTERM', () => {
  test('of the leader and of a follower: nobody notices', async () => {
    const load = new BalancedLoad();
    await sleep(1000);
    for (const role of ['leader', 'follower']) {
      const leader = await cluster.waitForLeader();
      const [follower = leader] = await cluster.followers();
      const node = role === 'leader' ? leader : follower;
      expect(await node.stop()).toEqual({ code: 0, signal: null });
      const output = node.life?.output ?? '';
      if (role === 'leader') expect(output).toMatch(/leadership handed off to=\d ms=\d+/);
      node.start();
      await cluster.ready();
      await sleep(500);
    }
    await load.end();
    expect(load.failures).toEqual([]);
    expect(load.answered).toBeGreaterThan(100);
    console.log(`${load.answered} answers, the slowest after ${Math.round(load.slowestMs)} ms`);
  });

  test('of the last one: every caller has an answer, and it ends', async () => {
    const [kept, ...others] = cluster.nodes;
    if (kept === undefined) throw new Error('no node');
    await Promise.all(others.map((node) => node.kill()));
    const item = { queue: 'q', partition: 'p', payload: 'held' };
    const push = kept.client.post('/api/v1/push', { items: [item] }, { timeoutMs: 40_000 });
    const pop = kept.client.get('/api/v1/pop/queue/q?wait=true&timeout=40000', {
      timeoutMs: 50_000,
    });
    await sleep(300);
    const beganMs = performance.now();
    expect(await kept.stop(30_000)).toEqual({ code: 0, signal: null });
    expect(performance.now() - beganMs).toBeLessThan(15_000);
    expect((await push).status).toBe(503);
    expect([204, 503]).toContain((await pop).status);
  });

  test('of all at once', async () => {
    await cluster.startAll();
    await cluster.waitForLeader();
    const beganMs = performance.now();
    const exits = await Promise.all(cluster.nodes.map((node) => node.stop(30_000)));
    expect(exits).toEqual(cluster.nodes.map(() => ({ code: 0, signal: null })));
    expect(performance.now() - beganMs).toBeLessThan(15_000);
  });
});
