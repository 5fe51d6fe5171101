/** Schemas of the names of ephemeral queues, partitions and groups (state-surfaces 4). */
import { describedAs, matching, nullable, optional } from '@svc/schema';

const NAME = '[^\\u0000-\\u001f]{1,512}';

export const queueName = describedAs('1 to 512 bytes.', matching(new RegExp(`^${NAME}$`, 'u')));

/** Empty is as good as absent. */
const otherName = matching(new RegExp(`^(?:${NAME})?$`, 'u'));

export const partitionName = optional(
  describedAs('`Default` when absent, null or empty.', nullable(otherName)),
);

export const groupName = optional(
  describedAs('One shared cursor when absent, null or empty.', nullable(otherName)),
);
