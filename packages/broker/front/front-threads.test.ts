// Goal: threads listen together, each with its part of the connections; one that is started again
// knows what the others were told. Method: threads that run a program of the test, which says what
// it does by reports of refused connections.
import type { HttpServer } from '@svc/http';
import { newMeters } from '@svc/wire';
import { expect, test } from 'vitest';
import type { Config } from '../config/config.js';
import type { Clock } from '../system/clock.js';
import type { Logger } from '../system/logging.js';
import { FrontThreads } from './front-threads.js';

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
const [READY, PONG, LISTENS] = [1, 2, 3];
const PLACES = { plain: { host: '127.0.0.1', port: 0 }, gateway: null };

function start(
  program: string,
  count: number,
  max: number,
  onFull: (max: number, open: number) => void,
): FrontThreads {
  const after = (_: number, work: () => void) => {
    work();
    return () => {};
  };
  return new FrontThreads({
    config: {} as Config,
    clock: { nowMs: () => 0, soon: setImmediate, after } as unknown as Clock,
    logger: { error: () => {} } as unknown as Logger,
    meters: newMeters(),
    front: {} as HttpServer,
    gateway: () => null,
    threads: count,
    program: new URL(`data:text/javascript,${encodeURIComponent(program)}`),
    bounds: { max, perAddressMax: null, isTrustedProxy: () => false },
    onConnectionsFull: onFull,
  });
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
