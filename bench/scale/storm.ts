// A thread that makes dead letters at a steady rate: it pops one message and acknowledges it as a
// dead letter, again and again, each at the moment at which it is due. A thread of its own, because
// what it measures beside must not wait for it in the same loop.

import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import type { Address } from '../http-connection.js';
import { HttpExchange } from '../http-exchange.js';

export interface StormPlan {
  readonly address: Address;
  readonly queue: string;
  readonly perSecond: number;
  readonly seconds: number;
}

const CLIENTS = 8;
const POP_QUERY = 'consumerGroup=storm&batch=1';
const FIELD = (name: string) => new RegExp(`"${name}":"([^"]+)"`);
const TRANSACTION_ID = FIELD('transactionId');
const PARTITION_ID = FIELD('partitionId');
const LEASE_ID = FIELD('leaseId');

/** Resolves with how many letters were made in the time. */
async function runStorm(plan: StormPlan): Promise<number> {
  const beganMs = performance.now();
  const total = plan.perSecond * plan.seconds;
  let next = 0;
  let made = 0;
  const client = async () => {
    const exchange = new HttpExchange(plan.address);
    for (let i = next++; i < total; i = next++) {
      await sleep(Math.max(0, beganMs + (i * 1000) / plan.perSecond - performance.now()));
      if (performance.now() - beganMs > plan.seconds * 1000) break;
      await makeOne(exchange, plan.queue);
      made += 1;
    }
    exchange.close();
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  return made;
}

async function makeOne(exchange: HttpExchange, queue: string): Promise<void> {
  const pop = await exchange.request('GET', `/api/v1/pop/queue/${queue}?${POP_QUERY}`);
  const text = pop.body.toString('utf8');
  if (pop.status !== 200) throw new Error(`the storm found nothing to pop: ${pop.status} ${text}`);
  const field = (pattern: RegExp) => pattern.exec(text)?.[1] ?? '';
  const ack = JSON.stringify({
    consumerGroup: 'storm',
    transactionId: field(TRANSACTION_ID),
    partitionId: field(PARTITION_ID),
    leaseId: field(LEASE_ID),
    status: 'dlq',
    error: 'the storm',
  });
  const { status, body } = await exchange.request('POST', '/api/v1/ack', ack);
  const answer = body.toString('utf8');
  if (status !== 200 || !answer.includes('"dlq":true')) {
    throw new Error(`no dead letter was made: ${status} ${answer}`);
  }
}

if (parentPort !== null) {
  const port = parentPort;
  runStorm(workerData as StormPlan).then((made) => port.postMessage(made));
}
