/** `cluster`, `link`, `stream`: nodes, the other cluster, and what stream workers remember. */
import { adminCall } from '@svc/client';
import { exactJson } from '../base/exact-json.js';
import { type Command, doing, type Flag, listIn, membersOf, reading } from '../command/command.js';
import { type Given, integerOf } from '../command/given.js';
import { readPages } from '../command/pages.js';
import { GROUPS } from './groups.js';

const FORCE: Flag = ['--force', 'although the server would wait', false];
const STREAM_GROUP = 'streams.';

export const clusterCommands: readonly Command[] = [
  reading({
    name: 'cluster status',
    help: 'Show what the node that is asked knows of its cluster.',
    example: 'cluster status',
    call: () => adminCall('raftStatus'),
    columns:
      'NODE=nodeId:plain STATE=state LEADER=leaderId:plain TERM=term VOTERS=voters ' +
      'APPLIED=appliedIndex COMMITTED=committedIndex UPTIME=uptimeSeconds:seconds | ' +
      'CLUSTER=clusterId VERSION=version',
  }),
  reading({
    name: 'cluster members',
    help: 'List the members, as each answers.',
    example: 'cluster members',
    call: () => adminCall('raftMembers'),
    rows: 'members',
    columns:
      'NODE=nodeId:plain ROLE=role STATE=state HTTP=httpAddr LAG=lagEntries ' +
      'UPTIME=uptimeSeconds:seconds | RAFT=raftAddr VERSION=version ERROR=error',
  }),
  doing({
    name: 'cluster add',
    args: '<id>',
    help: 'Add a node that does not vote; promote it when it has caught up.',
    flags: [
      ['--raft <address>', 'host:port for other nodes'],
      ['--http <address>', 'host:port for clients'],
    ],
    example: 'cluster add 4 --raft node-4:7000 --http node-4:6632',
    call: (given) =>
      adminCall('addLearner', {
        id: integerOf(given.arg(0), 'id'),
        raft: given.required('raft'),
        http: given.required('http'),
      }),
    said: (given) => `added node ${given.arg(0)}`,
  }),
  doing({
    name: 'cluster promote',
    args: '<ids...>',
    help: 'Let nodes vote.',
    flags: [FORCE],
    example: 'cluster promote 4',
    call: (given) => {
      const ids = given.args(0).map((id) => integerOf(id, 'id'));
      return adminCall('promoteLearners', { ids }, forceOf(given));
    },
    said: (given) => `promoted node ${given.args(0).join(', ')}`,
  }),
  doing({
    name: 'cluster remove',
    args: '<id>',
    help: 'Remove a node from the cluster.',
    flags: [FORCE],
    example: 'cluster remove 4 --yes',
    destroys: (given) => `remove node ${given.arg(0)} from the cluster`,
    call: (given) => adminCall('removeMember', integerOf(given.arg(0), 'id'), forceOf(given)),
    said: (given) => `removed node ${given.arg(0)}`,
  }),
  doing({
    name: 'cluster transfer',
    args: '<id>',
    help: 'Hand leadership to a voter.',
    example: 'cluster transfer 2',
    call: (given) => adminCall('transferLeadership', { to: integerOf(given.arg(0), 'id') }),
    said: (_, { leader, term }) => `node ${String(leader)} leads in term ${String(term)}`,
  }),
  reading({
    name: 'link status',
    help: 'Show what this cluster is to another one.',
    example: 'link status',
    call: () => adminCall('link'),
    instead: 'yaml',
  }),
  doing({
    name: 'link promote',
    help: 'Make an ordinary cluster of a standby, for good.',
    example: 'link promote --yes',
    destroys: () => 'end the link to the source for good',
    call: () => adminCall('promoteLink'),
    said: (_, { role }) => `this cluster is ${String(role)}`,
  }),
  {
    name: 'stream list',
    help: 'List the stream queries by their consumer groups, streams.<name>, with their lag.',
    example: 'stream list',
    run: async (run) => {
      const keep = ({ name }: Readonly<Record<string, unknown>>) =>
        String(name).startsWith(STREAM_GROUP);
      const rows = await readPages(run, GROUPS, { keep });
      const streams = rows.map((row) => {
        return { ...row, query: String(row.name).slice(STREAM_GROUP.length) };
      });
      const columns =
        'QUERY=query SOURCE=queueName STATE=state MESSAGES=totalLag LAG=maxTimeLag:seconds';
      return { kind: 'shown', value: streams, rows: streams, columns };
    },
  },
  {
    name: 'stream state',
    args: '<queryId> <partitionId>',
    help: 'Show what a query remembers of a partition, by the id that its registration gave.',
    flags: [['--prefix <text>', 'keys that begin so']],
    example: 'stream state 01a1fda7-d994-7000-8000-043ebfa55d76 17',
    run: async (run) => {
      const { given } = run;
      const body = {
        query_id: given.arg(0),
        partition_id: given.arg(1),
        key_prefix: given.text('prefix'),
      };
      const at = '/streams/v1/state/get';
      const request = { method: 'POST', path: at, body: exactJson(body) } as const;
      const { body: answer } = await run.call(request);
      const rows = listIn(membersOf(answer), 'rows');
      const columns = 'KEY=key VALUE=value UPDATED=updated_at';
      return { kind: 'shown', value: answer, rows, columns };
    },
  },
];

function forceOf(given: Given): { readonly force?: true } {
  return given.is('force') ? { force: true } : {};
}
