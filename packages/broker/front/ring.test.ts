// Goal: what one side writes the other reads, byte for byte and in order, whatever the sizes, and
// no wake-up is lost. Method: random steps of both sides against a list of the bytes and of the
// flags; positions begin just before they wrap.
import { expect, test } from 'vitest';
import { type SeededRandom, seededRandom } from '../testing/recovery.fake.js';
import { FrameReceiver, FrameSender } from './frames.js';
import { RingReader, RingWriter, ringMemory } from './ring.js';

const SEEDS = 40;
const STEPS = 200;

/** A ring whose positions are about to wrap round. */
function memoryAtWrap(capacity: number): SharedArrayBuffer {
  const memory = ringMemory(capacity);
  new Int32Array(memory, 0, 2).fill(0x7fff_ffff - 3 * capacity);
  return memory;
}

function bytesOf(random: SeededRandom, length: number): Uint8Array {
  return Uint8Array.from({ length }, () => random.between(0, 255));
}

test('a ring hands over what was published, in order, and knows its room', () => {
  for (let seed = 1; seed <= SEEDS; seed++) {
    const random = seededRandom(seed);
    const capacity = 2 ** random.between(3, 7);
    const memory = memoryAtWrap(capacity);
    const [writer, reader] = [new RingWriter(memory), new RingReader(memory)];
    const model: number[] = [];
    let [published, sleeps, waits] = [0, false, false];
    const said = `seed ${seed}`;
    for (let step = 0; step < STEPS; step++) {
      const act = random.between(0, 5);
      if (act <= 1) {
        const bytes = bytesOf(random, random.between(0, 2 * capacity));
        const start = random.between(0, bytes.length);
        const end = writer.write(bytes, start);
        expect(end - start, said).toBe(Math.min(bytes.length - start, capacity - model.length));
        for (const byte of bytes.subarray(start, end)) model.push(byte);
      } else if (act === 2) {
        published = model.length;
        expect(writer.publish(), said).toBe(sleeps);
        sleeps = false;
      } else if (act === 3) {
        expect(reader.available, said).toBe(published);
        const count = random.between(0, published);
        const into = new Uint8Array(count + 2);
        reader.read(into, 1, count);
        expect([...into], said).toEqual([0, ...model.splice(0, count), 0]);
        published -= count;
        expect(reader.release(), said).toBe(waits);
        waits = false;
      } else if (act === 4) {
        sleeps = reader.sleep();
        expect(sleeps, said).toBe(published === 0);
      } else {
        waits = writer.awaitRoom();
        expect(waits, said).toBe(model.length === capacity);
      }
      expect(writer.room, said).toBe(capacity - model.length);
    }
  }
});

test('frames of any length come whole and in order, and keep their bytes', () => {
  for (let seed = 1; seed <= SEEDS; seed++) {
    const random = seededRandom(seed);
    const capacity = 2 ** random.between(3, 9);
    const memory = memoryAtWrap(capacity);
    const writer = new RingWriter(memory);
    const reader = new RingReader(memory);
    const sent: unknown[] = [];
    const received: { kind: number; id: number; content: Uint8Array }[] = [];
    const sender = new FrameSender(writer);
    const receiver = new FrameReceiver(
      reader,
      (kind, id, content) => received.push({ kind, id, content }),
      () => random.chance(0.7),
    );
    for (let step = 0; step < STEPS; step++) {
      if (random.chance(0.4)) {
        const parts = Array.from({ length: random.between(0, 3) }, () =>
          bytesOf(random, random.between(0, random.chance(0.1) ? 3 * capacity : 20)),
        );
        const [kind, id] = [random.between(0, 255), random.bits() >>> 0];
        sent.push({ kind, id, content: Buffer.concat(parts).toString('hex') });
        sender.send(kind, id, parts);
        // It was lent.
        parts[0]?.fill(0);
      }
      if (random.chance(0.5)) sender.go();
      writer.publish();
      if (random.chance(0.6)) {
        receiver.receive(random.between(1, capacity));
        reader.release();
      }
    }
    do {
      sender.go();
      writer.publish();
      reader.release();
    } while (receiver.receive(capacity) > 0 || !sender.idle);
    const shown = received.map(({ kind, id, content }) => ({
      kind,
      id,
      content: Buffer.from(content).toString('hex'),
    }));
    expect(shown, `seed ${seed}`).toEqual(sent);
  }
});

test('a frame of which a part of the head is in the ring is not dropped', () => {
  const memory = ringMemory(64);
  const [writer, reader] = [new RingWriter(memory), new RingReader(memory)];
  const sender = new FrameSender(writer);
  const lengths: number[] = [];
  const receiver = new FrameReceiver(reader, (_kind, _id, { length }) => lengths.push(length));
  sender.send(1, 1, [new Uint8Array(50)]);
  sender.send(1, 2, [new Uint8Array(20)]);
  sender.send(1, 3, [new Uint8Array(30)]);
  // Of the second one five bytes of nine.
  sender.go();
  expect([writer.room, sender.drop(2), sender.drop(3), sender.drop(3)]).toEqual([
    0,
    false,
    true,
    false,
  ]);
  for (let rounds = 0; rounds < 3; rounds++) {
    writer.publish();
    receiver.receive(64);
    reader.release();
    sender.go();
  }
  expect([lengths, sender.idle]).toEqual([[50, 20], true]);
});

test('a sender whose ring is always full holds no more than what waits', () => {
  const memory = ringMemory(64);
  const writer = new RingWriter(memory);
  const sender = new FrameSender(writer);
  const reader = new RingReader(memory);
  const receiver = new FrameReceiver(reader, () => {});
  for (let n = 0; n < 10_000; n++) {
    // As much comes as goes, and never all of it.
    for (let more = n === 0 ? 20 : 2; more > 0; more--) sender.send(1, n, [new Uint8Array(23)]);
    writer.publish();
    receiver.receive(64);
    reader.release();
    sender.go();
    expect(sender.idle).toBe(false);
  }
  expect(sender.held).toBeLessThan(4096);
});

test('a capacity that is no power of two is refused', () => {
  expect(() => ringMemory(100)).toThrow('not a power of two');
});
