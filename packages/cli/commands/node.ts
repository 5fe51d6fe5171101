/** The commands about one server: `ping`, `version`, `status`, `metrics`, `maintenance`. */
import { adminCall } from '@svc/client';
import { EXIT, endingOf } from '../base/errors.js';
import { exactJson } from '../base/exact-json.js';
import { VERSION } from '../base/version.js';
import { type Command, listIn, membersOf, reading } from '../command/command.js';
import type { Given } from '../command/given.js';
import { type List, readPages } from '../command/pages.js';
import type { Run } from '../command/run.js';

const PING_MS = 5000;
export const QUEUES: List = { call: (page) => adminCall('queues', page), member: 'queues' };
const QUEUE_COLUMNS =
  'QUEUE=name NAMESPACE=namespace PENDING=messages.pending PROCESSING=messages.processing ' +
  'COMPLETED=messages.completed FAILED=messages.failed DLQ=messages.deadLetter ' +
  'LAG=lagSeconds:seconds | TASK=task';
const ONE_QUEUE_COLUMNS = QUEUE_COLUMNS.replace(' | ', ' PARTITIONS=partitions | ');
const PARTITION_COLUMNS =
  'PARTITION=name PENDING=messages.pending PROCESSING=messages.processing ' +
  'COMPLETED=messages.completed DLQ=messages.deadLetter OLDEST=oldestMessage';

export const nodeCommands: readonly Command[] = [
  {
    name: 'ping',
    help: 'Ask whether the server is healthy. Ends with 2 when it is not.',
    flags: [['--timeout <duration>', 'how long to wait for the answer', '5s']],
    example: 'ping',
    run: ping,
  },
  {
    name: 'version',
    help: 'Show the version of svcctl, and of the server when it is reached.',
    flags: [['--short', 'the version of svcctl alone', false]],
    example: 'version',
    run: async (run) => {
      const server = run.given.is('short') ? null : await serverVersion(run);
      const text = server === null ? VERSION : `client ${VERSION}\nserver ${server}`;
      return {
        kind: 'said',
        isResult: true,
        text,
        value: server === null ? { client: VERSION } : { client: VERSION, server },
      };
    },
  },
  {
    name: 'status',
    args: '[queue]',
    help: 'Show what is pending, in work and done in the queues, or in one.',
    flags: [
      ['--namespace <name>', 'queues of this namespace'],
      ['--task <name>', 'queues of this task'],
      ['--partitions', 'the partitions of the queue', false],
    ],
    example: 'status orders --partitions',
    run: status,
  },
  {
    name: 'metrics',
    help: 'Show the figures of the node.',
    flags: [['--prometheus', 'in the text form of Prometheus', false]],
    example: 'metrics --prometheus',
    run: async (run) => {
      const isText = run.given.is('prometheus');
      const { body } = await run.call(adminCall(isText ? 'prometheus' : 'metrics'));
      if (!isText) return { kind: 'shown', value: body };
      await run.world.output.write(String(body));
      return { kind: 'ended' };
    },
  },
  ...['get', 'on', 'off'].map((word) =>
    reading({
      name: `maintenance ${word}`,
      help: `${word === 'get' ? 'Show' : 'Turn'} the maintenance mode of servers before 2.0.`,
      example: `maintenance ${word}`,
      call: () =>
        word === 'get'
          ? { method: 'GET', path: '/api/v1/system/maintenance' }
          : {
              method: 'POST',
              path: '/api/v1/system/maintenance',
              body: exactJson({ enabled: word === 'on' }),
            },
    }),
  ),
];

async function ping(run: Run) {
  const timeoutMs = run.given.durationMs('timeout') ?? PING_MS;
  const beganMs = run.world.nowMs();
  const { body } = await run.call({ ...adminCall('health'), timeoutMs });
  const latencyMs = run.world.nowMs() - beganMs;
  const health = membersOf(body);
  const row = {
    status: health.status,
    database: health.database ?? health.engine,
    version: health.version,
    latency: `${latencyMs}ms`,
  };
  const columns = 'STATUS=status DATABASE=database VERSION=version LATENCY=latency';
  const code = health.status === 'healthy' ? EXIT.done : EXIT.server;
  return {
    kind: 'shown',
    value: { ...health, latencyMs },
    rows: [row],
    columns,
    code,
  } as const;
}

/** null: it was not reached, or there is none; who asks for a version has no use for the reason. */
async function serverVersion(run: Run): Promise<string | null> {
  try {
    const { body } = await run.call({ ...adminCall('health'), timeoutMs: PING_MS });
    return String(membersOf(body).version);
  } catch (error) {
    run.world.signal.throwIfAborted();
    const { text } = endingOf(error);
    if (text !== undefined && !text.startsWith('no server')) await run.note(text);
    return null;
  }
}

async function status(run: Run) {
  const queue = run.given.optionalArg(0);
  const lags = await lagsOf(run);
  if (queue === undefined) {
    const found = await readPages(run, QUEUES, { keep: isLabelled(run.given) });
    const rows = found.map((one) => ({ ...one, lagSeconds: lags.get(String(one.name)) }));
    return { kind: 'shown', value: { queues: rows }, rows, columns: QUEUE_COLUMNS } as const;
  }
  const { body } = await run.call(adminCall('queueStatus', queue));
  const { partitions, totals, queue: about } = membersOf(body);
  if (run.given.is('partitions')) {
    const rows = listIn(partitions, '');
    return { kind: 'shown', value: body, rows, columns: PARTITION_COLUMNS } as const;
  }
  const row = {
    ...membersOf(about),
    messages: membersOf(totals).messages,
    lagSeconds: lags.get(queue),
    partitions,
  };
  return {
    kind: 'shown',
    value: body,
    rows: [row],
    columns: ONE_QUEUE_COLUMNS,
  } as const;
}

/** By the flags `--namespace` and `--task`. */
export function isLabelled(given: Given): (row: Readonly<Record<string, unknown>>) => boolean {
  const [namespace, task] = [given.text('namespace'), given.text('task')];
  return (row) =>
    (namespace === undefined || row.namespace === namespace) &&
    (task === undefined || row.task === task);
}

/** The longest lag of a group, by queue. */
async function lagsOf(run: Run): Promise<ReadonlyMap<string, number>> {
  const lags = new Map<string, number>();
  const rows = await readPages(run, { call: (page) => adminCall('groups', page) });
  for (const { queueName, maxTimeLag } of rows) {
    const name = String(queueName);
    lags.set(name, Math.max(lags.get(name) ?? 0, Number(maxTimeLag)));
  }
  return lags;
}
