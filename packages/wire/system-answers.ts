/** Status of queues, and the system routes that say what this build is (inspection 4, 7, 8.3). */
import {
  constant,
  count,
  describedAs,
  emptyList,
  type Infer,
  integer,
  list,
  nullable,
  object,
  optional,
  stamp,
  text,
  truth,
  uuid,
} from '@svc/schema';
import { messageFigures, partitionRow, queueRow } from './answers.js';
import { healthStatus, nodeRole, raftFigures } from './node-answers.js';
import { nextAfter } from './page-answers.js';

/** inspection 4.2. */
export const statusQueuesAnswer = object({ queues: list(queueRow) });
export type StatusQueuesAnswer = Infer<typeof statusQueuesAnswer>;

/** inspection 4.3. */
export const statusQueueAnswer = object({
  queue: object({
    id: uuid,
    name: text,
    namespace: text,
    task: text,
    priority: integer,
    createdAt: stamp,
    config: object({ leaseTime: integer }),
  }),
  partitions: list(partitionRow),
  partitionsTruncated: optional(constant(true)),
  totals: object({ messages: messageFigures }),
  nextAfter,
});
export type StatusQueueAnswer = Infer<typeof statusQueueAnswer>;

/** inspection 7. */
export const statsRefreshAnswer = object({
  success: constant(true),
  refreshed: constant(false),
  engine: constant('raft'),
});

export const sharedStateAnswer = object({
  enabled: constant(true),
  reason: constant('raft_state_machine'),
  appliedIndex: count,
  durableIndex: count,
  queues: count,
});
export type SharedStateAnswer = Infer<typeof sharedStateAnswer>;

/** The answer of a cluster that is linked to no other. */
export const linkAnswer = object({ role: constant('primary'), leader: truth });
export type LinkAnswer = Infer<typeof linkAnswer>;

/** inspection 8.3: the process, and the parts of it that other protocols speak to. */
export const processStatusAnswer = object({
  engine: constant('raft'),
  version: text,
  serverId: text,
  nodeId: integer,
  hostname: nullable(text),
  pid: integer,
  uptimeSeconds: count,
  status: healthStatus,
  role: nodeRole,
  memory: object({ rss: count }),
  raft: raftFigures,
  kafka: describedAs(
    'This build does not include it.',
    object({ mode: constant('off'), phase: constant('stopped') }),
  ),
  s3: describedAs(
    'This build does not include it.',
    object({
      mode: constant('off'),
      phase: constant('stopped'),
      threads: constant(0),
      controlPlane: constant(false),
      sinks: emptyList,
    }),
  ),
});
export type ProcessStatusAnswer = Infer<typeof processStatusAnswer>;
