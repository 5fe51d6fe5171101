// Goal: a thread that is started again knows what the others were told. Method: threads that run a
// program of the test, which ends when it is told to retire.
import type { HttpServer } from '@svc/http';
import { newMeters } from '@svc/wire';
import { expect, test } from 'vitest';
import type { Config } from '../config/config.js';
import type { Clock } from '../system/clock.js';
import type { Logger } from '../system/logging.js';
import { FrontThreads } from './front-threads.js';

const RETIRES = `
import { parentPort } from 'node:worker_threads';
parentPort.postMessage({ kind: 'listening', ports: { plain: 1, gateway: null } });
parentPort.on('message', ({ kind }) => {
  if (kind === 'retire') parentPort.postMessage({ kind: 'full', open: 4, refused: 1 });
  if (kind === 'retire' || kind === 'stop') setImmediate(() => process.exit(0));
});
`;

test('a thread that is started again after the others retired retires as well', async () => {
  const after = (_: number, work: () => void) => {
    work();
    return () => {};
  };
  let told = 0;
  let onTwice = () => {};
  const twice = new Promise<void>((resolve) => {
    onTwice = resolve;
  });
  const maxima: number[] = [];
  const threads = new FrontThreads({
    config: {} as Config,
    clock: { nowMs: () => 0, soon: setImmediate, after } as unknown as Clock,
    logger: { error: () => {} } as unknown as Logger,
    meters: newMeters(),
    front: {} as HttpServer,
    gateway: () => null,
    threads: 1,
    program: new URL(`data:text/javascript,${encodeURIComponent(RETIRES)}`),
    bounds: { max: 4, perAddressMax: null, isTrustedProxy: () => false },
    onConnectionsFull: (max) => {
      maxima.push(max);
      if (++told === 2) onTwice();
    },
  });
  const plain = { host: '127.0.0.1', port: 0 };
  expect(await threads.listen({ plain, gateway: null })).toEqual({ plain: 1, gateway: null });
  threads.retire();
  await twice;
  await threads.stop(0);
  expect(maxima.slice(0, 2)).toEqual([4, 4]);
});
