/**
 * A source that is lost under load, and what a standby lacks that is promoted then: exactly the
 * messages of entries after its position. The old source is started again, apart from everybody,
 * and tells what they were: what the standby held is the beginning of each of its partitions, and
 * ends at one moment.
 */
import type { HttpClient } from '../process/http-client.js';
import { fetchBody } from '../process/partition-reader.js';
import { Workload } from '../process/workload.js';
import type { SeededRandom } from '../seeded-random.js';
import { until } from './cluster.js';
import type { ClusterPair } from './cluster-pair.js';
import { REQUEST_MS_MAX } from './judged-load.js';
import { CUT, OPEN } from './peer-proxy.js';

export interface LostTail {
  readonly kept: number;
  readonly lost: number;
  readonly wrong: readonly string[];
}

interface Stored {
  readonly offset: number;
  readonly transactionId: string;
  readonly payload: unknown;
  readonly ts: string;
}

const STORED_MS_MAX = 30_000;
/** Messages that the standby has, and those that it lacks, at least. */
const KEPT_MIN = 200;
const LOST_MIN = 20;

/**
 * The standby has some messages of a load and lacks some; all nodes of the source die; the standby
 * is promoted. The old source runs in the end, and nobody follows it.
 */
export async function loseSource(
  pair: ClusterPair,
  random: SeededRandom,
  name: string,
): Promise<LostTail> {
  const { source } = pair;
  const nodes = pair.clients;
  const load = new Workload({ nodes, random: random.fork(), name, requestMsMax: REQUEST_MS_MAX });
  const more = async (count: number) => {
    const enough = load.pushesAcked + count;
    await until(STORED_MS_MAX, `${count} messages more`, async () =>
      load.pushesAcked >= enough ? true : null,
    );
  };
  load.start();
  try {
    await more(KEPT_MIN);
    await pair.followed();
    source.network.toStandbys(CUT);
    await more(LOST_MIN);
    await pair.killSource();
  } finally {
    await load.stop();
  }
  const asked = random.pick(pair.standby.running);
  const { position } = await pair.promote(asked);
  source.network.toStandbys(OPEN);
  await source.startAll();
  const [lost] = source.clients;
  if (lost === undefined) throw new Error('the source has no nodes');
  return lostTail(lost, asked.client, load.partitions, position?.nowUs ?? 0);
}

/** `positionUs`: the stamp of the last entry of the source that the standby had. */
async function lostTail(
  source: HttpClient,
  promoted: HttpClient,
  places: readonly string[],
  positionUs: number,
): Promise<LostTail> {
  const [had, has] = [await readAll(source, places), await readAll(promoted, places)];
  const wrong: string[] = [];
  let [kept, lost] = [0, 0];
  for (const place of places) {
    const [all, held] = [had.get(place) ?? [], has.get(place) ?? []];
    kept += held.length;
    lost += all.length - held.length;
    for (const [i, record] of held.entries()) {
      if (JSON.stringify(record) === JSON.stringify(all[i])) continue;
      wrong.push(`${place}: ${JSON.stringify(record)} was ${JSON.stringify(all[i])} at the source`);
    }
    for (const [i, { offset, ts }] of all.entries()) {
      const [isHeld, isDue] = [i < held.length, microseconds(ts) <= positionUs];
      if (isHeld === isDue) continue;
      const what = isHeld ? 'is of an entry after the position' : 'was lost';
      wrong.push(`${place}@${offset} of ${ts} ${what}`);
    }
  }
  return { kept, lost, wrong };
}

async function readAll(
  client: HttpClient,
  places: readonly string[],
): Promise<Map<string, Stored[]>> {
  const read = new Map(places.map((place) => [place, [] as Stored[]]));
  for (;;) {
    const from = [...read].map(([place, { length }]) => ({ place, offset: length }));
    const { status, text } = await client.post('/api/v1/fetch', fetchBody(from));
    if (status !== 200) throw new Error(`fetch: ${status} ${text}`);
    const { entries } = JSON.parse(text) as { entries: { records: Stored[] }[] };
    if (entries.every(({ records }) => records.length === 0)) return read;
    for (const [i, { records }] of entries.entries()) {
      read.get(from[i]?.place ?? '')?.push(...records);
    }
  }
}

/** `2026-01-02T03:04:05.123456Z`: more digits than a date takes. */
function microseconds(stamp: string): number {
  return Date.parse(stamp) * 1000 + Number(stamp.slice(-4, -1));
}
