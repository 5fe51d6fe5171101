/**
 * Commands that move or end what a consumer group has on many partitions at once (message-plane 9,
 * inspection 3.4 to 3.6), and their outcome. How they are carried out stands in `group-changes.ts`.
 */
import { type ChoiceOf, kind } from '../fields/choice.js';
import { count, flag, nullable, uuid } from '../fields/field.js';
import { name, namesFit, tenant } from './names.js';

const base = {
  tenant,
  /**
   * Drawn once for what the client asked and the same however often the command is sent: what takes
   * many turns is found again by it, under any leader.
   */
  changeId: uuid,
  consumerGroup: name,
};

export const groupCommands = {
  /** Puts cursors to the end, or before the first append stamped at or after an instant. */
  seek: kind(
    8,
    {
      ...base,
      queue: name,
      /** null: every partition of the queue. */
      partition: nullable(name),
      /** null: the end. */
      targetUs: nullable(count),
    },
    ({ queue, consumerGroup, partition }) => namesFit(queue, consumerGroup, partition ?? ''),
  ),
  /** Forgets cursors and, if asked to, registrations. */
  'delete-group': kind(
    9,
    {
      ...base,
      /** null: every queue of the tenant. */
      queue: nullable(name),
      deleteMetadata: flag,
    },
    ({ queue, consumerGroup }) => namesFit(queue ?? '', consumerGroup, ''),
  ),
  /** Gives every registration of the group another start point. */
  'subscribe-group': kind(10, { ...base, atUs: count }, ({ consumerGroup }) =>
    namesFit('', consumerGroup, ''),
  ),
};
export type GroupCommand = ChoiceOf<'kind', typeof groupCommands>;
export type SeekCommand = Extract<GroupCommand, { readonly kind: 'seek' }>;
export type DeleteGroupCommand = Extract<GroupCommand, { readonly kind: 'delete-group' }>;
export type SubscribeGroupCommand = Extract<GroupCommand, { readonly kind: 'subscribe-group' }>;

export const groupOutcomes = {
  'group-changed': kind(9, {
    /** Queues that were looked at; of a seek to a partition that does not exist, none. */
    queues: count,
    /** Cursors put somewhere, cursors forgotten, or registrations rewritten. */
    changed: count,
  }),
};
export type GroupChangedOutcome = ChoiceOf<'kind', typeof groupOutcomes>;
