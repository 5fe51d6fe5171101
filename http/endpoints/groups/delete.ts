/**
 * DELETE /api/v1/consumer-groups/{group}[/queues/{queue}]?deleteMetadata= (inspection 3.4): 200
 * whether or not there was anything to delete.
 */
import { randomUUID } from 'node:crypto';
import type { DeleteGroupCommand } from '@svc/engine';
import { constant, count, list, nullable, text, truth } from '@svc/schema';
import { shown } from '../../json/shown.js';
import type { GroupDeletedView } from '../../ports/group-service.js';
import { answer, endpoint, refusal } from '../../routing/endpoint.js';
import { textParameter } from '../../routing/query-parameter.js';
import { shownReply } from '../../routing/reply.js';
import type { Call, Front } from '../../routing/route.js';

const groupDeletedAnswer = shown<GroupDeletedView, DeleteGroupCommand>()({
  success: constant(true),
  consumerGroup: [text, (_, { consumerGroup }) => consumerGroup],
  queueName: [nullable(text), (_, { queue }) => queue],
  deletedPartitions: [count, ({ cursors }) => cursors],
  metadataDeleted: [truth, (_, { deleteMetadata }) => deleteMetadata],
  queues: list(text),
});

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
  gateway: 'queue-admin',
  ...deletion,
  summary: 'Deletes a group at every queue.',
  largeAnswer: 'read',
  names: ({ params }) => params,
  handle: (front, call) => deleteGroup(front, call, call.params.group, null),
});

export const groupQueueDeleteEndpoint = endpoint({
  at: 'DELETE /api/v1/consumer-groups/{group}/queues/{queue}',
  level: 'admin',
  gateway: 'queue-admin',
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
  const reply = shownReply(exchange, groupDeletedAnswer, command);
  front.service.groups.delete(command, reply);
}
