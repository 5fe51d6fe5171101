// An attack under way: what a scenario does its work with, and what it counted and checked.

import type { Address } from '../rig/http-connection.js';
import { type Answer, HttpExchange } from '../rig/http-exchange.js';
import { type AttackAnswer, AttackSocket } from './attack-socket.js';
import type { AttackContext, Check } from './scenario.js';

const ASK_MS_MAX = 180_000;
const ONCE_MS_MAX = 60_000;

export interface AttackPlan {
  /** Addresses of the nodes, the leader first. */
  readonly nodes: readonly Address[];
  readonly seconds: number;
  readonly say: (line: string) => void;
}

export class Attack implements AttackContext {
  readonly nodes: readonly Address[];
  readonly seconds: number;
  readonly say: (line: string) => void;
  readonly outcomes = new Map<string, number>();
  readonly checks: Check[] = [];
  readonly #exchange: HttpExchange;
  #untilMs = Number.POSITIVE_INFINITY;

  constructor({ nodes, seconds, say }: AttackPlan) {
    const [first] = nodes;
    if (first === undefined) throw new Error('there is no node to attack');
    this.nodes = nodes;
    this.seconds = seconds;
    this.say = say;
    this.#exchange = new HttpExchange(first);
  }

  /** Starts the time of the attack. */
  begin(): void {
    this.#untilMs = performance.now() + this.seconds * 1000;
  }

  readonly isOver = (): boolean => performance.now() >= this.#untilMs;

  readonly count = (outcome: string | number, times = 1): void => {
    const key = outcome === 0 ? 'no answer' : String(outcome);
    this.outcomes.set(key, (this.outcomes.get(key) ?? 0) + times);
  };

  /**
   * Records a check. Several checks with the same `what` become one, which keeps the first failure.
   */
  readonly check = (what: string, held: boolean, seen: string): void => {
    const before = this.checks.findIndex((check) => check.what === what);
    if (before < 0) this.checks.push({ what, held, seen });
    else if (this.checks[before]?.held === true) this.checks[before] = { what, held, seen };
  };

  readonly open = (node = 0): Promise<AttackSocket | null> => {
    const address = this.nodes[node % this.nodes.length];
    if (address === undefined) throw new Error(`there is no node ${node}`);
    return AttackSocket.open(address);
  };

  readonly once = async (
    request: Uint8Array | string,
    msMax = ONCE_MS_MAX,
  ): Promise<AttackAnswer> => {
    const socket = await this.open();
    const refused = { status: 0, bodyBytes: 0, start: '', ms: 0 };
    const answer = (await socket?.exchange(request, msMax)) ?? refused;
    socket?.destroy();
    this.count(answer.status);
    return answer;
  };

  readonly ask = async (method: string, path: string, body?: string): Promise<Answer> => {
    const answer = await this.#exchange.request(method, path, body, ASK_MS_MAX);
    if (answer.status < 300) return answer;
    throw new Error(`${method} ${path}: ${answer.status} ${answer.body.toString('utf8', 0, 300)}`);
  };

  close(): void {
    this.#exchange.close();
  }
}
