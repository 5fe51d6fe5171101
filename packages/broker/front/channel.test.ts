// Goal: a frame that found no room goes on, whenever the other side makes room: also in the moment
// between the writing and the waiting; an end that is closed hears and says nothing more. Method:
// one end of a channel, and the other side of its rings by hand. Frames that take long leave the
// turn to others, and come all and in order in the turns that follow.
import { expect, test, vi } from 'vitest';
import { Channel } from './channel.js';
import { FrameReceiver, FrameSender } from './frames.js';
import { RingReader, RingWriter, ringMemory } from './ring.js';

const RING_BYTES = 64;
const TAKEN_BYTES = 16;

test('room that is made just before the wait is used, and the rest waits all the same', () => {
  const outward = ringMemory(RING_BYTES);
  const turns: (() => void)[] = [];
  const end = new Channel({
    outward,
    inward: ringMemory(RING_BYTES),
    wake: () => {},
    soon: (work) => turns.push(work),
    nowMs: () => 0,
    onFrame: () => {},
  });
  const lengths: number[] = [];
  const reader = new RingReader(outward);
  const receiver = new FrameReceiver(reader, (_kind, _id, content) => lengths.push(content.length));
  let races = 2;
  const { awaitRoom } = RingWriter.prototype;
  const racing = vi.spyOn(RingWriter.prototype, 'awaitRoom').mockImplementation(function (
    this: RingWriter,
  ) {
    if (races-- > 0) {
      reader.read(new Uint8Array(TAKEN_BYTES), 0, TAKEN_BYTES);
      reader.release();
    }
    return awaitRoom.call(this);
  });
  // Bytes that the races take away.
  end.send(1, 1, [new Uint8Array(races * TAKEN_BYTES - 9)]);
  for (let id = 2; id < 10; id++) end.send(1, id, [new Uint8Array(id * 10)]);
  while (turns.length > 0) turns.shift()?.();
  racing.mockRestore();
  expect(races).toBeLessThanOrEqual(0);
  for (let rounds = 0; rounds < 100; rounds++) {
    receiver.receive(RING_BYTES);
    // The end is woken where it has said that it waits, and not else.
    if (reader.release()) end.woken();
    while (turns.length > 0) turns.shift()?.();
  }
  expect(lengths).toEqual([20, 30, 40, 50, 60, 70, 80, 90]);
  expect(end.idle).toBe(true);
});

test('an end that is closed by a frame hears no other one, and sends nothing', () => {
  const [outward, inward] = [ringMemory(RING_BYTES), ringMemory(RING_BYTES)];
  const ids: number[] = [];
  const turns: (() => void)[] = [];
  const end: Channel = new Channel({
    outward,
    inward,
    wake: () => {},
    soon: (work) => turns.push(work),
    nowMs: () => 0,
    onFrame: (_kind, id) => {
      ids.push(id);
      end.close();
    },
  });
  const writer = new RingWriter(inward);
  const sender = new FrameSender(writer);
  for (let id = 1; id < 4; id++) sender.send(1, id, []);
  writer.publish();
  end.open();
  turns.shift()?.();
  end.woken();
  expect(end.send(1, 4, [new Uint8Array(RING_BYTES)])).toBe(false);
  expect([ids, turns.length, end.idle, new RingReader(outward).available]).toEqual([
    [1],
    0,
    true,
    0,
  ]);
});

test('frames that take long are taken a few in a turn, whole and in order', () => {
  const inward = ringMemory(1024);
  const ids: number[] = [];
  const turns: (() => void)[] = [];
  let nowMs = 0;
  let wakes = 0;
  const end = new Channel({
    outward: ringMemory(RING_BYTES),
    inward,
    wake: () => wakes++,
    soon: (work) => turns.push(work),
    nowMs: () => nowMs,
    onFrame: (_kind, id, { length }) => {
      ids.push(id);
      nowMs += length;
    },
  });
  const writer = new RingWriter(inward);
  const sender = new FrameSender(writer);
  const bring = (from: number, to: number) => {
    for (let id = from; id <= to; id++) sender.send(1, id, [new Uint8Array(1)]);
    if (writer.publish()) end.woken();
  };
  const turn = () => {
    turns.shift()?.();
    return ids.length;
  };
  end.open();
  bring(1, 21);
  const taken = [turn(), turn()];
  // The time of a turn begins with its first look, so four frames come before it.
  expect(taken).toEqual([8, 16]);
  bring(22, 25);
  while (turns.length > 0) taken.push(turn());
  expect(taken).toEqual([8, 16, 24, 25, 25]);
  expect(ids).toEqual(Array.from({ length: 25 }, (_, i) => i + 1));
  // Asleep again, it is woken by what comes next.
  bring(26, 26);
  expect([ids.length, turns.length]).toEqual([26, 1]);
});
