// Stores and consumes a known number of messages, for the scenarios that need them there.

import type { Address } from '../http-connection.js';
import { ClosedLoop, type LoopResult } from './closed-loop.js';
import { ConsumeProgram } from './consume-program.js';
import { PushProgram } from './push-program.js';
import { pushRequests, shareOf } from './push-requests.js';

export interface BacklogPlan {
  readonly address: Address;
  readonly queue: string;
  readonly connections: number;
  readonly partitions: number;
  readonly payloadBytes: number;
  readonly messages: number;
}

export const BACKLOG_BATCH = 100;
/** Far above any sensible duration; a node that stops answering is noticed by the loop. */
const WINDOW_MS = 1_800_000;

/** Pushes `messages`, rounded up to whole batches; returns how many were acknowledged. */
export async function storeBacklog(plan: BacklogPlan): Promise<number> {
  const requests = pushRequests(plan.queue, plan.partitions, BACKLOG_BATCH, plan.payloadBytes);
  let granted = 0;
  let stored = 0;
  const mayPush = (messages: number): boolean => {
    if (granted >= plan.messages) {
      return false;
    }
    granted += messages;
    return true;
  };
  const onStored = (messages: number): number => {
    stored += messages;
    return messages;
  };
  const programs = Array.from({ length: plan.connections }, (_, index) => {
    const own = shareOf(requests, index, plan.connections);
    return new PushProgram({ requests: own, batch: BACKLOG_BATCH, mayPush, onStored });
  });
  const loop = await ClosedLoop.open(plan.address, programs);
  const finished = (): boolean => stored >= plan.messages;
  await loop.run({ warmUpMs: 0, measureMs: WINDOW_MS, finished });
  return stored;
}

/** Pops and acknowledges until `messages` are done or `windowMs` are over. */
export async function consumeBacklog(
  plan: BacklogPlan,
  group: string,
  warmUpMs = 0,
  windowMs = WINDOW_MS,
): Promise<LoopResult> {
  const tally = { acknowledged: 0 };
  const programs = Array.from(
    { length: plan.connections },
    () => new ConsumeProgram(plan.queue, group, BACKLOG_BATCH, tally),
  );
  const loop = await ClosedLoop.open(plan.address, programs);
  const finished = (): boolean => tally.acknowledged >= plan.messages;
  return loop.run({ warmUpMs, measureMs: windowMs, finished });
}
