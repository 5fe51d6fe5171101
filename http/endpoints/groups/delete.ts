/**
 * DELETE /api/v1/consumer-groups/{group}[/queues/{queue}]?deleteMetadata= (inspection 3.4): 200
 * whether or not there was anything to delete.
 */
import { randomUUID } from 'node:crypto';
import type { DeleteGroupCommand } from '@svc/engine';
import { groupDeletedAnswer } from '@svc/wire';
import type { Exchange } from '../../exchange/exchange.js';
import { nameBudgetRefusal } from '../../exchange/name-budget.js';
import type { GroupDeletedView } from '../../ports/group-service.js';
import { answer, type Description, endpoint, refusal } from '../../routing/endpoint.js';
import { textParameter } from '../../routing/query-parameter.js';
import { viewReply } from '../../routing/reply.js';
import { queryOf } from '../../routing/request-query.js';
import type { Front, RouteRequest } from '../../routing/route.js';
import { sendAnswer } from '../../routing/send-answer.js';

const DELETE_METADATA = textParameter(
  'deleteMetadata',
  '`false`, `0` or `no` keeps the registration with its start point.',
);

function deletion(summary: string): Description {
  return {
    tag: 'consumer groups',
    summary,
    query: [DELETE_METADATA],
    answers: {
      200: answer('Also when there was nothing to delete.', groupDeletedAnswer),
      413: refusal('`name_too_long`'),
    },
  };
}

export const groupDeleteEndpoint = endpoint({
  at: 'DELETE /api/v1/consumer-groups/{group}',
  level: 'admin',
  ...deletion('Deletes a group at every queue.'),
  largeAnswer: 'read',
  handle,
});

export const groupQueueDeleteEndpoint = endpoint({
  at: 'DELETE /api/v1/consumer-groups/{group}/queues/{queue}',
  level: 'admin',
  ...deletion('Deletes a group at one queue.'),
  handle,
});

/** Everything else, and nothing at all, means true. */
const FALSE_WORDS: readonly string[] = ['false', '0', 'no'];

function handle(front: Front, request: RouteRequest): void {
  const { exchange, tenant, params } = request;
  const [group = '', queue = null] = params;
  const query = queryOf(request);
  if (query === null) return;
  const refusal = nameBudgetRefusal(tenant, queue ?? '', group, '');
  if (refusal !== null) {
    exchange.refuse(refusal);
    return;
  }
  const command: DeleteGroupCommand = {
    kind: 'delete-group',
    tenant,
    changeId: randomUUID(),
    consumerGroup: group,
    queue,
    deleteMetadata: !FALSE_WORDS.includes(DELETE_METADATA.of(query).toLowerCase()),
  };
  const reply = viewReply(front, exchange, command, render);
  front.service.groups.delete(command, reply);
}

function render(exchange: Exchange, command: DeleteGroupCommand, outcome: GroupDeletedView): void {
  sendAnswer(exchange, '200 OK', groupDeletedAnswer, {
    success: true,
    consumerGroup: command.consumerGroup,
    queueName: command.queue,
    deletedPartitions: outcome.cursors,
    metadataDeleted: command.deleteMetadata,
    queues: outcome.queues,
  });
}
