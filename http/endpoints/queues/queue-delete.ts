/** DELETE /api/v1/resources/queues/{queue} (message-plane 8): 200 whether or not it existed. */
import type { DeleteQueueCommand } from '@svc/engine';
import { queueDeletedAnswer } from '@svc/wire';
import type { Exchange } from '../../exchange/exchange.js';
import { answer, endpoint } from '../../routing/endpoint.js';
import { sendAnswer } from '../../routing/reply.js';
import { type OutcomeRenderer, submit } from '../../routing/submit.js';

export const queueDeleteEndpoint = endpoint({
  at: 'DELETE /api/v1/resources/queues/{queue}',
  level: 'admin',
  tag: 'queues',
  summary: 'Delete a queue with all that belongs to it.',
  answers: {
    200: answer('Whether it existed.', queueDeletedAnswer),
  },
  names: ({ params }) => params,
  // No queue can have a name that no key can hold.
  tooLong: ({ exchange, params: { queue } }) => sendDeleted(exchange, queue, false),
  handle: (front, { exchange, tenant, params: { queue } }) =>
    submit(front, exchange, { kind: 'delete-queue', tenant, queue }, renderer),
});

const renderer: OutcomeRenderer<DeleteQueueCommand, 'deleted'> = {
  kind: 'deleted',
  render: (exchange, { queue }, { existed }) => sendDeleted(exchange, queue, existed),
};

function sendDeleted(exchange: Exchange, queue: string, existed: boolean): void {
  sendAnswer(
    exchange,
    '200 OK',
    queueDeletedAnswer,
    existed
      ? { deleted: true, existed: true, queue }
      : {
          deleted: false,
          existed: false,
          queue,
          message: 'Queue not found, nothing was deleted',
        },
  );
}
