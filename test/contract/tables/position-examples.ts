/** The examples of depth, partitions, fetch and changed (message-plane 14). */
import type { Answer } from '@svc/http/api';
import type { FetchAnswer, PushResult } from '@svc/wire';
import { expect } from 'vitest';
import { bodyOf } from '../broker-api.js';
import { CHANGED, FETCH } from '../positions.js';
import type { ContractTable } from '../table.js';

type ChangedAnswer = Answer<'POST /api/v1/partitions/changed'>;
type ChangedPageAnswer = Extract<
  ChangedAnswer['entries'][number],
  { readonly partitions: unknown }
>;
type PartitionRankingAnswer = Answer<'GET /api/v1/resources/partitions'>;

const QUEUE = 'ship.labels';

export const positionExamples: ContractTable = {
  section: 'message-plane 14',
  rows: [
    {
      row: 'partitions',
      does: 'the example',
      run: async ({ api, client }) => {
        await api.pushIds(QUEUE, 'cust-7', ['a', 'b', 'c', 'd']);
        await api.pushIds(QUEUE, 'Default', ['e']);
        await api.popPartition(QUEUE, 'cust-7', { consumerGroup: 'printer', batch: 2 });
        const [, second] = (await api.detail(QUEUE)).partitions;
        const path = `/api/v1/resources/partitions?queue=${QUEUE}&limit=1`;
        const answer = bodyOf(await client.get(path), 200) as PartitionRankingAnswer;
        const lagSeconds = answer.partitions[0]?.lagSeconds;
        expect(JSON.stringify(answer)).toBe(
          `{"partitions":[{"queue":"ship.labels","partition":"cust-7","id":"${second?.id}",` +
            `"pending":4,"processing":2,"lagSeconds":${lagSeconds}}],"walked":2,` +
            '"truncated":false}',
        );
      },
    },
    {
      row: 'depth',
      does: 'the example',
      run: async ({ api, client }) => {
        await api.pushIds(QUEUE, 'cust-7', ['a', 'b', 'c', 'd']);
        await api.pushIds(QUEUE, 'Default', ['e']);
        await api.popPartition(QUEUE, 'cust-7', { consumerGroup: 'printer', batch: 2 });
        const path = `/api/v1/resources/queues/${QUEUE}/depth?group=printer`;
        expect((await client.get(path)).text).toBe(
          '{"queue":"ship.labels","group":"printer","pending":5,"processing":2,"ready":3,' +
            '"partitionsPending":2,"partitionsReady":2,"conflation":false,' +
            '"effectivePending":5,"effectiveReady":3,"partitions":[' +
            '{"partition":"Default","pending":1,"processing":0,"ready":1},' +
            '{"partition":"cust-7","pending":4,"processing":2,"ready":2}]}',
        );
      },
    },
    {
      row: 'fetch',
      does: 'the example',
      run: async (broker) => {
        const { client } = broker.sameNode;
        const items = `[{"queue":"${QUEUE}","partition":"cust-7","transactionId":"lbl-1",
          "payload":{"n":1.50}}]`;
        await client.post('/api/v1/push', `{"items":${items}}`);
        const entries =
          '[{"queue":"ship.labels","partition":"cust-7","offset":0},{"queue":"nope","offset":0},' +
          '{"queue":"ship.labels","partition":"cust-7","offset":99}]';
        const { text } = await client.post(FETCH, `{"entries":${entries}}`);
        const ts = (JSON.parse(text) as FetchAnswer).entries[0]?.records[0]?.ts ?? '';
        expect(text).toBe(
          '{"entries":[{"queue":"ship.labels","partition":"cust-7","records":[{"offset":0,' +
            `"transactionId":"lbl-1","payload":{"n":1.50},"ts":"${ts}"}],"highWatermark":1,` +
            '"logStartOffset":0},{"queue":"nope","partition":"Default","records":[],' +
            '"highWatermark":0,"logStartOffset":0,"error":"UNKNOWN_TOPIC_OR_PARTITION"},' +
            '{"queue":"ship.labels","partition":"cust-7","records":[],"highWatermark":1,' +
            '"logStartOffset":0,"error":"OFFSET_OUT_OF_RANGE"}]}',
        );
      },
    },
    {
      row: 'changed',
      does: 'the example',
      run: async (broker) => {
        const { api, client } = broker.sameNode;
        const [pushed] = await api.pushIds(QUEUE, 'cust-7', ['lbl-1']);
        expect((pushed as PushResult).status).toBe('queued');
        const [row] = (await api.detail(QUEUE)).partitions;
        const entries = '[{"queue":"ship.labels","limit":1},{"queue":"ship.labels","after":"n|x"}]';
        const { text } = await client.post(CHANGED, `{"entries":${entries}}`);
        const answer = JSON.parse(text) as ChangedAnswer;
        const { next } = answer.entries[0] as ChangedPageAnswer;
        expect(next).toMatch(/^p\|\d+$/);
        expect(text).toBe(
          `{"safeTime":"${answer.safeTime}","safeTimeDegraded":false,"entries":[` +
            `{"queue":"ship.labels","partitions":[{"name":"cust-7","id":"${row?.id}",` +
            `"lastOffset":0,"logStart":0,"lastWriteAt":"${row?.lastActivity}"}],` +
            `"next":"${next}"},{"queue":"ship.labels","error":"BAD_CURSOR"}]}`,
        );
      },
    },
  ],
};
