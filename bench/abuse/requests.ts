// Prepared requests of attackers, and what fills a node before an attack.

import { requestBytes } from '../rig/http-connection.js';
import { HttpExchange } from '../rig/http-exchange.js';
import type { AttackContext } from './scenario.js';

/** The text of one item of a push. */
export function item(queue: string, partition: string, payload: string): string {
  return `{"queue":"${queue}","partition":"${partition}","payload":${payload}}`;
}

export function pushText(items: readonly string[]): string {
  return `{"items":[${items.join(',')}]}`;
}

export function push(items: readonly string[]): Buffer {
  return requestBytes('POST', '/api/v1/push', pushText(items));
}

/** `count` items, each in a partition of its own. */
export function partitionItems(queue: string, prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => item(queue, `${prefix}${index}`, '0'));
}

/** `count` items, each in a queue of its own. */
export function queueItems(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => item(`${prefix}${index}`, 'p', '0'));
}

/** A payload whose text has so many bytes. */
export function payloadOf(bytes: number): string {
  return `"${'x'.repeat(Math.max(0, bytes - 2))}"`;
}

/** Pushes items in small calls, one after the other, as a careful client does. */
export async function fillItems(
  context: AttackContext,
  items: readonly string[],
  perCall = 500,
): Promise<void> {
  for (let first = 0; first < items.length; first += perCall) {
    await context.ask('POST', '/api/v1/push', pushText(items.slice(first, first + perCall)));
  }
}

/** The same call several times, from a few clients at once. */
export async function fillCalls(
  context: AttackContext,
  calls: number,
  call: (index: number) => readonly [method: string, path: string, body?: string],
  clients = 16,
): Promise<void> {
  let next = 0;
  const [address] = context.nodes;
  if (address === undefined) throw new Error('there is no node to fill');
  await Promise.all(
    Array.from({ length: clients }, async () => {
      const exchange = new HttpExchange(address);
      while (next < calls) {
        const [method, path, body] = call(next);
        next += 1;
        const answer = await exchange.request(method, path, body, 60_000);
        if (answer.status >= 300) {
          throw new Error(`${method} ${path}: ${answer.status} ${answer.body.toString('utf8')}`);
        }
      }
      exchange.close();
    }),
  );
}

/** Messages in one queue, by total size, over some partitions. */
export async function fillBacklog(
  context: AttackContext,
  queue: string,
  plan: { readonly partitions: number; readonly messages: number; readonly messageBytes: number },
): Promise<void> {
  const payload = payloadOf(plan.messageBytes);
  const items = Array.from({ length: plan.messages }, (_, index) =>
    item(queue, `p${index % plan.partitions}`, payload),
  );
  const perCall = Math.max(1, Math.floor((4 * 1024 * 1024) / plan.messageBytes));
  await fillItems(context, items, Math.min(perCall, 1000));
}

/** A pop by a group; `query` begins with `&` or is empty. */
export function pop(queue: string, group: string, query = ''): Buffer {
  return get(`/api/v1/pop/queue/${queue}?consumerGroup=${group}${query}`);
}

export function get(path: string): Buffer {
  return requestBytes('GET', path);
}

export function post(path: string, body: string): Buffer {
  return requestBytes('POST', path, body);
}
