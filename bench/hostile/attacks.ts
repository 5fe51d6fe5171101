// Attacks of a hostile client on one front thread: their connections all lie on one loop of
// the node, as far as they last. `run-hostile.ts` measures what others notice of it.

import { setTimeout as sleep } from 'node:timers/promises';
import { AttackSocket } from '../abuse/attack-socket.js';
import { get, pop, post } from '../abuse/requests.js';
import type { Address } from '../rig/http-connection.js';
import { type Loop, loopsOfClients } from './thread-places.js';

export const LARGE_QUEUE = 'large';
/** Each attack takes as much of them as it gets. */
export const LARGE_MESSAGES = 200;

export interface HostileOrder {
  readonly attack: string;
  readonly address: Address;
  readonly pid: number;
  /** null: the node has one loop for all. */
  readonly loop: Loop | null;
  readonly seconds: number;
}

interface HostileAttack {
  readonly connections: number;
  /** Run by each connection when all are open. */
  readonly begin: (socket: AttackSocket, index: number) => void;
}

const SLOW_READERS = 64;
const HALF_REQUESTS = 1000;
const FLOODS = 16;
const CHURNING = 32;
const HALF =
  'POST /api/v1/push HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n' +
  'Content-Length: 65536\r\n\r\n{"items":[';
/** Parsed by the front and refused there, so that the core has nothing to do with it. */
const FAULTY = post('/api/v1/push', `{"items":[{"queue":"q","payload":"${'x'.repeat(4096)}"}`);
const POP = get('/api/v1/pop/queue/none?consumerGroup=g');
const ANSWER_MS_MAX = 5000;

export const HOSTILE_ATTACKS: Readonly<Record<string, HostileAttack | 'churn'>> = {
  'slow readers': {
    connections: SLOW_READERS,
    begin: (socket, index) => {
      socket.stopReading();
      const fetch = { entries: [{ queue: LARGE_QUEUE, partition: 'p', offset: 0 }] };
      // Groups of its own for each attack: another one has the messages of its groups on lease.
      const group = `g${process.pid}-${index}`;
      if (index % 2 === 0) socket.send(pop(LARGE_QUEUE, group, '&batch=1000'));
      else socket.send(post('/api/v1/fetch', JSON.stringify(fetch)));
    },
  },
  'half requests': {
    connections: HALF_REQUESTS,
    begin: (socket) => socket.send(HALF),
  },
  'faulty requests': {
    connections: FLOODS,
    begin: (socket) => void flood(socket, FAULTY),
  },
  'empty pops': {
    connections: FLOODS,
    begin: (socket) => void flood(socket, POP),
  },
  'connections anew': 'churn',
};

/** The next one as soon as the last one is answered. */
async function flood(socket: AttackSocket, request: Buffer): Promise<void> {
  while (!socket.closed) await socket.exchange(request, ANSWER_MS_MAX);
}

/** Carries an order out; resolves when its time is over. */
export async function attackHostile(order: HostileOrder, onBegun: () => void): Promise<void> {
  const attack = HOSTILE_ATTACKS[order.attack];
  if (attack === undefined) throw new Error(`there is no attack ${order.attack}`);
  if (attack === 'churn') {
    onBegun();
    await churn(order);
    return;
  }
  const sockets = await openOn(order, attack.connections);
  onBegun();
  sockets.forEach(attack.begin);
  await sleep(order.seconds * 1000);
  for (const socket of sockets) socket.destroy();
}

/** A connection for each request; the kernel spreads them over all loops. */
async function churn({ address, seconds }: HostileOrder): Promise<void> {
  const untilMs = performance.now() + seconds * 1000;
  const clients = Array.from({ length: CHURNING }, async () => {
    while (performance.now() < untilMs) {
      const socket = await AttackSocket.open(address);
      await socket?.exchange(POP, ANSWER_MS_MAX);
      socket?.destroy();
    }
  });
  await Promise.all(clients);
}

/** Connections that lie on the loop; others are closed again. */
async function openOn({ address, pid, loop }: HostileOrder, count: number) {
  const kept: AttackSocket[] = [];
  while (kept.length < count) {
    const opened: AttackSocket[] = [];
    for (let i = Math.min(100, 2 * (count - kept.length)); i > 0; i--) {
      const socket = await AttackSocket.open(address);
      if (socket !== null) opened.push(socket);
    }
    // Accepted by now, in the turns of all loops.
    await sleep(100);
    const loops = loop === null ? null : loopsOfClients(pid, address.port);
    for (const socket of opened) {
      const fits = loops === null || loops.get(socket.localPort) === loop;
      if (fits && kept.length < count) kept.push(socket);
      else socket.destroy();
    }
  }
  return kept;
}
