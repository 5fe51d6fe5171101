// The client of this project, as its manual has it: a buffered queue for each producer, and one
// consume loop whose handler gets a message at a time. And the same pushes as requests made by
// hand, to the same node: what is dearer for the node then is what the client does to it.

import { Client } from '@svc/client';
import { HttpExchange } from '../rig/http-exchange.js';
import type { NodeGroup } from '../rig/node-group.js';
import { BATCH, type Contender, type ContenderPlan } from './contender.js';

const CONSUMED = 'consumed';
const PARTITIONS = 64;
const ANSWER_MS_MAX = 30_000;
/** Ids of one producer; more than it pushes in a turn. */
const ID_STEP = 1e9;

/** Requests like those of the client: each message has an id of its own. */
export async function pushByHand(
  group: NodeGroup,
  plan: ContenderPlan,
  isOver: () => boolean,
): Promise<number> {
  const leader = await group.leader();
  const pushThrough = async (index: number): Promise<number> => {
    const exchange = new HttpExchange(leader.process.address);
    const target = `{"queue":"byhand${index}","partition":"p","transactionId":`;
    let pushed = 0;
    for (; !isOver(); pushed += plan.payloads.length) {
      const items = plan.payloads.map((text, at) => {
        return `${target}"${idOf(index * ID_STEP + pushed + at)}","payload":${text}}`;
      });
      const body = `{"items":[${items.join(',')}]}`;
      const { status } = await exchange.request('POST', '/api/v1/push', body, ANSWER_MS_MAX);
      if (status !== 201) throw new Error(`a push by hand was answered ${status}`);
    }
    exchange.close();
    return pushed;
  };
  const producers = Array.from({ length: plan.producers }, (_, i) => pushThrough(i));
  return (await Promise.all(producers)).reduce((sum, pushed) => sum + pushed, 0);
}

/** As long as a UUID, and as one of version 7 in order of its making. */
function idOf(number: number): string {
  const text = Date.now().toString(16).padStart(12, '0') + number.toString(16).padStart(20, '0');
  return text.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

export function svcContender(group: NodeGroup, plan: ContenderPlan): Contender {
  const urls = group.nodes.map(({ httpAddress }) => `http://${httpAddress}`);
  const client = new Client({ urls });
  const values = plan.payloads.map((text): unknown => JSON.parse(text));
  const pushThrough = async (index: number, isOver: () => boolean): Promise<number> => {
    const queue = client.queue(`pushed${index}`).partition('p').buffer({ messageCount: BATCH });
    let pushed = 0;
    while (!isOver()) {
      for (const payload of values) await queue.push({ payload });
      pushed += values.length;
    }
    await queue.flushBuffer();
    return pushed;
  };
  return {
    name: '@svc/client',
    pids: group.nodes.map(({ process }) => process.pid),
    push: async (isOver) => {
      const producers = Array.from({ length: plan.producers }, (_, i) => pushThrough(i, isOver));
      return (await Promise.all(producers)).reduce((sum, pushed) => sum + pushed, 0);
    },
    fill: async (messages) => {
      const queue = client.queue(CONSUMED);
      for (let stored = 0; stored < messages; stored += BATCH) {
        const partition = `p${(stored / BATCH) % PARTITIONS}`;
        await queue.push(values.map((payload) => ({ payload, partition })));
      }
    },
    consume: async (messages) => {
      const loop = client.queue(CONSUMED).group('workers').concurrency(plan.concurrency);
      await loop
        .limit(messages)
        .each()
        .consume(() => Promise.resolve());
    },
    stop: async () => {
      await client.close();
    },
  };
}
