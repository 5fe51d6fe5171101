/** POST /api/v1/consumer-groups/positions: what transactions stored, read back. */
import type { Answer } from '@svc/http/api';
import { expect } from 'vitest';
import { bodyOf } from '../broker-api.js';
import type { BrokerUnderTest } from '../broker-under-test.js';
import { GROUP, LeasedBatch } from '../leased-batch.js';
import type { ContractTable } from '../table.js';
import { expectCommit, position } from '../transaction-calls.js';

type GroupPositionsAnswer = Answer<'POST /api/v1/consumer-groups/positions'>;

const PATH = '/api/v1/consumer-groups/positions';

async function ask(
  { client }: BrokerUnderTest,
  ...positions: readonly object[]
): Promise<GroupPositionsAnswer['positions']> {
  const answer = bodyOf(await client.post(PATH, { positions }), 200) as GroupPositionsAnswer;
  return answer.positions;
}

function place(queue: string, more: object = {}) {
  return { queue, consumerGroup: GROUP, partition: 'p', ...more };
}

export const groupPositions: ContractTable = {
  section: 'decisions 29',
  rows: [
    {
      row: 'position',
      does: 'the offset and metadata that a transaction set; an acknowledgement moves it',
      run: async (broker) => {
        const { queue } = broker;
        const batch = await LeasedBatch.take(broker);
        await batch.ack(['b']);
        expect(await ask(broker, place(queue))).toEqual([
          { ...place(queue), offset: 2, metadata: null },
        ]);
        await expectCommit(broker, { positions: [position(queue, 1, { metadata: 'here' })] });
        const other = place(queue, { consumerGroup: 'other' });
        expect(await ask(broker, place(queue), other, place(queue))).toEqual([
          { ...place(queue), offset: 1, metadata: 'here' },
          { ...other, offset: null, metadata: null },
          { ...place(queue), offset: 1, metadata: 'here' },
        ]);
      },
    },
    {
      row: 'no position',
      does: 'after it was forgotten, and in a partition that is not there',
      run: async (broker) => {
        const { queue } = broker;
        await LeasedBatch.take(broker);
        await expectCommit(broker, { positions: [position(queue, 1)] });
        await expectCommit(broker, { positions: [position(queue, null)] });
        const { partition: _, ...unnamed } = place(queue);
        const nowhere = place(queue, { partition: 'nowhere' });
        expect(await ask(broker, place(queue), nowhere, unnamed)).toEqual([
          { ...place(queue), offset: null, metadata: null },
          { ...nowhere, offset: null, metadata: null },
          { ...place(queue, { partition: 'Default' }), offset: null, metadata: null },
        ]);
      },
    },
    {
      row: 'unknown queue',
      does: 'an error beside it, and the others are told',
      run: async (broker) => {
        const { queue } = broker;
        await broker.api.pushIds(queue, 'p', ['a']);
        await expectCommit(broker, { positions: [position(queue, 1)] });
        const [unknown, known] = await ask(broker, place('none'), place(queue));
        const error = 'queue none does not exist';
        expect(unknown).toEqual({ ...place('none'), offset: null, metadata: null, error });
        expect(known).toMatchObject({ offset: 1 });
      },
    },
    {
      row: 'long name',
      does: 'an error beside it, and the others are told',
      run: async (broker) => {
        const { queue } = broker;
        await broker.api.pushIds(queue, 'p', ['a']);
        await expectCommit(broker, { positions: [position(queue, 1)] });
        const [long, known] = await ask(broker, place('x'.repeat(448)), place(queue));
        expect(long?.error).toContain('queue name is 448 bytes');
        expect(known).toMatchObject({ offset: 1 });
      },
    },
    {
      row: 'too many',
      does: '16,384 are answered, one more is refused',
      run: async ({ client }) => {
        const body = (count: number) => ({
          positions: Array.from({ length: count }, () => ({ queue: 'none', consumerGroup: 'g' })),
        });
        const { positions } = bodyOf(
          await client.post(PATH, body(16_384)),
          200,
        ) as GroupPositionsAnswer;
        expect(positions).toHaveLength(16_384);
        const refused = await client.post(PATH, body(16_385));
        expect(refused.status).toBe(400);
        expect(refused.text).toContain('16385 positions in one call, the ceiling is 16384');
      },
    },
    ...['{}', '{"positions":[{"queue":"q"}]}', '{"positions":[{"consumerGroup":"g"}]}'].map(
      (body) => ({
        row: 'shape',
        does: `${body} is refused`,
        send: `POST ${PATH}`,
        body,
        answer: { status: 400, code: 'bad_body' },
      }),
    ),
  ],
};
