// Goal: a request of a front thread is answered once and as by the core's own front; a client or a
// thread that goes leaves nothing: claims are given back, room is free. Method: both sides over a
// channel that the test moves frame by frame, a broker and clients of its own.
import type {
  AckCommand,
  AckedOutcome,
  PopCommand,
  PushCommand,
  RefusedOutcome,
} from '@svc/engine';
import {
  type AckedPop,
  AnswerBudget,
  type DeliveredOutcome,
  type Exchange,
  type MessageBatch,
  type Reply,
  type SubmittedCommand,
  type SubmittedOutcome,
} from '@svc/http';
import { DEFAULT_TENANT, newMeters } from '@svc/wire';
import { beforeEach, describe, expect, test } from 'vitest';
import { RemoteService } from './remote-service.js';
import { callsParts, TO_CORE } from './thread-frames.js';
import { type CoreService, ThreadServer } from './thread-server.js';

type Frame = readonly [number, number, Uint8Array];
type PopReply = Reply<DeliveredOutcome | RefusedOutcome>;
type BothReply = Reply<AckedPop | RefusedOutcome>;

const BYTES_MAX = 1024 * 1024;
const LEASE = '0193f2a0-7b1c-7000-8000-000000000001';
const ID = '0193f2a0-7b1c-7000-8000-000000000002';

/** The broker of the core thread: keeps what it is asked until the test answers. */
class Asked implements CoreService {
  readonly kv = { call: unused };
  submits: { command: SubmittedCommand; reply: Reply<SubmittedOutcome> }[] = [];
  pops: { command: PopCommand; reply: PopReply }[] = [];
  both: { acks: AckCommand; pop: PopCommand; reply: BothReply }[] = [];
  givenBack: unknown[] = [];

  submit(command: SubmittedCommand, reply: Reply<SubmittedOutcome>): void {
    this.submits.push({ command, reply });
  }

  pop(command: PopCommand, reply: PopReply): void {
    this.pops.push({ command, reply });
  }

  ackAndPop(acks: AckCommand, pop: PopCommand, reply: BothReply): void {
    this.both.push({ acks, pop, reply });
  }

  giveBack(command: unknown): void {
    this.givenBack.push(command);
  }
}

/** A client's exchange in the thread. */
class Client {
  readonly owner: string;
  gone = false;
  cut = false;
  onGone: (() => void) | null = null;
  onTaken: (() => void) | null = null;
  answers: unknown[] = [];
  readonly demand = null;

  constructor(owner = '\x7f\0\0\x01') {
    this.owner = owner;
  }

  send(answer: unknown): boolean {
    if (this.gone) return false;
    this.answers.push(answer);
    return true;
  }

  leave(): void {
    this.gone = true;
    this.onTaken?.();
    this.onGone?.();
  }

  cutOff(): void {
    this.cut = true;
    this.onTaken?.();
  }
}

let toCore: Frame[];
let toThread: Frame[];
let broker: Asked | null;
let answers: AnswerBudget;
let server: ThreadServer;
let service: RemoteService;
const meters = newMeters();

beforeEach(() => {
  [toCore, toThread] = [[], []];
  broker = new Asked();
  answers = new AnswerBudget(BYTES_MAX);
  const into = (frames: Frame[]) => (kind: number, id: number, parts: readonly Uint8Array[]) =>
    void frames.push([kind, id, Buffer.concat(parts)]);
  server = new ThreadServer({
    service: () => broker,
    send: into(toThread),
    nowMs: () => 5000,
    front: { rim: { answers }, call: unused, gate: { judge: unused, timerHorizonSeconds: unused } },
    gateway: () => null,
    meters,
  });
  service = new RemoteService(
    {
      send: (kind, id, parts) => into(toCore)(kind, id, parts) ?? false,
      drop: () => false,
    },
    () => 1000,
    () => {},
  );
});

function unused(): never {
  throw new Error('nothing is passed on, and no gate is asked');
}

/** Frames that were sent to the core by now reach it. */
function reachCore(): void {
  for (const frame of toCore.splice(0)) server.received(...frame);
}

function reachThread(): void {
  for (const frame of toThread.splice(0)) service.received(...frame);
}

function asked(): Asked {
  if (broker === null) throw new Error('the node is not open');
  return broker;
}

const text = (bytes: string) => Buffer.from(bytes);

const PUSH: PushCommand = {
  kind: 'push',
  tenant: DEFAULT_TENANT,
  producerSub: 'someone',
  body: text('[1,22]'),
  groups: [{ queue: 'q', partition: 'p' }],
  itemGroup: [0, 0],
  transactionIds: [null, 'mine'],
  payloadStart: [1, 3],
  payloadEnd: [2, 5],
};

const POP: PopCommand = {
  kind: 'pop',
  tenant: DEFAULT_TENANT,
  scope: { kind: 'queue', queue: 'q' },
  consumerGroup: 'g',
  batch: 10,
  partitions: 2,
  autoAck: false,
  wait: true,
  deadlineMs: 31_000,
  leaseSeconds: 30,
  subscription: { mode: 'all' },
  conflation: null,
  autopilot: null,
};

const ACKS: AckCommand = {
  kind: 'ack',
  tenant: DEFAULT_TENANT,
  consumerGroup: 'g',
  items: [
    { transactionId: 't', partitionId: '7', leaseId: LEASE, status: 'completed', error: null },
  ],
};
const REFUSED: RefusedOutcome = {
  kind: 'refused',
  refusal: { reason: 'no_leader', error: 'nobody leads' },
};

function batchOf(payloads: readonly string[], gap = ''): MessageBatch {
  const bytes = text(gap + payloads.join(gap));
  const payloadStart: number[] = [];
  const payloadEnd: number[] = [];
  let at = 0;
  for (const payload of payloads) {
    at += gap.length;
    payloadStart.push(at);
    at += payload.length;
    payloadEnd.push(at);
  }
  return {
    bytes,
    payloadStart,
    payloadEnd,
    stampUs: 1_700_000_000_000_000,
    baseOffset: 40,
    first: 1,
    last: payloads.length - 1,
    transactionIds: payloads.map((_, i) => (i === 1 ? 'own' : null)),
    producerSubs: null,
    traceIds: null,
    messageIds: payloads.map((_, i) => (i === 2 ? ID : null)),
  };
}

function delivered(...batches: MessageBatch[]): DeliveredOutcome {
  const claim = { queue: 'q', partition: 'p', partitionNumber: 7, deliveryAttempt: 2 };
  const terms = { conflation: true, conflationConflict: false, autopilot: null };
  return { kind: 'delivered', leaseId: LEASE, claims: [{ ...claim, batches }], terms };
}

/** A delivery as its client is shown it. */
function shown({ claims, ...rest }: DeliveredOutcome) {
  return {
    ...rest,
    claims: claims.map(({ batches, ...claim }) => ({
      ...claim,
      messages: batches.flatMap((batch) => {
        const messages: unknown[] = [];
        for (let i = batch.first; i <= batch.last; i++) {
          const bytes = batch.bytes.subarray(batch.payloadStart[i], batch.payloadEnd[i]);
          messages.push({
            offset: batch.baseOffset + i,
            stampUs: batch.stampUs,
            payload: Buffer.from(bytes).toString(),
            transactionId: batch.transactionIds[i],
            sub: batch.producerSubs?.[i] ?? null,
            trace: batch.traceIds?.[i] ?? null,
            id: batch.messageIds?.[i] ?? null,
          });
        }
        return messages;
      }),
    })),
  };
}

function popped(client: Client): { command: PopCommand; reply: PopReply } {
  service.pop(POP, client as unknown as PopReply);
  reachCore();
  const [pop] = asked().pops.splice(0);
  if (pop === undefined) throw new Error('no pop has come');
  return pop;
}

test('a command reaches the broker as it was, and its outcome the client', () => {
  const client = new Client();
  service.submit(PUSH, client as unknown as Reply<SubmittedOutcome>);
  reachCore();
  const [push] = asked().submits;
  expect(push?.command).toEqual(PUSH);
  const outcome: SubmittedOutcome = {
    kind: 'pushed',
    status: Uint8Array.of(0, 1),
    messageIds: [ID, ID],
  };
  expect(push?.reply.send(outcome)).toBe(true);
  reachThread();
  expect(client.answers).toEqual([outcome]);
  expect(server.open).toBe(0);
});

test('a pop keeps the time that it has left, on the clock of the core', () => {
  const { command } = popped(new Client());
  expect(command).toEqual({ ...POP, deadlineMs: 35_000 });
});

test.each([
  ['close together', batchOf(['{"a":1}', '{"b":2}', '"c"', '4'])],
  ['far apart', batchOf(['1', '2', '"three"'], 'x'.repeat(50))],
])('what a pop takes is shown as it was: payloads %s', (_, batch) => {
  const client = new Client();
  const { reply } = popped(client);
  const outcome = delivered(batch, batchOf(['0', '"second"']));
  expect(reply.send(outcome)).toBe(true);
  reachThread();
  expect(shown(client.answers[0] as DeliveredOutcome)).toEqual(shown(outcome));
  expect([server.open, answers.used('pop')]).toEqual([0, 0]);
});

test('the core hears of a client that goes while its pop waits, and answers nothing', () => {
  const client = new Client();
  const { reply } = popped(client);
  let heard = 0;
  reply.onGone = () => heard++;
  client.leave();
  reachCore();
  expect([heard, reply.gone, reply.send(delivered(batchOf(['0', '1'])))]).toEqual([1, true, false]);
  reachThread();
  expect([server.open, asked().givenBack]).toEqual([0, []]);
});

test('a claim that meets a client who has gone is given back by the thread', () => {
  const client = new Client();
  const { reply } = popped(client);
  expect(reply.send(delivered(batchOf(['0', '1'])))).toBe(true);
  client.leave();
  reachThread();
  reachCore();
  const { tenant, consumerGroup } = POP;
  const expected = {
    kind: 'give-back',
    tenant,
    consumerGroup,
    leaseId: LEASE,
    partitionNumbers: [7],
  };
  expect([client.answers, asked().givenBack]).toEqual([[], [expected]]);
});

describe('a pop with acknowledgements', () => {
  function sent(client: Client) {
    service.ackAndPop(ACKS, POP, client as unknown as BothReply);
    reachCore();
    const [both] = asked().both.splice(0);
    if (both === undefined) throw new Error('no pop has come');
    return both;
  }

  const verdict = { success: true, error: null, leaseReleased: true, dlq: false, noop: false };
  const acked: AckedOutcome = { kind: 'acked', items: [verdict] };

  test('reaches the broker as both were, and the client gets verdicts and messages', () => {
    const client = new Client();
    const { acks, pop, reply } = sent(client);
    expect([acks, pop]).toEqual([ACKS, { ...POP, deadlineMs: 35_000 }]);
    const popped = delivered(batchOf(['0', '1']));
    reply.send({ kind: 'acked-pop', acked, popped });
    reachThread();
    const [answer] = client.answers as AckedPop[];
    expect(answer?.acked).toEqual(acked);
    expect(shown(answer?.popped as DeliveredOutcome)).toEqual(shown(popped));
  });

  test('is refused as a whole, or in its pop alone', () => {
    const [whole, popAlone] = [new Client(), new Client()];
    sent(whole).reply.send(REFUSED);
    sent(popAlone).reply.send({ kind: 'acked-pop', acked, popped: REFUSED });
    reachThread();
    expect(whole.answers).toEqual([REFUSED]);
    expect(popAlone.answers).toEqual([{ kind: 'acked-pop', acked, popped: REFUSED }]);
  });

  test('gives back what meets a client who has gone', () => {
    const client = new Client();
    const { reply } = sent(client);
    reply.send({ kind: 'acked-pop', acked, popped: delivered(batchOf(['0', '1'])) });
    client.leave();
    reachThread();
    reachCore();
    expect([client.answers, asked().givenBack]).toMatchObject([[], [{ leaseId: LEASE }]]);
  });

  test('is refused while the node is not open', () => {
    broker = null;
    const client = new Client();
    service.ackAndPop(ACKS, POP, client as unknown as BothReply);
    reachCore();
    reachThread();
    expect(client.answers).toMatchObject([{ kind: 'refused', refusal: { reason: 'no_leader' } }]);
  });
});

test('a large answer holds its room until the client has taken it', () => {
  const client = new Client();
  const { reply } = popped(client);
  reply.send(delivered(batchOf(['0', `"${'x'.repeat(100_000)}"`])));
  reachThread();
  expect(client.answers.length).toBe(1);
  expect(answers.used('pop')).toBeGreaterThan(100_000);
  client.onTaken?.();
  reachCore();
  expect([answers.used('pop'), server.open]).toEqual([0, 0]);
});

test('room that others wait for is taken from the answer that was given out first', () => {
  const clients = [new Client('a'), new Client('b')];
  const large = delivered(batchOf(['0', `"${'x'.repeat(350_000)}"`]));
  for (const client of clients) {
    popped(client).reply.send(large);
    for (let sweep = 0; sweep < 3; sweep++) answers.sweep(sweep);
  }
  reachThread();
  const { reply } = popped(new Client('c'));
  let hasRoom = false;
  reply.room?.wait(350_000, 60_000, (has) => {
    hasRoom = has;
  });
  answers.sweep(10);
  reachThread();
  expect(clients.map(({ cut }) => cut)).toEqual([true, false]);
  reachCore();
  expect(hasRoom).toBe(false);
  expect(answers.used('pop')).toBeLessThan(2 * 350_000);
});

test('a thread that is gone leaves no claim and holds no room', () => {
  const waiting = popped(new Client());
  const taken = popped(new Client());
  let heard = 0;
  waiting.reply.onGone = () => heard++;
  taken.reply.send(delivered(batchOf(['0', `"${'x'.repeat(100_000)}"`])));
  server.close();
  expect([heard, waiting.reply.gone, server.open, answers.used('pop')]).toEqual([1, true, 0, 0]);
});

test('a node that is not open refuses, and a frame that cannot be read is refused alone', () => {
  const client = new Client();
  broker = null;
  service.pop(POP, client as unknown as PopReply);
  service.submit(PUSH, client as unknown as Reply<SubmittedOutcome>);
  toCore.push([TO_CORE.command, 99, text('nonsense')]);
  reachCore();
  expect(toThread.map(([, id]) => id)).toEqual([1, 2, 99]);
  reachThread();
  expect(client.answers).toMatchObject([
    { kind: 'refused', refusal: { reason: 'no_leader' } },
    { kind: 'refused', refusal: { reason: 'no_leader' } },
  ]);
});

test('counters of the thread are added to those of the core, each rise once', () => {
  const { calls } = newMeters();
  const told = { ...calls };
  expect(callsParts(calls, told)).toBeNull();
  calls.pushRequests += 3;
  calls.popMessages += 70_000;
  for (const part of callsParts(calls, told) ?? []) server.received(TO_CORE.calls, 0, part);
  expect(callsParts(calls, told)).toBeNull();
  expect(meters.calls).toMatchObject({ pushRequests: 3, popMessages: 70_000, ackRequests: 0 });
});

test('a short body that is passed on has memory of its own, and counts by its length', () => {
  const passed = (body: Buffer) => {
    const kept: number[] = [];
    const exchange = { owner: '', gone: false, keepOfBody: (bytes: number) => kept.push(bytes) };
    const head = { method: 'POST', target: '/api/v1/fetch', headers: [] };
    service.pass({ ...head, body }, exchange as unknown as Exchange);
    return [kept, Buffer.from(toCore.at(-1)?.[2] ?? []).includes(body)];
  };
  expect(passed(Buffer.from('{"entries":[]}'))).toEqual([[14], true]);
  expect(passed(Buffer.alloc(4096, 1))).toEqual([[], true]);
});
