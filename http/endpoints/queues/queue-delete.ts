/** DELETE /api/v1/resources/queues/{queue} (message-plane 8): 200 whether or not it existed. */
import type { DeletedOutcome, DeleteQueueCommand } from '@svc/engine';
import { queueDeletedAnswer } from '@svc/wire';
import type { Exchange } from '../../exchange/exchange.js';
import { nameBudgetRefusal } from '../../exchange/name-budget.js';
import { answer, endpoint } from '../../routing/endpoint.js';
import type { Front, RouteRequest } from '../../routing/route.js';
import { sendAnswer } from '../../routing/send-answer.js';
import { type OutcomeRenderer, submit } from '../../routing/submit.js';

export const queueDeleteEndpoint = endpoint({
  at: 'DELETE /api/v1/resources/queues/{queue}',
  level: 'admin',
  tag: 'queues',
  summary: 'Delete a queue with all that belongs to it.',
  answers: {
    200: answer('Whether it existed.', queueDeletedAnswer),
  },
  handle,
});

const renderer: OutcomeRenderer<DeleteQueueCommand, 'deleted'> = { kind: 'deleted', render };

function handle(front: Front, request: RouteRequest): void {
  const { exchange, tenant, params } = request;
  const [queue = ''] = params;
  const command: DeleteQueueCommand = { kind: 'delete-queue', tenant, queue };
  // No queue can have a name that no key can hold.
  if (nameBudgetRefusal(tenant, queue, '', '') !== null) {
    render(exchange, command, { kind: 'deleted', existed: false });
  } else submit(front, exchange, command, renderer);
}

function render(exchange: Exchange, command: DeleteQueueCommand, outcome: DeletedOutcome): void {
  const { queue } = command;
  sendAnswer(
    exchange,
    '200 OK',
    queueDeletedAnswer,
    outcome.existed
      ? { deleted: true, existed: true, queue }
      : {
          deleted: false,
          existed: false,
          queue,
          message: 'Queue not found, nothing was deleted',
        },
  );
}
