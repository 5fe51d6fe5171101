// Goal: a large push to a queue that encrypts is encrypted in slices before it is planned, and what
// is stored does not depend on it: by the option when it is planned, one envelope per message.
// Method: a planner with the real cipher, a clock that runs one piece of work at a time, and the
// stored messages read back.
import { crc32 } from 'node:zlib';
import {
  applyEntry,
  type Command,
  decodeAppend,
  findPartition,
  findQueue,
  findSlices,
  MapState,
  Planner,
  type PushCommand,
  type RequestOrigin,
  type RequestSession,
  type Surroundings,
  TransactionIndex,
} from '@svc/engine';
import { beforeEach, expect, test } from 'vitest';
import { payloadCipher } from '../reads/payload-cipher.js';
import { TurnedClock } from '../testing/turned-clock.fake.js';
import { EncryptAhead } from './encrypt-ahead.js';

const TENANT = '00000000-0000-0000-0000-000000000001';
const ORIGIN: RequestOrigin = {
  session: 's'.repeat(16) as RequestSession,
  sequence: 7,
  settledBelow: 0,
  settled: [],
};

let sealed: number;
const real = payloadCipher('ab'.repeat(32), (bytes) => bytes.fill(3));
if (real === null) throw new Error('no key');
const cipher = {
  seal: (payload: Uint8Array) => {
    sealed++;
    return real.seal(payload);
  },
  open: (stored: Uint8Array) => real.open(stored),
  isEnvelope: (stored: Uint8Array) => real.isEnvelope(stored),
};

let state: MapState;
let planner: Planner;
let index: number;
let bodies: Map<number, Uint8Array>;
let clock: TurnedClock;
let ahead: EncryptAhead;

beforeEach(() => {
  sealed = 0;
  state = new MapState();
  index = 0;
  bodies = new Map();
  const surroundings: Surroundings = {
    nodeId: 1,
    checksum: crc32,
    newUuid: () => '01a2b3c4-0000-7000-8000-000000000001',
    readLog: () => new Uint8Array(0),
    cipher,
  };
  planner = new Planner(state, TransactionIndex.load(state), surroundings);
  clock = new TurnedClock();
  ahead = new EncryptAhead({ cipher, clock, state: planner.state });
});

function plan(command: Command): void {
  planner.enqueue(command, {});
  index++;
  const { body } = planner.turn({ index, wallUs: 1_000_000 + index, nowMs: 1000 });
  if (body === null) return;
  bodies.set(index, body);
  applyEntry(state, TransactionIndex.load(new MapState()), index, body);
  planner.applied(index);
}

function encrypting(encryptionEnabled: boolean): void {
  plan({
    kind: 'configure',
    tenant: TENANT,
    queue: 'q',
    replace: false,
    changes: { encryptionEnabled },
  });
}

/** Items go in turn to `q` and to `plain`. */
function push(items: number): PushCommand {
  const texts = Array.from({ length: items }, (_, i) => `${i}`);
  const ends = texts.map((_, i) => texts.slice(0, i + 1).join('').length);
  return {
    kind: 'push',
    tenant: TENANT,
    producerSub: null,
    body: Buffer.from(texts.join('')),
    groups: [
      { queue: 'q', partition: 'p' },
      { queue: 'plain', partition: 'p' },
    ],
    itemGroup: texts.map((_, i) => i % 2),
    transactionIds: texts.map(() => null),
    payloadStart: ends.map((end, i) => end - (texts[i]?.length ?? 0)),
    payloadEnd: ends,
  };
}

function stored(queueName: string): string[] {
  const queue = findQueue(state, TENANT, queueName);
  const partition = queue && findPartition(state, queue.number, 'p');
  if (partition === undefined) return [];
  return findSlices(state, partition, 0, 1_000_000, 1e9).flatMap((slice) => {
    const body = bodies.get(slice.index) ?? new Uint8Array(0);
    const end = slice.position + slice.length;
    const { bytes, payloadStart, payloadEnd } = decodeAppend(body.subarray(slice.position, end));
    return payloadStart.map((start, i) =>
      Buffer.from(bytes.subarray(start, payloadEnd[i])).toString(),
    );
  });
}

const isSealed = (text: string) => text.startsWith('{"encrypted":"');
const opened = (texts: readonly string[]) =>
  texts.map((text) => Buffer.from(cipher.open(Buffer.from(text))).toString());
const every = (step: number, first: number, end: number) =>
  Array.from({ length: end }, (_, i) => `${i}`).filter((_, i) => i % step === first);

test('in slices, and then planned without another look at the key', () => {
  encrypting(true);
  expect(ahead.takes(push(2000), null, plan)).toBe(true);
  let slices = 0;
  while (clock.works.length > 0) {
    const before = sealed;
    clock.works.shift()?.();
    expect(sealed - before).toBeLessThanOrEqual(400);
    slices++;
  }
  expect([slices, sealed]).toEqual([3, 1000]);
  expect(stored('q').every(isSealed)).toBe(true);
  expect(opened(stored('q'))).toEqual(every(2, 0, 2000));
  expect(stored('plain')).toEqual(every(2, 1, 2000));
});

test('what the queue asks for when it is planned is what counts', () => {
  encrypting(true);
  ahead.takes(push(1000), null, plan);
  clock.works.shift()?.();
  encrypting(false);
  while (clock.works.length > 0) clock.works.shift()?.();
  expect(stored('q')).toEqual(every(2, 0, 1000));
});

test('a queue that began to ask for it meanwhile is encrypted in the turn', () => {
  encrypting(true);
  ahead.takes(push(1000), null, (command) => {
    const { envelopes = [] } = command as PushCommand;
    plan({ ...(command as PushCommand), envelopes: envelopes.slice(0, 100) });
  });
  while (clock.works.length > 0) clock.works.shift()?.();
  expect(stored('q').every(isSealed)).toBe(true);
  expect(opened(stored('q'))).toEqual(every(2, 0, 1000));
});

test('what is small, or asks for nothing, is planned as it is', () => {
  encrypting(true);
  expect(ahead.takes(push(400), null, plan)).toBe(false);
  encrypting(false);
  expect(ahead.takes(push(2000), null, plan)).toBe(false);
  expect([clock.works.length, ahead.idle]).toEqual([0, true]);
});

test('it is known while it is under way', () => {
  encrypting(true);
  ahead.takes(push(1000), ORIGIN, plan);
  ahead.takes(push(1000), ORIGIN, plan);
  expect([ahead.knows(ORIGIN), ahead.knows({ ...ORIGIN, sequence: 8 })]).toEqual([true, false]);
  expect(ahead.idle).toBe(false);
  while (clock.works.length > 0) clock.works.shift()?.();
  expect([ahead.knows(ORIGIN), ahead.idle]).toEqual([false, true]);
});

test('one command at a time, in the order of their arrival', () => {
  encrypting(true);
  const done: number[] = [];
  for (let i = 0; i < 3; i++) {
    ahead.takes(push(1000 + i), null, () => {
      done.push(i);
      if (i === 2) ahead.takes(push(1000), null, () => done.push(3));
    });
  }
  expect(clock.works).toHaveLength(1);
  while (clock.works.length > 0) {
    expect(clock.works).toHaveLength(1);
    clock.works.shift()?.();
  }
  expect(done).toEqual([0, 1, 2, 3]);
});

test('stopped: nothing is handed on any more', () => {
  encrypting(true);
  const entries = bodies.size;
  ahead.takes(push(1000), ORIGIN, plan);
  clock.works.shift()?.();
  ahead.stop();
  while (clock.works.length > 0) clock.works.shift()?.();
  expect([bodies.size, ahead.idle, ahead.knows(ORIGIN)]).toEqual([entries, true, false]);
});
