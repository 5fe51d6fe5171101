/** `queue`, `partition`, `namespace`, `task`: what there is, and its options. */
import { adminCall } from '@svc/client';
import { type Command, doing, listIn, membersOf, reading } from '../command/command.js';
import type { Given } from '../command/given.js';
import { type List, listing, type Row, readPages } from '../command/pages.js';
import type { Run } from '../command/run.js';
import { isLabelled, QUEUES } from './node.js';

const PARTITION_COLUMNS =
  'PARTITION=name PENDING=messages.pending PROCESSING=messages.processing | ' +
  'COMPLETED=messages.completed FAILED=messages.failed DLQ=messages.deadLetter ' +
  'TOTAL=messages.total MESSAGES=stats.total';

/** Options of `configure` by their flags, in seconds or counts. */
const INTEGERS: Readonly<Record<string, string>> = {
  'lease-time': 'leaseTime',
  'retry-limit': 'retryLimit',
  'delivery-limit': 'deliveryLimit',
  'retry-backoff': 'retryBackoffMs',
  'retry-backoff-max': 'retryBackoffMaxMs',
  'delayed-processing': 'delayedProcessing',
  'window-buffer': 'windowBuffer',
  retention: 'retentionSeconds',
  'completed-retention': 'completedRetentionSeconds',
};

export const queueCommands: readonly Command[] = [
  listing({
    name: 'queue list',
    help: 'List the queues, the newest first.',
    flags: [
      ['--namespace <name>', 'with this namespace'],
      ['--task <name>', 'with this task'],
      ['--limit <n>', 'at most so many'],
      ['--offset <n>', 'after so many'],
    ],
    example: 'queue list --namespace billing',
    list: () => QUEUES,
    part: (given) => ({
      limit: given.integer('limit', 1),
      offset: given.integer('offset'),
      keep: isLabelled(given),
    }),
    columns:
      'NAME=name NAMESPACE=namespace TASK=task PARTITIONS=partitions PRIORITY=options.priority ' +
      'LEASE=options.leaseTime:seconds | RETRY=options.retryLimit MAXSIZE=options.maxSize ' +
      'ENCRYPTED=options.encryptionEnabled',
  }),
  reading({
    name: 'queue describe',
    args: '<queue>',
    help: 'Show everything of a queue.',
    example: 'queue describe orders',
    call: (given) => adminCall('queue', given.arg(0)),
    instead: 'yaml',
  }),
  reading({
    name: 'queue depth',
    args: '<queue>',
    help: 'Show how many messages wait in a queue, for a group or for any.',
    flags: [['--group <group>', 'for this group']],
    example: 'queue depth orders --group billing',
    call: (given) => {
      const group = given.text('group');
      return adminCall('queueDepth', given.arg(0), group === undefined ? {} : { group });
    },
    columns:
      'PENDING=pending PARTITIONS=partitions PARTITIONSPENDING=partitionsPending ' +
      'EFFECTIVE=effectivePending',
  }),
  doing({
    name: 'queue configure',
    args: '<queue>',
    help: 'Create a queue or change its options. Only those that are written are sent.',
    flags: [
      ['--namespace <name>', 'label'],
      ['--task <name>', 'label'],
      ['--lease-time <s>', 'seconds of a lease'],
      ['--retry-limit <n>', 'failures before a message is a dead letter'],
      ['--delivery-limit <n>', 'deliveries before one that is never completed is one; 0: no limit'],
      ['--retry-backoff <ms>', 'a message that failed waits so long, doubled each time; 0: not'],
      ['--retry-backoff-max <ms>', 'but never longer than this'],
      ['--delayed-processing <s>', 'a message is delivered when it is this old'],
      ['--window-buffer <s>', 'a partition is delivered when it was quiet for so long'],
      ['--retention <s>', 'messages are removed when they are this old; 0: never'],
      ['--completed-retention <s>', 'the same, when every group has read them'],
      ['--encrypt', 'store payloads encrypted'],
      ['--dlq', 'keep dead letters'],
    ],
    example: 'queue configure orders --lease-time 60 --dlq=false',
    call: (given) => {
      const options = { ...labelsOf(given), ...optionsOf(given) };
      return adminCall('configureQueue', { queue: given.arg(0), options });
    },
    said: (given) => `configured "${given.arg(0)}"`,
  }),
  doing({
    name: 'queue delete',
    args: '<queue>',
    help: 'Delete a queue with its messages.',
    example: 'queue delete orders --yes',
    destroys: (given) => `delete the queue "${given.arg(0)}" with its messages`,
    call: (given) => adminCall('deleteQueue', given.arg(0)),
    said: (given, { existed }) =>
      existed === false ? `there is no queue "${given.arg(0)}"` : `deleted "${given.arg(0)}"`,
  }),
  {
    name: 'queue stats',
    args: '[queue]',
    help: 'Show how many messages the queues have, or the partitions of one.',
    example: 'queue stats orders',
    run: stats,
  },
  {
    name: 'partition list',
    args: '<queue>',
    help: 'List the partitions of a queue.',
    example: 'partition list orders -o wide',
    run: async (run) => {
      const rows = await readPages(run, partitionsOf(run.given.arg(0)));
      return { kind: 'shown', value: rows, rows, columns: PARTITION_COLUMNS };
    },
  },
  {
    name: 'partition describe',
    args: '<queue> <partition>',
    help: 'Show everything of a partition.',
    example: 'partition describe orders customer-7',
    run: describePartition,
  },
  listing({
    name: 'namespace list',
    help: 'List the namespaces.',
    example: 'namespace list',
    list: () => ({ call: (page) => adminCall('namespaces', page), member: 'namespaces' }),
    columns: 'NAMESPACE=namespace QUEUES=queues | TASKS=tasks PARTITIONS=partitions',
  }),
  listing({
    name: 'task list',
    help: 'List the tasks.',
    example: 'task list',
    list: () => ({ call: (page) => adminCall('tasks', page), member: 'tasks' }),
    columns: 'TASK=task QUEUES=queues | NAMESPACES=namespaces PARTITIONS=partitions',
  }),
];

function partitionsOf(queue: string): List {
  return { call: (page) => adminCall('queue', queue, page), member: 'partitions' };
}

function labelsOf(given: Given): Readonly<Record<string, unknown>> {
  const labels: Record<string, unknown> = {};
  for (const name of ['namespace', 'task']) {
    if (given.isTyped(name)) labels[name] = given.text(name);
  }
  return labels;
}

function optionsOf(given: Given): Readonly<Record<string, unknown>> {
  const options: Record<string, unknown> = {};
  for (const [flag, option] of Object.entries(INTEGERS)) {
    if (!given.isTyped(flag)) continue;
    const value = given.integer(flag) ?? 0;
    options[option] = value;
    if (flag.endsWith('retention') && value > 0) options.retentionEnabled = true;
  }
  if (given.isTyped('encrypt')) options.encryptionEnabled = given.is('encrypt');
  if (given.isTyped('dlq')) {
    options.deadLetterQueue = given.is('dlq');
    options.dlqAfterMaxRetries = given.is('dlq');
  }
  return options;
}

async function stats(run: Run) {
  const queue = run.given.optionalArg(0);
  const counts =
    'PENDING=messages.pending PROCESSING=messages.processing COMPLETED=messages.completed ' +
    'DLQ=messages.deadLetter TOTAL=messages.total';
  if (queue !== undefined) {
    const { body } = await run.call(adminCall('queueStatus', queue));
    const rows = listIn(body, 'partitions');
    return {
      kind: 'shown',
      value: body,
      rows,
      columns: `PARTITION=name ${counts}`,
    } as const;
  }
  const rows = await readPages(run, QUEUES);
  return { kind: 'shown', value: rows, rows, columns: `QUEUE=name ${counts}` } as const;
}

async function describePartition(run: Run) {
  const [queue, partition] = [run.given.arg(0), run.given.arg(1)];
  const part = { limit: 1, keep: ({ name }: Row) => name === partition };
  const [found] = await readPages(run, partitionsOf(queue), part);
  if (found === undefined) throw new Error(`"${queue}" has no partition "${partition}"`);
  return { kind: 'shown', value: { queue, ...membersOf(found) }, instead: 'yaml' } as const;
}
