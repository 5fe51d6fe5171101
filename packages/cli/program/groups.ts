/** The groups of commands, and the flags that every command takes. */
import type { Flag } from '../command/command.js';

interface Group {
  readonly help: string;
  readonly alias?: string;
}

export const GROUPS: Readonly<Record<string, Group>> = {
  queue: { help: 'Queues and their options.', alias: 'q' },
  partition: { help: 'Partitions of a queue.', alias: 'p' },
  namespace: { help: 'Namespaces of queues.' },
  task: { help: 'Tasks of queues.' },
  cg: { help: 'Consumer groups.' },
  lease: { help: 'Leases of what was popped.' },
  messages: { help: 'Stored messages.' },
  dlq: { help: 'Dead letters.' },
  traces: { help: 'Traces of messages.' },
  ephemeral: { help: 'Queues in memory.', alias: 'eph' },
  kv: { help: 'Keys and counters.' },
  timer: { help: 'Messages that arrive at a later time.' },
  lock: { help: 'Locks and semaphores.' },
  stream: { help: 'What stream workers remember.' },
  cluster: { help: 'The nodes of the cluster.' },
  link: { help: 'The link to another cluster.' },
  analytics: { help: 'Figures over time.' },
  config: { help: 'Contexts of the configuration file.' },
  maintenance: { help: 'Maintenance mode of servers before 2.0.' },
};

export const GLOBAL_FLAGS: readonly Flag[] = [
  ['--context <name>', 'context to use (SVC_CONTEXT)'],
  ['--server <url>', 'server to call (SVC_SERVER)'],
  ['--token <bearer>', 'credential (SVC_TOKEN)'],
  ['-o, --output <form>', 'table, wide, json, ndjson, jsonl, yaml, raw or jsonpath=<expression>'],
  ['--color', 'colors also where there is no terminal'],
  ['--insecure', 'take any TLS certificate'],
  ['-q, --quiet', 'no text on success'],
  ['--no-headers', 'tables without a header row'],
  ['--config <path>', 'configuration file (SVC_CONFIG; ~/.svc/config.yaml)'],
];
