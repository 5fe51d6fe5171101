/**
 * Goal: what the cluster tests do to nodes really happens, before it is done to three of them.
 * Method: one node, alone; each fault, and what clients see of it. The load and its judgement run
 * through a kill, a pause and a slow disk.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { sleep } from '../process/node-under-test.js';
import { SeededRandom } from '../seeded-random.js';
import { withCluster } from './cluster.js';
import { JudgedLoad } from './judged-load.js';
import { openPrivateVolume, volumesWork } from './private-volume.js';

const seed = Number(process.env.SVC_TEST_SEED ?? Date.now() % 1_000_000);

it(`a node alone under the load, killed, paused and slow (seed ${seed})`, async () => {
  await withCluster({ size: 1 }, async (cluster) => {
    const node = cluster.node(1);
    await cluster.startAll();
    expect((await cluster.waitForLeader()).number).toBe(1);
    const load = new JudgedLoad(cluster, { random: new SeededRandom(seed) });
    load.start();
    await load.progress();
    await node.kill();
    expect([node.running, await node.status()]).toEqual([false, null]);
    node.start();
    await cluster.ready();
    await load.progress();
    node.pause();
    const beganMs = performance.now();
    await sleep(700);
    node.resume();
    await load.progress();
    expect(load.requests.longestGapMs(beganMs, beganMs + 100)).toBeGreaterThan(600);
    node.slowDisk(300);
    const slowMs = performance.now();
    await load.progress(1);
    await sleep(1000);
    expect(load.requests.longestGapMs(slowMs + 300, slowMs + 1000)).toBeGreaterThan(250);
    node.slowDisk(0);
    const verdict = await load.judge();
    console.log(`seed ${seed}: ${verdict.summary}`);
    expect(verdict.anomalies.slice(0, 20)).toEqual([]);
    expect(await node.stop()).toEqual({ code: 0, signal: null });
    node.wipe();
    expect(existsSync(join(node.settings.directory, 'data'))).toBe(false);
  });
});

it('a volume of its own is filled and freed, unseen from outside', async (context) => {
  const reason = await volumesWork();
  if (reason !== null) {
    console.log(reason);
    context.skip();
  }
  await withCluster({ size: 0 }, async (cluster) => {
    const path = join(cluster.scratch, 'volume');
    const volume = await openPrivateVolume(path, 8);
    try {
      expect(volume.freeBytes()).toBe(8 << 20);
      volume.fill(1 << 20);
      expect(volume.freeBytes()).toBe(1 << 20);
      expect(existsSync(join(path, 'filler'))).toBe(false);
      volume.free();
      expect(volume.freeBytes()).toBe(8 << 20);
    } finally {
      await volume.close();
    }
  });
});
