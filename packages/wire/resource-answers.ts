/** Answers about the queues of a tenant, and positions in them, beside those in answers.ts. */
import {
  constant,
  count,
  describedAs,
  either,
  type Infer,
  integer,
  list,
  named,
  nullable,
  object,
  oneOf,
  optional,
  record,
  stamp,
  stampMs,
  text,
  truth,
  uuid,
} from '@svc/schema';
import { nextAfter } from './page-answers.js';

export const overviewLag = named(
  'OverviewLag',
  object({ avg: count, median: constant(0), min: constant(0), max: count }),
);
export type OverviewLag = Infer<typeof overviewLag>;

/** inspection 6.1. `failed`, `median` and `min` are part of the shape and always 0. */
export const overviewAnswer = object({
  queues: count,
  partitions: count,
  namespaces: count,
  tasks: count,
  messages: object({
    total: count,
    pending: count,
    processing: count,
    completed: count,
    failed: constant(0),
    deadLetter: count,
  }),
  lag: object({ time: overviewLag, offset: overviewLag }),
  timestamp: stampMs,
  statsAge: describedAs('Seconds; 0, because the figures are counted for the answer.', constant(0)),
});
export type OverviewAnswer = Infer<typeof overviewAnswer>;

const LABEL_FIGURES = {
  queues: count,
  partitions: count,
  messages: object({ total: count, pending: count }),
};

/** inspection 6.2; `pending` excludes what is leased. */
const labelFigures = object(LABEL_FIGURES);
export type LabelFigures = Infer<typeof labelFigures>;

export const namespaceRow = object({ namespace: text, ...LABEL_FIGURES });

export const namespacesAnswer = object({ namespaces: list(namespaceRow), nextAfter });
export type NamespacesAnswer = Infer<typeof namespacesAnswer>;

export const taskRow = object({ task: text, ...LABEL_FIGURES });

export const tasksAnswer = object({ tasks: list(taskRow), nextAfter });
export type TasksAnswer = Infer<typeof tasksAnswer>;

export const rankedPartitionRow = object({
  queue: text,
  partition: text,
  id: uuid,
  pending: count,
  processing: count,
  lagSeconds: describedAs('`null`: everything is consumed.', nullable(count)),
});

/** message-plane 8, inspection 6.3; `pending` includes what is leased. */
export const partitionRankingAnswer = object({
  partitions: list(rankedPartitionRow),
  walked: count,
  truncated: truth,
});
export type PartitionRankingAnswer = Infer<typeof partitionRankingAnswer>;

/** message-plane 15. */
export const queueSizesAnswer = object({
  queue: text,
  partitions: describedAs('Retained bytes by partition name.', record(count)),
  truncated: optional(constant(true)),
  nextAfter,
});
export type QueueSizesAnswer = Infer<typeof queueSizesAnswer>;

export const changedPartitionRow = object({
  name: text,
  id: uuid,
  lastOffset: describedAs('-1: nothing was ever written.', integer),
  logStart: count,
  lastWriteAt: stamp,
});

export const changedPageAnswer = object({
  queue: text,
  partitions: list(changedPartitionRow),
  next: describedAs('`null`: there are no more partitions.', nullable(text)),
});
export type ChangedPageAnswer = Infer<typeof changedPageAnswer>;

const changedEntryError = oneOf('UNKNOWN_TOPIC_OR_PARTITION', 'BAD_CURSOR');

export const changedEntryErrorAnswer = object({ queue: text, error: changedEntryError });
export type ChangedEntryErrorAnswer = Infer<typeof changedEntryErrorAnswer>;

/** message-plane 10. */
export const changedAnswer = object({
  safeTime: stamp,
  safeTimeDegraded: constant(false),
  entries: list(either(changedPageAnswer, changedEntryErrorAnswer)),
});
export type ChangedAnswer = Infer<typeof changedAnswer>;

export const foundOffsetAnswer = object({
  queue: text,
  partition: text,
  offset: nullable(count),
  ts: nullable(stamp),
  highWatermark: count,
  logStartOffset: count,
  error: optional(constant('UNKNOWN_TOPIC_OR_PARTITION')),
});

/** message-plane 15: the first offset appended at or after a time. */
export const fetchOffsetsAnswer = object({ entries: list(foundOffsetAnswer) });
export type FetchOffsetsAnswer = Infer<typeof fetchOffsetsAnswer>;
