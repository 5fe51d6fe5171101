// Goal: clients of any node reach the ring, wherever it is; what was acknowledged is delivered
// while nodes come, leave and lose each other's answers; nothing goes in circles; nobody who waits
// is forgotten. Method: three nodes of `ephemeral.fake.ts`, first by hand, then at random from a
// seed that is printed.
import { ownerOf } from '@svc/ephemeral';
import type { EphemeralMessage } from '@svc/http';
import { describe, expect, it } from 'vitest';
import { type Answered, EphemeralGroup, type Popped, TENANT } from '../testing/ephemeral.fake.js';
import { SharedRoom } from '../testing/message-log.fake.js';
import { seededRandom } from '../testing/recovery.fake.js';

const QUEUE = 'q';

function threeNodes(seed = 1): EphemeralGroup {
  const random = seededRandom(seed);
  const group = new EphemeralGroup([1, 2, 3], () => random.below(2 ** 30) / 2 ** 30);
  group.clock.move(100);
  return group;
}

/** A partition of QUEUE that this node holds while all are there. */
function partitionOf(node: number): string {
  let i = 0;
  while (ownerOf(TENANT, QUEUE, `p${i}`, [1, 2, 3]) !== node) i++;
  return `p${i}`;
}

/** A queue whose partition `Default` another node holds. */
function farFrom(node: number): string {
  let i = 0;
  while (ownerOf(TENANT, `far${i}`, 'Default', [1, 2, 3]) === node) i++;
  return `far${i}`;
}

function messagesOf({ outcome }: Answered<Popped>): readonly EphemeralMessage[] {
  if (outcome?.kind !== 'ephemeral-popped') throw new Error(`no messages: ${outcome?.code}`);
  return outcome.messages;
}

function payloadsOf(popped: Answered<Popped>): string[] {
  return messagesOf(popped).map(({ bytes, start, end }) =>
    Buffer.from(bytes).toString('utf8', start, end),
  );
}

describe('ephemeral queues of three nodes', () => {
  it('any node takes a push, a pop and an ack of any partition', () => {
    const group = threeNodes();
    for (let i = 0; i < 9; i++) {
      const pushed = group.push(1 + (i % 3), QUEUE, `p${i}`, [`${i}`]);
      group.clock.move(20);
      expect(pushed.outcome).toEqual({ kind: 'ephemeral-pushed' });
      const popped = group.pop(1 + ((i + 1) % 3), { queue: QUEUE, partition: `p${i}` });
      group.clock.move(20);
      expect(payloadsOf(popped)).toEqual([`${i}`]);
      const ids = messagesOf(popped).map(({ id }) => id);
      const acked = group.ack(1 + ((i + 2) % 3), QUEUE, ids, 'completed');
      group.clock.move(20);
      expect(acked.outcome).toMatchObject({ outcomes: ['acked'] });
    }
    const forwarded = [...group.nodes.values()].map(({ meters }) => meters.forwarded);
    expect(Math.min(...forwarded), `calls passed on: ${forwarded}`).toBeGreaterThan(0);
  });

  it('whatever a client calls an id is answered alike at each node, however long it is', () => {
    const group = threeNodes();
    const queue = farFrom(1);
    const partition = 'p'.repeat(2000);
    const ids = ['x'.repeat(5000), `e:1:${partition}:0`, '', `e:1:${'ü'.repeat(256)}:0`];
    for (const node of [1, 2, 3]) {
      for (const order of [ids, [...ids].reverse()]) {
        const acked = group.ack(node, queue, order, 'completed');
        group.clock.move(20);
        const outcomes = order.map((id) => (id === ids[3] ? 'stale' : 'unknown'));
        expect(acked.outcome, `at node ${node}`).toMatchObject({ outcomes });
      }
    }
  });

  it('a pop that waits at one node is served by a push at another, and costs no poll', () => {
    const group = threeNodes();
    const partition = partitionOf(2);
    const popped = group.pop(1, { queue: QUEUE, partition, waitMs: 30_000 });
    group.clock.move(2000);
    expect(popped.outcome).toBeNull();
    group.push(3, QUEUE, partition, ['x']);
    group.clock.move(20);
    expect(payloadsOf(popped)).toEqual(['x']);
  });

  it('a pop whose client goes is given up at the owner, and what it would have got is kept', () => {
    const group = threeNodes();
    const partition = partitionOf(2);
    const popped = group.pop(1, { queue: QUEUE, partition, waitMs: 30_000 });
    group.clock.move(20);
    popped.leave();
    expect(group.node(1).ephemeral.idle, 'nobody waits there any more').toBe(true);
    group.clock.move(20);
    group.push(3, QUEUE, partition, ['x']);
    group.clock.move(20);
    const again = group.pop(3, { queue: QUEUE, partition });
    group.clock.move(20);
    expect(payloadsOf(again)).toEqual(['x']);
    expect(messagesOf(again)[0]?.attempts).toBe(0);
  });

  it.each([false, true])('what comes to a node without room for it, autoAck %s', (autoAck) => {
    const group = threeNodes();
    const partition = partitionOf(2);
    group.push(2, QUEUE, partition, ['a', 'b']);
    const full = new SharedRoom(10);
    let outcome: unknown = null;
    const request = { tenant: TENANT, queue: QUEUE, partition, group: 'g', batch: 2, autoAck };
    group.node(1).ephemeral.pop(
      { ...request, deadlineMs: null },
      {
        gone: false,
        onGone: null,
        room: full.one(),
        send: (sent) => {
          outcome = sent;
          return true;
        },
      },
    );
    group.clock.move(50);
    // What nobody would get again is delivered in any case; the rest goes back, unattempted.
    expect(outcome).toMatchObject(
      autoAck ? { kind: 'ephemeral-popped' } : { refusal: { reason: 'overloaded' } },
    );
    const next = group.pop(3, { queue: QUEUE, partition, batch: 2 });
    group.clock.move(50);
    expect(payloadsOf(next)).toEqual(autoAck ? [] : ['a', 'b']);
    expect(messagesOf(next).every(({ attempts }) => attempts === 0)).toBe(true);
    expect([full.used, group.node(1).ephemeral.idle]).toEqual([0, true]);
  });

  it('a node that leaves hands over its rings, and who waits there is sent after them', () => {
    const group = threeNodes();
    const partition = partitionOf(2);
    group.push(1, QUEUE, partition, ['a', 'b', 'c']);
    group.clock.move(20);
    const first = group.pop(1, { queue: QUEUE, partition, batch: 1 });
    const waiting = group.pop(3, { queue: QUEUE, partition, group: 'late', batch: 10 });
    group.clock.move(20);
    expect(payloadsOf(first)).toEqual(['a']);
    expect(payloadsOf(waiting)).toEqual(['a', 'b', 'c']);
    const parked = group.pop(3, { queue: QUEUE, partition, group: 'late', waitMs: 20_000 });
    group.clock.move(20);
    group.leave(2);
    group.clock.move(1000);
    expect(group.nodes.has(2), 'it is gone').toBe(false);
    expect(group.wiped).toEqual([]);
    // What was leased there comes again, before what was not.
    const rest = group.pop(1, { queue: QUEUE, partition, batch: 10 });
    group.clock.move(20);
    expect(payloadsOf(rest)).toEqual(['a', 'b', 'c']);
    expect(payloadsOf(parked)).toEqual(['a']);
  });

  it('what a node holds that dies is gone, and others take over when it is silent for long', () => {
    const group = threeNodes();
    const partition = partitionOf(2);
    group.push(1, QUEUE, partition, ['a']);
    group.clock.move(20);
    group.kill(2);
    const early = group.push(1, QUEUE, partition, ['b']);
    group.clock.move(20);
    expect(early.outcome).toEqual({ kind: 'ephemeral-refused', code: 'ephemeral_forward_failed' });
    group.clock.move(6000);
    const late = group.push(1, QUEUE, partition, ['c']);
    group.clock.move(20);
    expect(late.outcome).toEqual({ kind: 'ephemeral-pushed' });
  });

  it('a node that comes back gets its share, in order', () => {
    const group = threeNodes();
    const partition = partitionOf(2);
    group.kill(2);
    group.clock.move(6000);
    group.push(1, QUEUE, partition, ['a', 'b']);
    group.clock.move(20);
    group.start(2);
    group.clock.move(200);
    group.push(3, QUEUE, partition, ['c']);
    group.clock.move(50);
    expect(group.node(2).ephemeral.depth(TENANT, QUEUE, null)?.pending).toBe(3);
    const popped = group.pop(1, { queue: QUEUE, partition, batch: 10 });
    group.clock.move(20);
    expect(payloadsOf(popped)).toEqual(['a', 'b', 'c']);
    expect(group.wiped).toEqual([]);
  });

  it('large rings travel in batches', () => {
    const group = threeNodes();
    const partition = partitionOf(2);
    const payloads = Array.from({ length: 39 }, (_, i) => `${i}`.padEnd(100_000, ' '));
    group.push(2, QUEUE, partition, payloads);
    for (let i = 0; i < 6; i++) group.push(2, `other${i}`, partition, payloads);
    group.clock.move(50);
    group.leave(2);
    group.clock.move(1000);
    expect(group.wiped).toEqual([]);
    const popped = group.pop(1, { queue: QUEUE, partition, batch: 100 });
    group.clock.move(50);
    expect(payloadsOf(popped)).toEqual(payloads);
  });

  it('reset and delete reach every node', () => {
    const group = threeNodes();
    for (let i = 0; i < 20; i++) group.push(1, QUEUE, `p${i}`, ['x']);
    group.clock.move(20);
    group.node(1).ephemeral.reset(TENANT, QUEUE, { gone: false, onGone: null, send: () => true });
    group.clock.move(20);
    const left = [...group.nodes.values()].map(
      ({ ephemeral }) => ephemeral.depth(TENANT, QUEUE, null)?.pending,
    );
    expect(left).toEqual([0, 0, 0]);
  });

  it('a pop of any partition gets what the node that is asked has, else what `Default` has', () => {
    const group = threeNodes();
    const own = partitionOf(1);
    group.push(1, QUEUE, own, ['mine']);
    group.push(1, QUEUE, partitionOf(2), ['other']);
    group.push(1, QUEUE, 'Default', ['default']);
    group.clock.move(20);
    const asked = group.pop(1, { queue: QUEUE, batch: 10 });
    group.clock.move(20);
    const mine =
      ownerOf(TENANT, QUEUE, 'Default', [1, 2, 3]) === 1 ? ['default', 'mine'] : ['mine'];
    expect(payloadsOf(asked).sort()).toEqual(mine);
    // A queue of which it has nothing is asked for where its partition `Default` is.
    const far = farFrom(1);
    group.push(1, far, 'Default', ['far']);
    group.clock.move(20);
    const passed = group.pop(1, { queue: far, batch: 10 });
    group.clock.move(20);
    expect(payloadsOf(passed)).toEqual(['far']);
  });

  it('acks go to the owner of the first id', () => {
    const group = threeNodes();
    const [one, two] = [partitionOf(1), partitionOf(2)];
    group.push(3, QUEUE, one, ['a']);
    group.push(3, QUEUE, two, ['b']);
    group.clock.move(20);
    const popped = [one, two].map((partition) => group.pop(3, { queue: QUEUE, partition }));
    group.clock.move(20);
    const ids = popped.map((one) => messagesOf(one)[0]?.id ?? '');
    const acked = group.ack(3, QUEUE, ids, 'completed');
    group.clock.move(20);
    expect(acked.outcome).toMatchObject({ outcomes: ['acked', 'stale'] });
  });

  it('a pop of a queue that holds nothing yet is sent after its owner too', () => {
    const group = threeNodes();
    let i = 0;
    while (ownerOf(TENANT, `new${i}`, 'Default', [1, 2, 3]) !== 2) i++;
    const queue = `new${i}`;
    group.leave(2);
    group.clock.move(1000);
    const owner = ownerOf(TENANT, queue, 'Default', [1, 3]);
    const popped = group.pop(owner, { queue, partition: null, waitMs: 30_000 });
    group.clock.move(100);
    group.start(2);
    group.clock.move(5000);
    group.push(4 - owner, queue, 'Default', ['x']);
    group.clock.move(1000);
    expect(payloadsOf(popped)).toEqual(['x']);
  });

  it('who is told that a ring has moved looks once more, and then says so', () => {
    const group = threeNodes();
    const partition = partitionOf(2);
    group.clock.move(5000);
    // Node 1 is not told that node 2 leaves, and goes on asking it for a while.
    group.node(2).ephemeral.leave(() => {});
    group.breakLink(1, 2);
    group.clock.move(1);
    const early = group.push(1, QUEUE, partition, ['a']);
    group.clock.move(250);
    expect(early.outcome).toEqual({ kind: 'ephemeral-refused', code: 'owner_moved' });
    expect(group.node(1).meters.forwarded, 'calls passed on').toBe(2);
    // It learns of it by asking whether node 2 serves.
    group.clock.move(1500);
    const late = group.push(1, QUEUE, partition, ['b']);
    group.clock.move(20);
    expect(late.outcome).toEqual({ kind: 'ephemeral-pushed' });
  });

  it('what was pushed to the next owner meanwhile stands behind what is handed over', () => {
    const group = threeNodes();
    const partition = partitionOf(2);
    const next = ownerOf(TENANT, QUEUE, partition, [1, 3]);
    group.push(2, QUEUE, partition, ['old 1', 'old 2']);
    group.clock.move(20);
    group.node(2).ephemeral.leave(() => {});
    group.breakLink(2, next);
    group.clock.move(1100);
    group.push(next, QUEUE, partition, ['new']);
    group.clock.move(3000);
    const popped = group.pop(1, { queue: QUEUE, partition, batch: 10 });
    group.clock.move(20);
    expect(payloadsOf(popped)).toEqual(['old 1', 'old 2', 'new']);
    expect(group.wiped).toEqual([]);
  });

  it('rings that nobody takes in time are lost, and counted', () => {
    const group = threeNodes();
    group.push(2, QUEUE, partitionOf(2), ['a']);
    group.clock.move(20);
    group.kill(1);
    group.kill(3);
    let hasLeft = false;
    group.node(2).ephemeral.leave(() => {
      hasLeft = true;
    });
    group.clock.move(16_000);
    expect(hasLeft).toBe(true);
    expect(group.node(2).meters.wipes).toBe(1);
  });

  it('a slow owner takes no more of the way between nodes than its share', () => {
    const group = threeNodes();
    const partition = partitionOf(2);
    // It hears nothing any more, and nobody knows.
    group.node(2).port.onFrame = () => {};
    const large = 'x'.repeat(1_000_000);
    const pushes = Array.from({ length: 80 }, () => group.push(1, QUEUE, partition, [large]));
    group.clock.move(10);
    const refused = pushes.filter(({ outcome }) => outcome !== null);
    expect(refused.length, 'refused at once: 64 MiB wait').toBe(80 - 67);
    expect(refused[0]?.outcome).toEqual({
      kind: 'ephemeral-refused',
      code: 'ephemeral_forward_failed',
    });
  });

  it('a ring whose arrival is in doubt is not given to another owner as well', () => {
    // Held by node 2 while 3 is away, then by 1, and by 3 once that is back.
    let i = 0;
    const isSo = (partition: string) =>
      ownerOf(TENANT, QUEUE, partition, [1, 2]) === 2 &&
      ownerOf(TENANT, QUEUE, partition, [1, 3]) === 3;
    while (!isSo(`p${i}`)) i++;
    const partition = `p${i}`;
    for (let breaksMs = 1; breaksMs < 12; breaksMs++) {
      const group = threeNodes(breaksMs);
      group.kill(3);
      group.clock.move(6000);
      group.push(2, QUEUE, partition, ['once']);
      group.clock.move(20);
      group.node(2).ephemeral.leave(() => {});
      group.clock.move(breaksMs);
      group.breakLink(1, 2);
      group.start(3);
      group.clock.move(8000);
      const depths = [1, 2, 3].map(
        (node) => group.node(node).ephemeral.depth(TENANT, QUEUE, null)?.pending ?? 0,
      );
      expect(depths, `broken after ${breaksMs} ms`).toEqual([0, 0, 1]);
      expect(group.wiped).toEqual([]);
    }
  });
});
