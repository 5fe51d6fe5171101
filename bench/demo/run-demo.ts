// One run: producers and two consumer groups at work while the node is killed and started again.

import { setTimeout as sleep } from 'node:timers/promises';
import type { Address } from '../rig/http-connection.js';
import { type ConsumerPlan, runConsumer, sweep } from './consumer.js';
import type { OutgoingMessage } from './input.js';
import { type GroupResult, isClean, Ledger } from './ledger.js';
import { runProducer, shareOf } from './producer.js';
import { Progress, type ProgressOutput } from './progress.js';

/** A node that can be killed without warning and started again on what it kept. */
export interface KillableNode {
  readonly address: Address;
  start(): Promise<number>;
  kill(): Promise<void>;
}

export interface DemoPlan {
  readonly node: KillableNode;
  readonly messages: readonly OutgoingMessage[];
  readonly groups: readonly string[];
  readonly producers: number;
  /** Consumers of each group on each queue. */
  readonly consumers: number;
  readonly kills: number;
  /** Short, so that what a killed node had given out comes again while the run lasts. */
  readonly leaseSeconds: number;
  /** The run is judged as it stands when nothing has moved for so long. */
  readonly stallTimeoutMs: number;
  readonly output: ProgressOutput;
}

export interface DemoResult {
  readonly verdicts: readonly GroupResult[];
  /** What was wrong, in words; of many anomalies of the ledger the first few. */
  readonly complaints: readonly string[];
  readonly kills: number;
  readonly seconds: number;
  readonly clean: boolean;
}

const POLL_MS = 5;

export async function runDemo(plan: DemoPlan): Promise<DemoResult> {
  const ledger = new Ledger(plan.messages, plan.groups);
  const progress = new Progress(ledger, plan.output);
  const startedMs = performance.now();
  let stopping = false;
  const stopped = (): boolean => stopping;
  const consumers = consumerPlans(plan, ledger, stopped);
  const producing = Array.from({ length: plan.producers }, (_, index) => {
    const share = shareOf(plan.messages, index, plan.producers);
    return runProducer(plan.node.address, share, ledger, stopped);
  });
  const consuming = consumers.flatMap((consumer) =>
    Array.from({ length: plan.consumers }, () => runConsumer(consumer)),
  );
  const clients = Promise.all([...producing, ...consuming]);
  try {
    const directing = direct(plan, ledger, progress, stopped);
    const kills = await Promise.race([directing, failureOf(clients)]);
    const seconds = (performance.now() - startedMs) / 1000;
    stopping = true;
    await clients;
    await Promise.all(consumers.map(sweep));
    const verdicts = ledger.verdicts();
    const complaints = [...ledger.examples];
    if (kills < plan.kills) {
      complaints.push(`the run ended after ${kills} of ${plan.kills} kills`);
    }
    if (ledger.acknowledgedCount < ledger.sentCount) {
      const missing = ledger.sentCount - ledger.acknowledgedCount;
      complaints.push(`${missing} messages were never acknowledged`);
    }
    const clean = isClean(verdicts) && complaints.length === 0;
    return { verdicts, complaints, kills, seconds, clean };
  } finally {
    stopping = true;
    progress.close();
  }
}

function consumerPlans(
  plan: DemoPlan,
  ledger: Ledger,
  stopped: () => boolean,
): readonly ConsumerPlan[] {
  const { leaseSeconds } = plan;
  const address = plan.node.address;
  const queues = [...new Set(plan.messages.map((message) => message.queue))];
  return queues.flatMap((queue) =>
    plan.groups.map((group) => ({ address, queue, group, leaseSeconds, ledger, stopped })),
  );
}

/** Rejects when a client fails; never resolves, so that it only loses or breaks a race. */
async function failureOf(clients: Promise<unknown>): Promise<never> {
  await clients;
  return new Promise<never>(() => undefined);
}

/** Kills the node at even shares of the stream and waits for the end; returns the kills. */
async function direct(
  plan: DemoPlan,
  ledger: Ledger,
  progress: Progress,
  stopped: () => boolean,
): Promise<number> {
  let kills = 0;
  let moved = '';
  let movedMs = performance.now();
  while (!ledger.finished && !stopped()) {
    const due = ((kills + 1) * ledger.sentCount) / (plan.kills + 1);
    if (kills < plan.kills && ledger.acknowledgedCount >= due) {
      await restart(plan.node, ledger, progress, kills + 1);
      kills += 1;
    }
    const state = `${ledger.acknowledgedCount} ${ledger.deliveredCount} ${ledger.redeliveredCount}`;
    if (state !== moved) {
      moved = state;
      movedMs = performance.now();
    } else if (performance.now() - movedMs > plan.stallTimeoutMs) {
      progress.say(`nothing has moved for ${plan.stallTimeoutMs / 1000} s: the run ends here`);
      return kills;
    }
    await sleep(POLL_MS);
  }
  return kills;
}

async function restart(
  node: KillableNode,
  ledger: Ledger,
  progress: Progress,
  number: number,
): Promise<void> {
  const { acknowledgedCount, sentCount } = ledger;
  progress.state = 'node killed';
  await node.kill();
  progress.say(`SIGKILL ${number}: after ${acknowledgedCount} of ${sentCount} were stored`);
  const readyMs = await node.start();
  progress.say(`the node is healthy again ${readyMs.toFixed(0)} ms after its start`);
  progress.state = 'running';
}
