/** `messages`, `dlq`, `traces`: what is stored, what failed and what was noted. */
import { adminCall, ClientError } from '@svc/client';
import { UserError } from '../base/errors.js';
import {
  type Command,
  doing,
  type Flag,
  listIn,
  membersOf,
  reading,
  written,
  YES,
} from '../command/command.js';
import type { Given } from '../command/given.js';
import type { Run } from '../command/run.js';

type Row = Readonly<Record<string, unknown>>;

const PAGE = 200;
/** Messages that the server lists in one answer. */
const MESSAGES_PAGE = 1000;
const TRACE_COLUMNS = 'AT=createdAt EVENT=eventType TRACE=names DATA=data';
const MESSAGE_COLUMNS =
  'TX=transactionId QUEUE=queue PARTITION=partition STATUS=status RETRIES=retryCount ' +
  'CREATED=createdAt | PARTITIONID=partitionId PRODUCER=producerSub';
const DEAD_COLUMNS =
  'TX=transactionId QUEUE=queue PARTITION=partition CG=consumerGroup RETRIES=retryCount ' +
  'ERROR=errorMessage | FAILED-AT=failedAt PARTITIONID=partitionId';
const WHICH: readonly Flag[] = [
  ['--queue <queue>', 'of this queue'],
  ['--cg <group>', 'of this consumer group'],
  ['--partition <name>', 'of this partition'],
  ['--from <time>', 'that failed at this time or later'],
  ['--to <time>', 'that failed before this time'],
];
const MESSAGE = '<partitionId> <transactionId>';

export const recordCommands: readonly Command[] = [
  {
    name: 'messages list',
    help: 'List stored messages.',
    flags: [
      ['--queue <queue>', 'of this queue'],
      ['--partition <name>', 'of this partition'],
      ['--status <status>', 'pending, processing, completed or dead_letter'],
      ['--cg <group>', 'looked at by servers before 2.0 alone'],
      ['--from <time>', 'pushed at this time or later; an hour ago when absent'],
      ['--to <time>', 'pushed before this time'],
      ['--limit <n>', 'at most so many', '100'],
      ['--offset <n>', 'after so many'],
    ],
    example: 'messages list --queue orders --status pending',
    run: listMessages,
  },
  reading({
    name: 'messages get',
    args: MESSAGE,
    help: 'Show a message with its payload.',
    example: 'messages get 1 order-1',
    call: (given) => adminCall('message', given.arg(0), given.arg(1)),
    instead: 'yaml',
  }),
  doing({
    name: 'messages delete',
    args: MESSAGE,
    help: 'Delete a message.',
    example: 'messages delete 1 order-1 --yes',
    destroys: (given) => `delete the message "${given.arg(1)}"`,
    call: (given) => adminCall('deleteMessage', given.arg(0), given.arg(1)),
    said: (given, { deleted }) => `deleted "${given.arg(1)}" (${String(deleted)})`,
  }),
  tracesOfMessage('messages traces'),
  {
    name: 'dlq list',
    help: 'List dead letters.',
    flags: [...WHICH, ['--limit <n>', 'at most so many', '100'], ['--offset <n>', 'after so many']],
    example: 'dlq list --queue orders --from "1h ago"',
    run: async (run) => {
      const [limit, offset] = [run.given.count('limit', 1), run.given.integer('offset') ?? 0];
      const messages = await deadLetters(run, limit, offset);
      return { kind: 'shown', value: { messages }, rows: messages, columns: DEAD_COLUMNS };
    },
  },
  reading({
    name: 'dlq describe',
    args: MESSAGE,
    help: 'Show a dead letter with its payload and error.',
    example: 'dlq describe 1 order-1',
    call: (given) => adminCall('message', given.arg(0), given.arg(1)),
    instead: 'yaml',
  }),
  doing({
    name: 'dlq retry',
    args: MESSAGE,
    help: 'Push a dead letter again and remove it.',
    example: 'dlq retry 1 order-1',
    call: (given) => adminCall('retryMessage', given.arg(0), given.arg(1), {}),
    said: (given, { result }) => `retried "${given.arg(1)}" (${String(result)})`,
  }),
  {
    name: 'dlq drain',
    help: 'Retry the dead letters that there are, one by one.',
    flags: [...WHICH, ['--dry-run', 'say how many and send nothing', false], YES],
    example: 'dlq drain --queue orders --yes',
    run: drain,
  },
  {
    name: 'dlq redrive',
    args: '<queue>',
    help: 'Replay the dead letters of a queue, oldest first, in slices.',
    flags: [
      ['--cg <group>', 'of this consumer group'],
      ['--from <time>', 'that were filed at this time or later'],
      ['--to <time>', 'that were filed before this time'],
      ['--limit <n>', 'of one slice', '200'],
    ],
    example: 'dlq redrive orders --cg billing',
    run: redrive,
  },
  reading({
    name: 'traces names',
    help: 'List the names of traces.',
    example: 'traces names',
    call: () => adminCall('traceNames'),
    rows: 'trace_names',
    columns: 'NAME=trace_name EVENTS=trace_count FIRST=first_seen LAST=last_seen',
  }),
  reading({
    name: 'traces by-name',
    args: '<name>',
    help: 'List the traces with a name.',
    example: 'traces by-name checkout',
    call: (given) => adminCall('tracesByName', given.arg(0)),
    rows: 'traces',
    columns: 'AT=createdAt EVENT=eventType TX=transactionId PARTITION=partition_name DATA=data',
  }),
  tracesOfMessage('traces by-message'),
];

async function listMessages(run: Run) {
  const { given } = run;
  if (given.isTyped('cg')) await run.note('warning: the server lists messages for no group: --cg');
  const query = written({
    queue: given.text('queue'),
    partition: given.text('partition'),
    status: statusOf(given.text('status')),
    from: given.instant('from'),
    to: given.instant('to'),
  });
  const [limitMax, before] = [given.count('limit', 1), given.integer('offset') ?? 0];
  const rows: Row[] = [];
  for (;;) {
    const limit = Math.min(limitMax - rows.length, MESSAGES_PAGE);
    const page = { limit, offset: before + rows.length };
    const { body } = await run.call(adminCall('messages', { ...query, ...page }));
    const found = listIn(body, 'messages');
    for (const row of found) rows.push(row);
    if (found.length < limit || rows.length >= limitMax) {
      const value = { ...membersOf(body), messages: rows };
      return { kind: 'shown', value, rows, columns: MESSAGE_COLUMNS } as const;
    }
    await run.progress(`${rows.length} messages`);
  }
}

function tracesOfMessage(name: string): Command {
  return reading({
    name,
    args: MESSAGE,
    help: 'List the traces of a message.',
    example: `${name} 1 order-1`,
    call: (given) => adminCall('traces', given.arg(0), given.arg(1)),
    rows: 'traces',
    columns: TRACE_COLUMNS,
  });
}

const STATUSES = ['pending', 'processing', 'completed', 'dead_letter'] as const;

function statusOf(text: string | undefined): (typeof STATUSES)[number] | undefined {
  const status = STATUSES.find((one) => one === text);
  if (status !== undefined || text === undefined) return status;
  throw new UserError(`--status ${text}: write one of ${STATUSES.join(', ')}`);
}

/** By the flags that the server has no parameters for. */
function isAsked(given: Given): (row: Row) => boolean {
  const partition = given.text('partition');
  const [from, to] = [given.instant('from'), given.instant('to')].map(
    (time) => time && Date.parse(time),
  );
  return (row) => {
    const failedMs = Date.parse(String(row.failedAt));
    return (
      (partition === undefined || row.partition === partition) &&
      (!from || failedMs >= Number(from)) &&
      (!to || failedMs < Number(to))
    );
  };
}

async function pageOf(run: Run, limit: number, offset: number): Promise<readonly Row[]> {
  const query = written({ queue: run.given.text('queue'), consumerGroup: run.given.text('cg') });
  const { body } = await run.call(adminCall('deadLetters', { ...query, limit, offset }));
  return listIn(body, 'messages');
}

async function deadLetters(run: Run, limit: number, offset: number): Promise<readonly Row[]> {
  const isShown = isAsked(run.given);
  const isFiltered = ['partition', 'from', 'to'].some((flag) => run.given.isTyped(flag));
  if (!isFiltered && limit <= PAGE) return pageOf(run, limit, offset);
  const found: Row[] = [];
  for (let at = 0; found.length < offset + limit; at += PAGE) {
    const page = await pageOf(run, PAGE, at);
    for (const row of page) if (isShown(row)) found.push(row);
    if (page.length < PAGE) break;
    await run.progress(`looked at ${at + page.length}`);
  }
  return found.slice(offset, offset + limit);
}

/**
 * Those that are there when it begins. Their names are read first: a retry removes a row, and the
 * pages behind it would move under the walk; and what fails again meanwhile is not retried again.
 */
async function drain(run: Run) {
  const { given } = run;
  const letters = await deadLetters(run, Number.MAX_SAFE_INTEGER, 0);
  if (given.is('dry-run')) {
    const text = `[dry-run] would retry ${letters.length} dead letters`;
    return { kind: 'said', text, value: { deadLetters: letters.length } } as const;
  }
  if (letters.length > 0) await run.confirm(`push ${letters.length} dead letters again`);
  const counts = { processed: 0, errors: 0 };
  for (const { partitionId, transactionId } of letters) {
    try {
      await run.call(adminCall('retryMessage', String(partitionId), String(transactionId), {}));
      counts.processed++;
    } catch (error) {
      if (!(error instanceof ClientError) || [0, 401, 403].includes(error.status)) throw error;
      counts.errors++;
      await run.note(error.message);
    }
    await run.progress(`retried ${counts.processed} of ${letters.length}`);
  }
  const text = `processed=${counts.processed} errors=${counts.errors}`;
  return { kind: 'said', text, value: counts, code: counts.errors === 0 ? 0 : 2 } as const;
}

async function redrive(run: Run) {
  const { given } = run;
  const queue = given.arg(0);
  const counts = { moved: 0, duplicates: 0, refused: 0 };
  const asked = {
    queue,
    ...written({
      consumerGroup: given.text('cg'),
      from: given.instant('from'),
      to: given.instant('to'),
      limit: given.integer('limit', 1),
    }),
  };
  for (let cursor: string | null = null; ; ) {
    const answer = await run.call(adminCall('redriveDeadLetters', { ...asked, cursor }));
    const slice = (answer.body ?? {}) as Row;
    counts.moved += Number(slice.moved ?? 0);
    counts.duplicates += Number(slice.duplicates ?? 0);
    counts.refused += Number(slice.refused ?? 0);
    await run.progress(`moved ${counts.moved}`);
    if (typeof slice.cursor !== 'string') break;
    cursor = slice.cursor;
  }
  const { moved, duplicates, refused } = counts;
  const text = `moved=${moved} duplicates=${duplicates} refused=${refused}`;
  return { kind: 'said', text, value: counts } as const;
}
