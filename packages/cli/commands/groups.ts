/** `cg`, `lag`, `replay`, `partition seek`: consumer groups and where they read. */
import { adminCall } from '@svc/client';
import { UserError } from '../base/errors.js';
import { timeOf } from '../base/times.js';
import { type Command, doing, membersOf, type Request, reading, YES } from '../command/command.js';
import type { Given } from '../command/given.js';
import { type List, listing, readPages } from '../command/pages.js';
import type { Run } from '../command/run.js';

const GROUP_COLUMNS =
  'CG=name QUEUE=queueName STATE=state MESSAGES=totalLag LAG=maxTimeLag:seconds | ' +
  'PARTITIONS=partitionCursors LAGGING=partitionsWithLag SUBSCRIBED=subscriptionCreatedAt';
const LAG_COLUMNS =
  'CG=name QUEUE=queueName MESSAGES=totalLag LAG=maxTimeLag:seconds | ' +
  'PARTITIONS=partitionCursors SUBSCRIBED=subscriptionCreatedAt';
const LAGGING_COLUMNS =
  'CG=consumer_group QUEUE=queue_name PARTITION=partition_name MESSAGES=offset_lag ' +
  'LAG=time_lag_seconds:seconds | WORKER=worker_id OLDEST=oldest_unconsumed_at';
/** The columns of `lag`, of one partition. */
const LAG_OF_PARTITIONS =
  'CG=consumer_group QUEUE=queue_name MESSAGES=offset_lag LAG=time_lag_seconds:seconds | ' +
  'PARTITIONS=partition_name SUBSCRIBED=subscriptionCreatedAt';

export const GROUPS: List = { call: (page) => adminCall('groups', page) };

export const groupCommands: readonly Command[] = [
  listing({
    name: 'cg list',
    help: 'List the consumer groups with their queues and lag.',
    example: 'cg list',
    list: () => GROUPS,
    columns: GROUP_COLUMNS,
  }),
  reading({
    name: 'cg describe',
    args: '<cg>',
    help: 'Show the partitions of a group, by queue.',
    example: 'cg describe billing',
    call: (given) => adminCall('group', given.arg(0)),
    rows: (body) =>
      Object.entries(membersOf(body)).flatMap(([queue, about]) => {
        const { partitions } = membersOf(about);
        return Array.isArray(partitions) ? partitions.map((one) => ({ queue, ...one })) : [];
      }),
    columns:
      'QUEUE=queue PARTITION=partition WORKER=workerId LEASED=leaseActive MESSAGES=offsetLag ' +
      'LAG=timeLagSeconds:seconds | CONSUMED=totalConsumed',
  }),
  listing({
    name: 'cg lag',
    help: 'List the partitions that groups lag behind in, the longest first.',
    flags: [['--min-seconds <n>', 'a lag of at least so long', '0']],
    example: 'cg lag --min-seconds 60',
    list: lagging,
    columns: LAGGING_COLUMNS,
  }),
  {
    name: 'cg seek',
    args: '<cg> <queue>',
    help: 'Move the cursors of a group at a queue.',
    flags: [
      ['--to <time>', 'end, beginning or a time'],
      ['--dry-run', 'send nothing', false],
    ],
    example: 'cg seek billing orders --to "5m ago"',
    run: (run) => seek(run, run.given.arg(0), [run.given.arg(1)]),
  },
  {
    name: 'cg delete',
    args: '<cg>',
    help: 'Delete the cursors of a group, at one queue or at all.',
    flags: [
      ['--queue <queue>', 'at this queue alone'],
      ['--metadata', 'also where the group begins', false],
      YES,
    ],
    example: 'cg delete billing --queue orders --yes',
    run: deleteGroup,
  },
  doing({
    name: 'cg refresh-stats',
    help: 'Ask the server to refresh its figures; those of 2.x are always of the moment.',
    example: 'cg refresh-stats',
    call: () => adminCall('refreshStats'),
    said: () => 'refreshed',
  }),
  {
    name: 'lag',
    help: 'Show how far groups lag behind.',
    flags: [['--min-seconds <n>', '0: every group; else partitions with at least this lag', '0']],
    example: 'lag --min-seconds 60',
    run: async (run) => {
      const isAll = run.given.count('min-seconds') === 0;
      const rows = await readPages(run, isAll ? GROUPS : lagging(run.given));
      const columns = isAll ? LAG_COLUMNS : LAG_OF_PARTITIONS;
      return { kind: 'shown', value: rows, rows, columns };
    },
  },
  {
    name: 'replay',
    args: '[queue]',
    help: 'Move a group to a time, at one queue or at all of its queues.',
    flags: [
      ['--cg <group>', 'consumer group'],
      ['--to <time>', 'end, beginning or a time'],
      ['--dry-run', 'say which queues and send nothing', false],
    ],
    example: 'replay orders --cg billing --to 2026-01-31',
    run: async (run) => {
      const group = run.given.required('cg');
      const queue = run.given.optionalArg(0);
      return seek(run, group, queue === undefined ? await queuesOf(run, group) : [queue]);
    },
  },
  doing({
    name: 'partition seek',
    args: '<queue> <partition>',
    help: 'Move the cursor of a group in one partition to its end.',
    flags: [
      ['--cg <group>', 'consumer group'],
      ['--to <time>', 'end, and nothing else', 'end'],
    ],
    example: 'partition seek orders customer-7 --cg billing --to end',
    call: (given) => {
      if (given.time('to') !== 'end') throw new UserError('--to: a partition is moved to end only');
      const [queue, partition] = [given.arg(0), given.arg(1)];
      return adminCall('seekPartition', given.required('cg'), queue, partition, { toEnd: true });
    },
    said: (given) => `moved "${given.required('cg')}" at ${given.arg(0)}/${given.arg(1)} to end`,
  }),
];

function lagging(given: Given): List {
  const minLagSeconds = given.count('min-seconds');
  return { call: (page) => adminCall('laggingGroups', { minLagSeconds, ...page }) };
}

export function seekRequest(group: string, queue: string, to: string): Request {
  return adminCall('seekQueue', group, queue, to === 'end' ? { toEnd: true } : { timestamp: to });
}

async function queuesOf(run: Run, group: string): Promise<readonly string[]> {
  const rows = await readPages(run, GROUPS);
  const queues = rows.filter(({ name }) => name === group).map((one) => String(one.queueName));
  if (queues.length === 0) throw new UserError(`the group "${group}" has no queue`);
  return queues;
}

async function seek(run: Run, group: string, queues: readonly string[]) {
  const to = timeOf(run.given.required('to'), run.world.nowMs(), '--to');
  const isDry = run.given.is('dry-run');
  const answers: unknown[] = [];
  for (const queue of queues) {
    const body = isDry ? { queue, to } : (await run.call(seekRequest(group, queue, to))).body;
    answers.push(body);
    await run.progress(`${answers.length} of ${queues.length} queues`);
  }
  const moved = isDry ? '[dry-run] would move' : 'moved';
  const text = queues.map((queue) => `${moved} "${group}" at "${queue}" to ${to}`).join('\n');
  return { kind: 'said', text, value: answers } as const;
}

async function deleteGroup(run: Run) {
  const { given } = run;
  const [group, queue] = [given.arg(0), given.text('queue')];
  const where = queue === undefined ? 'all queues' : `"${queue}"`;
  await run.confirm(`delete the cursors of the group "${group}" at ${where}`);
  const query = { deleteMetadata: given.is('metadata') };
  const { body } = await run.call(
    queue === undefined
      ? adminCall('deleteGroup', group, query)
      : adminCall('deleteGroupOfQueue', group, queue, query),
  );
  const { deletedPartitions, metadataDeleted } = membersOf(body);
  const isNothing = deletedPartitions === 0 && metadataDeleted !== true;
  const text = isNothing
    ? `"${group}" has no cursors at ${where}`
    : `deleted "${group}" at ${where}`;
  return { kind: 'said', text, value: body } as const;
}
