/** Calls on timers, as the rows of their tables make them. */
import type { Answer } from '@svc/http/api';
import type { TimerDoneAnswer, TimerResultAnswer, TimersAnswer } from '@svc/wire';
import { expect } from 'vitest';
import { bodyOf } from './broker-api.js';
import type { BrokerUnderTest } from './broker-under-test.js';
import type { ContractRow } from './table.js';

type TimerFoundAnswer = Extract<TimerPeekAnswer, { readonly found: true }>;
type TimerListAnswer = Answer<'GET /api/v1/timers/{queue}'>;
type TimerPeekAnswer = Answer<'GET /api/v1/timers/{queue}/{timerKey...}'>;

export const TIMERS = '/api/v1/timers';

export function base64(payload: unknown): string {
  return Buffer.from(JSON.stringify(payload)).toString('base64');
}

/** Into the row's own queue. */
export function schedule({ queue }: BrokerUnderTest, timerKey: string, more: object = {}): object {
  const txn = `txn-${timerKey}`;
  const named = { op: 'schedule', queue, timerKey, txn };
  return { ...named, delayMs: 60_000, payload: base64({ id: txn }), ...more };
}

export function cancel({ queue }: BrokerUnderTest, timerKey: string, more: object = {}): object {
  return { op: 'cancel', queue, timerKey, ...more };
}

export async function timers(
  { client }: BrokerUnderTest,
  ...ops: readonly object[]
): Promise<readonly TimerResultAnswer[]> {
  return (bodyOf(await client.post(TIMERS, ops), 200) as TimersAnswer).results;
}

/** One that is to succeed. */
export async function timer(broker: BrokerUnderTest, op: object): Promise<TimerDoneAnswer> {
  const [result] = await timers(broker, op);
  expect(result).toMatchObject({ ok: true });
  return result as TimerDoneAnswer;
}

export function pathOf({ queue }: BrokerUnderTest, timerKey: string): string {
  return `${TIMERS}/${encodeURIComponent(queue)}/${encodeURIComponent(timerKey)}`;
}

export async function peek(broker: BrokerUnderTest, timerKey: string): Promise<TimerPeekAnswer> {
  return bodyOf(await broker.client.get(pathOf(broker, timerKey)), 200) as TimerPeekAnswer;
}

export async function found(broker: BrokerUnderTest, timerKey: string): Promise<TimerFoundAnswer> {
  const answer = await peek(broker, timerKey);
  expect(answer.found).toBe(true);
  return answer as TimerFoundAnswer;
}

export async function list(broker: BrokerUnderTest, query = ''): Promise<TimerListAnswer> {
  const path = `${TIMERS}/${encodeURIComponent(broker.queue)}${query}`;
  return bodyOf(await broker.client.get(path), 200) as TimerListAnswer;
}

/** The next messages of the row's queue, in their order, as they come within some seconds. */
export async function fired(
  { api, queue }: BrokerUnderTest,
  count = 1,
): Promise<readonly { readonly id: string; readonly transactionId: string; data: unknown }[]> {
  const messages = [];
  while (messages.length < count) {
    const wish = { wait: true, timeout: 5000, batch: 100, partitions: 10, autoAck: true };
    const popped = await api.popQueue(queue, wish);
    if (popped === null) break;
    messages.push(...popped.messages);
  }
  expect(messages).toHaveLength(count);
  return messages;
}

/** Operations that are refused so; `{queue}` stands for the row's queue. */
export function refusedTimers(
  row: string,
  ops: readonly unknown[],
  reason: string,
  detail?: string,
): ContractRow {
  return {
    row,
    does: `${JSON.stringify(ops).slice(0, 100)} is ${reason}`,
    send: `POST ${TIMERS}`,
    body: ops,
    answer: {
      status: 400,
      body: { error: 'timers_bad_request', reason, ...(detail === undefined ? {} : { detail }) },
    },
  };
}
