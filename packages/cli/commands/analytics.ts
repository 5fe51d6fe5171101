/** `analytics`: figures over time, as the routes answer them. */
import { adminCall } from '@svc/client';
import {
  type Command,
  type Flag,
  listIn,
  membersOf,
  type Request,
  reading,
  written,
} from '../command/command.js';

const SPAN: readonly Flag[] = [
  ['--from <time>', 'the first time; an hour ago when absent'],
  ['--to <time>', 'the last time; now when absent'],
];

interface Range {
  readonly from?: string;
  readonly to?: string;
}

interface Figures {
  readonly word: string;
  readonly help: string;
  readonly call: (range: Range) => Request;
  readonly rows?: (body: unknown) => readonly unknown[];
  readonly columns?: string;
}

const series = (body: unknown) => listIn(body, 'series');

const FIGURES: readonly Figures[] = [
  {
    word: 'overview',
    help: 'Show how many queues and messages there are.',
    call: () => adminCall('overview'),
  },
  {
    word: 'queue-lag',
    help: 'Show how old messages were when they were delivered.',
    call: (range) => adminCall('queueLag', range),
    rows: (body) => listIn(body, ''),
    columns: 'AT=bucketTime QUEUE=queueName POPS=popCount AVG-MS=avgLagMs MAX-MS=maxLagMs',
  },
  {
    word: 'queue-ops',
    help: 'Show pushes, pops and acknowledgements of queues.',
    call: (range) => adminCall('queueOps', range),
    rows: series,
    columns:
      'AT=bucket QUEUE=queueName PUSHED=pushMessages POPPED=popMessages ACKED=ackSuccess ' +
      'FAILED=ackFailed | EMPTY=popEmpty PUSH/S=pushPerSecond POP/S=popPerSecond',
  },
  {
    word: 'queue-parked',
    help: 'Show how many pops waited.',
    call: (range) => adminCall('parkedPops', range),
    rows: series,
    columns: 'AT=bucket QUEUE=queueName HOST=hostname PARKED=parkedCount',
  },
  {
    word: 'retention',
    help: 'Show what retention removed.',
    call: (range) => adminCall('retention', range),
    rows: series,
    columns:
      'AT=bucket RETENTION=retentionMsgs COMPLETED=completedRetentionMsgs ' +
      'EVICTION=evictionMsgs TOTAL=totalMsgs',
  },
  {
    word: 'system',
    help: 'Show processor time and memory of the nodes.',
    call: (range) => adminCall('systemMetrics', range),
    rows: (body) => listIn(body, 'replicas'),
    columns: 'HOST=hostname PORT=port:plain POINTS=timeSeries',
  },
  {
    word: 'worker',
    help: 'Show what the nodes worked on.',
    call: (range) => adminCall('workerMetrics', range),
    rows: (body) => listIn(membersOf(body), 'timeSeries'),
    columns:
      'AT=timestamp PUSHED=pushMessages POPPED=popMessages ACKED=ackMessages LAG-MS=avgLagMs | ' +
      'PUSH/S=pushPerSecond POP/S=popPerSecond ACK/S=ackPerSecond',
  },
];

export const analyticsCommands: readonly Command[] = FIGURES.map(
  ({ word, help, call, rows, columns }) =>
    reading({
      name: `analytics ${word}`,
      help,
      flags: SPAN,
      example: `analytics ${word} --from "2h ago"`,
      call: (given) => call(written({ from: given.instant('from'), to: given.instant('to') })),
      ...(rows === undefined ? {} : { rows }),
      ...(columns === undefined ? {} : { columns }),
    }),
);
