/**
 * The statuses of each route (message-plane 12), those that a healthy node can be brought to: each
 * is one request. Levels are shown by the table of authentication.
 */
import type { BrokerUnderTest } from '../broker-under-test.js';
import type { ContractRow, ContractTable } from '../table.js';

const LONG = 'q'.repeat(500);

async function stored({ api, queue }: BrokerUnderTest): Promise<void> {
  await api.pushIds(queue, 'p', ['a']);
}

/** Requests of one route and their statuses; a path, or a path and a body. */
function statuses(
  row: string,
  requests: readonly (readonly [status: number, send: string, body?: unknown])[],
): ContractRow[] {
  return requests.map(([status, send, body]) => ({
    row,
    does: `${status}: ${send.slice(0, 80)}`,
    before: stored,
    send,
    ...(body === undefined ? {} : { body }),
    answer: { status },
  }));
}

const item = (queue: string) => ({ items: [{ queue, payload: 1 }] });
const seek = '/api/v1/consumer-groups/g/queues';
const changed = 'POST /api/v1/partitions/changed';

export const routeStatuses: ContractTable = {
  section: 'message-plane 12',
  rows: [
    ...statuses('push', [
      [201, 'POST /api/v1/push', item('{queue}')],
      [400, 'POST /api/v1/push', {}],
      [413, 'POST /api/v1/push', item(LONG)],
    ]),
    ...statuses('pop', [
      [200, 'GET /api/v1/pop/queue/{queue}'],
      [204, 'GET /api/v1/pop/queue/{queue}/partition/none'],
      [400, 'GET /api/v1/pop'],
      [413, `GET /api/v1/pop/queue/${LONG}`],
    ]),
    ...['/api/v1/ack', '/api/v1/ack/batch'].flatMap((path) =>
      statuses('ack, ack/batch', [
        [200, `POST ${path}`, {}],
        [400, `POST ${path}`, []],
        [413, `POST ${path}`, { consumerGroup: LONG }],
      ]),
    ),
    ...statuses('transaction', [
      [200, 'POST /api/v1/transaction', { operations: [{ type: 'push', ...item('{queue}') }] }],
      [400, 'POST /api/v1/transaction', {}],
      [413, 'POST /api/v1/transaction', { operations: [{ type: 'push', ...item(LONG) }] }],
    ]),
    ...statuses('extend', [[200, 'POST /api/v1/lease/none/extend', {}]]),
    ...statuses('configure', [
      [200, 'POST /api/v1/configure', { queue: '{queue}' }],
      [400, 'POST /api/v1/configure', {}],
      [413, 'POST /api/v1/configure', { queue: LONG }],
    ]),
    ...statuses('queue list', [[200, 'GET /api/v1/resources/queues']]),
    ...statuses('partitions list, queue detail, depth', [
      [200, 'GET /api/v1/resources/partitions'],
      [404, 'GET /api/v1/resources/partitions?queue=none'],
      [200, 'GET /api/v1/resources/queues/{queue}'],
      [404, 'GET /api/v1/resources/queues/none'],
      [200, 'GET /api/v1/resources/queues/{queue}/depth'],
      [404, 'GET /api/v1/resources/queues/none/depth'],
    ]),
    ...statuses('queue delete', [[200, 'DELETE /api/v1/resources/queues/{queue}']]),
    ...statuses('seek', [
      [200, `POST ${seek}/{queue}/seek`, { toEnd: true }],
      [400, `POST ${seek}/{queue}/seek`, {}],
      [404, `POST ${seek}/none/seek`, { toEnd: true }],
      [200, `POST ${seek}/{queue}/partitions/p/seek`, { toEnd: true }],
      [404, `POST ${seek}/{queue}/partitions/none/seek`, { toEnd: true }],
    ]),
    ...statuses('fetch, partitions/changed', [
      [200, 'POST /api/v1/fetch', { entries: [] }],
      [400, 'POST /api/v1/fetch', {}],
      [200, changed, { entries: [] }],
      [400, changed, []],
    ]),
  ],
};
