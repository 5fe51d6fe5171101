// Clients of an attack that do one thing again and again, side by side, until its time is over.

import { setTimeout as sleep } from 'node:timers/promises';
import type { AttackSocket } from './attack-socket.js';
import type { AttackContext } from './scenario.js';

export interface FloodPlan {
  readonly clients: number;
  /** The next request of a client; null: it has nothing more to ask. */
  readonly request: (client: number, round: number) => Uint8Array | string | null;
  /** A pause of each client behind each answer. */
  readonly pauseMs?: number;
  /** Clients are spread over all nodes instead of the first one. */
  readonly allNodes?: boolean;
}

const ANSWER_MS_MAX = 60_000;
const REOPEN_PAUSE_MS = 100;
const OPENED_AT_A_TIME = 100;

/** Ends when the time is over or no client has more to ask; what is in flight then is left. */
export async function flood(context: AttackContext, plan: FloodPlan): Promise<void> {
  const sockets = new Set<AttackSocket>();
  const clients = Array.from({ length: plan.clients }, (_, client) =>
    floodClient(context, plan, client, sockets),
  );
  const over = (async () => {
    while (!context.isOver()) await sleep(20);
  })();
  await Promise.race([Promise.all(clients), over]);
  for (const socket of sockets) socket.destroy();
  // Requests without an answer yet count themselves.
  await sleep(0);
}

async function floodClient(
  context: AttackContext,
  plan: FloodPlan,
  client: number,
  sockets: Set<AttackSocket>,
): Promise<void> {
  let socket: AttackSocket | null = null;
  for (let round = 0; !context.isOver(); round += 1) {
    const request = plan.request(client, round);
    if (request === null) break;
    if (socket === null || socket.closed) {
      if (socket !== null) sockets.delete(socket);
      socket = await context.open(plan.allNodes === true ? client : 0);
      if (socket === null) {
        context.count('refused');
        await sleep(REOPEN_PAUSE_MS);
        continue;
      }
      sockets.add(socket);
    }
    const { status } = await socket.exchange(request, ANSWER_MS_MAX);
    if (context.isOver()) {
      if (status === 0) context.count('unanswered at the end');
      return;
    }
    context.count(status);
    if (status === 0) await sleep(REOPEN_PAUSE_MS);
    else if (plan.pauseMs !== undefined) await sleep(plan.pauseMs);
  }
}

/** Opens many connections, some at a time; those that were refused are counted and left out. */
export async function openMany(
  context: AttackContext,
  count: number,
  onOpen: (socket: AttackSocket, index: number) => void,
): Promise<readonly AttackSocket[]> {
  const opened: AttackSocket[] = [];
  for (let first = 0; first < count && !context.isOver(); first += OPENED_AT_A_TIME) {
    const indexes = Array.from(
      { length: Math.min(OPENED_AT_A_TIME, count - first) },
      (_, offset) => first + offset,
    );
    await Promise.all(
      indexes.map(async (index) => {
        const socket = await context.open();
        if (socket === null) {
          context.count('refused');
          return;
        }
        onOpen(socket, index);
        opened.push(socket);
      }),
    );
  }
  return opened;
}

/** Waits for the end of the attack, or as long as is said. */
export async function stay(
  context: AttackContext,
  msMax = Number.POSITIVE_INFINITY,
): Promise<void> {
  const untilMs = performance.now() + msMax;
  while (!context.isOver() && performance.now() < untilMs) await sleep(20);
}
