/**
 * Goal: three real processes keep the promise whatever single thing happens to one of them: nothing
 * that was acknowledged is lost, reordered, stored twice or delivered after its ack, and clients of
 * the others go on. Method: each scenario has a cluster of its own under the whole load, and
 * several faults one after the other; the faults are real (signals, a proxy between the nodes, a
 * volume that is full), and the checkers of workloads 1 (log), 2 (queue) and 6 (dedup) judge what
 * the clients saw and what every node stored. `SVC_TEST_SEED` replays what the clients draw. `npm
 * run chaos` does all this for longer, in random order.
 */
import { expect, it } from 'vitest';
import { sleep } from '../process/node-under-test.js';
import { type Cluster, type ClusterSettings, until } from './cluster.js';
import type { ClusterNode } from './cluster-node.js';
import { OUTGROWING, outgrowLog } from './outgrown-log.js';
import { CUT, STALLED } from './peer-proxy.js';
import { volumesWork } from './private-volume.js';
import { type Scenario, underLoad } from './under-load.js';

const seed = Number(process.env.SVC_TEST_SEED ?? Date.now() % 1_000_000);
const THREE = { size: 3 };
const SCENARIO_MS_MAX = 180_000;

function scenario<Prepared>(
  name: string,
  settings: ClusterSettings,
  act: (scenario: Scenario, prepared: Prepared | null) => Promise<void>,
  before?: (cluster: Cluster) => Promise<Prepared>,
): void {
  it(`${name} (seed ${seed})`, { timeout: SCENARIO_MS_MAX }, async () => {
    const { anomalies, summary } = await underLoad(seed, settings, act, before);
    console.log(`${name}: ${summary}`);
    expect(anomalies.slice(0, 20)).toEqual([]);
  });
}

/** Waits until another node leads, and pushes are acknowledged again. */
async function goesOnWithout(leader: ClusterNode, { cluster, load }: Scenario): Promise<void> {
  await until(20_000, 'another leader', async () => {
    const all = await cluster.statuses();
    return all.find((one) => one.state === 'leader' && one.nodeId !== leader.number) ?? null;
  });
  await load.progress();
}

async function aFollower(cluster: Cluster): Promise<ClusterNode> {
  const [follower] = await cluster.followers();
  if (follower === undefined) throw new Error('there is no follower');
  return follower;
}

scenario('SIGKILL and SIGSTOP of the leader, of a follower, of all', THREE, async (run) => {
  const { cluster, load } = run;
  const killed = await cluster.waitForLeader();
  await killed.kill();
  await goesOnWithout(killed, run);
  killed.start();
  await cluster.ready();
  const paused = await cluster.waitForLeader();
  paused.pause();
  await goesOnWithout(paused, run);
  paused.resume();
  await cluster.converged();
  const follower = await aFollower(cluster);
  follower.pause();
  await load.progress();
  await follower.kill();
  await load.progress();
  follower.start();
  await cluster.ready();
  await Promise.all(cluster.nodes.map((node) => node.kill()));
  await cluster.startAll();
});

scenario('the network: a follower, the leader, everyone alone, deaf, mute', THREE, async (run) => {
  const { cluster, load } = run;
  const { network } = cluster;
  network.isolate((await aFollower(cluster)).number, CUT);
  await load.progress();
  network.heal();
  const faults = [
    (leader: number) => network.isolate(leader, STALLED),
    (leader: number) => network.deafen(leader),
    (leader: number) => network.mute(leader),
  ];
  for (const fault of faults) {
    await cluster.converged();
    const leader = await cluster.waitForLeader();
    fault(leader.number);
    await goesOnWithout(leader, run);
    await until(20_000, 'the end of the old leadership', async () =>
      (await leader.status())?.state === 'leader' ? null : true,
    );
    network.heal();
  }
  await cluster.converged();
  network.between(network.nodes, network.nodes, CUT);
  const beganMs = performance.now();
  await sleep(2500);
  network.heal();
  await load.progress();
  // Without a majority nothing is acknowledged.
  expect(load.requests.longestGapMs(beganMs + 1000, performance.now())).toBeGreaterThan(1000);
});

scenario('a rolling upgrade to a build of one version more', THREE, async ({ cluster, load }) => {
  const versions = async () => {
    const all = await Promise.all(cluster.nodes.map((node) => node.health()));
    return [...new Set(all.map((health) => health?.raft.clusterVersion ?? 0))];
  };
  const [version = 0] = await versions();
  for (const node of cluster.nodes) {
    expect(await versions()).toEqual([version]);
    const beganMs = performance.now();
    expect(await node.stop()).toEqual({ code: 0, signal: null });
    await load.progress();
    expect(load.requests.longestGapMs(beganMs, performance.now())).toBeLessThan(5000);
    node.build = 'next';
    node.start();
    await cluster.ready();
    expect((await node.health())?.raft.kinds).toBe(version + 1);
  }
  await until(10_000, 'the next version everywhere', async () =>
    `${await versions()}` === `${version + 1}` ? true : null,
  );
  // There is no way back: the build before refuses what may have been written since.
  const node = await aFollower(cluster);
  await node.stop();
  node.build = 'this';
  const refused = node.start();
  expect((await refused.ended(20_000)).code).toBe(1);
  expect(refused.output).toContain(`writes version ${version + 1}`);
  node.build = 'next';
  node.start();
});

const noVolumes = await volumesWork();
if (noVolumes !== null) console.log(`no disk is filled here: ${noVolumes}`);
const DISKS: ClusterSettings = {
  size: 3,
  environment: { SVC_RAFT_DISK_HIGH_PCT: '85', SVC_RAFT_DISK_LOW_PCT: '80' },
  ...(noVolumes === null ? { volumes: { 1: 160, 2: 160, 3: 160 } } : {}),
};

scenario('disks: slow, hung, full', DISKS, async (run) => {
  const { cluster, load } = run;
  const slow = await aFollower(cluster);
  slow.slowDisk(400);
  await load.progress();
  slow.slowDisk(0);
  const leader = await cluster.waitForLeader();
  leader.slowDisk(8000);
  await goesOnWithout(leader, run);
  leader.slowDisk(0);
  const full = await aFollower(cluster);
  const { volume } = full.settings;
  if (volume === null) return;
  // The gate of this node closes; it and the others go on with what takes no space.
  volume.fill(12 << 20);
  await until(10_000, 'a push is refused with 507', async () =>
    load.requests.count('push', '507 storage_full') > 0 ? true : null,
  );
  volume.free();
  await load.progress();
  // Replicated entries arrive all the same, until its log cannot be written.
  volume.fill(0);
  await sleep(3000);
  volume.free();
  const state = (await full.status())?.state;
  if (state === 'follower' || state === 'leader') return;
  await full.kill();
  full.start();
});

scenario('members: one grows to three, a lost voter is replaced', { size: 1 }, async (run) => {
  const { cluster, membership, load } = run;
  const alone = cluster.node(1);
  for (const number of [2, 3]) {
    await cluster.addMachine(number, [1]);
    await membership.join(number);
    await load.progress();
  }
  expect((await membership.view()).voters).toEqual([1, 2, 3]);
  expect(alone.lives).toBe(1);
  const lost = await aFollower(cluster);
  await lost.kill();
  lost.wipe();
  await load.progress();
  // An empty directory neither votes nor founds; it waits.
  lost.start();
  await until(10_000, 'an answer of the one that waits', () => lost.status());
  await sleep(1000);
  expect(await lost.status()).toMatchObject({ state: 'learner', term: 0 });
  await lost.kill();
  await membership.remove(lost.number);
  lost.wipe();
  await membership.join(lost.number);
  expect((await membership.view()).voters).toEqual([1, 2, 3]);
});

scenario('members: a fourth comes, one goes, the leader goes', THREE, async (run) => {
  const { cluster, membership, load } = run;
  await cluster.addMachine(4, [1, 2, 3]);
  await membership.join(4);
  await load.progress();
  const leader = await cluster.waitForLeader();
  const gone = cluster.nodes.find((node) => node !== leader && node.number !== 4)?.number ?? 0;
  const voters = [1, 2, 3, 4].filter((number) => number !== gone);
  expect((await membership.setVoters(voters)).voters).toEqual(voters);
  await cluster.removeMachine(gone);
  await load.progress();
  await membership.remove(leader.number);
  await cluster.removeMachine(leader.number);
});

scenario(
  'a snapshot, with a kill in the middle of it',
  { size: 3, environment: OUTGROWING },
  async ({ cluster, load }, behind: ClusterNode | null) => {
    behind?.start();
    await sleep(400);
    await behind?.kill();
    await load.progress();
    behind?.start();
    await cluster.ready();
    expect(behind?.life?.output).toContain('taking over a snapshot');
  },
  async (cluster) => {
    const behind = await aFollower(cluster);
    await behind.kill();
    await outgrowLog(cluster, []);
    return behind;
  },
);
