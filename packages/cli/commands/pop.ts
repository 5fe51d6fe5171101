/** `pop` and `tail`: messages as lines of JSON, whatever `-o` says. */
import { path, payloadTexts, type WithTexts, withQuery } from '@svc/client';
import { RefusedError, UserError } from '../base/errors.js';
import { exactJson } from '../base/exact-json.js';
import { jsonLine } from '../base/one-line.js';
import { type Command, type Flag, listIn, type Request } from '../command/command.js';
import type { Given } from '../command/given.js';
import type { Run } from '../command/run.js';

type Message = Readonly<Record<string, unknown>>;

const WAIT_MS = 30_000;
/** Beyond the wait of a pop, for its answer to come. */
export const ANSWER_MS = 30_000;
const TAIL_BATCH = 1000;

const START: readonly Flag[] = [
  ['--since <time>', 'a new group begins with messages of this time, such as 5m'],
  ['--conflation', 'only the newest message of each partition', false],
];

export const popCommands: readonly Command[] = [
  {
    name: 'pop',
    args: '[queue]',
    help: 'Take messages under a lease, of a queue or of all with a namespace or task.',
    flags: [
      ['--cg <group>', 'consumer group'],
      ['--partition <name>', 'take from this partition alone'],
      ['-n, --limit <n>', 'at most so many messages', '1'],
      ['--batch <n>', 'the same'],
      ['--max-partitions <n>', 'of at most so many partitions', '1'],
      ['--commit-on-delivery', 'acknowledge at delivery: there is no lease', false],
      ['--auto-ack', 'hidden: the older name of --commit-on-delivery', false],
      ['--wait', 'wait when there are none', true],
      ['--timeout <duration>', 'wait for so long', '10s'],
      ['--namespace <name>', 'of queues with this namespace'],
      ['--task <name>', 'of queues with this task'],
      ['--from-mode <mode>', 'where a new group begins: all or new'],
      ...START,
    ],
    example: 'pop orders --cg billing -n 10',
    run: pop,
  },
  {
    name: 'tail',
    args: '<queue>',
    help: 'Print what is in a queue; with -f also what comes. Only the cursor of --cg moves.',
    flags: [
      ['--cg <group>', 'consumer group', 'svcctl-tail'],
      ['--partition <name>', 'of this partition alone'],
      ['-f, --follow', 'go on with what comes', false],
      ['-n, --limit <n>', 'end after so many messages; 0: no limit', '0'],
      ['--batch <n>', 'messages of one call; 0: 1000', '0'],
      ['--max-partitions <n>', 'partitions of one call', '1'],
      ['--auto-ack', 'acknowledge after a line is printed, not at delivery', false],
      ['--from <time>', 'a new group begins there: beginning, now or a time'],
      ...START,
      ['--idle-millis <ms>', 'end when nothing came for so long; 0: never', '0'],
      ['--concurrency <n>', 'calls at a time; 0: one', '0'],
      ['--timeout <duration>', 'a call waits so long; 0: 30s', '0'],
    ],
    example: 'tail orders -f --from now',
    run: tail,
  },
];

async function pop(run: Run) {
  const { given } = run;
  const limit = given.isTyped('batch') ? given.integer('batch', 1) : given.integer('limit', 1);
  const isCommitted = given.is('commit-on-delivery') || given.is('auto-ack');
  const timeoutMs = given.is('wait') ? (given.durationMs('timeout') ?? 0) : 0;
  const query = { ...startOf(given), batch: limit, autoAck: isCommitted || undefined };
  // No long poll to the client, which would follow a 429 by another try for ever.
  const { waitMs, ...request } = popRequest(given, query, timeoutMs);
  const popped = await poppedBy(run, { ...request, timeoutMs: waitMs + ANSWER_MS });
  if (popped.messages.length === 0) return { kind: 'nothing' } as const;
  await run.world.output.write(popped.lines);
  return { kind: 'ended' } as const;
}

interface Popped {
  readonly messages: readonly Message[];
  /** The lines of all messages, with their ends. */
  readonly lines: string;
}

/**
 * Payloads are printed as the texts that are stored, and never parsed. An answer without
 * `messages` comes from something else than a broker, such as a proxy, at once and without the
 * wait that was asked for: `tail -f` would ask it again in a loop.
 */
async function poppedBy(run: Run, request: Request): Promise<Popped> {
  const read = (text: string) => payloadTexts(text, 'data');
  const { body } = await run.call({ ...request, read });
  // null: 204.
  const { answer, texts } = (body ?? { answer: null, texts: [] }) as WithTexts;
  if (body !== null && !isPopAnswer(answer)) {
    throw new RefusedError(`${request.path}: the answer has no messages: is this a broker?`);
  }
  const messages = listIn(answer, 'messages');
  return { messages, lines: messages.map((one, i) => lineOf(one, texts[i])).join('') };
}

function isPopAnswer(answer: unknown): boolean {
  return Array.isArray((answer as { readonly messages?: unknown } | null)?.messages);
}

type Query = Readonly<Record<string, string | number | boolean | undefined>>;

/**
 * A pop is sent again only when it was not carried out: the lease of an answer that was lost holds
 * its messages, and another try would take the next ones.
 */
function popRequest(given: Given, query: Query, timeoutMs: number) {
  const queue = given.optionalArg(0);
  const partition = given.text('partition');
  const [namespace, task] = [given.text('namespace'), given.text('task')];
  const isLabelled = namespace !== undefined || task !== undefined;
  if ((queue === undefined) !== isLabelled) {
    throw new UserError('write a queue, or --namespace and --task, and not both');
  }
  if (queue === undefined && partition !== undefined) {
    throw new UserError('--partition needs a queue');
  }
  const at =
    queue === undefined
      ? '/api/v1/pop'
      : partition === undefined
        ? path`/api/v1/pop/queue/${queue}`
        : path`/api/v1/pop/queue/${queue}/partition/${partition}`;
  const address = withQuery(at, {
    consumerGroup: given.text('cg'),
    partitions: given.isTyped('max-partitions') ? given.integer('max-partitions', 1) : undefined,
    conflation: given.is('conflation') || undefined,
    namespace,
    task,
    wait: timeoutMs > 0,
    timeout: timeoutMs > 0 ? Math.round(timeoutMs) : undefined,
    ...query,
  });
  return { method: 'GET', path: address, repeat: 'unapplied', waitMs: timeoutMs } as const;
}

/** Where a new group begins. */
function startOf(given: Given): Query {
  const mode = given.text('from-mode');
  if (mode !== undefined && mode !== 'all' && mode !== 'new') {
    throw new UserError(`--from-mode ${mode}: write all or new`);
  }
  const from = given.time('since') ?? given.time('from');
  return {
    subscriptionMode: mode,
    subscriptionFrom: from === 'end' ? 'now' : from,
  };
}

function lineOf(message: Message, payload = 'null'): string {
  const { queue, partition, transactionId, partitionId, createdAt, retryCount } = message;
  const { leaseId, producerSub } = message;
  const before = { queue, partition, transactionId, partitionId, createdAt, retryCount };
  const head = JSON.stringify(before).slice(0, -1);
  const rest = JSON.stringify({ leaseId, producerSub }).slice(1);
  return `${head},"data":${jsonLine(payload)},${rest}\n`;
}

interface Tailing {
  /** Messages that may still be asked for. */
  left: number;
  lastMs: number;
}

/**
 * Prints, then goes on. The cursor moves at delivery, or with `--auto-ack` by an acknowledgement
 * after the line: without either the first batch of a partition would be all that is shown of it,
 * for its lease keeps the others back. A group that reads by conflation has to acknowledge.
 */
async function tail(run: Run) {
  const { given } = run;
  const limit = given.count('limit');
  const tailing = {
    left: limit === 0 ? Number.POSITIVE_INFINITY : limit,
    lastMs: run.world.nowMs(),
  };
  const loops = Array.from({ length: given.count('concurrency') || 1 }, () => loop(run, tailing));
  await Promise.all(loops);
  return { kind: 'ended' } as const;
}

/**
 * While a batch is printed the next one is on its way; with acknowledgements it is asked for after
 * them, since before its partition is under the lease. Only one call is under way: the answers of
 * two could change places, and the lines of a partition their order.
 */
async function loop(run: Run, tailing: Tailing): Promise<void> {
  const { given } = run;
  const batchMax = given.count('batch') || TAIL_BATCH;
  const idleMs = given.count('idle-millis');
  const isFollowing = given.is('follow') || idleMs > 0;
  const isAcked = given.is('auto-ack') || given.is('conflation');
  const start = startOf(given);
  const popNext = async (): Promise<Popped | null> => {
    const batch = Math.min(batchMax, tailing.left);
    if (batch <= 0) return null;
    tailing.left -= batch;
    const waitMs = isFollowing ? waitOf(run, tailing, idleMs) : 0;
    const query = { ...start, batch, autoAck: isAcked ? undefined : true };
    const popped = await poppedBy(run, popRequest(given, query, waitMs));
    tailing.left += batch - popped.messages.length;
    if (popped.messages.length > 0) tailing.lastMs = run.world.nowMs();
    else if (!isFollowing || isIdle(run, tailing, idleMs)) return null;
    return popped;
  };
  for (let coming = popNext(); ; ) {
    const popped = await coming;
    if (popped === null) return;
    if (!isAcked) coming = ahead(popNext());
    await run.world.output.write(popped.lines);
    if (!isAcked) continue;
    if (popped.messages.length > 0) await acknowledge(run, popped.messages);
    coming = popNext();
  }
}

/** A promise that is awaited later may fail before. */
function ahead<T>(coming: Promise<T>): Promise<T> {
  coming.catch(() => undefined);
  return coming;
}

function waitOf(run: Run, { lastMs }: Tailing, idleMs: number): number {
  const timeoutMs = run.given.durationMs('timeout') || WAIT_MS;
  if (idleMs === 0) return timeoutMs;
  return Math.max(1, Math.min(timeoutMs, lastMs + idleMs - run.world.nowMs()));
}

function isIdle(run: Run, { lastMs }: Tailing, idleMs: number): boolean {
  return idleMs > 0 && run.world.nowMs() - lastMs >= idleMs;
}

async function acknowledge(run: Run, messages: readonly Message[]): Promise<void> {
  const acknowledgments = messages.map(({ transactionId, partitionId, leaseId }) => {
    return { transactionId, partitionId, leaseId, status: 'completed' };
  });
  const body = exactJson({ consumerGroup: run.given.text('cg'), acknowledgments });
  const { body: results } = await run.call({ method: 'POST', path: '/api/v1/ack/batch', body });
  const refused = listIn(results, '').filter(({ success }) => success !== true);
  for (const { error, transactionId } of refused) {
    await run.note(`not acknowledged: ${String(transactionId)}: ${String(error)}`);
  }
}
