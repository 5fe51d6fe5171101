/**
 * Goal: nothing acknowledged is lost, reordered or delivered after its ack, whatever instant a node
 * is killed at. Method: a real node under concurrent load is killed by SIGKILL, 40 times and once
 * at every named point, and started again on the same directory; then the checkers of workloads 1
 * (log) and 2 (queue) and of the state surfaces judge what the clients saw. `SVC_TEST_SEED` replays
 * a seed, `SVC_TEST_KILLS` makes it longer.
 */
import { expect, it } from 'vitest';
import { runCampaign } from './crash-campaign.js';

const KILLS = Number(process.env.SVC_TEST_KILLS ?? 40);
const seed = Number(process.env.SVC_TEST_SEED ?? Date.now() % 1_000_000);

it(`survives ${KILLS} kills (seed ${seed})`, { timeout: 120_000 + KILLS * 5000 }, async () => {
  const lines: string[] = [];
  try {
    const { anomalies, summary, kills } = await runCampaign({
      seed,
      kills: KILLS,
      log: (line) => lines.push(line),
    });
    console.log(summary);
    expect(anomalies.slice(0, 20)).toEqual([]);
    expect(kills).toBeGreaterThanOrEqual(30);
  } catch (error) {
    console.log(`seed ${seed}\n${lines.join('\n')}`);
    throw error;
  }
});
