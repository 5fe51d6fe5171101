/** Reads partitions by offset, payloads as the text that was pushed. */
import type { ReadRecord } from '../checkers/history.js';
import type { Answer, HttpClient } from './http-client.js';
import { rawMembers } from './raw-json.js';

/** Where a read begins; `place` is `<queue>/<partition>`. */
export interface ReadFrom {
  readonly place: string;
  readonly offset: number;
}

/** All that the node has of these partitions, in the order of `places` and by offset. */
export async function readPartitions(
  client: HttpClient,
  places: readonly string[],
): Promise<ReadRecord[]> {
  const read = new Map(places.map((place) => [place, [] as ReadRecord[]]));
  for (;;) {
    const from = [...read].map(([place, { length }]) => ({ place, offset: length }));
    const answer = await client.post('/api/v1/fetch', fetchBody(from));
    if (answer.status !== 200) throw new Error(`fetch: ${answer.status} ${answer.text}`);
    const records = fetchedRecords(from, answer);
    if (records.length === 0) return [...read.values()].flat();
    for (const record of records) read.get(record.partition)?.push(record);
  }
}

export function fetchBody(from: readonly ReadFrom[]): string {
  const entries = from.map(({ place, offset }) => {
    const [queue, partition] = place.split('/');
    return { queue, partition, offset };
  });
  return JSON.stringify({ entries });
}

/** The records of an answer to `fetchBody(from)`. */
export function fetchedRecords(from: readonly ReadFrom[], answer: Answer): ReadRecord[] {
  const { entries } = JSON.parse(answer.text) as {
    entries: { records: { offset: number; transactionId: string }[] }[];
  };
  const payloads = rawMembers(answer.text, 'payload');
  let next = 0;
  return entries.flatMap(({ records }, i) =>
    records.map(({ offset, transactionId }) => {
      const payload = payloads[next++] ?? '';
      return { partition: from[i]?.place ?? '', offset, transactionId, payload };
    }),
  );
}
