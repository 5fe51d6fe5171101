/**
 * `bench`: pushes to a queue of its own, drains it, and says how fast both went.
 *
 * Residency is how long a message stood in the queue: the time of its pop minus that of its push,
 * both by this process's clock, which the payload carries. It is no round trip: while the consumers
 * begin after the producers it mostly says how long the pushing took.
 */
import { adminCall, path, withQuery } from '@svc/client';
import { UserError } from '../base/errors.js';
import { type Command, listIn } from '../command/command.js';
import type { Run } from '../command/run.js';

const GROUP = 'svcctl-bench';
const LEASE_SECONDS = 30;
const WAIT_MS = 2000;
const IDLE_MS = 5000;
const TOTAL_MAX = 10_000_000;

interface Plan {
  readonly queue: string;
  readonly total: number;
  readonly batch: number;
  readonly partitions: number;
  readonly producers: number;
  readonly consumers: number;
  /** Fills a payload up to the size that was asked for. */
  readonly filling: string;
}

interface Rate {
  readonly messages: number;
  readonly seconds: number;
}

export const benchCommands: readonly Command[] = [
  {
    name: 'bench',
    help: 'Push messages to a queue, drain it, and print how fast both went.',
    flags: [
      ['--queue <queue>', 'queue to use', 'svcctl-bench'],
      ['--total <n>', 'messages', '10000'],
      ['--batch <n>', 'messages of one call', '100'],
      ['--partitions <n>', 'p0, p1, ...', '4'],
      ['--producers <n>', 'pushes at a time', '4'],
      ['--consumers <n>', 'pops at a time', '4'],
      ['--payload-size <bytes>', 'of a message, about', '64'],
      ['--skip-pop', 'push alone', false],
      ['--auto-create', 'configure the queue before', true],
      ['--auto-delete', 'delete the queue afterwards', false],
    ],
    example: 'bench --total 100000 --auto-delete',
    run: bench,
  },
];

function planOf({ given }: Run): Plan {
  const total = given.count('total', 1);
  if (total > TOTAL_MAX) throw new UserError(`--total: at most ${TOTAL_MAX}`);
  return {
    queue: given.required('queue'),
    total,
    batch: given.count('batch', 1),
    partitions: given.count('partitions', 1),
    producers: given.count('producers', 1),
    consumers: given.count('consumers', 1),
    filling: 'x'.repeat(
      Math.max(0, given.count('payload-size') - '{"at":1234567890123,"x":""}'.length),
    ),
  };
}

async function bench(run: Run) {
  const plan = planOf(run);
  const { queue } = plan;
  if (run.given.is('auto-create')) {
    await run.call(adminCall('configureQueue', { queue, options: { leaseTime: LEASE_SECONDS } }));
  }
  const pushed = await pushAll(run, plan);
  const lines = [rateLine('PUSH', pushed)];
  const residenciesMs: number[] = [];
  const popped = run.given.is('skip-pop') ? null : await popAll(run, plan, residenciesMs);
  if (popped !== null) {
    lines.push(rateLine('POP', popped));
    const [p50, p95, p99] = [0.5, 0.95, 0.99].map((share) => at(residenciesMs, share));
    lines.push(`RESIDENCY p50=${p50}ms p95=${p95}ms p99=${p99}ms`);
    if (popped.messages < plan.total) {
      lines.push(
        `WARN ${plan.total - popped.messages} of ${plan.total} messages did not come back`,
      );
    }
  }
  if (run.given.is('auto-delete')) {
    await run.call(adminCall('deleteQueue', queue));
  }
  const value = { pushed, popped, lines };
  return { kind: 'said', text: lines.join('\n'), value, isResult: true } as const;
}

function rateLine(word: string, { messages, seconds }: Rate): string {
  const rate = Math.round(messages / Math.max(seconds, 0.001));
  return `${word} ${messages} messages in ${seconds.toFixed(2)}s, ${rate}/s`;
}

/** The value below which a share of them is; sorts them. */
function at(values: number[], share: number): number {
  values.sort((a, b) => a - b);
  return values[Math.min(values.length - 1, Math.floor(values.length * share))] ?? 0;
}

async function timed(run: Run, workers: number, work: () => Promise<void>): Promise<number> {
  const beganMs = run.world.nowMs();
  await Promise.all(Array.from({ length: workers }, work));
  return (run.world.nowMs() - beganMs) / 1000;
}

/** A batch goes to one partition, and the next one to the next. */
async function pushAll(run: Run, plan: Plan): Promise<Rate> {
  let given = 0;
  let batches = 0;
  const seconds = await timed(run, plan.producers, async () => {
    while (given < plan.total) {
      const size = Math.min(plan.batch, plan.total - given);
      given += size;
      const partition = `p${batches++ % plan.partitions}`;
      const payload = `{"at":${run.world.nowMs()},"x":"${plan.filling}"}`;
      const names = JSON.stringify({ queue: plan.queue, partition }).slice(0, -1);
      const items = Array.from({ length: size }, () => `${names},"payload":${payload}}`);
      const body = `{"items":[${items.join(',')}]}`;
      await run.call({ method: 'POST', path: '/api/v1/push', body, repeat: 'unapplied' });
      await run.progress(`pushed ${given} of ${plan.total}`);
    }
  });
  return { messages: given, seconds };
}

/** Ends when all are back, or when none came for a while; that while is not counted. */
async function popAll(run: Run, plan: Plan, residenciesMs: number[]): Promise<Rate> {
  const beganMs = run.world.nowMs();
  let lastMs = beganMs;
  let messages = 0;
  const address = withQuery(path`/api/v1/pop/queue/${plan.queue}`, {
    consumerGroup: GROUP,
    batch: plan.batch,
    autoAck: true,
    wait: true,
    timeout: WAIT_MS,
  });
  await timed(run, plan.consumers, async () => {
    while (messages < plan.total && run.world.nowMs() - lastMs < IDLE_MS) {
      const request = {
        method: 'GET',
        path: address,
        repeat: 'unapplied',
        waitMs: WAIT_MS,
      } as const;
      const found = listIn((await run.call(request)).body, 'messages');
      if (found.length === 0) continue;
      lastMs = run.world.nowMs();
      messages += found.length;
      for (const { data } of found) {
        residenciesMs.push(lastMs - Number((data as { readonly at?: unknown }).at));
      }
      await run.progress(`popped ${messages} of ${plan.total}`);
    }
  });
  return { messages, seconds: (lastMs - beganMs) / 1000 };
}
