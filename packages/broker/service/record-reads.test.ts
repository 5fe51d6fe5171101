/**
 * Goal: messages are read from the log as their places say, within the bounds of one answer, and
 * one whose id the index has forgotten is found all the same. Method: a state and a log made by a
 * planner, with an index that knows nothing any more; the real reader over them.
 */
import { crc32 } from 'node:zlib';
import {
  applyEntry,
  findPartition,
  findQueue,
  MapState,
  Planner,
  type RefusedOutcome,
  TransactionIndex,
} from '@svc/engine';
import {
  LoopShare,
  type MessageListView,
  type MessageView,
  type NotFoundOutcome,
  type Reply,
} from '@svc/http';
import type { Log } from '@svc/storage';
import { DEFAULT_TENANT, uuidV7 } from '@svc/wire';
import { beforeEach, expect, test } from 'vitest';
import { MessageReader } from '../reads/message-reader.js';
import { StateReads } from '../reads/state-reads.js';
import { SystemClock } from '../system/clock.js';
import { RecordReads } from './record-reads.js';

const HOUR_US = 3_600_000_000;

let state: MapState;
let bodies: Map<number, Uint8Array>;
let planner: Planner;
let records: RecordReads;
let nowUs: number;

/** One append of queue q, partition p, an hour and a half ago. */
function push(ids: readonly (string | null)[], payload = '1'): void {
  const body = Buffer.from(payload);
  const index = bodies.size + 1;
  const groups = [{ queue: 'q', partition: 'p' }];
  const columns = {
    itemGroup: ids.map(() => 0),
    transactionIds: ids,
    payloadStart: ids.map(() => 0),
    payloadEnd: ids.map(() => body.length),
  };
  const names = { tenant: DEFAULT_TENANT, producerSub: 'sub' };
  planner.enqueue({ kind: 'push', ...names, body, groups, ...columns }, {});
  const turn = planner.turn({ index, wallUs: nowUs - 1.5 * HOUR_US, nowMs: 0 });
  const entry = turn.body ?? new Uint8Array(0);
  bodies.set(index, entry);
  applyEntry(state, TransactionIndex.load(new MapState()), index, entry);
  planner.applied(index);
}

/** A walk that takes more than its share of the loop ends in a later one: answers are awaited. */
class Asked<Answer> implements Reply<Answer> {
  readonly gone = false;
  onGone = null;
  readonly answer: Promise<Answer>;
  #answered: (answer: Answer) => void = () => {};

  constructor() {
    this.answer = new Promise((answered) => {
      this.#answered = answered;
    });
  }

  send(answer: Answer): boolean {
    this.#answered(answer);
    return true;
  }
}

async function one(id: string, partitionId = '1') {
  const asked = new Asked<MessageView | NotFoundOutcome | RefusedOutcome>();
  records.message(DEFAULT_TENANT, partitionId, id, asked);
  const answer = await asked.answer;
  return answer.kind === 'message' ? [answer.detail.offset, answer.content] : answer.kind;
}

async function list() {
  const asked = new Asked<MessageListView | RefusedOutcome>();
  const any = { queue: null, partition: null, namespace: null, task: null, status: null };
  const query = { tenant: DEFAULT_TENANT, ...any, fromUs: 0, toUs: null, limit: 9, offset: 0 };
  records.messages(query, asked);
  const answer = await asked.answer;
  if (answer.kind !== 'message-list') throw new Error(`answered ${answer.kind}`);
  return answer;
}

beforeEach(() => {
  state = new MapState();
  bodies = new Map();
  const clock = new SystemClock();
  nowUs = clock.wallUs();
  const transactions = TransactionIndex.load(new MapState());
  planner = new Planner(state, transactions, {
    nodeId: 1,
    checksum: crc32,
    newUuid: (us) => uuidV7(Math.floor(us / 1000), 1, 2, 3),
    readLog: () => new Uint8Array(0),
    cipher: null,
  });
  const recent: Log['recent'] = ({ index, position, length }) =>
    bodies.get(index)?.subarray(position, position + length);
  const loop = new LoopShare(clock);
  const reader = new MessageReader({ recent } as Log, null, loop, 1 << 26, () => {});
  const source = {
    stateless: false,
    leadsAlone: true,
    isLed: true,
    isMember: () => true,
    read: () => {},
  };
  const reads = new StateReads(source, clock, new LoopShare(clock), 1000, (error) => {
    throw error;
  });
  records = new RecordReads({ state, transactions, reader, reads, clock, deadlineMs: 1000 });
});

test('an id that the index has forgotten is found in the log', async () => {
  push(['a', 'b']);
  push([null, 'c', 'b']);
  expect(await one('b')).toMatchObject([
    1,
    { transactionId: 'b', producerSub: 'sub', traceId: null },
  ]);
  expect(await one('c')).toMatchObject([3, { transactionId: 'c' }]);
  expect(await one('z')).toBe('not-found');
  expect(await one('b', '2')).toBe('not-found');
  const row = findPartition(state, findQueue(state, DEFAULT_TENANT, 'q')?.number ?? 0, 'p');
  expect(await one('b', row?.id)).toMatchObject([1, {}]);
});

test('a minted id needs neither index nor search, and is no other message', async () => {
  push([null, 'c']);
  const [named, minted] = (await list()).messages.map(({ content }) => content.messageId);
  expect(await one(minted ?? '')).toMatchObject([0, { transactionId: minted }]);
  expect(await one(named ?? '')).toBe('not-found');
});

test('a list shows payloads while there is room, and everything else of all', async () => {
  push(['a'], `"${'x'.repeat(3 << 20)}"`);
  push(['b'], `"${'x'.repeat(6 << 20)}"`);
  push(['c', 'd'], '1');
  const { messages, truncated } = await list();
  expect(truncated).toBe(false);
  expect(messages.map(({ content }) => [content.transactionId, content.payload?.length])).toEqual([
    ['d', 1],
    ['c', 1],
    ['b', (6 << 20) + 2],
    ['a', undefined],
  ]);
});

test('what is stored encrypted is told by its form', async () => {
  push(['a'], '{"encrypted":"YQ==","iv":"YQ==","authTag":"YQ=="}');
  push(['b'], '{"encrypted":true}');
  expect((await list()).messages.map(({ content }) => content.isEncrypted)).toEqual([false, true]);
});
