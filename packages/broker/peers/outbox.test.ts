// Goal: frames that are sent together go out in one write, as they were, and what waits is
// bounded. Method: a socket that only counts, and streams read back by the cutter.
import type { Socket } from 'node:net';
import { expect, test } from 'vitest';
import { type Gathering, PeerOutbox } from './outbox.js';
import { FrameCutter } from './peer-frames.js';

class CountingSocket {
  readonly written: Uint8Array[] = [];
  /** Writes that the system would be asked for. */
  writes = 0;
  writableLength = 0;
  #corked = 0;
  #dirty = false;

  cork(): void {
    this.#corked++;
  }

  uncork(): void {
    this.#corked--;
    if (this.#corked === 0 && this.#dirty) this.writes++;
    this.#dirty = false;
  }

  write(bytes: Uint8Array): boolean {
    this.written.push(bytes);
    if (this.#corked === 0) this.writes++;
    else this.#dirty = true;
    return true;
  }

  frames(): Buffer[] {
    const frames: Buffer[] = [];
    const cutter = new FrameCutter(2 ** 30, (frame) => frames.push(Buffer.from(frame)));
    for (const bytes of this.written) cutter.push(Buffer.from(bytes));
    return frames;
  }
}

function made(
  bytesMax: number,
  gathering: Gathering = 'step',
): { socket: CountingSocket; outbox: PeerOutbox } {
  const socket = new CountingSocket();
  return { socket, outbox: new PeerOutbox(socket as unknown as Socket, bytesMax, gathering) };
}

const turn = () => new Promise((resolve) => void setImmediate(resolve));

const GATHERINGS: readonly Gathering[] = ['step', 'turn'];

test.each(GATHERINGS)(
  'what is sent in a %s leaves in one write, and in order',
  async (gathering) => {
    const { socket, outbox } = made(1e9, gathering);
    const sent: Buffer[] = [];
    for (let round = 1; round <= 10; round++) {
      for (let i = 0; i < 200; i++) {
        const size = (i * 7919 * round) % 9000;
        const parts = [Buffer.from(`${round}/${i}`), Buffer.alloc(size, i), Buffer.from('end')];
        sent.push(Buffer.concat(parts));
        outbox.send(parts);
      }
      expect(socket.writes).toBe(round - 1);
      await turn();
      expect(socket.writes).toBe(round);
    }
    const frames = socket.frames();
    expect(frames.map(({ length }) => length)).toEqual(sent.map(({ length }) => length));
    expect(Buffer.compare(Buffer.concat(frames), Buffer.concat(sent))).toBe(0);
    expect(outbox.waitingBytes).toBe(0);
  },
);

test('a turn is over when all that was to be done is, a step much earlier', async () => {
  for (const gathering of GATHERINGS) {
    const { socket, outbox } = made(1e9, gathering);
    let [steps, writes] = [0, 0];
    await new Promise<void>((resolve) => {
      const step = () => {
        outbox.send([Buffer.alloc(10)]);
        writes = socket.writes;
        if (++steps === 5) resolve();
      };
      for (let i = 0; i < 5; i++) process.nextTick(() => setImmediate(step));
    });
    expect(writes).toBe(gathering === 'step' ? 4 : 0);
    await turn();
    expect(socket.writes).toBe(gathering === 'step' ? 5 : 1);
  }
});

test('small parts are copied together, large ones are not copied', async () => {
  const { socket, outbox } = made(1e9);
  const large = Buffer.alloc(100_000);
  for (let i = 0; i < 1000; i++) outbox.send([Buffer.alloc(20), Buffer.alloc(30)]);
  outbox.send([Buffer.alloc(20), large]);
  outbox.flush();
  expect(socket.written.length).toBeLessThanOrEqual(3);
  expect(socket.written.filter(({ buffer }) => buffer === large.buffer)).toHaveLength(1);
});

test('what waits, here and in the socket, is bounded; one frame always fits', () => {
  const { socket, outbox } = made(1000);
  expect(outbox.send([Buffer.alloc(50_000)])).toBe(true);
  expect(outbox.waitingBytes).toBe(50_004);
  expect(outbox.send([Buffer.alloc(1)])).toBe(false);
  outbox.flush();
  expect(outbox.waitingBytes).toBe(0);
  socket.writableLength = 900;
  expect(outbox.send([Buffer.alloc(96)])).toBe(true);
  expect(outbox.send([])).toBe(false);
  socket.writableLength = 0;
  expect(outbox.send([])).toBe(true);
});
