// Goal: the load program counts successes and nothing else, and there is a ratio for each round of
// two loads. Method: two HTTP servers in this process that count what they store, one of them told
// to refuse.

import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest';
import { compilerIsInstalled } from '../native/compile.js';
import { type Load, LoadProgram } from '../native/load-program.js';
import { Scratch } from '../rig/scratch.js';
import { pushRequests } from './push-requests.js';
import { rateOf, ratios, sideBySide } from './side-by-side.js';

const BATCH = 3;

class PushServer {
  pushes = 0;
  result = '{"status":"queued"}';
  readonly #server: Server;

  constructor() {
    this.#server = createServer((request, response) => {
      request.resume().on('end', () => {
        this.pushes += 1;
        const body = `[${Array(BATCH).fill(this.result).join(',')}]`;
        response.writeHead(201, { 'content-length': body.length }).end(body);
      });
    });
  }

  async port(): Promise<number> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    const address = this.#server.address();
    return address !== null && typeof address === 'object' ? address.port : 0;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

// The load program is compiled once.
const scratch = new Scratch(join(tmpdir(), `svc-load-${process.pid}`));
let servers: PushServer[];

afterAll(() => scratch.close());

beforeEach(() => {
  servers = [new PushServer(), new PushServer()];
});

afterEach(() => {
  for (const server of servers) server.close();
});

async function contestantsOf(all: readonly PushServer[]) {
  return Promise.all(
    all.map(async (server, i) => ({
      name: `${i}`,
      pids: [],
      loadOf: loadAt(await server.port()),
    })),
  );
}

function loadAt(port: number): () => Load {
  const target = { protocol: 'http', ports: [port], queue: 'q', kind: '' } as const;
  const items = pushRequests('q', 4, BATCH, 32);
  return () => ({ ...target, work: 'publish', items, connections: 4, batch: BATCH });
}

test.skipIf(!compilerIsInstalled())('every counted message was stored', async () => {
  const contestants = await contestantsOf(servers);
  const load = await LoadProgram.in(scratch).open(contestants[0]?.loadOf() ?? never());
  const first = await load.turn({ warmUpSeconds: 0.02, seconds: 0.05 });
  const second = await load.turn({ warmUpSeconds: 0.02, seconds: 0.05 });
  await load.close();
  expect(first.whole.messages + second.whole.messages).toBe((servers[0]?.pushes ?? 0) * BATCH);
  expect(first.messages).toBeGreaterThan(0);
  expect(first.messages).toBeLessThanOrEqual(first.whole.messages);
});

test.skipIf(!compilerIsInstalled())('a refused push ends the load with its text', async () => {
  const [server] = servers;
  if (server !== undefined) server.result = '{"status":"error"}';
  const plan = { rounds: 1, seconds: 0.1, warmUpSeconds: 0 };
  const contestants = await contestantsOf(servers.slice(0, 1));
  const measured = sideBySide(LoadProgram.in(scratch), contestants, plan);
  await expect(measured).rejects.toThrow(/not stored as a new one.*"status":"error"/);
});

test.skipIf(!compilerIsInstalled())('so does a call of which a part failed', async () => {
  const [server] = servers;
  if (server !== undefined) server.result = '{"success":false}';
  const load = { ...loadAt((await server?.port()) ?? 0)(), kind: 'calls' };
  const run = LoadProgram.in(scratch).run(load, { warmUpSeconds: 0, seconds: 0.1 });
  await expect(run).rejects.toThrow(/a call failed.*"success":false/);
});

test.skipIf(!compilerIsInstalled())('a ratio for each round of two loads', async () => {
  const plan = { rounds: 2, seconds: 0.1, warmUpSeconds: 0.05 };
  const contestants = await contestantsOf(servers);
  const [one, other] = await sideBySide(LoadProgram.in(scratch), contestants, plan);
  if (one === undefined || other === undefined) throw new Error('two tallies were asked for');
  expect([one.rounds.length, other.rounds.length]).toEqual([2, 2]);
  const expected = one.rounds.map((round, i) => rateOf(round) / rateOf(other.rounds[i] ?? round));
  expect(ratios(one, other, rateOf)).toEqual(expected);
});

function never(): never {
  throw new Error('there is no contestant');
}
