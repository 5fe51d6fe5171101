/** POST /api/v1/partitions/changed (message-plane 10). */
import type { Answer } from '@svc/http/api';
import { expect } from 'vitest';
import { sleep } from '../../process/node-under-test.js';
import { bodyOf } from '../broker-api.js';
import type { BrokerUnderTest } from '../broker-under-test.js';
import { CHANGED, changedEntries, changedPage, fetchEntries, names, STAMP } from '../positions.js';
import type { ContractTable } from '../table.js';

type ChangedAnswer = Answer<'POST /api/v1/partitions/changed'>;
type ChangedPageAnswer = Extract<
  ChangedAnswer['entries'][number],
  { readonly partitions: unknown }
>;

/** Writes one message to each of the partitions, one after the other, by the same node. */
async function writeAll(one: BrokerUnderTest, partitions: readonly string[]): Promise<void> {
  for (const name of partitions)
    await one.api.push([{ queue: one.queue, partition: name, payload: 1 }]);
}

export const changed: ContractTable = {
  section: 'message-plane 10 partitions/changed',
  rows: [
    {
      row: 'too many entries',
      does: '1,025',
      send: `POST ${CHANGED}`,
      body: { entries: Array.from({ length: 1025 }, () => ({ queue: 'none' })) },
      answer: { status: 400, error: 'too many entries' },
    },
    ...(
      [
        ['"yesterday"', '"yesterday"'],
        ['"2026-10-09"', '"2026-10-09"'],
        ['1791536400000', '1791536400000'],
        ['[]', '[]'],
      ] as const
    ).map(([since, shown]) => ({
      row: 'since is not a timestamp',
      does: `${since} in the second entry`,
      send: `POST ${CHANGED}`,
      body: `{"entries":[{"queue":"{queue}"},{"queue":"{queue}","since":${since}}]}`,
      answer: {
        status: 400,
        error: `bad body: entry 1: since is not a timestamp: ${shown}`,
      },
    })),
    {
      row: 'missing entries',
      does: 'is none',
      run: async ({ client }) => {
        const answer = bodyOf(await client.post(CHANGED, {}), 200) as ChangedAnswer;
        expect(answer).toEqual({
          safeTime: expect.stringMatching(STAMP),
          safeTimeDegraded: false,
          entries: [],
        });
      },
    },
    ...(
      [
        [1, 1],
        [2, 2],
        [0, 1],
        [-7, 1],
        [5000, 3],
        [null, 3],
      ] as const
    ).map(([limit, count]) => ({
      row: 'limit',
      does: `${limit} shows ${count} of three`,
      run: async (broker: BrokerUnderTest) => {
        const one = broker.sameNode;
        await writeAll(one, ['a', 'b', 'c']);
        expect(names(await changedPage(one, { limit }))).toHaveLength(count);
      },
    })),
    {
      row: 'limit',
      does: '1,000 when it is not said',
      run: async (broker) => {
        const one = broker.sameNode;
        const { api, queue } = one;
        const items = Array.from({ length: 1001 }, (_, i) => ({ partition: `p${i}` }));
        await api.push(items.map((item) => ({ queue, ...item, payload: 0 })));
        const first = await changedPage(one, {});
        const second = await changedPage(one, { after: first.next });
        expect([first.partitions.length, second.partitions.length]).toEqual([1000, 1]);
        expect([typeof first.next, second.next]).toEqual(['string', null]);
      },
    },
    {
      row: 'answer',
      does: 'members in their order; lastOffset -1 when nothing was written',
      run: async (broker) => {
        const one = broker.sameNode;
        const { api, client, queue } = one;
        await api.configure(queue, {});
        await api.pushIds(queue, 'p', ['a', 'b']);
        const [unwritten, written] = (await api.detail(queue)).partitions;
        const { text } = await client.post(CHANGED, { entries: [{ queue }] });
        const { safeTime } = JSON.parse(text) as ChangedAnswer;
        expect(text).toBe(
          `{"safeTime":"${safeTime}","safeTimeDegraded":false,"entries":[{"queue":"${queue}",` +
            `"partitions":[{"name":"Default","id":"${unwritten?.id}","lastOffset":-1,` +
            `"logStart":0,"lastWriteAt":"${unwritten?.createdAt}"},{"name":"p",` +
            `"id":"${written?.id}","lastOffset":1,"logStart":0,` +
            `"lastWriteAt":"${written?.lastActivity}"}],"next":null}]}`,
        );
      },
    },
    {
      row: 'UNKNOWN_TOPIC_OR_PARTITION',
      does: 'looked at before the cursor',
      run: async (broker) => {
        const entry = { queue: 'none', after: 'bad' };
        const { entries } = await changedEntries(broker, [entry]);
        expect(entries).toEqual([{ queue: 'none', error: 'UNKNOWN_TOPIC_OR_PARTITION' }]);
      },
    },
    ...['n|x', 't|1', 'p|', 'p|x', 'p|-1', 'p|1 ', 'P|1', 'p1', 5].map((after) => ({
      row: 'BAD_CURSOR',
      does: `${JSON.stringify(after)}; other entries are answered`,
      run: async (broker: BrokerUnderTest) => {
        const one = broker.sameNode;
        const { queue } = one;
        await writeAll(one, ['a']);
        const { entries } = await changedEntries(one, [{ queue, after }, { queue }]);
        expect(entries[0]).toEqual({ queue, error: 'BAD_CURSOR' });
        expect(names(entries[1] as ChangedPageAnswer)).toEqual(['a']);
      },
    })),
    {
      row: 'BAD_CURSOR',
      does: 'null and "" are the start',
      run: async (broker) => {
        const one = broker.sameNode;
        await writeAll(one, ['a']);
        for (const after of [null, '']) {
          expect(names(await changedPage(one, { after }))).toEqual(['a']);
        }
      },
    },
    {
      row: 'creation order',
      does: 'whatever was written last',
      run: async (broker) => {
        const one = broker.sameNode;
        await writeAll(one, ['c', 'a', 'b', 'c']);
        expect(names(await changedPage(one, {}))).toEqual(['c', 'a', 'b']);
      },
    },
    {
      row: 'since inclusive',
      does: 'to the microsecond',
      run: async (broker) => {
        const one = broker.sameNode;
        await writeAll(one, ['a', 'b', 'c']);
        const { partitions } = await changedPage(one, {});
        const since = partitions[1]?.lastWriteAt ?? '';
        expect(names(await changedPage(one, { since }))).toEqual(['b', 'c']);
        const micros = `${Number(since.slice(-7, -1)) + 1}`.padStart(6, '0');
        const after = `${since.slice(0, -7)}${micros}Z`;
        if (micros.length === 6) {
          expect(names(await changedPage(one, { since: after }))).toEqual(['c']);
        }
      },
    },
    {
      row: 'next when the page is full',
      does: 'and only then, so that a last page may be empty; pages do not overlap',
      run: async (broker) => {
        const one = broker.sameNode;
        await writeAll(one, ['a', 'b', 'c', 'd']);
        const first = await changedPage(one, { limit: 2 });
        expect(first.next).toMatch(/^p\|\d+$/);
        const second = await changedPage(one, { limit: 2, after: first.next });
        const third = await changedPage(one, { limit: 2, after: second.next });
        expect([names(first), names(second), names(third)]).toEqual([['a', 'b'], ['c', 'd'], []]);
        expect([typeof second.next, third.next]).toEqual(['string', null]);
        expect((await changedPage(one, { limit: 5 })).next).toBeNull();
      },
    },
    {
      row: 'id changes',
      does: 'when a partition goes and comes again',
      run: async (broker) => {
        const one = broker.sameNode;
        const { client, queue } = one;
        await writeAll(one, ['a']);
        const before = await changedPage(one, {});
        await client.send('DELETE', `/api/v1/resources/queues/${queue}`, '');
        await writeAll(one, ['a']);
        const after = await changedPage(one, { after: before.next });
        expect(names(after)).toEqual(['a']);
        expect(after.partitions[0]?.id).not.toBe(before.partitions[0]?.id);
      },
    },
    {
      row: 'safeTime',
      does: 'covers what this node has answered, and never goes back',
      run: async (broker) => {
        const one = broker.sameNode;
        let last = '';
        for (let i = 0; i < 5; i++) {
          await writeAll(one, [`p${i}`]);
          const { safeTime, entries } = await changedEntries(one, [{ queue: one.queue }]);
          const { partitions } = entries[0] as ChangedPageAnswer;
          expect(safeTime >= (partitions[i]?.lastWriteAt ?? 'none')).toBe(true);
          expect(safeTime > last).toBe(true);
          last = safeTime;
        }
      },
    },
    {
      row: 'safeTime',
      does: 'every node shows every record up to its own safeTime, while all are written to',
      run: async (broker) => {
        const { api, queue, eachNode } = broker;
        await api.pushIds(queue, 'p', ['first']);
        let isOver = false;
        const writing = (async () => {
          const writer = broker.sameNode;
          while (!isOver) await writer.api.push([{ queue, partition: 'p', payload: 0 }]);
        })();
        for (const reader of Array.from({ length: 5 }, () => eachNode).flat()) {
          const { safeTime } = await changedEntries(reader, []);
          const [before] = await fetchEntries(reader, [{ queue, partition: 'p', offset: 0 }]);
          await sleep(30);
          const offset = before?.highWatermark ?? 0;
          const [later] = await fetchEntries(reader, [{ queue, partition: 'p', offset }]);
          for (const { ts } of later?.records ?? []) expect(ts > safeTime).toBe(true);
        }
        isOver = true;
        await writing;
      },
    },
  ],
};
