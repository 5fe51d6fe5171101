// Goal: threads listen together, each with its part of the connections; one that is started again
// knows what the others were told; one that fails at each start costs the node a line now and then.
// Method: threads that run a program of the test, which says what it does by reports of refused
// connections; timers that the test fires.
import { spawnSync } from 'node:child_process';
import type { HttpServer } from '@svc/http';
import { newMeters } from '@svc/wire';
import { expect, test } from 'vitest';
import type { Config } from '../config/config.js';
import type { Clock } from '../system/clock.js';
import type { Logger } from '../system/logging.js';
import { FrontThreads, HANGS_MS } from './front-threads.js';

const PROGRAM = `
import { parentPort, workerData } from 'node:worker_threads';
const say = (open) => parentPort.postMessage({ kind: 'full', open, refused: 1 });
const ports = { plain: 1, gateway: null };
const listen = () => parentPort.postMessage({ kind: 'listening', ports });
const ready = () => parentPort.postMessage({ kind: 'ready' });
`;
const RETIRES = `${PROGRAM}
ready();
parentPort.on('message', ({ kind }) => {
  if (kind === 'listen') listen();
  if (kind === 'retire') say(4);
  if (kind === 'retire' || kind === 'stop') setImmediate(() => process.exit(0));
});
`;

/** The first one is ready when it is told to retire for the second time. */
const WAITS = `${PROGRAM}
const READY = 1, PONG = 2, LISTENS = 3;
const beReady = () => { ready(); say(READY); };
const isFirst = workerData.connections.max === 4;
let pings = 0;
if (!isFirst) beReady();
parentPort.on('message', ({ kind }) => {
  if (kind === 'retire' && pings++ === 1 && isFirst) beReady();
  else if (kind === 'retire') say(PONG);
  if (kind === 'listen') { say(LISTENS); listen(); }
  if (kind === 'stop') process.exit(0);
});
`;
const [READY, PONG, LISTENS, BOOTING] = [1, 2, 3, 4];
/** The second of two with three connections ends as soon as it listens. */
const ENDS = `${PROGRAM}
ready();
parentPort.on('message', ({ kind }) => {
  if (kind === 'listen') listen();
  const isSecond = workerData.connections.max === 1;
  if (kind === 'stop' || (kind === 'listen' && isSecond)) setImmediate(() => process.exit(0));
});
`;
/** It is not ready before it is told to stop. */
const BOOTS = `${PROGRAM}
const BOOTING = 4;
say(BOOTING);
parentPort.on('message', ({ kind }) => {
  if (kind === 'stop') { ready(); setImmediate(() => process.exit(0)); }
});
`;
/** It hangs from the stop on, until the test changes a number of the memory that it was given. */
const HANGS = `${PROGRAM}
const number = new Int32Array(workerData.config.memory);
ready();
parentPort.on('message', ({ kind }) => {
  if (kind === 'listen') listen();
  if (kind === 'retire') say(1);
  if (kind !== 'stop') return;
  say(4);
  Atomics.wait(number, 0, 0);
  process.exit(0);
});
`;
const every = () => () => {};
const PLACES = { plain: { host: '127.0.0.1', port: 0 }, gateway: null };

function optionsOf(
  program: string,
  count: number,
  max: number,
  onFull: (max: number, open: number) => void,
) {
  const after = (ms: number, work: () => void) => {
    if (ms < HANGS_MS) work();
    return () => {};
  };
  return {
    config: {} as Config,
    clock: { nowMs: () => 0, soon: setImmediate, after, every } as unknown as Clock,
    logger: { error: () => {} } as unknown as Logger,
    meters: newMeters(),
    front: {} as HttpServer,
    gateway: () => null,
    threads: count,
    program: programOf(program),
    bounds: { max, perAddressMax: null, isTrustedProxy: () => false },
    onConnectionsFull: onFull,
    onHang: (_: Error) => {},
  };
}

function start(...settings: Parameters<typeof optionsOf>): FrontThreads {
  return new FrontThreads(optionsOf(...settings));
}

function programOf(text: string): URL {
  return new URL(`data:text/javascript,${encodeURIComponent(text)}`);
}

test('a thread that is started again after the others retired retires as well', async () => {
  const maxima: number[] = [];
  let onTwice = () => {};
  const twice = new Promise<void>((resolve) => {
    onTwice = resolve;
  });
  const threads = start(RETIRES, 1, 4, (max) => {
    if (maxima.push(max) === 2) onTwice();
  });
  expect(await threads.listen(PLACES)).toEqual({ plain: 1, gateway: null });
  threads.retire();
  await twice;
  await threads.stop(0);
  expect(maxima.slice(0, 2)).toEqual([4, 4]);
});

test('no thread listens before all can, and each has its own part of the connections', async () => {
  const said: number[] = [];
  const parts: number[] = [];
  const threads = start(WAITS, 3, 10, (max, open) => {
    said.push(open);
    if (open === LISTENS) parts.push(max);
  });
  const listening = threads.listen(PLACES);
  const heard = async (what: number, times: number) => {
    while (said.filter((one) => one === what).length < times) await new Promise(setImmediate);
  };
  await heard(READY, 2);
  // A thread that was told to listen by now would say so before it answers.
  threads.retire();
  await heard(PONG, 3);
  expect(said).not.toContain(LISTENS);
  threads.retire();
  await listening;
  expect(said.lastIndexOf(READY)).toBeLessThan(said.indexOf(LISTENS));
  expect(parts.sort()).toEqual([3, 3, 4]);
  await threads.stop(0);
});

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise(setImmediate);
}

test('a thread that fails at each start is started after pauses that double', async () => {
  const lines: string[] = [];
  const pauses: number[] = [];
  const said: number[] = [];
  let nowMs = 0;
  let due: (() => void) | null = null;
  const pass = () => {
    const work = due;
    due = null;
    work?.();
  };
  const after = (ms: number, work: () => void) => {
    pauses.push(ms);
    due = work;
    return () => {
      due = null;
    };
  };
  const options = optionsOf(ENDS, 2, 3, (_, open) => said.push(open));
  options.clock = { nowMs: () => nowMs, soon: setImmediate, after, every } as unknown as Clock;
  options.logger = { error: (_: string, text: string) => lines.push(text) } as unknown as Logger;
  const running = () => options.meters.frontThreads.running;
  const threads = new FrontThreads(options);
  await threads.listen(PLACES);
  await until(() => pauses.length === 1);
  expect(running()).toBe(1);
  // The system refuses a thread, as where no more processes may be: it is not the end of the node.
  options.program = new URL('none:');
  for (let starts = 0; starts < 8; starts++) pass();
  expect(pauses).toEqual([100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]);
  expect(lines.length).toBe(9);
  options.program = programOf(RETIRES);
  pass();
  await until(() => running() === 2);
  // One that has lasted is no failure at its start. The first thread knows of no retiring.
  nowMs += 60_000;
  threads.retire();
  await until(() => pauses.length === 10);
  expect(pauses.at(-1)).toBe(100);
  // A stop during the start of a thread waits for it, and is no failure of its.
  options.program = programOf(BOOTS);
  pass();
  await until(() => said.includes(BOOTING));
  await threads.stop(0);
  await new Promise(setImmediate);
  expect([running(), lines.length]).toEqual([0, 10]);
});

test('a stop takes back a start whose pause has not passed', async () => {
  let taken = 0;
  let hasFailed = false;
  const after = (ms: number) => {
    if (ms >= HANGS_MS) return () => {};
    hasFailed = true;
    return () => void taken++;
  };
  const options = optionsOf(ENDS, 2, 3, () => {});
  options.clock = { nowMs: () => 0, soon: setImmediate, after, every } as unknown as Clock;
  const threads = new FrontThreads(options);
  await threads.listen(PLACES);
  await until(() => hasFailed);
  await threads.stop(0);
  expect(taken).toBe(1);
});

test('a stop while threads are being started is no failure of the port', async () => {
  let booting = 0;
  const threads = start(BOOTS, 2, 3, () => booting++);
  const listening = threads.listen(PLACES);
  await until(() => booting === 2);
  await threads.stop(0);
  expect(await listening).toBeNull();
});

test('a stop gives a thread that hangs up, some seconds behind the drain', async () => {
  const pauses: number[] = [];
  const lines: string[] = [];
  let hasHung = false;
  let pass = () => {};
  const after = (ms: number, work: () => void) => {
    pauses.push(ms);
    pass = work;
    return () => {};
  };
  const number = new Int32Array(new SharedArrayBuffer(4));
  const options = optionsOf(HANGS, 1, 1, () => {
    hasHung = true;
  });
  options.config = { memory: number.buffer } as unknown as Config;
  options.clock = { nowMs: () => 0, soon: setImmediate, after, every } as unknown as Clock;
  options.logger = { error: (_: string, text: string) => lines.push(text) } as unknown as Logger;
  const threads = new FrontThreads(options);
  await threads.listen(PLACES);
  const exits = process.listenerCount('exit');
  const stopped = threads.stop(1000);
  await until(() => hasHung);
  expect([pauses, lines]).toEqual([[1000 + HANGS_MS], []]);
  pass();
  await stopped;
  expect(lines).toEqual(['front threads hang: 1 have not ended']);
  expect(options.meters.frontThreads.running).toBe(0);
  // It may hold sockets, so the end of the process still looks after it.
  expect(process.listenerCount('exit')).toBe(exits);
  Atomics.store(number, 0, 1);
  Atomics.notify(number, 0);
  const again = threads.stop(0);
  await again;
  expect(process.listenerCount('exit')).toBe(exits - 1);
});

test('a thread that says nothing ends the node, whose stop does not wait for it', async () => {
  const lines: string[] = [];
  const errors: Error[] = [];
  let spoken = 0;
  let nowMs = 0;
  let look = () => {};
  const number = new Int32Array(new SharedArrayBuffer(4));
  const options = optionsOf(HANGS, 1, 1, () => spoken++);
  const clock = {
    nowMs: () => nowMs,
    soon: setImmediate,
    after: () => () => {},
    every: (ms: number, work: () => void) => {
      look = () => {
        nowMs += ms;
        work();
      };
      return () => void lines.push('no more looks');
    },
  };
  const logger = {
    error: (_: string, text: string) => lines.push(text),
    info: (_: string, text: string) => lines.push(text),
  };
  options.config = { memory: number.buffer } as unknown as Config;
  options.clock = clock as unknown as Clock;
  options.logger = logger as unknown as Logger;
  options.onHang = (error: Error) => void errors.push(error);
  const threads = new FrontThreads(options);
  await threads.listen(PLACES);
  const pass = (seconds: number) => {
    for (let second = 0; second < seconds; second++) look();
  };
  pass(10);
  expect(lines).toEqual(['a front thread has said nothing for 10 s: its clients wait']);
  expect(options.meters.frontThreads.silent).toBe(1);
  threads.retire();
  await until(() => spoken === 1);
  pass(1);
  expect([lines.pop(), options.meters.frontThreads.silent]).toEqual([
    'a front thread speaks again',
    0,
  ]);
  pass(28);
  expect(errors).toEqual([]);
  pass(10);
  expect(errors.map(({ message }) => message)).toEqual([
    'a front thread has said nothing for 30 s: its clients wait for ever',
  ]);
  await threads.stop(60_000);
  expect(lines.slice(2)).toEqual(['no more looks', 'front threads hang: 1 have not ended']);
  Atomics.store(number, 0, 1);
  Atomics.notify(number, 0);
  await threads.stop(0);
});

test('a process whose thread hangs with its sockets ends at once, not by an abort', () => {
  const program = `
import { FrontThreads } from '${new URL('../dist/front/front-threads.js', import.meta.url)}';
const threads = new FrontThreads({
  clock: { nowMs: () => 0, soon: setImmediate, after: setTimeout, every: () => () => {} },
  logger: { error: (_, text) => console.log(text) },
  meters: { frontThreads: { running: 0 } },
  config: {}, threads: 1, bounds: { max: 1, perAddressMax: null },
  program: new URL(process.argv[1]),
});
await threads.listen({ plain: { host: '127.0.0.1', port: 0 }, gateway: null });
process.exit(0);
`;
  const hangs = `${PROGRAM}
ready();
parentPort.on('message', ({ kind }) => {
  if (kind === 'listen') listen();
  for (; kind === 'end'; );
});
`;
  const words = ['--input-type=module', '-e', program, String(programOf(hangs))];
  const { signal, stdout } = spawnSync(process.execPath, words, { encoding: 'utf8' });
  expect([signal, stdout]).toEqual([
    'SIGKILL',
    'a front thread hangs: the process ends by SIGKILL\n',
  ]);
});
