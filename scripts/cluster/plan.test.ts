// Goal: ports are chosen once, kept with the data, and never taken from others; nothing is removed
// that this program did not make. Method: real files and real listeners in scratch places.
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Options } from './options.js';
import {
  balancerPort,
  HOST,
  makePlan,
  makeStandbyPlan,
  peerList,
  standbyDirectory,
} from './plan.js';

let directory: string;
let listeners: Server[];

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'svc-plan-'));
  listeners = [];
});

afterEach(() => {
  for (const listener of listeners) listener.close();
  rmSync(directory, { recursive: true, force: true });
});

function options(changed: Partial<Options> = {}): Options {
  return {
    directory,
    fresh: false,
    port: null,
    nodePort: null,
    raftPort: null,
    balancer: true,
    standby: false,
    ...changed,
  };
}

function listen(port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    listeners.push(server);
    server.on('error', reject);
    server.listen(port, HOST, () => {
      const address = server.address();
      resolve(address !== null && typeof address === 'object' ? address.port : 0);
    });
  });
}

test('three nodes with six ports, and the same again', async () => {
  const plan = await makePlan(options());
  expect(plan.nodes.map(({ id }) => id)).toEqual([1, 2, 3]);
  const ports = plan.nodes.flatMap(({ httpPort, raftPort }) => [httpPort, raftPort]);
  expect(new Set(ports).size).toBe(6);
  expect(plan.token.length).toBe(48);
  expect(statSync(join(directory, 'cluster.json')).mode & 0o777).toBe(0o600);
  expect(await makePlan(options())).toEqual(plan);
  expect(peerList(plan)).toMatch(/^1=127\.0\.0\.1:\d+\/127\.0\.0\.1:\d+,2=.*,3=[^,]*$/);
});

test('given ports are used, and cannot be changed afterwards', async () => {
  const port = await listen(0);
  for (const listener of listeners.splice(0)) listener.close();
  const plan = await makePlan(options({ raftPort: port }));
  expect(plan.nodes.map(({ raftPort }) => raftPort)).toEqual([port, port + 1, port + 2]);
  await expect(makePlan(options({ raftPort: port + 10 }))).rejects.toThrow('--fresh');
});

test('a port that is in use is refused, whether it is given or kept', async () => {
  const taken = await listen(0);
  const given = options({ nodePort: taken });
  await expect(makePlan(given)).rejects.toThrow(`port ${taken} is in use`);
  expect(existsSync(join(directory, 'cluster.json'))).toBe(false);
  await expect(balancerPort(taken)).rejects.toThrow(`port ${taken} is in use`);
  const plan = await makePlan(options());
  const kept = plan.nodes[2]?.raftPort ?? 0;
  await listen(kept);
  const running = `port ${kept} of the cluster in ${directory} is in use`;
  await expect(makePlan(options())).rejects.toThrow(running);
  mkdirSync(join(directory, 'node-1'));
  await expect(makePlan(options({ fresh: true }))).rejects.toThrow(running);
  expect(existsSync(join(directory, 'node-1'))).toBe(true);
});

test('fresh removes what was made here, and nothing else', async () => {
  const first = await makePlan(options());
  for (const name of ['node-1', 'node-7']) mkdirSync(join(directory, name));
  writeFileSync(join(directory, 'notes'), '');
  const second = await makePlan(options({ fresh: true }));
  expect(second.token).not.toBe(first.token);
  expect(existsSync(join(directory, 'node-1'))).toBe(false);
  expect(existsSync(join(directory, 'node-7'))).toBe(true);
  expect(existsSync(join(directory, 'notes'))).toBe(true);
});

test('a standby has a plan of its own, with other ports', async () => {
  const port = await listen(0);
  for (const listener of listeners.splice(0)) listener.close();
  const given = options({ standby: true, raftPort: port });
  const source = await makePlan(given);
  expect(await makeStandbyPlan(options(), source)).toBeNull();
  const standby = await makeStandbyPlan(given, source);
  expect(standby?.nodes.map(({ raftPort }) => raftPort)).toEqual([port + 3, port + 4, port + 5]);
  const ports = [source, standby].flatMap((plan) =>
    (plan?.nodes ?? []).flatMap(({ httpPort, raftPort }) => [httpPort, raftPort]),
  );
  expect(new Set(ports).size).toBe(12);
  expect(standby?.token).not.toBe(source.token);
  expect(await makeStandbyPlan(given, await makePlan(given))).toEqual(standby);
});

test('fresh forgets the standby too, whether one is wanted or not', async () => {
  const given = options({ standby: true });
  await makeStandbyPlan(given, await makePlan(given));
  const node = join(standbyDirectory(directory), 'node-1');
  mkdirSync(node);
  await makePlan(options({ fresh: true }));
  expect(existsSync(node)).toBe(false);
  const kept = await makeStandbyPlan(given, await makePlan(given));
  await listen(kept?.nodes[0]?.httpPort ?? 0);
  await expect(makePlan(options({ fresh: true }))).rejects.toThrow('is it running already?');
});

test.each(['', '{', '[]', 'null', '{"nodes":[],"token":"x"}'])(
  'a plan %j is refused and left alone',
  async (text) => {
    const file = join(directory, 'cluster.json');
    writeFileSync(file, text);
    await expect(makePlan(options())).rejects.toThrow('does not parse');
    await expect(makePlan(options({ fresh: true }))).rejects.toThrow('does not parse');
  },
);
