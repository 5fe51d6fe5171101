// Answers: many at once, large ones, and readers that do not take them.

import { setTimeout as sleep } from 'node:timers/promises';
import { flood, openMany, stay } from '../flood.js';
import { fillBacklog, item, payloadOf, pop, post, push } from '../requests.js';
import type { AttackContext, Scenario } from '../scenario.js';

const KIND = 'answers';
const WAITING = 'wait=true&timeout=60000';
const BACKLOG = { partitions: 64, messages: 3000, messageBytes: 100_000 };

/** Groups that wait on one queue, and now and then a push that is an answer to all of them. */
async function parkGroups(
  context: AttackContext,
  plan: { readonly groups: number; readonly reads: boolean; readonly message: Buffer },
): Promise<void> {
  const park = (group: number) =>
    pop('shared', `g${group}`, `&batch=10000&autoAck=true&${WAITING}`);
  const sockets = await openMany(context, plan.groups, (socket, index) => {
    if (plan.reads) return;
    socket.send(park(index));
    socket.stopReading();
  });
  const waiting = sockets.map(async (socket, index) => {
    while (plan.reads && !context.isOver() && !socket.closed) {
      const { status } = await socket.exchange(park(index), 60_000);
      if (!context.isOver()) context.count(`pop ${status}`);
    }
  });
  await sleep(500);
  while (!context.isOver()) {
    const { status } = await context.once(plan.message);
    context.say(`push: ${status}`);
    await stay(context, 2000);
  }
  for (const socket of sockets) socket.destroy();
  await Promise.all(waiting);
}

/** 7 MB in 7,000 messages of one partition. */
function manyMessages(): Buffer {
  const payload = payloadOf(950);
  return push(Array.from({ length: 7000 }, () => item('shared', 'p', payload)));
}

function oneMessage(bytes: number): Buffer {
  return push([item('shared', 'p', payloadOf(bytes))]);
}

function fetchBody(entries: number, offset: number, more: string): string {
  const list = Array.from(
    { length: entries },
    (_, index) => `{"queue":"old","partition":"p${index}","offset":${offset},"maxBytes":33554432}`,
  );
  return `{"entries":[${list.join(',')}]${more}}`;
}

/** Clients that ask for much and leave when its first bytes have come. */
async function leave(context: AttackContext): Promise<void> {
  const request = post('/api/v1/fetch', fetchBody(64, 0, ''));
  let left = 0;
  const clients = Array.from({ length: 32 }, async () => {
    while (left < 2000 && !context.isOver()) {
      left += 1;
      const socket = await context.open();
      if (socket === null) continue;
      socket.send(request);
      const untilMs = performance.now() + 2000;
      while (socket.receivedBytes === 0 && !socket.closed && performance.now() < untilMs) {
        await sleep(1);
      }
      context.count(socket.receivedBytes > 0 ? 'left in the middle' : 'left before');
      socket.destroy();
    }
  });
  await Promise.all(clients);
  await sleep(1000);
  const fetched = await context.once(request);
  context.check('fetch afterwards', fetched.status === 200, `${fetched.status} ${fetched.start}`);
  const body = '{"consumerGroup":"g","acknowledgments":[{"transactionId":"t","partitionId":"1"}]}';
  const acked = await context.once(post('/api/v1/ack/batch', body));
  context.check('ack afterwards', acked.status === 200, `${acked.status} ${acked.start}`);
  const pushed = await context.once(push([item('later', 'p', '0')]));
  context.check('push afterwards', pushed.status === 201, `${pushed.status} ${pushed.start}`);
}

/** Fetches that wait for more than there will be, beside appends to their partition. */
async function waitingFetches(context: AttackContext): Promise<void> {
  const wait = ',"maxWaitMs":30000,"minBytes":1000000000';
  const request = post(
    '/api/v1/fetch',
    `{"entries":[{"queue":"range","partition":"p0","offset":0,"maxBytes":33554432}]${wait}}`,
  );
  const sockets = await openMany(context, 10, (socket) => socket.send(request));
  await flood(context, {
    clients: 2,
    pauseMs: 10,
    request: () => push([item('range', 'p0', payloadOf(100))]),
  });
  for (const socket of sockets) socket.destroy();
}

/** Pops whose answers nobody takes; each group gets all of the backlog. */
async function silentPops(context: AttackContext, clients: number): Promise<void> {
  await openMany(context, clients, (socket, index) => {
    socket.stopReading();
    socket.send(pop('old', `silent${index}`, '&batch=1000&partitions=64'));
  });
  await stay(context);
}

export const ANSWERS: readonly Scenario[] = [
  {
    name: 'parked-readers',
    does: 'parks pops of 100 groups on a queue and pushes 7 MB to it every two seconds',
    kind: KIND,
    against: ['node', 'cluster'],
    attack: (context) => parkGroups(context, { groups: 100, reads: true, message: manyMessages() }),
  },
  {
    name: 'parked-silent',
    does: 'parks pops of 700 groups that do not read, and pushes 7 MB every two seconds',
    kind: KIND,
    against: ['node'],
    seconds: 12,
    attack: (context) =>
      parkGroups(context, { groups: 700, reads: false, message: manyMessages() }),
  },
  {
    name: 'large-message-readers',
    does: 'parks pops of 120 groups and pushes one message of 30 MiB',
    kind: KIND,
    against: ['node'],
    seconds: 12,
    attack: (context) =>
      parkGroups(context, { groups: 120, reads: true, message: oneMessage(30 * 1024 * 1024) }),
  },
  {
    name: 'large-message-silent',
    does: 'parks pops of 120 groups that do not read, and pushes one message of 30 MiB',
    kind: KIND,
    against: ['node'],
    seconds: 12,
    attack: (context) =>
      parkGroups(context, { groups: 120, reads: false, message: oneMessage(30 * 1024 * 1024) }),
  },
  {
    name: 'old-fetches',
    does: 'fetches 32 MiB of old data from 40 clients at once, again and again',
    kind: KIND,
    against: ['node'],
    fill: (context) => fillBacklog(context, 'old', BACKLOG),
    attack: (context) => {
      const request = post('/api/v1/fetch', fetchBody(64, 0, ''));
      return flood(context, { clients: 40, request: () => request });
    },
  },
  {
    name: 'old-pops',
    does: 'pops old data from 60 clients at once, each for groups of its own',
    kind: KIND,
    against: ['node'],
    fill: (context) => fillBacklog(context, 'old', BACKLOG),
    attack: (context) =>
      flood(context, {
        clients: 60,
        request: (client, round) =>
          pop('old', `c${client}-${round}`, '&batch=10000&partitions=64&autoAck=true'),
      }),
  },
  {
    name: 'waiting-fetches',
    does: 'lets ten fetches wait for more than a partition with 30 MB holds, and pushes to it',
    kind: KIND,
    against: ['node'],
    fill: (context) =>
      fillBacklog(context, 'range', { partitions: 1, messages: 30_000, messageBytes: 1000 }),
    attack: waitingFetches,
  },
  {
    name: 'leaving-clients',
    does: 'leaves 2,000 times in the middle of a large answer',
    kind: KIND,
    against: ['node'],
    seconds: 20,
    fill: (context) => fillBacklog(context, 'old', BACKLOG),
    attack: leave,
  },
  {
    name: 'silent-pops',
    does: 'pops large batches on 64 connections that do not read',
    kind: KIND,
    against: ['node'],
    fill: (context) => fillBacklog(context, 'old', BACKLOG),
    attack: (context) => silentPops(context, 64),
  },
  {
    name: 'many-silent-pops',
    does: 'pops large batches on 1,000 connections that do not read',
    kind: KIND,
    against: ['node'],
    fill: (context) => fillBacklog(context, 'old', BACKLOG),
    attack: (context) => silentPops(context, 1000),
  },
];
