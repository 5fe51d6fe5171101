/**
 * Goal: a standby of real processes has what its source has, through the deaths of leaders on both
 * sides and a lost network between them; it takes over without losing, repeating or delivering
 * anything twice; and the old source comes back as its standby. Method: the checkers of all
 * workloads judge one history that begins at the source and ends at the promoted standby, and every
 * node of both clusters has to show the same log. A side has several nodes where one of them is
 * killed or joins. `npm run chaos -- --standby` does this for longer, with three on each.
 */
import { expect, it } from 'vitest';
import { sleep } from '../process/node-under-test.js';
import { SeededRandom } from '../seeded-random.js';
import { until } from './cluster.js';
import { withPair } from './cluster-pair.js';
import { JudgedLoad } from './judged-load.js';
import { loseSource } from './lost-source.js';
import { OUTGROWING, outgrowLog } from './outgrown-log.js';
import { CUT, OPEN } from './peer-proxy.js';

const seed = Number(process.env.SVC_TEST_SEED ?? Date.now() % 1_000_000);
const SCENARIO_MS_MAX = 240_000;
/** Messages of a load between two events. */
const MESSAGES = 25;

it(`follows, takes over under load, is followed (seed ${seed})`, {
  timeout: SCENARIO_MS_MAX,
}, async () => {
  const random = new SeededRandom(seed);
  await withPair({ source: 1, standby: 3 }, async (pair) => {
    await pair.startAll();
    const load = new JudgedLoad(pair, { random: random.fork(), restMsMax: 200 });
    load.start();
    await load.progress(MESSAGES);
    const leader = await pair.standby.waitForLeader();
    await leader.kill();
    await load.progress(MESSAGES);
    await pair.followed();
    leader.start();
    pair.source.network.toStandbys(CUT);
    await pair.follower('an obstacle', ({ state }) => state === 'waiting');
    await load.progress(MESSAGES);
    pair.source.network.toStandbys(OPEN);
    await pair.followed();
    await pair.ready();
    const view = await pair.switchOver(async (standby) => random.pick(await standby.followers()));
    expect(view).toMatchObject({ role: 'promoted' });
    await load.progress(MESSAGES);
    expect(await pair.seedWithKills(random, 2)).toBeGreaterThan(0);
    const result = await load.judge();
    console.log(result.summary);
    expect(result.anomalies.slice(0, 20)).toEqual([]);
  });
});

const PURGED = new RegExp(
  '^the source node 127\\.0\\.0\\.1:\\d+ purged its log up to \\d+ and this standby is at ' +
    '\\d+: it needs a new seed$',
);
const HOLDS = { ...OUTGROWING, SVC_LINK_HOLD_S: '10' };

it(`is given up, seeded, and takes over from a lost source (seed ${seed})`, {
  timeout: SCENARIO_MS_MAX,
}, async () => {
  const random = new SeededRandom(seed);
  await withPair({ source: 3, standby: 2, environment: HOLDS }, async (pair) => {
    await pair.startAll();
    await pair.followed();
    const { source } = pair;
    // It comes back with the others in the end: started again, it keeps its log for a minute.
    await (await source.waitForLeader()).kill();
    await source.waitForLeader();
    await pair.followed();
    const readers = async () => {
      const links = await Promise.all(source.nodes.map((node) => node.link()));
      return links.flatMap((link) => link?.readers ?? []);
    };
    await until(10_000, 'each node of the source keeps its log', async () =>
      (await readers()).length === source.running.length ? true : null,
    );
    source.network.toStandbys(CUT);
    await until(30_000, 'the source gives its standby up', async () => {
      await sleep(500);
      return (await readers()).length === 0 ? true : null;
    });
    await outgrowLog(source, []);
    source.network.toStandbys(OPEN);
    await pair.follower('a halt', ({ state }) => state === 'halted');
    expect((await pair.link())?.follower?.error).toMatch(PURGED);
    await Promise.all(pair.standby.nodes.map((node) => node.kill()));
    await pair.seed();
    const tail = await loseSource(pair, random, 'lost');
    console.log(`${tail.kept} messages kept, ${tail.lost} lost with the source`);
    expect(tail.wrong.slice(0, 20)).toEqual([]);
    expect(tail.lost).toBeGreaterThan(0);
  });
});
