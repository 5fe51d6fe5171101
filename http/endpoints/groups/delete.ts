/**
 * DELETE /api/v1/consumer-groups/{group}[/queues/{queue}]?deleteMetadata= (inspection 3.4): 200
 * whether or not there was anything to delete.
 */
import { randomUUID } from 'node:crypto';
import type { DeleteGroupCommand } from '@svc/engine';
import { groupDeletedAnswer } from '@svc/wire';
import type { Exchange } from '../../exchange/exchange.js';
import type { GroupDeletedView } from '../../ports/group-service.js';
import { answer, endpoint, refusal } from '../../routing/endpoint.js';
import { textParameter } from '../../routing/query-parameter.js';
import { sendAnswer, viewReply } from '../../routing/reply.js';
import type { Call, Front } from '../../routing/route.js';

const deletion = {
  tag: 'consumer groups',
  query: {
    deleteMetadata: textParameter(
      '`false`, `0` or `no` keeps the registration with its start point.',
    ),
  },
  answers: {
    200: answer('Also when there was nothing to delete.', groupDeletedAnswer),
    413: refusal('`name_too_long`'),
  },
} as const;

export const groupDeleteEndpoint = endpoint({
  at: 'DELETE /api/v1/consumer-groups/{group}',
  level: 'admin',
  ...deletion,
  summary: 'Deletes a group at every queue.',
  largeAnswer: 'read',
  names: ({ params }) => params,
  handle: (front, call) => deleteGroup(front, call, call.params.group, null),
});

export const groupQueueDeleteEndpoint = endpoint({
  at: 'DELETE /api/v1/consumer-groups/{group}/queues/{queue}',
  level: 'admin',
  ...deletion,
  summary: 'Deletes a group at one queue.',
  names: ({ params }) => params,
  handle: (front, call) => deleteGroup(front, call, call.params.group, call.params.queue),
});

/** Everything else, and nothing at all, means true. */
const FALSE_WORDS: readonly string[] = ['false', '0', 'no'];

function deleteGroup(
  front: Front,
  { exchange, tenant, query }: Call<unknown, { readonly deleteMetadata: string }>,
  group: string,
  queue: string | null,
): void {
  const command: DeleteGroupCommand = {
    kind: 'delete-group',
    tenant,
    changeId: randomUUID(),
    consumerGroup: group,
    queue,
    deleteMetadata: !FALSE_WORDS.includes(query.deleteMetadata.toLowerCase()),
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
