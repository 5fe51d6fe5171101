/** What a transaction is refused for before it is planned (message-plane 6, 13 D16). */
import { expect } from 'vitest';
import type { ContractRow } from '../table.js';
import { expectCommit, PATH, position, push, refused } from '../transaction-calls.js';

export const NO_PARTS = 'transaction requires an operations array (or a top-level kv/timers array)';
export const TOP_LEVEL =
  'kv and timer operations are TOP-LEVEL arrays of the request ("kv":[...], "timers":[...]), ' +
  'never elements of `operations`';
const NO_TYPE = 'every transaction operation needs a `type` of push or ack';
const NO_PUSH = 'a push operation needs queue and payload';

export const transactionRefusals: readonly ContractRow[] = [
  ...refused('bad body', [
    ['[]', 'bad body: the body must be an object'],
    ['{"operations":', 'bad body: '],
    ['{"operations":{}}', 'bad body: operations must be an array'],
    ['{"positions":3}', 'bad body: positions must be an array'],
    ['{"requiredLeases":"L"}', 'bad body: requiredLeases must be an array'],
    ['{"operations":[7]}', 'bad body: an operation must be an object'],
    [
      '{"operations":[{"type":"ack","transactionId":"a","partitionId":12}]}',
      'bad body: partitionId must be a string',
    ],
  ]),
  ...refused('transaction requires an operations array', [
    ['{}', NO_PARTS],
    ['{"operations":[],"kv":null,"timers":[],"positions":[]}', NO_PARTS],
    ['{"requiredLeases":["L"]}', NO_PARTS],
  ]),
  ...refused('a push operation needs queue and payload', [
    ['{"operations":[{"type":"push"}]}', NO_PUSH],
    ['{"operations":[{"type":"push","queue":"q","data":1}]}', NO_PUSH],
    ['{"operations":[{"type":"push","items":[{"payload":1}]}]}', NO_PUSH],
  ]),
  ...refused('partitionId is not a partition id', [
    ['{"operations":[{"type":"ack","transactionId":"a"}]}', 'partitionId is not a partition id'],
    [
      '{"operations":[{"type":"ack","transactionId":"a","partitionId":"p"}]}',
      'partitionId is not a partition id',
    ],
  ]),
  ...refused('every transaction operation needs a `type`', [
    ['{"operations":[{}]}', NO_TYPE],
    ['{"operations":[{"type":null}]}', NO_TYPE],
    ['{"operations":[{"type":1}]}', NO_TYPE],
  ]),
  ...refused('supports only push and ack operations', [
    [
      '{"operations":[{"queue":"q","type":"pop"}]}',
      'transaction supports only push and ack operations, got `pop`',
    ],
  ]),
  ...refused('kv and timer operations are TOP-LEVEL', [
    ['{"operations":[{"type":"kv"}]}', TOP_LEVEL],
    ['{"operations":[{"type":"timer","op":"cancel"}]}', TOP_LEVEL],
  ]),
  ...refused('kv and timers legs', [
    ['{"timers":[{"op":"cancel"}]}', 'op at index 0: queue is required'],
    ['{"kv":{}}', 'bad body: kv must be an array'],
  ]),
  ...refused('positions[i]: queue is required', [
    ['{"positions":[{"consumerGroup":"g","offset":1}]}', 'positions[0]: queue is required'],
    ['{"positions":[{"queue":null}]}', 'positions[0]: queue is required'],
  ]),
  ...refused('positions[i]: consumerGroup is required', [
    ['{"positions":[{"queue":"q","offset":1}]}', 'positions[0]: consumerGroup is required'],
  ]),
  ...refused('positions[i]: a position is an object', [
    ['{"positions":[null]}', 'positions[0]: a position is an object'],
  ]),
  ...refused('positions[i]: offset is required', [
    [
      '{"positions":[{"queue":"q","consumerGroup":"g"}]}',
      'positions[0]: offset is required (null forgets the position)',
    ],
  ]),
  ...refused(
    'positions[i]: offset is a non-negative integer',
    ['-1', '0.5', '"1"', 'true'].map((offset) => [
      `{"positions":[{"queue":"q","consumerGroup":"g","offset":${offset}}]}`,
      'positions[0]: offset is a non-negative integer or null',
    ]),
  ),
  ...refused('positions[i]: metadata is a string', [
    [
      '{"positions":[{"queue":"q","consumerGroup":"g","offset":1,"metadata":{}}]}',
      'positions[0]: metadata is a string',
    ],
  ]),
  {
    row: 'the ceiling is 16384',
    does: '16,385 positions are refused, 16,384 are taken',
    run: async (broker) => {
      const { client, queue } = broker;
      await broker.api.pushIds(queue, 'p', ['a']);
      const one = position(queue, 1);
      const many = await client.post(PATH, { positions: Array(16_385).fill(one) });
      expect(many.status).toBe(400);
      expect(JSON.parse(many.text)).toMatchObject({
        reason: 'bad_request',
        error: '16385 positions in one call, the ceiling is 16384',
      });
      const { results } = await expectCommit(broker, { positions: Array(16_384).fill(one) });
      expect(results).toHaveLength(16_384);
    },
  },
  {
    row: '413 names',
    does: 'a pushed queue or an acking group that no key can hold',
    run: async ({ client }) => {
      const name = 'n'.repeat(500);
      const acks = { type: 'ack', transactionId: 'a', partitionId: '1', consumerGroup: name };
      for (const operation of [push(name, 'x'), acks]) {
        const answer = await client.post(PATH, { operations: [operation] });
        expect(answer.status).toBe(413);
        expect(JSON.parse(answer.text)).toMatchObject({ code: 'name_too_long' });
      }
    },
  },
  {
    row: 'push op transactionId',
    does: 'over 65,535 bytes is refused, as long as that is taken',
    run: async (broker) => {
      const { client, queue } = broker;
      const at = (length: number) => ({ operations: [push(queue, 'x'.repeat(length))] });
      const long = await client.post(PATH, at(65_536));
      expect(long.status).toBe(400);
      expect(long.text).toContain('transactionId exceeds the 65535-byte limit');
      await expectCommit(broker, at(65_535));
    },
  },
];
