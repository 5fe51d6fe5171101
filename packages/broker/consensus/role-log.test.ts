// Goal: each change of this node's part in its group is one line with its cause, and a node that is
// cut off does not fill the log. Method: what consensus tells, by hand, and the lines that come.
import { NO_NODE, type NodeId, type SoftState, type Status } from '@svc/raft';
import { beforeEach, expect, test } from 'vitest';
import { memberId } from '../config/member-id.js';
import type { Clock } from '../system/clock.js';
import { createLogger } from '../system/logging.js';
import { RoleLog } from './role-log.js';

const [SELF, OTHER, THIRD] = [1, 2, 3].map((node) => memberId(node, 0)) as [NodeId, NodeId, NodeId];

let lines: Record<string, unknown>[];
let status: Status;
let silenceMs: number;
let nowMs: number;
let roles: RoleLog;

beforeEach(() => {
  lines = [];
  silenceMs = 0;
  nowMs = 0;
  status = {
    term: 1,
    appendStuck: false,
    appendFailed: false,
    configuration: { voters: [SELF, OTHER, THIRD], learners: [], outgoing: [] },
  } as unknown as Status;
  const logger = createLogger({ level: 'info', json: true }, (line) =>
    lines.push(JSON.parse(line)),
  );
  roles = new RoleLog({
    logger,
    clock: { nowMs: () => nowMs } as Clock,
    self: SELF,
    electionMs: 1000,
    status: () => status,
    leaderSilenceMs: () => silenceMs,
  });
});

function follow(role: SoftState['role'], leader: NodeId, leading = false): unknown[] {
  lines.length = 0;
  roles.follow({ role, leader, leading, recovering: false });
  return lines.map(({ time: _time, target, ...rest }) => {
    expect(target).toBe('raft');
    return rest;
  });
}

const inTerm = (term: number) => {
  status = { ...status, term } as Status;
};

test('elected: a leader counts once it leads', () => {
  expect(follow('pre-candidate', NO_NODE)).toEqual([
    {
      level: 'info',
      message: 'role changed',
      from: 'follower',
      to: 'candidate',
      term: 1,
      leader: null,
      cause: 'no leader is known',
    },
  ]);
  inTerm(2);
  expect(follow('candidate', NO_NODE)).toEqual([]);
  expect(follow('leader', SELF)).toEqual([]);
  expect(follow('leader', SELF, true)).toEqual([
    {
      level: 'info',
      message: 'role changed',
      from: 'candidate',
      to: 'leader',
      term: 2,
      leader: 1,
      cause: 'elected by voters of term 2',
    },
  ]);
});

test('a leader that loses its quorum, and follows another', () => {
  follow('leader', SELF, true);
  expect(follow('follower', NO_NODE)).toEqual([
    {
      level: 'warn',
      message: 'role changed',
      from: 'leader',
      to: 'follower',
      term: 1,
      leader: null,
      cause: 'no majority of the voters was heard within an election timeout',
    },
    {
      level: 'warn',
      message: 'quorum lost',
      leader: 1,
      term: 1,
      cause: 'no majority of the voters was heard within an election timeout',
    },
  ]);
  nowMs = 750.4;
  inTerm(2);
  expect(follow('follower', OTHER)).toEqual([
    {
      level: 'info',
      message: 'quorum regained',
      leader: 2,
      term: 2,
      after_ms: 750,
      cause: 'node 2 leads term 2',
    },
  ]);
});

test.each([
  [{ appendStuck: true }, 'its log does not take what it writes'],
  [{ term: 5 }, 'another node campaigns in term 5'],
  [
    { configuration: { voters: [OTHER], learners: [], outgoing: [] } },
    'this node is no voter any more',
  ],
])('why a leader ends: %j', (change, cause) => {
  follow('leader', SELF, true);
  status = { ...status, ...change } as unknown as Status;
  expect(follow('follower', NO_NODE)).toMatchObject([{ cause }, { cause }]);
});

test('one leader after the other', () => {
  expect(follow('follower', OTHER)).toMatchObject([
    { message: 'leader changed', leader: 2, from: null },
  ]);
  inTerm(4);
  expect(follow('follower', THIRD)).toMatchObject([
    { message: 'leader changed', leader: 3, from: 2, term: 4, cause: 'node 3 leads term 4' },
  ]);
  expect(follow('follower', THIRD)).toEqual([]);
});

test.each([
  [1700, 'follower', 'node 2 was not heard for 1700 ms'],
  [40, 'candidate', 'node 2 hands leadership over'],
  [40, 'follower', 'node 2 stepped down'],
] as const)('a leader that is gone after %d ms, as a %s', (ms, role, cause) => {
  follow('follower', OTHER);
  silenceMs = ms;
  const told = follow(role, NO_NODE);
  expect(told.at(-1)).toMatchObject({ message: 'quorum lost', leader: 2, cause });
});

test('a node that is cut off says once that it campaigns, and once that it follows again', () => {
  follow('follower', OTHER);
  silenceMs = 2000;
  const told: unknown[] = [];
  for (let round = 0; round < 100; round++) {
    told.push(...follow('pre-candidate', NO_NODE), ...follow('follower', NO_NODE));
  }
  expect(told).toMatchObject([
    { message: 'role changed', from: 'follower', to: 'candidate' },
    { message: 'quorum lost', leader: 2 },
  ]);
  nowMs = 9000;
  expect(follow('follower', OTHER)).toMatchObject([
    { message: 'role changed', from: 'candidate', to: 'follower', leader: 2 },
    { message: 'quorum regained', after_ms: 9000 },
  ]);
  silenceMs = 3000;
  expect(follow('candidate', NO_NODE)).toHaveLength(2);
});

test('a learner that becomes a voter, and a node that halts', () => {
  status = {
    ...status,
    configuration: { voters: [OTHER], learners: [SELF], outgoing: [] },
  } as unknown as Status;
  expect(follow('follower', OTHER)).toMatchObject([
    { to: 'learner' },
    { message: 'leader changed' },
  ]);
  status = {
    ...status,
    configuration: { voters: [OTHER, SELF], learners: [], outgoing: [] },
  } as unknown as Status;
  expect(follow('follower', OTHER)).toMatchObject([{ from: 'learner', to: 'follower' }]);
  lines.length = 0;
  roles.halted('no space');
  roles.halted('no space');
  expect(lines).toMatchObject([
    { level: 'error', message: 'role changed', from: 'follower', to: 'stopped', cause: 'no space' },
  ]);
});
