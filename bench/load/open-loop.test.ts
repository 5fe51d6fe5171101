// Goal: a stall counts for every request that was due in it. Method: a server that answers
// nothing until all requests are due; then no latency may be shorter than from the request's
// scheduled moment to the end of the stall, however few connections there are.

import { createServer } from 'node:http';
import { expect, test } from 'vitest';
import { requestBytes } from '../http-connection.js';
import { runOpenLoop, type StartTicker } from './open-loop.js';
import { monotonicMs } from './ticker.js';

const REQUESTS = 20;
const INTERVAL_MS = 5;

const startTimer: StartTicker = (_plan, tick) => {
  const timer = setInterval(tick, 1);
  return async () => clearInterval(timer);
};

test('latencies run from the schedule through a stall', async () => {
  let released = false;
  let releasedMs = 0;
  const held: (() => void)[] = [];
  const server = createServer((_request, response) => {
    const answer = (): void => void response.writeHead(204).end();
    if (released) {
      answer();
    } else {
      held.push(answer);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const bound = server.address();
  const port = bound !== null && typeof bound === 'object' ? bound.port : 0;
  setTimeout(
    () => {
      released = true;
      releasedMs = monotonicMs();
      for (const answer of held) {
        answer();
      }
    },
    100 + REQUESTS * INTERVAL_MS + 50,
  );
  const result = await runOpenLoop(
    {
      address: { host: '127.0.0.1', port },
      connections: 2,
      ratePerSecond: 1000 / INTERVAL_MS,
      seconds: (REQUESTS * INTERVAL_MS) / 1000,
      requests: [requestBytes('GET', '/')],
      expectedStatus: 204,
    },
    startTimer,
  );
  server.closeAllConnections();
  server.close();
  expect(result.latenciesMs).toHaveLength(REQUESTS);
  for (const [index, latencyMs] of result.latenciesMs.entries()) {
    const stalledMs = releasedMs - (result.firstMs + index * INTERVAL_MS);
    expect(latencyMs, `request ${index}`).toBeGreaterThanOrEqual(stalledMs);
  }
});
