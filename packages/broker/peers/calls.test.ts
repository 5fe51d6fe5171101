// Goal: every call ends once, with its own answer or with a reason, and whoever handles one learns
// when nobody waits any more. Method: two to three ports in memory that lose, repeat and reorder as
// a test says, on a clock that moves by hand; then any history of calls, from a seed that is
// printed.
import fc from 'fast-check';
import { beforeEach, expect, test } from 'vitest';
import { MovedClock } from '../testing/moved-clock.fake.js';
import { CALL_HEAD_BYTES, COPIED_BYTES_MAX, encodeCall } from './call-frames.js';
import { type CallDone, PeerCalls, type PeerCallsOptions } from './calls.js';
import type { PeerChannel, PeerPort } from './port.js';
import type { ServedCall } from './served-calls.js';

interface Sent {
  readonly from: number;
  readonly to: number;
  readonly channel: PeerChannel;
  readonly frame: Uint8Array;
}

class MemoryPort implements PeerPort {
  onFrame: PeerPort['onFrame'] = () => {};
  onUnreachable: PeerPort['onUnreachable'] = () => {};
  readonly send: PeerPort['send'];

  constructor(send: PeerPort['send']) {
    this.send = send;
  }
}

class MemoryNet {
  readonly clock = new MovedClock();
  readonly ports = new Map<number, MemoryPort>();
  readonly sent: Sent[] = [];
  takes = true;

  calls(node: number, options: Partial<PeerCallsOptions> = {}): PeerCalls {
    const port = new MemoryPort((to, channel, parts) => {
      if (!this.takes) return false;
      this.sent.push({ from: node, to, channel, frame: new Uint8Array(Buffer.concat(parts)) });
      return true;
    });
    this.ports.set(node, port);
    return new PeerCalls({ port, clock: this.clock, random: Math.random, ...options });
  }

  deliver({ from, to, channel, frame }: Sent): void {
    this.ports.get(to)?.onFrame(from, channel, frame);
  }

  /** Everything arrives, and what is sent because of it. */
  flow(): void {
    for (;;) {
      const next = this.sent.shift();
      if (next === undefined) return;
      this.deliver(next);
    }
  }
}

let net: MemoryNet;
let a: PeerCalls;
let b: PeerCalls;
let outcomes: string[];
let served: ServedCall[];

const bytes = (text: string) => [Buffer.from(text)];
const text = (of: Uint8Array) => Buffer.from(of).toString();
const noted: CallDone = (answer) => {
  outcomes.push(typeof answer === 'string' ? answer : `= ${text(answer)}`);
};

beforeEach(() => {
  net = new MemoryNet();
  [a, b] = [net.calls(1), net.calls(2)];
  outcomes = [];
  served = [];
  b.serve('command', (call) => served.push(call));
});

test('a question and its answer', () => {
  b.serve('ask', (call) => call.answer([...bytes('you said '), call.body]));
  a.call(2, 'ask', [...bytes('hel'), ...bytes('lo')], 1000, noted);
  net.flow();
  expect(outcomes).toEqual(['= you said hello']);
  expect([a.inFlight, b.inFlight]).toEqual([
    { own: 0, served: 0 },
    { own: 0, served: 0 },
  ]);
});

test('the handler knows who asks, what, and for how long', () => {
  a.call(2, 'command', bytes('x'), 1500, noted);
  net.clock.move(10);
  net.flow();
  expect(served[0]).toMatchObject({ from: 1, kind: 'command', deadlineMs: 2510 });
});

test.each([0, COPIED_BYTES_MAX + 1])(
  'the memory of a small part may be used again, beside %d other bytes',
  (others) => {
    const head = { form: 'request', kind: 'command', timeMs: 1, life: 2, number: 3 } as const;
    const [small, large] = [Buffer.from('small'), Buffer.alloc(others, 'l')];
    const parts = encodeCall(head, [small, large]);
    const before = Buffer.concat(parts);
    small.fill(0);
    expect(Buffer.concat(parts)).toEqual(before);
  },
);

test('a call that waits does not keep the memory that its question was read into', () => {
  let during = '';
  b.serve('command', (call) => {
    during = text(call.body);
    served.push(call);
  });
  a.call(2, 'command', bytes('question'), 1000, noted);
  net.flow();
  expect([during, served[0]?.body.length]).toEqual(['question', 0]);
});

test('answers find their calls in any order', () => {
  for (let i = 0; i < 100; i++) a.call(2, 'command', bytes(`${i}`), 1000, noted);
  net.flow();
  for (const call of served.reverse()) expect(call.answer(bytes(`${call.number}`))).toBe(true);
  net.flow();
  expect(outcomes).toEqual(Array.from({ length: 100 }, (_, i) => `= ${99 - i}`));
});

test('a call ends at its deadline, and its handler learns of it', () => {
  const gone: string[] = [];
  a.call(2, 'command', bytes('x'), 1000, noted);
  net.flow();
  const [call] = served;
  if (call !== undefined) call.onGone = (why) => gone.push(why);
  net.clock.move(999);
  expect([outcomes, gone]).toEqual([[], []]);
  net.clock.move(25);
  expect([outcomes, gone]).toEqual([['timeout'], ['deadline']]);
  expect(call?.answer(bytes('late'))).toBe(false);
  expect(net.sent).toEqual([]);
  // No timer runs for nothing.
  net.clock.move(100);
  expect(net.clock.pending).toBe(0);
});

test('who gives up hears nothing, and its handler is told', () => {
  const gone: string[] = [];
  const call = a.call(2, 'command', bytes('x'), 1000, noted);
  net.flow();
  const [there] = served;
  if (there !== undefined) there.onGone = (why) => gone.push(why);
  call.cancel();
  call.cancel();
  net.flow();
  expect(gone).toEqual(['cancelled']);
  expect(there?.answer(bytes('late'))).toBe(false);
  net.clock.move(2000);
  expect([outcomes, gone]).toEqual([[], ['cancelled']]);
});

test('an answer that comes too late, twice, or from another, is nothing', () => {
  const call = a.call(2, 'command', bytes('x'), 1000, noted);
  net.flow();
  served[0]?.answer(bytes('answer'));
  const [answer] = net.sent.splice(0);
  if (answer === undefined) throw new Error('no answer was sent');
  net.deliver({ ...answer, from: 3 });
  net.deliver({ ...answer, channel: 'calls' });
  expect(outcomes).toEqual([]);
  net.deliver(answer);
  net.deliver(answer);
  expect(outcomes).toEqual(['= answer']);
  expect(a.counters()).toMatchObject({ unawaited: 2, channel: 1 });
  call.cancel();
  expect(net.sent).toEqual([]);
});

test('an answer to a former life of this process is nothing', () => {
  a.call(2, 'command', bytes('x'), 1000, noted);
  net.flow();
  a.close();
  const again = net.calls(1);
  again.call(2, 'command', bytes('y'), 1000, noted);
  net.flow();
  // Both have the number 0 in their lives.
  expect(served.map(({ number }) => number)).toEqual([0, 0]);
  served[0]?.answer(bytes('to x'));
  net.flow();
  expect(outcomes).toEqual([]);
  served[1]?.answer(bytes('to y'));
  net.flow();
  expect(outcomes).toEqual(['= to y']);
  expect(again.counters()).toEqual({ unawaited: 1 });
});

test('a way that breaks ends the calls that went by it, and no others', () => {
  b = net.calls(2);
  a.call(2, 'command', bytes('x'), 1000, noted);
  a.call(3, 'command', bytes('y'), 1000, noted);
  a.call(2, 'command', bytes('z'), 1000, (answer) => {
    noted(answer);
    // A question that is asked then goes another way already.
    a.call(2, 'command', bytes('again'), 1000, noted);
  });
  for (const channel of ['control', 'consensus', 'bulk', 'answers'] as const) {
    net.ports.get(1)?.onUnreachable(2, channel);
  }
  expect(outcomes).toEqual([]);
  net.ports.get(1)?.onUnreachable(2, 'calls');
  expect(outcomes).toEqual(['unreachable', 'unreachable']);
  expect(a.inFlight.own).toBe(2);
});

test('a caller that is gone is told to each of its handlers', () => {
  const gone: string[] = [];
  const c = net.calls(3);
  for (const calls of [a, c]) {
    for (let i = 0; i < 3; i++) calls.call(2, 'command', bytes('x'), 1000, noted);
  }
  net.flow();
  for (const call of served) call.onGone = (why) => gone.push(`${call.from} ${why}`);
  served[0]?.answer(bytes('done'));
  net.ports.get(2)?.onUnreachable(1, 'calls');
  expect(gone).toEqual([]);
  net.ports.get(2)?.onUnreachable(1, 'answers');
  expect(gone).toEqual(['1 lost', '1 lost']);
  expect(b.inFlight.served).toBe(3);
});

test('what cannot be sent is told, afterwards', () => {
  net.takes = false;
  const call = a.call(2, 'command', bytes('x'), 1000, noted);
  a.call(2, 'command', bytes('x'), 1000, noted);
  expect(outcomes).toEqual([]);
  call.cancel();
  net.clock.move(0);
  expect(outcomes).toEqual(['unreachable']);
  expect(a.counters()).toMatchObject({ unsent: 2 });
});

test('calls in flight are bounded, by their number and by their bytes', () => {
  const few = net.calls(4, { inFlightMax: 3 });
  for (let i = 0; i < 5; i++) few.call(2, 'command', bytes('x'), 1000, noted);
  net.clock.move(0);
  expect(outcomes).toEqual(['busy', 'busy']);
  net.flow();
  served[0]?.answer(bytes('done'));
  net.flow();
  few.call(2, 'command', bytes('x'), 1000, noted);
  net.clock.move(0);
  expect(outcomes).toEqual(['busy', 'busy', '= done']);
  outcomes = [];
  net.takes = true;
  const large = [Buffer.alloc(100 * 2 ** 20)];
  for (let i = 0; i < 3; i++) a.call(2, 'command', large, 1000, noted);
  net.clock.move(0);
  expect(outcomes).toEqual(['busy']);
});

test('a node that does not serve a kind says so', () => {
  a.call(2, 'block', [], 1000, noted);
  const stop = b.serve('block', (call) => served.push(call));
  a.call(2, 'block', [], 1000, noted);
  net.flow();
  a.call(2, 'block', [], 1000, noted);
  net.flow();
  stop();
  a.call(2, 'block', [], 1000, noted);
  net.flow();
  // The first came before anything was served; two were in hand when it ended.
  expect(outcomes.sort()).toEqual(['unreachable', 'unreachable', 'unreachable', 'unserved']);
});

test('another handler takes the place of the first, whose end means nothing', () => {
  const stop = b.serve('ask', (call) => call.answer(bytes('first')));
  b.serve('ask', (call) => call.answer(bytes('second')));
  stop();
  a.call(2, 'ask', [], 1000, noted);
  net.flow();
  expect(outcomes).toEqual(['= second']);
});

test('a repeated question is handled once while it is in hand', () => {
  a.call(2, 'command', bytes('x'), 1000, noted);
  const [question] = net.sent.splice(0);
  if (question === undefined) throw new Error('nothing was sent');
  net.deliver(question);
  net.deliver(question);
  expect(served).toHaveLength(1);
  expect(b.counters()).toEqual({ repeated: 1 });
});

test('a frame that is damaged or cut short anywhere is refused and counted', () => {
  a.call(2, 'command', bytes('body'), 1000, noted);
  const [question] = net.sent.splice(0);
  if (question === undefined) throw new Error('nothing was sent');
  const { frame } = question;
  for (let bit = 0; bit < 8 * frame.length; bit++) {
    const changed = frame.slice();
    changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    net.deliver({ ...question, frame: changed });
  }
  for (let end = 0; end < frame.length; end++) {
    net.deliver({ ...question, frame: frame.subarray(0, end) });
  }
  expect(served).toEqual([]);
  expect(b.refused).toBe(9 * frame.length);
  expect(frame.length).toBe(CALL_HEAD_BYTES + 4);
});

test('what is no call passes through, both ways', () => {
  const passed: unknown[] = [];
  b.onFrame = (...frame) => passed.push(frame);
  b.onUnreachable = (...lost) => passed.push(lost);
  const frame = new Uint8Array([1]);
  for (const channel of ['control', 'consensus', 'bulk'] as const) {
    expect(a.send(2, channel, [frame])).toBe(true);
    net.ports.get(2)?.onUnreachable(1, channel);
  }
  net.flow();
  expect(passed).toEqual([
    [1, 'control'],
    [1, 'consensus'],
    [1, 'bulk'],
    [1, 'control', frame],
    [1, 'consensus', frame],
    [1, 'bulk', frame],
  ]);
});

test('nothing is heard of what was closed', () => {
  a.call(2, 'command', bytes('x'), 1000, noted);
  a.close();
  net.flow();
  served[0]?.answer(bytes('done'));
  net.flow();
  net.clock.move(5000);
  expect(outcomes).toEqual([]);
});

type Step =
  | { readonly do: 'call'; readonly timeMs: number }
  | { readonly do: 'lose' | 'deliver' | 'repeat' | 'answer' | 'cancel'; readonly which: number }
  | { readonly do: 'break'; readonly channel: 'calls' | 'answers' }
  | { readonly do: 'wait'; readonly ms: number };

const which = fc.nat({ max: 20 });
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constant('call' as const), timeMs: fc.integer({ min: 0, max: 200 }) }),
  fc.record({
    do: fc.constantFrom('lose', 'deliver', 'deliver', 'repeat', 'answer', 'answer', 'cancel'),
    which,
  }) as fc.Arbitrary<Step>,
  fc.record({
    do: fc.constant('break' as const),
    channel: fc.constantFrom('calls' as const, 'answers' as const),
  }),
  fc.record({ do: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: 100 }) }),
);

/** Runs a history; how each call ended, and how often each handled one was told that it is over. */
function run(steps: readonly Step[]): void {
  const own = new MemoryNet();
  const [caller, server] = [own.calls(1), own.calls(2)];
  const ends = new Map<number, string[]>();
  const cancelled = new Set<number>();
  const calls: { cancel(): void }[] = [];
  const inHand: { call: ServedCall; body: Uint8Array; gone: number; answered: boolean }[] = [];
  server.serve('command', (call) => {
    const state = { call, body: call.body, gone: 0, answered: false };
    inHand.push(state);
    call.onGone = () => {
      expect(state.answered).toBe(false);
      state.gone++;
    };
  });
  for (const each of steps) {
    if (each.do === 'call') {
      const id = calls.length;
      ends.set(id, []);
      const done: CallDone = (answer) => {
        expect(cancelled.has(id)).toBe(false);
        if (typeof answer !== 'string') expect(text(answer)).toBe(`${id}`);
        ends.get(id)?.push(typeof answer === 'string' ? answer : 'answer');
      };
      calls.push(caller.call(2, 'command', bytes(`${id}`), each.timeMs, done));
    } else if (each.do === 'wait') {
      own.clock.move(each.ms);
    } else if (each.do === 'break') {
      own.ports
        .get(each.channel === 'calls' ? 1 : 2)
        ?.onUnreachable(each.channel === 'calls' ? 2 : 1, each.channel);
    } else if (each.do === 'answer') {
      const state = inHand[each.which];
      if (state?.call.answer([state.body])) state.answered = true;
    } else if (each.do === 'cancel') {
      const call = calls[each.which];
      if (call !== undefined && ends.get(each.which)?.length === 0) cancelled.add(each.which);
      call?.cancel();
    } else {
      const [frame] = own.sent.splice(each.which, each.do === 'repeat' ? 0 : 1);
      const sent = each.do === 'repeat' ? own.sent[each.which] : frame;
      if (sent !== undefined && each.do !== 'lose') own.deliver(sent);
    }
  }
  own.clock.move(1000);
  for (const [id, how] of ends) expect(how).toHaveLength(cancelled.has(id) ? 0 : 1);
  for (const { gone, answered } of inHand) expect(gone + Number(answered)).toBe(1);
  expect([caller.inFlight, server.inFlight]).toEqual([
    { own: 0, served: 0 },
    { own: 0, served: 0 },
  ]);
  expect(own.clock.pending).toBe(0);
}

test('whatever is lost, repeated, late, broken or given up: each call ends once', () => {
  fc.assert(fc.property(fc.array(step, { maxLength: 80 }), run), { numRuns: 500 });
});
