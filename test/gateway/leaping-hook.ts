/**
 * Loaded into a node before its program: at each SIGUSR2 the monotonic clock of its main thread
 * leaps ahead by `SVC_TEST_LEAP_MS`, and the node writes how often it did. Timers that run are not
 * hastened. A process that was suspended sees the same.
 */
import { performance } from 'node:perf_hooks';
import { isMainThread } from 'node:worker_threads';

const leapMs = Number(process.env.SVC_TEST_LEAP_MS);

if (isMainThread) {
  const now = performance.now.bind(performance);
  let leaps = 0;
  performance.now = () => now() + leaps * leapMs;
  process.on('SIGUSR2', () => {
    leaps += 1;
    process.stderr.write(`the clock leapt: ${leaps}\n`);
  });
}
