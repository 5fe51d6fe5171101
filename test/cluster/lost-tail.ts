/**
 * What a standby lacks that was promoted when its source was lost: exactly the messages of entries
 * after its position. The old source is started again, apart from everybody, and tells what they
 * were: what the standby held is the beginning of each of its partitions, and ends at one moment.
 */
import type { HttpClient } from '../process/http-client.js';
import { fetchBody } from '../process/partition-reader.js';

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

/** `positionUs`: the stamp of the last entry of the source that the standby had. */
export async function lostTail(
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
