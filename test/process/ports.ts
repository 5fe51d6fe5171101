/**
 * Ports for the nodes of a test. They lie below the range from which the system takes the ports of
 * outgoing connections: a node that is down for a moment would else find its port taken by a
 * connection of some client when it comes back.
 *
 * A port is bound long after it was chosen, so none is given out twice: not by this process, which
 * counts on; not by two workers of one test run, each of which has a range; and hardly by other
 * processes, which begin anywhere in one of the ranges.
 */
import { createServer } from 'node:net';

const LOWEST = 12_000;
const RANGES = 20;
const RANGE_PORTS = 1000;

let given = Math.floor(Math.random() * RANGE_PORTS);

/** Workers of a test run have numbers; they run side by side, and their pids may be anything. */
function range(): number {
  return Number(process.env.VITEST_POOL_ID ?? process.pid);
}

/** Ports of 127.0.0.1 that are free now, and that were not given out for a long time. */
export async function freePorts(count: number): Promise<number[]> {
  const first = LOWEST + (range() % RANGES) * RANGE_PORTS;
  const ports: number[] = [];
  for (let tries = 0; ports.length < count; tries++) {
    if (tries === RANGE_PORTS) throw new Error(`no ${count} ports are free from ${first} on`);
    const port = first + (given++ % RANGE_PORTS);
    if (await isFree(port)) ports.push(port);
  }
  return ports;
}

export async function freePort(): Promise<number> {
  const [port = 0] = await freePorts(1);
  return port;
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
