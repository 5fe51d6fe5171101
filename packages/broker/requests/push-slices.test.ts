// Goal: a push that is cut does what the uncut one does: the same answers and the same messages, in
// slices that cost what they may. Method: random pushes into two planners over maps, whole into
// one and cut into the other, with slices far smaller than real ones; and the real bounds on a push
// of 100,000 new partitions.
import {
  findPartition,
  findQueue,
  ITEM_DUPLICATE,
  ITEM_ERROR,
  ITEM_QUEUED,
  MapState,
  type Outcome,
  PRICES,
  type PushCommand,
  type PushedOutcome,
  priceOf,
  SLICE_UNITS,
  TURN_UNITS,
} from '@svc/engine';
import { describe, expect, test } from 'vitest';
import { TENANT } from '../testing/group-clients.fake.js';
import { LoneLeader } from '../testing/lone-leader.fake.js';
import { seededRandom } from '../testing/recovery.fake.js';
import { mayNeedSlices, PushSlices, type SliceLimits } from './push-slices.js';
import { runSlices } from './sliced-call.js';

/** How many messages each partition has. */
function messages({ state }: LoneLeader): string[] {
  const found: string[] = [];
  for (const queue of ['q0', 'q1', 'q2']) {
    const row = findQueue(state, TENANT, queue);
    for (let p = 0; row !== undefined && p < 12; p++) {
      const partition = findPartition(state, row.number, `p${p}`);
      if (partition !== undefined) found.push(`${queue}/p${p} ${partition.nextOffset}`);
    }
  }
  return found;
}

function cut(engine: LoneLeader, command: PushCommand, limits?: SliceLimits) {
  return engine.callInSlices(new PushSlices(command, engine.state, limits), 'pushed');
}

/** `queue/partition`, an id or null, and the payload of each item. */
function pushOf(items: readonly (readonly [string, string, string | null, string])[]): PushCommand {
  const places = new Map<string, number>();
  const groups: { queue: string; partition: string }[] = [];
  const itemGroup: number[] = [];
  const payloadStart: number[] = [];
  const payloadEnd: number[] = [];
  let text = '[';
  for (const [queue, partition, , payload] of items) {
    const name = `${queue}/${partition}`;
    let place = places.get(name);
    if (place === undefined) {
      place = groups.length;
      places.set(name, place);
      groups.push({ queue, partition });
    }
    itemGroup.push(place);
    payloadStart.push(text.length);
    text += payload;
    payloadEnd.push(text.length);
    text += ',';
  }
  return {
    kind: 'push',
    tenant: TENANT,
    producerSub: 'sub',
    body: new TextEncoder().encode(text),
    groups,
    itemGroup,
    transactionIds: items.map(([, , id]) => id),
    payloadStart,
    payloadEnd,
  };
}

function randomPush(random: ReturnType<typeof seededRandom>): PushCommand {
  const count = 1 + random.below(60);
  return pushOf(
    Array.from({ length: count }, () => {
      const queue = `q${random.below(3)}`;
      const partition = `p${random.below(random.below(2) === 0 ? 2 : 12)}`;
      const id = random.below(4) === 0 ? null : `t${random.below(40)}`;
      return [queue, partition, id, `"${'x'.repeat(random.below(30))}"`] as const;
    }),
  );
}

/** What a client can see: statuses, and which items show the id of which. */
function shown({ status, messageIds }: PushedOutcome) {
  return { status: [...status], same: messageIds.map((id) => messageIds.indexOf(id)) };
}

/** The payloads and ids of a slice, by the pair that they go to. */
function stored(commands: readonly PushCommand[], outcomes: readonly PushedOutcome[]) {
  const all = new Map<string, string[]>();
  commands.forEach(({ groups, itemGroup, body, payloadStart, payloadEnd, transactionIds }, at) => {
    itemGroup.forEach((group, item) => {
      if (outcomes[at]?.status[item] !== ITEM_QUEUED) return;
      const { queue = '', partition = '' } = groups[group] ?? {};
      const payload = new TextDecoder().decode(body.subarray(payloadStart[item], payloadEnd[item]));
      const list = all.get(`${queue}/${partition}`) ?? [];
      list.push(`${transactionIds[item]} ${payload}`);
      all.set(`${queue}/${partition}`, list);
    });
  });
  return all;
}

describe('random pushes', () => {
  test.each(Array.from({ length: 60 }, (_, seed) => seed))('seed %i', (seed) => {
    const random = seededRandom(seed);
    const [whole, sliced] = [new LoneLeader(), new LoneLeader()];
    for (let round = 0; round < 6; round++) {
      const command = randomPush(random);
      const limits = { units: 40 + random.below(400), bytes: 20 + random.below(300) };
      const uncut = whole.call(command);
      if (uncut.kind !== 'pushed') throw new Error(uncut.kind);
      const { sent, outcome } = cut(sliced, command, limits);
      expect(shown(outcome)).toEqual(shown(uncut));
      expect(sent.length).toBeGreaterThan(0);
      expect(stored([command], [outcome])).toEqual(stored([command], [uncut]));
      expect(messages(sliced)).toEqual(messages(whole));
    }
  });
});

test('slices carry the payloads of their items, scattered or not', () => {
  const items = Array.from({ length: 40 }, (_, i) => {
    return ['q', `p${i % 2}`, `t${i}`, `"${i}${'y'.repeat(i)}"`] as const;
  });
  const command = pushOf(items);
  const engine = new LoneLeader();
  const { sent, outcome } = cut(engine, command, { units: 120, bytes: 1000 });
  expect([...outcome.status]).toEqual(items.map(() => ITEM_QUEUED));
  const all = (slices: readonly PushCommand[]) =>
    stored(
      slices,
      slices.map(({ itemGroup }) => {
        return { kind: 'pushed', status: new Uint8Array(itemGroup.length), messageIds: [] };
      }),
    );
  expect(all(sent)).toEqual(all([command]));
  // One that is scattered over the whole body does not carry all of it.
  for (const { body } of sent) expect(body.length).toBeLessThan(1000);
});

test('a pair of more than a slice is cut in its order, and its repeats follow the first', () => {
  const ids = Array.from({ length: 300 }, (_, i) => `t${i % 100}`);
  const command = pushOf(ids.map((id) => ['q', 'p', id, '1'] as const));
  const engine = new LoneLeader();
  const { sent, outcome } = cut(engine, command, { units: 300, bytes: 10_000 });
  expect(sent.length).toBeGreaterThan(2);
  expect(sent.flatMap(({ transactionIds }) => transactionIds)).toEqual(ids.slice(0, 100));
  expect([...outcome.status]).toEqual(ids.map((_, i) => (i < 100 ? ITEM_QUEUED : ITEM_DUPLICATE)));
  expect(outcome.messageIds.slice(100, 200)).toEqual(outcome.messageIds.slice(0, 100));
});

test('100,000 new partitions come in slices that cost what a turn takes', () => {
  const command = pushOf(Array.from({ length: 100_000 }, (_, i) => ['q', `p${i}`, null, '1']));
  expect(mayNeedSlices(command)).toBe(true);
  const slices = new PushSlices(command, new MapState());
  let items = 0;
  for (let slice = slices.next(); slice !== null; slice = slices.next()) {
    items += slice.itemGroup.length;
    expect(priceOf(slice)).toBeLessThanOrEqual(SLICE_UNITS);
    if (items < 1000) {
      const engine = new LoneLeader();
      engine.call(slice);
      expect(engine.units.every((units) => units <= TURN_UNITS + 100)).toBe(true);
    }
    slices.add({ kind: 'pushed', status: new Uint8Array(slice.itemGroup.length), messageIds: [] });
  }
  expect(items).toBe(100_000);
});

test('100,000 new queues come in slices that know what a queue costs', () => {
  const command = pushOf(Array.from({ length: 100_000 }, (_, i) => [`q${i}`, 'p', null, '1']));
  const slices = new PushSlices(command, new MapState());
  const each = PRICES.newQueue + PRICES.newPartition + PRICES.append + PRICES.item;
  let queues = 0;
  for (let slice = slices.next(); slice !== null; slice = slices.next()) {
    queues += slice.groups.length;
    expect(slice.groups.length * each + PRICES.command).toBeLessThanOrEqual(SLICE_UNITS);
  }
  expect(queues).toBe(100_000);
});

test('known partitions are cheaper, so their slices are wider', () => {
  const command = pushOf(Array.from({ length: 2000 }, (_, i) => ['q', `p${i}`, null, '1']));
  const engine = new LoneLeader();
  const first = cut(engine, command);
  const second = cut(engine, command);
  expect(first.sent.length).toBeGreaterThanOrEqual(11);
  expect(second.sent.length).toBeLessThanOrEqual(3);
});

test('what fits into one slice is handed on as it is', () => {
  const command = pushOf(Array.from({ length: 2000 }, () => ['q', 'p', null, '1']));
  expect(mayNeedSlices(command)).toBe(true);
  const slices = new PushSlices(command, new MapState());
  expect(slices.next()).toBe(command);
  expect(slices.next()).toBe(null);
});

test.each([1, 10, 100, 1000])('a batch of %i to one partition is not looked at', (count) => {
  const items = Array.from({ length: count }, (_, i) => ['q', 'p', `t${i}`, '1'] as const);
  expect(mayNeedSlices(pushOf(items))).toBe(false);
});

describe('a call that ends early', () => {
  const LIMITS = { units: 200, bytes: 1000 };
  const command = pushOf(Array.from({ length: 20 }, (_, i) => ['q', `p${i}`, null, '1']));

  function run(engine: LoneLeader, refuseAt: number, goneAt: number) {
    let sent = 0;
    const seen: { outcome: PushedOutcome | null; refusal: Outcome | null }[] = [];
    runSlices<PushCommand, PushedOutcome>({
      slices: new PushSlices(command, engine.state, LIMITS),
      kind: 'pushed',
      submit: (slice, onOutcome) => {
        const refusal = { reason: 'timeout', error: 'late' } as const;
        if (sent++ === refuseAt) onOutcome({ kind: 'refused', refusal });
        else onOutcome(engine.call(slice));
      },
      soon: (work) => work(),
      isGone: () => sent >= goneAt,
      done: (outcome, refusal) => seen.push({ outcome, refusal }),
    });
    expect(seen).toHaveLength(1);
    return { sent, ...seen[0] };
  }

  test('a refusal ends it, and what was stored before is told apart', () => {
    const { sent, outcome, refusal } = run(new LoneLeader(), 2, 100);
    expect(sent).toBe(3);
    expect(refusal).toMatchObject({ refusal: { reason: 'timeout' } });
    const status = [...(outcome?.status ?? [])];
    expect(status.indexOf(ITEM_ERROR)).toBe(4);
    expect(status.lastIndexOf(ITEM_QUEUED)).toBe(3);
  });

  test('refused at once, nothing was done', () => {
    expect(run(new LoneLeader(), 0, 100)).toMatchObject({ sent: 1, outcome: null });
  });

  test('slices that are answered at once take no stack, however many there are', () => {
    let sent = 0;
    let ended = 0;
    const nothing = { kind: 'pushed', status: new Uint8Array(0), messageIds: [] } as const;
    runSlices<PushCommand, PushedOutcome>({
      slices: {
        prepare: () => true,
        next: () => (sent++ < 100_000 ? command : null),
        add: () => {},
        outcome: () => nothing,
      },
      kind: 'pushed',
      submit: (_, onOutcome) => onOutcome(nothing),
      soon: (work) => work(),
      isGone: () => false,
      done: () => {
        ended++;
      },
    });
    expect([sent, ended]).toEqual([100_001, 1]);
  });

  test('when the client has gone, nothing more is submitted', () => {
    const { sent, refusal } = run(new LoneLeader(), 100, 3);
    expect(sent).toBe(3);
    expect(refusal).toBe(null);
  });
});
