/** A standby and its source, one node each (standby-link 5, 6); the rows are of the standby. */
import type { HealthAnswer, LinkAnswer } from '@svc/wire';
import { expect } from 'vitest';
import type { Caller } from '../../process/http-client.js';
import { BrokerApi, bodyOf } from '../broker-api.js';
import type { BrokerUnderTest } from '../broker-under-test.js';
import { readUntil } from '../series-reads.js';
import type { ContractTable } from '../table.js';

const LINK = '/api/v1/system/link';
const KEYS = ['role', 'leader', 'id', 'name', 'source', 'sinceUs', 'position', 'configuredSource'];

function sourceOf({ place }: BrokerUnderTest): Caller {
  if (place.source === undefined) throw new Error('this place has no source');
  return place.source;
}

/** What the standby says when it has an entry of its source that was written just now. */
async function followed(broker: BrokerUnderTest): Promise<LinkAnswer> {
  await new BrokerApi(sourceOf(broker)).pushIds(broker.queue, 'p', ['a']);
  return readUntil<LinkAnswer>(broker, '/system/link', ({ follower }) => {
    return follower !== undefined && follower.entries > 0 && follower.lagEntries === 0;
  });
}

/** The members of the contract, in their order; what this release adds comes after them. */
function begins(answer: object, members: readonly string[]): void {
  expect(Object.keys(answer).slice(0, members.length)).toEqual(members);
}

async function linkOfHealth(client: Caller) {
  const { status, raft } = bodyOf(await client.get('/health'), 200) as HealthAnswer;
  expect(status).toBe('healthy');
  return raft.link;
}

async function families(client: Caller): Promise<string[]> {
  const { text } = await client.get('/metrics/prometheus');
  return [...text.matchAll(/^# TYPE svc_link_(\w+ \w+)$/gm)].map(([, found = '']) => found).sort();
}

export const standbyMetrics: ContractTable = {
  section: 'standby-link 6',
  pair: true,
  rows: [
    {
      row: 'where',
      does: 'each side tells its own families, and the others are not there',
      run: async (broker) => {
        await followed(broker);
        expect(await families(broker.client)).toEqual([
          'entries_total counter',
          'follower_state gauge',
          'lag_entries gauge',
          'lag_seconds gauge',
          'last_answer_seconds gauge',
          'position_index gauge',
          'role gauge',
        ]);
        expect(await families(sourceOf(broker))).toEqual([
          'holding gauge',
          'reader_behind_entries gauge',
          'reader_idle_seconds gauge',
          'readers gauge',
          'role gauge',
        ]);
      },
    },
  ],
};

export const standbyRoutes: ContractTable = {
  section: 'standby-link 5',
  pair: true,
  rows: [
    {
      row: 'standby (leader)',
      does: 'its members, in their order',
      run: async (broker) => {
        const found = await followed(broker);
        begins(found, [...KEYS, 'follower']);
        const source = found.source ?? '';
        expect(found).toMatchObject({
          role: 'standby',
          leader: true,
          id: expect.stringMatching(/^[0-9a-f]{8}$/),
          name: `standby-${found.id}`,
          configuredSource: [source],
          follower: { state: 'following', source, lagEntries: 0, lagMs: 0, error: null },
        });
        expect(found.follower?.scanned).toBeGreaterThanOrEqual(found.position?.index ?? 1);
      },
    },
    {
      row: 'source with readers',
      does: 'the standby, by its name, and that the log is kept',
      run: async (broker) => {
        const { name } = await followed(broker);
        const found = bodyOf(await sourceOf(broker).get(LINK), 200) as LinkAnswer;
        begins(found, ['role', 'leader', 'readers', 'holding']);
        expect(found).toMatchObject({ role: 'primary', holding: true, readers: [{ name }] });
        begins(found.readers?.[0] ?? {}, ['name', 'after', 'idleMs']);
      },
    },
    {
      row: '/health',
      does: 'the same without `leader`, on both sides',
      run: async (broker) => {
        await followed(broker);
        const standby = await linkOfHealth(broker.client);
        const keys = KEYS.filter((key) => key !== 'leader');
        begins(standby ?? {}, [...keys, 'follower']);
        const source = await linkOfHealth(sourceOf(broker));
        begins(source ?? {}, ['role', 'readers', 'holding']);
      },
    },
    {
      row: 'promote: 200',
      does: 'what it is now, whatever the body; asked again, the same',
      run: async (broker) => {
        const { id } = await followed(broker);
        const { client, api, queue } = broker;
        const first = await client.post(`${LINK}/promote`, 'anything');
        expect(bodyOf(first, 200)).toMatchObject({ role: 'promoted', leader: true, id });
        const again = await client.post(`${LINK}/promote`, '');
        expect([again.status, again.text]).toEqual([200, first.text]);
        await api.pushIds(queue, 'p', ['b']);
      },
    },
    {
      row: 'promoted',
      does: 'its members, in their order, here and in /health; its source is told nothing',
      run: async (broker) => {
        const { client } = broker;
        await client.post(`${LINK}/promote`, '');
        const found = bodyOf(await client.get(LINK), 200) as LinkAnswer;
        const keys = ['role', 'leader', 'id', 'source', 'promotedAtUs', 'position'];
        begins(found, [...keys, 'configuredSource']);
        const { leader: _, ...shown } = found;
        expect(await linkOfHealth(client)).toEqual(shown);
        expect(await families(client)).toEqual(['position_index gauge', 'role gauge']);
        expect(await linkOfHealth(sourceOf(broker))).toMatchObject({ role: 'primary' });
      },
    },
  ],
};
