// The process of an attack: it fills the node, attacks it, and reports what it saw. It is a process
// of its own so that its work does not delay the clocks of the one that measures.
//
// It ends with its parent: when the channel to it closes, however that came about.

import { constants, setPriority } from 'node:os';
import type { Address } from '../http-connection.js';
import { type Answer, HttpExchange } from '../http-exchange.js';
import type { Order, Report } from './attack-messages.js';
import { type AttackAnswer, AttackSocket } from './attack-socket.js';
import type { AttackContext, Check } from './scenario.js';
import { scenarioNamed } from './scenario-list.js';

const ASK_MS_MAX = 180_000;
const ONCE_MS_MAX = 60_000;

class Attack implements AttackContext {
  readonly nodes: readonly Address[];
  readonly seconds: number;
  readonly outcomes = new Map<string, number>();
  readonly checks: Check[] = [];
  readonly #untilMs: number;
  readonly #exchange: HttpExchange;

  constructor(order: Exclude<Order, { readonly kind: 'end' }>) {
    const [first] = order.nodes;
    if (first === undefined) throw new Error('there is no node to attack');
    this.nodes = order.nodes;
    this.seconds = order.seconds;
    this.#exchange = new HttpExchange(first);
    this.#untilMs =
      order.kind === 'fill' ? Number.POSITIVE_INFINITY : performance.now() + order.seconds * 1000;
  }

  readonly isOver = (): boolean => performance.now() >= this.#untilMs;

  readonly say = (line: string): void => report({ kind: 'line', line });

  readonly count = (outcome: string | number, times = 1): void => {
    const key = outcome === 0 ? 'no answer' : String(outcome);
    this.outcomes.set(key, (this.outcomes.get(key) ?? 0) + times);
  };

  /** Of several checks of one thing the first that failed stays. */
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

function report(message: Report): void {
  process.send?.(message);
}

async function obey(order: Order): Promise<void> {
  if (order.kind === 'end') {
    process.exit(0);
  }
  const attack = new Attack(order);
  try {
    const scenario = scenarioNamed(order.scenario);
    if (order.kind === 'fill') {
      await scenario.fill?.(attack);
      report({ kind: 'filled' });
      return;
    }
    await scenario.attack(attack);
    const outcomes = [...attack.outcomes].sort((one, other) => other[1] - one[1]);
    report({ kind: 'attacked', outcomes, checks: attack.checks });
  } catch (error) {
    report({ kind: 'failed', error: error instanceof Error ? error.message : String(error) });
  } finally {
    attack.close();
  }
}

// A real attacker has processors of its own; here it yields to the node, and to what measures.
setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
process.on('disconnect', () => process.exit(0));
process.on('message', (order: Order) => void obey(order));
