// Goal: the verdicts of message-plane 2 and 11.1: queued, duplicate, followers, windows, ids,
// offsets. Method: push commands planned turn by turn; every planned entry is applied to the state
// below, so a verdict is checked both against what is in flight and against what has been applied.
import { crc32 } from 'node:zlib';
import { messageId, parseMessageId, ZERO_UUID } from '@svc/wire';
import { beforeEach, expect, test } from 'vitest';
import { decodeAppend, verifyAppend } from '../base/append.js';
import { assert } from '../base/assert.js';
import {
  type AppendLocation,
  ITEM_DUPLICATE,
  ITEM_DUPLICATE_GONE,
  ITEM_ERROR,
  ITEM_QUEUED,
  type PushCommand,
} from '../base/commands/commands.js';
import { numberKey } from '../base/keys.js';
import { MapState } from '../base/map-state.js';
import type { Key, Table } from '../base/state.js';
import { appends, partitions, queues } from '../base/tables.js';
import { Draft } from '../draft/draft.js';
import { PlannedState } from '../draft/planned-state.js';
import { PlannedTransactions } from '../draft/planned-transaction-ids.js';
import { applyEntry } from '../state/apply.js';
import { findPartition, findQueue } from '../state/catalog.js';
import { findSlices } from '../state/slices.js';
import { TransactionIndex } from '../state/transaction-ids/id-index.js';
import { PushPlan } from './push.js';

const TENANT = '00000000-0000-0000-0000-000000000001';
const START_US = 1_800_000_000_000_000;
const NO_ONE = { queueCreated() {}, partitionCreated() {}, appended() {} };

type Item = [queue: string, partition: string, id: string | null, payload: string];

function command(items: Item[]): PushCommand {
  const groups: { queue: string; partition: string }[] = [];
  const itemGroup: number[] = [];
  const payloadStart: number[] = [];
  const payloadEnd: number[] = [];
  let text = '';
  for (const [queue, partition, , payload] of items) {
    let group = groups.findIndex((g) => g.queue === queue && g.partition === partition);
    if (group < 0) group = groups.push({ queue, partition }) - 1;
    itemGroup.push(group);
    payloadStart.push(text.length);
    text += payload;
    payloadEnd.push(text.length);
  }
  return {
    kind: 'push',
    tenant: TENANT,
    producerSub: null,
    body: new TextEncoder().encode(text),
    groups,
    itemGroup,
    transactionIds: items.map(([, , id]) => id),
    payloadStart,
    payloadEnd,
  };
}

let applied: MapState;
let transactions: TransactionIndex;
let planned: PlannedState;
let plannedIds: PlannedTransactions;
let wallUs: number;
let index: number;
let inFlight: { index: number; body: Uint8Array }[];
let bodies: Map<number, Uint8Array>;
let logReads: number;

beforeEach(() => {
  applied = new MapState();
  transactions = TransactionIndex.load(applied);
  planned = new PlannedState(applied);
  plannedIds = new PlannedTransactions(transactions);
  wallUs = START_US;
  index = 0;
  inFlight = [];
  bodies = new Map();
  logReads = 0;
});

/** Plans one turn; the entry stays in flight until `settle`. */
function turn(commands: PushCommand[], entryBytesMax = 1 << 20) {
  index++;
  wallUs += 1000;
  plannedIds.begin(index);
  const surroundings = {
    nodeId: 1,
    checksum: crc32,
    newUuid: () => '01a2b3c4-0000-7000-8000-00000000ffff',
    readLog: ({ index: at, position, length }: AppendLocation) => {
      logReads++;
      return (bodies.get(at) as Uint8Array).slice(position, position + length);
    },
    cipher: null,
  };
  const draft = new Draft(planned, plannedIds, surroundings, { index, wallUs, nowMs: 0 }, 64);
  const plan = new PushPlan(draft, { entryBytesMax, names: null }, NO_ONE);
  const placed = commands.map((one) => plan.push(one));
  plan.finish();
  const outcomes = placed.map((one) => one.outcome());
  if (!draft.empty) {
    const body = draft.finish();
    inFlight.push({ index, body });
    bodies.set(index, body);
  }
  return outcomes.map((outcome) => {
    assert(outcome.kind === 'pushed', 'a push without bounds was refused');
    return { status: [...outcome.status], messageIds: outcome.messageIds };
  });
}

function settle(): void {
  for (const entry of inFlight.splice(0)) {
    applyEntry(applied, transactions, entry.index, entry.body);
    planned.applied(entry.index);
    plannedIds.applied(entry.index);
  }
}

function push(...items: Item[]) {
  const [outcome] = turn([command(items)]);
  if (outcome === undefined) throw new Error('one command has one outcome');
  return outcome;
}

/** All payloads of a partition, in offset order, from the applied state. */
function stored(queueName: string, partitionName: string): string[] {
  settle();
  const queue = findQueue(applied, TENANT, queueName);
  const partition = queue && findPartition(applied, queue.number, partitionName);
  if (partition === undefined) return [];
  const texts: string[] = [];
  for (const slice of findSlices(applied, partition, 0, 1e6, 1e9)) {
    const body = bodies.get(slice.index) as Uint8Array;
    const bytes = body.slice(slice.position, slice.position + slice.length);
    verifyAppend(bytes, crc32, 'test');
    const append = decodeAppend(bytes);
    expect(append.baseOffset).toBe(texts.length);
    for (let i = 0; i < append.count; i++) {
      const payload = bytes.slice(append.payloadStart[i], append.payloadEnd[i]);
      texts.push(new TextDecoder().decode(payload));
    }
  }
  return texts;
}

for (const when of ['in flight', 'applied'] as const) {
  const between = () => {
    if (when === 'applied') settle();
  };

  test(`an id inside the window is a duplicate of its original (${when})`, () => {
    const first = push(['q', 'p', 'a', '1']);
    between();
    const again = push(['q', 'p', 'a', '2']);
    expect(again.status).toEqual([ITEM_DUPLICATE]);
    expect(again.messageIds).toEqual(first.messageIds);
    expect(stored('q', 'p')).toEqual(['1']);
  });

  test(`the same id in another partition or queue is queued (${when})`, () => {
    push(['q', 'p', 'a', '1']);
    between();
    const other = push(['q', 'other', 'a', '2'], ['q2', 'p', 'a', '3']);
    expect(other.status).toEqual([ITEM_QUEUED, ITEM_QUEUED]);
  });

  test(`a message id pushed back as an id is a duplicate of that message (${when})`, () => {
    const first = push(['q', 'p', null, '1']);
    between();
    const id = first.messageIds[0] as string;
    expect(push(['q', 'p', id, '2']).status).toEqual([ITEM_DUPLICATE]);
    expect(push(['q', 'p', id.toUpperCase(), '3']).status).toEqual([ITEM_QUEUED]);
  });

  test(`the id of a message that has a transaction id names nothing (${when})`, () => {
    const first = push(['q', 'p', 'own', '1']);
    between();
    expect(push(['q', 'p', first.messageIds[0] as string, '2']).status).toEqual([ITEM_QUEUED]);
  });

  test(`after the window an id is queued again (${when})`, () => {
    push(['q', 'p', 'a', '1']);
    between();
    wallUs += 3_600_000_000 - 1000;
    expect(push(['q', 'p', 'a', '2']).status).toEqual([ITEM_DUPLICATE]);
    wallUs += 1000;
    expect(push(['q', 'p', 'a', '3']).status).toEqual([ITEM_QUEUED]);
    const again = push(['q', 'p', 'a', '4']);
    expect(parseMessageId(again.messageIds[0] as string)?.offset).toBe(1);
  });
}

test('a call that comes again finds its append once, whatever it holds', () => {
  const items = Array.from({ length: 300 }, (_, i): Item => ['q', 'p', `id${i}`, `${i}`]);
  const promised = items.map((_, i) => `01a2b3c4-0000-7000-8000-${String(i).padStart(12, '0')}`);
  turn([{ ...command(items), messageIds: promised }]);
  settle();
  let rows = 0;
  const { get } = applied;
  applied.get = <Row>(table: Table<Row>, key: Key): Row | undefined => {
    if (table.id === appends.id) rows++;
    return (get<Row>).call(applied, table, key);
  };
  const again = push(...items);
  expect(again.status).toEqual(items.map(() => ITEM_DUPLICATE));
  expect(again.messageIds).toEqual(promised);
  expect({ rows, logReads }).toEqual({ rows: 1, logReads: 1 });
});

test('in one call the first wins and later ones follow it', () => {
  const { status, messageIds } = push(
    ['q', 'p', 'a', '1'],
    ['q', 'p', 'a', '2'],
    ['q', 'p', null, '3'],
    ['q', 'p', 'a', '4'],
  );
  expect(status).toEqual([ITEM_QUEUED, ITEM_DUPLICATE, ITEM_QUEUED, ITEM_DUPLICATE]);
  expect(messageIds[1]).toBe(messageIds[0]);
  expect(messageIds[3]).toBe(messageIds[0]);
  expect(stored('q', 'p')).toEqual(['1', '3']);
});

test('followers of an item that is itself a duplicate name the original', () => {
  const first = push(['q', 'p', 'a', '1']);
  const { status, messageIds } = push(['q', 'p', 'a', '2'], ['q', 'p', 'a', '3']);
  expect(status).toEqual([ITEM_DUPLICATE, ITEM_DUPLICATE]);
  expect(messageIds).toEqual([first.messageIds[0], first.messageIds[0]]);
});

test('two calls of one turn cannot both store an id', () => {
  const [one, two] = turn([command([['q', 'p', 'a', '1']]), command([['q', 'p', 'a', '2']])]);
  expect([one?.status, two?.status]).toEqual([[ITEM_QUEUED], [ITEM_DUPLICATE]]);
  expect(two?.messageIds).toEqual(one?.messageIds);
});

test('window 0: no probe, but the collapse inside a call stays', () => {
  push(['q', 'p', 'a', '1']);
  settle();
  const queue = findQueue(applied, TENANT, 'q');
  if (queue === undefined) throw new Error('the queue exists');
  const options = { ...queue.options, dedupWindowSeconds: 0 };
  applied.put(queues, numberKey(queue.number), { ...queue, options });
  const { status } = push(['q', 'p', 'a', '2'], ['q', 'p', 'a', '3']);
  expect(status).toEqual([ITEM_QUEUED, ITEM_DUPLICATE]);
  const [one, two] = turn([command([['q', 'p', 'a', '4']]), command([['q', 'p', 'a', '5']])]);
  expect([one?.status, two?.status]).toEqual([[ITEM_QUEUED], [ITEM_QUEUED]]);
});

test('a duplicate whose original retention removed answers the zero UUID', () => {
  push(['q', 'p', 'a', '1'], ['q', 'p', null, '2']);
  settle();
  const row = applied.get(partitions, numberKey(1));
  if (row === undefined) throw new Error('the partition exists');
  applied.put(partitions, numberKey(1), { ...row, logStart: 2 });
  const { status, messageIds } = push(['q', 'p', 'a', '3']);
  expect([status, messageIds]).toEqual([[ITEM_DUPLICATE_GONE], [ZERO_UUID]]);
});

test('all pushes of a turn to one partition are one append', () => {
  turn([
    command([['q', 'p', null, '1']]),
    command([['q', 'other', null, 'x']]),
    command([['q', 'p', 'id', '2']]),
  ]);
  expect(stored('q', 'p')).toEqual(['1', '2']);
  expect(applied.get(partitions, numberKey(1))?.appends).toBe(1);
});

test('ids say where the message is', () => {
  const { messageIds } = push(['q', 'p', null, '1'], ['q', 'p', 'own', '2']);
  const stampUs = START_US + 1000;
  expect(messageIds).toEqual([messageId(stampUs, 1, true, 0), messageId(stampUs, 1, false, 1)]);
  expect(parseMessageId(messageIds[1] as string)?.offset).toBe(1);
});

test('a group over the entry limit is answered error, the rest of the call is stored', () => {
  const big = `"${'x'.repeat(500)}"`;
  const [outcome] = turn(
    [
      command([
        ['q', 'p', null, big],
        ['q', 'r', null, '1'],
      ]),
    ],
    400,
  );
  expect(outcome?.status).toEqual([ITEM_ERROR, ITEM_QUEUED]);
  expect(stored('q', 'p')).toEqual([]);
  expect(stored('q', 'r')).toEqual(['1']);
});

test('followers of an errored item are errors too, in their partition and their call only', () => {
  const big = `"${'x'.repeat(500)}"`;
  const [outcome, next] = turn(
    [
      command([
        ['q', 'p', 'a', big],
        ['q', 'p', 'a', '1'],
        ['q', 'r', 'a', '2'],
        ['q', 'p', 'b', '3'],
        ['q', 'p', 'a', '4'],
        ['q', 'p', null, '5'],
      ]),
      command([['q', 'p', 'a', '6']]),
    ],
    400,
  );
  expect(outcome?.status).toEqual([
    ITEM_ERROR,
    ITEM_ERROR,
    ITEM_QUEUED,
    ITEM_QUEUED,
    ITEM_ERROR,
    ITEM_QUEUED,
  ]);
  for (const item of [0, 1, 4]) expect(outcome?.messageIds[item]).toMatch(/^[0-9a-f-]{36}$/);
  expect(next?.status).toEqual([ITEM_QUEUED]);
  expect(stored('q', 'p')).toEqual(['3', '5', '6']);
  expect(stored('q', 'r')).toEqual(['2']);
});

test('a call of duplicates only writes nothing', () => {
  push(['q', 'p', 'a', '1']);
  settle();
  const before = index;
  push(['q', 'p', 'a', '2']);
  expect(bodies.has(before + 1)).toBe(false);
});

test('payload bytes, number spelling and key order survive', () => {
  const payload = '{"b":1,"a":1.0,"x":12345678901234567890,"b":[ ]}';
  push(['q', 'p', null, payload], ['q', 'p', null, 'null']);
  expect(stored('q', 'p')).toEqual([payload, 'null']);
});
