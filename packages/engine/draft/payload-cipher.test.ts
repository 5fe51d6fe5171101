// Goal: payloads are stored encrypted exactly in queues that ask for it while there is a key, by
// whatever way they come to the log, and stay so when they die and are replayed; ids and verdicts
// do not change; the bounds of an entry count what is stored. Method: the engine over a cipher that
// can be read by eye, by table; sizes against what an entry really takes.
import { beforeEach, describe, expect, test } from 'vitest';
import type { PushCommand } from '../base/commands/commands.js';
import { utf8Read } from '../base/utf8.js';
import { EngineRig, pushCommand, TENANT, utf8 } from '../testing/engine.fake.js';
import { walked } from '../testing/page.fake.js';
import { listDeadLetters } from '../views/dead-letter-list.js';
import { leastPayloadBytes, type PayloadCipher, sealedBytes } from './payload-cipher.js';

/** `sealed:<payload>` and dots, as long as an envelope is. */
const PLAIN_TO_SEE: PayloadCipher = {
  seal: (payload) => {
    const text = `sealed:${utf8Read(payload, 0, payload.length)}`;
    return utf8(text.padEnd(sealedBytes(payload.length), '.'));
  },
  open: (stored) => {
    const text = utf8Read(stored, 0, stored.length);
    return text.startsWith('sealed:') ? utf8(text.slice(7).replace(/\.+$/, '')) : stored;
  },
  isEnvelope: (stored) => utf8Read(stored, 0, Math.min(7, stored.length)) === 'sealed:',
};

let rig: EngineRig;

beforeEach(() => {
  rig = withCipher(PLAIN_TO_SEE);
});

function withCipher(cipher: PayloadCipher | null): EngineRig {
  const made = new EngineRig();
  made.cipher = cipher;
  made.restart();
  return made;
}

/** The stored payloads of queue `q`, as its log holds them. */
function stored(of = rig): string[] {
  return of.texts(of.pop({ consumerGroup: `reader ${of.entries}`, partitions: 64 }));
}

const isSealed = (text: string) => text.startsWith('sealed:');

describe('what is stored', () => {
  test('clear without the option, sealed with it, by the option at push time', () => {
    rig.push('q', 'p', ['one']);
    rig.configure('q', { encryptionEnabled: true });
    rig.push('q', 'p', ['two', 'three']);
    rig.configure('q', { encryptionEnabled: false });
    rig.push('q', 'p', ['four']);
    const texts = stored();
    expect(texts.map(isSealed)).toEqual([false, true, true, false]);
    expect(texts.map((text) => utf8Read(PLAIN_TO_SEE.open(utf8(text)), 0, 99))).toHaveLength(4);
    expect(texts[1]?.replace(/\.+$/, '')).toBe('sealed:two');
  });

  test('an option that is set in the same turn counts', () => {
    rig.push('q', 'p', ['one']);
    rig.send({
      kind: 'configure',
      tenant: TENANT,
      queue: 'q',
      replace: false,
      changes: { encryptionEnabled: true },
    });
    rig.push('q', 'p', ['two']);
    expect(stored().map(isSealed)).toEqual([false, true]);
  });

  test('clear without a key', () => {
    rig = withCipher(null);
    rig.configure('q', { encryptionEnabled: true });
    rig.push('q', 'p', ['one']);
    expect(stored()).toEqual(['one']);
  });

  test('only the queue that asks', () => {
    rig.configure('q', { encryptionEnabled: true });
    rig.push('other', 'p', ['one']);
    rig.push('q', 'p', ['two']);
    const other = rig.texts(rig.pop({ queue: 'other' }));
    expect([other.map(isSealed), stored().map(isSealed)]).toEqual([[false], [true]]);
  });
});

test('duplicates, acks and ids go on as if it were clear', () => {
  rig.configure('q', { encryptionEnabled: true });
  rig.push('q', 'p', ['a', 'b']);
  const again = rig.call(pushCommand('q', 'p', ['a', 'c'], true));
  expect(again.outcome).toMatchObject({ status: new Uint8Array([1, 0]) });
  const popped = rig.pop();
  const { partitionNumber = 0 } = popped.claims[0] ?? {};
  const acked = rig.ack(partitionNumber, popped.leaseId, [['c', 'completed']]);
  expect(acked.items[0]).toMatchObject({ success: true, leaseReleased: true });
});

describe('a message that dies', () => {
  /** A cipher whose key wrote none of these envelopes: it gives them back unopened. */
  const OTHER_KEY: PayloadCipher = { ...PLAIN_TO_SEE, open: (bytes) => bytes };

  function die(): void {
    const popped = rig.pop();
    const { partitionNumber = 0 } = popped.claims[0] ?? {};
    rig.ack(partitionNumber, popped.leaseId, [['a', 'dlq']]);
  }

  function rowText(): string {
    const [row] = rig.deadLetters();
    return row === undefined ? 'none' : utf8Read(row.payload, 0, row.payload.length);
  }

  function replayTo(queue: string): string[] {
    const [row] = rig.deadLetters();
    const letter = { kind: 'id', id: row?.id ?? '' } as const;
    const command = { kind: 'replay', tenant: TENANT, letter, queue, partition: null } as const;
    expect(rig.call(command).outcome).toMatchObject({ replay: { result: 'moved' } });
    return rig.texts(rig.pop({ queue, consumerGroup: 'later', partitions: 64 })).slice(-1);
  }

  beforeEach(() => {
    rig.configure('q', { encryptionEnabled: true });
    rig.push('q', 'p', ['a']);
  });

  test('stays sealed in its row and in the log, whatever the option says by then', () => {
    rig.configure('q', { encryptionEnabled: false });
    die();
    expect(rowText()).toMatch(/^sealed:a\.+$/);
  });

  test('is shown open in lists', () => {
    die();
    const filter = { tenant: TENANT, queue: 'q', group: null, limit: 10, offset: 0 };
    const { letters } = walked(listDeadLetters(rig.planner.state, filter, PLAIN_TO_SEE.open));
    expect(letters.map(({ payload }) => utf8Read(payload, 0, 1))).toEqual(['a']);
  });

  test('is replayed in its envelope where the queue encrypts, and in the clear where not', () => {
    die();
    expect(replayTo('q')).toEqual([expect.stringMatching(/^sealed:a\.+$/)]);
    rig.push('q', 'other', ['b']);
    const popped = rig.pop({ partition: 'other' });
    const { partitionNumber = 0 } = popped.claims[0] ?? {};
    rig.ack(partitionNumber, popped.leaseId, [['b', 'dlq']]);
    expect(replayTo('plain')).toEqual(['b']);
  });

  test('under another key goes on in its own envelope', () => {
    rig.cipher = OTHER_KEY;
    rig.restart(2);
    die();
    expect(rowText()).toMatch(/^sealed:a\.+$/);
    expect(replayTo('q')).toEqual([expect.stringMatching(/^sealed:a\.+$/)]);
  });
});

describe('bounds', () => {
  function payloads(count: number, bytes: number): PushCommand {
    const texts = Array.from({ length: count }, () => 'x'.repeat(bytes));
    return pushCommand('q', 'p', texts, false) as PushCommand;
  }

  function statuses(limit: number, encrypted: boolean): number[] {
    const bounded = new EngineRig(undefined, { entryBytesMax: limit });
    bounded.cipher = PLAIN_TO_SEE;
    bounded.restart();
    bounded.configure('q', { encryptionEnabled: encrypted });
    const { outcome } = bounded.call(payloads(3, 300));
    return outcome?.kind === 'pushed' ? [...outcome.status] : [];
  }

  test('an item that fits clear and not encrypted is answered error', () => {
    expect(sealedBytes(300)).toBe(485);
    expect(statuses(3 * 400, false)).toEqual([0, 0, 0]);
    expect(statuses(3 * 400, true)).toEqual([0, 0, 3]);
    expect(statuses(3 * 585, true)).toEqual([0, 0, 0]);
  });

  test('a turn takes as much as it can store, and the rest comes with the next', () => {
    const bounded = new EngineRig(undefined, { turnBytesMax: 4096 });
    bounded.cipher = PLAIN_TO_SEE;
    bounded.restart();
    bounded.configure('q', { encryptionEnabled: true });
    const sent = Array.from({ length: 40 }, () => bounded.send(payloads(1, 1)));
    let turns = 0;
    while (sent.some(({ outcome }) => outcome === null)) {
      bounded.turn();
      turns++;
    }
    expect(turns).toBeGreaterThan(1);
    expect(turns).toBeLessThan(20);
  });
});

test('the shortest payload behind a stored length is never too long', () => {
  for (let bytes = 0; bytes < 2000; bytes++) {
    const least = leastPayloadBytes(sealedBytes(bytes));
    expect(least).toBeLessThanOrEqual(bytes);
    expect(least).toBeGreaterThanOrEqual(bytes - 2);
    expect(leastPayloadBytes(bytes)).toBeLessThanOrEqual(bytes);
  }
});
