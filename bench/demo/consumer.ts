// One consumer of a group: pops under a lease, tells the ledger what it got, acknowledges the
// last message of each partition (which completes those before it), and goes on until stopped.

import { setTimeout as sleep } from 'node:timers/promises';
import type { Address } from '../rig/http-connection.js';
import { type Answer, HttpExchange } from '../rig/http-exchange.js';
import type { Ledger } from './ledger.js';
import { attempt, persist } from './patience.js';
import { type DeliveredMessage, readPopAnswer } from './pop-answer.js';

const BATCH = 200;
const PARTITIONS = 64;
const WAIT_MS = 500;
const PAUSE_MS = 50;

export interface ConsumerPlan {
  readonly address: Address;
  readonly queue: string;
  readonly group: string;
  readonly leaseSeconds: number;
  readonly ledger: Ledger;
  readonly stopped: () => boolean;
}

export async function runConsumer(plan: ConsumerPlan): Promise<void> {
  const exchange = new HttpExchange(plan.address);
  try {
    while (!plan.stopped()) {
      await consumeOnce(plan, exchange, true);
    }
  } finally {
    exchange.close();
  }
}

/** One last pop that does not wait: after everything was completed it must bring nothing. */
export async function sweep(plan: ConsumerPlan): Promise<void> {
  const exchange = new HttpExchange(plan.address);
  try {
    await consumeOnce(plan, exchange, false);
  } finally {
    exchange.close();
  }
}

async function consumeOnce(
  plan: ConsumerPlan,
  exchange: HttpExchange,
  wait: boolean,
): Promise<void> {
  const { queue, group, ledger } = plan;
  const popTick = ledger.nextTick();
  const path =
    `/api/v1/pop/queue/${queue}?consumerGroup=${group}&batch=${BATCH}` +
    `&partitions=${PARTITIONS}&wait=${wait}&timeout=${WAIT_MS}&leaseSeconds=${plan.leaseSeconds}`;
  const answer = await attempt(exchange, 'GET', path, undefined);
  if (answer instanceof Error) {
    await sleep(PAUSE_MS);
    return;
  }
  if (answer.status === 204) {
    return;
  }
  if (answer.status !== 200) {
    throw new Error(`a pop was answered ${answer.status}: ${answer.body.toString()}`);
  }
  const lastOfPartition = new Map<string, DeliveredMessage>();
  for (const message of readPopAnswer(answer.body)) {
    ledger.deliver(group, message, popTick);
    lastOfPartition.set(message.partitionId, message);
  }
  await acknowledge(plan, exchange, [...lastOfPartition.values()]);
}

async function acknowledge(
  plan: ConsumerPlan,
  exchange: HttpExchange,
  lasts: readonly DeliveredMessage[],
): Promise<void> {
  const acknowledgments = lasts.map(({ transactionId, partitionId, leaseId }) => ({
    transactionId,
    partitionId,
    leaseId,
    status: 'completed',
  }));
  const body = JSON.stringify({ consumerGroup: plan.group, acknowledgments });
  const answer = await persist(exchange, 'POST', '/api/v1/ack/batch', body, plan.stopped);
  const outcomes = readOutcomes(answer, lasts.length);
  for (const [index, message] of lasts.entries()) {
    if (outcomes[index]?.success === true) {
      plan.ledger.complete(plan.group, message.queue, message.partition, message.offset);
    }
  }
}

interface AckOutcome {
  readonly success: boolean;
}

function readOutcomes(answer: Answer, expected: number): readonly AckOutcome[] {
  const text = answer.body.toString();
  if (answer.status !== 200) {
    throw new Error(`an acknowledgement was answered ${answer.status}: ${text}`);
  }
  const outcomes = JSON.parse(text) as readonly AckOutcome[];
  if (!Array.isArray(outcomes) || outcomes.length !== expected) {
    throw new Error(`an acknowledgement of ${expected} items was answered: ${text}`);
  }
  return outcomes;
}
