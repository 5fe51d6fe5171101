/**
 * The operator of a cluster under test: asks for changes of its members at whatever node answers,
 * again and again until they are so. Every change is idempotent, which is what makes that right.
 */
import { type Answer, type HttpClient, NoAnswer } from '../process/http-client.js';
import { sleep } from '../process/node-under-test.js';
import type { Cluster } from './cluster.js';

export interface MembershipView {
  readonly leader: number | null;
  readonly term: number;
  readonly voters: readonly number[];
  readonly learners: readonly number[];
  readonly joint: unknown;
}

const BASE = '/api/v1/system/raft/membership';
const CHANGE_MS_MAX = 60_000;
const ASK_MS_MAX = 12_000;
const RETRY_MS = 100;

export class Membership {
  readonly #cluster: Cluster;
  readonly #note: (text: string) => void;

  /** `note` is told of every refusal, once for each text in a row. */
  constructor(cluster: Cluster, note: (text: string) => void = () => {}) {
    this.#cluster = cluster;
    this.#note = note;
  }

  view(): Promise<MembershipView> {
    return this.#untilDone('GET', BASE, undefined);
  }

  /** Its node has to be running, with the switch that makes it wait. */
  addLearner(number: number): Promise<MembershipView> {
    const { raft, http } = this.#cluster.addresses(number);
    return this.#untilDone('POST', `${BASE}/learners`, { id: number, raft, http });
  }

  promote(number: number): Promise<MembershipView> {
    return this.#untilDone('POST', `${BASE}/promote`, { ids: [number] });
  }

  setVoters(voters: readonly number[]): Promise<MembershipView> {
    return this.#untilDone('PUT', `${BASE}/voters`, { voters });
  }

  remove(number: number): Promise<MembershipView> {
    return this.#untilDone('DELETE', `${BASE}/members/${number}`, undefined);
  }

  /** A machine that was never there or was wiped becomes a voter. */
  async join(number: number): Promise<void> {
    this.#cluster.node(number).start({ SVC_RAFT_JOIN: 'true' });
    await this.addLearner(number);
    await this.promote(number);
  }

  async #untilDone(method: string, path: string, body: unknown): Promise<MembershipView> {
    const untilMs = performance.now() + CHANGE_MS_MAX;
    let last = 'no node is running';
    for (;;) {
      const before = last;
      for (const { client } of this.#cluster.running) {
        const answer = await ask(client, method, path, body);
        if (typeof answer !== 'string' && answer.status === 200) {
          return (JSON.parse(answer.text) as { membership: MembershipView }).membership;
        }
        last = typeof answer === 'string' ? answer : `${answer.status} ${answer.text}`;
        if (typeof answer !== 'string' && answer.status === 400) throw new Error(last);
      }
      if (last !== before) this.#note(`${method} ${path}: ${last}`);
      if (performance.now() > untilMs) {
        throw new Error(`${method} ${path} ${JSON.stringify(body)}: ${last}`);
      }
      await sleep(RETRY_MS);
    }
  }
}

async function ask(
  client: HttpClient,
  method: string,
  path: string,
  body: unknown,
): Promise<Answer | string> {
  try {
    const bytes = body === undefined ? undefined : JSON.stringify(body);
    return await client.send(method, `${path}?timeoutMs=10000`, bytes, { timeoutMs: ASK_MS_MAX });
  } catch (error) {
    if (error instanceof NoAnswer) return error.message;
    throw error;
  }
}
