/** `ephemeral`: queues in memory. */
import { adminCall, path, payloadTexts, type WithTexts, withQuery } from '@svc/client';
import { EXIT, UserError } from '../base/errors.js';
import { exactJson } from '../base/exact-json.js';
import { jsonLine } from '../base/one-line.js';
import { type Command, doing, listIn, membersOf } from '../command/command.js';
import { listing } from '../command/pages.js';
import type { Run } from '../command/run.js';
import { batchesOf, linesGiven } from './line-input.js';
import { ANSWER_MS } from './pop.js';

/** Flags of `configure` that are integers, by their options. */
const INTEGERS: Readonly<Record<string, string>> = {
  'max-bytes': 'maxBytes',
  'max-length': 'maxLength',
  'ttl-seconds': 'ttlSeconds',
  'lease-seconds': 'leaseSeconds',
  'retry-limit': 'retryLimit',
};

export const ephemeralCommands: readonly Command[] = [
  {
    name: 'ephemeral push',
    args: '<queue>',
    help: 'Push messages: a JSON value a line, from the input, a file or --data.',
    flags: [
      ['--partition <name>', 'partition of every message'],
      ['--data <json>', 'one payload, instead of the input'],
      ['-f, --file <path>', 'read lines from a file, - for the input'],
      ['--batch <n>', 'messages of one call', '100'],
    ],
    example: 'ephemeral push presence --partition room-7 --data \'{"u":"a"}\'',
    run: push,
  },
  {
    name: 'ephemeral pop',
    args: '<queue>',
    help: 'Take messages, as lines of JSON.',
    flags: [
      ['--cg <group>', 'consumer group'],
      ['--partition <name>', 'take from this partition alone'],
      ['-n, --batch <n>', 'at most so many messages', '1'],
      ['--wait', 'wait when there are none', true],
      ['--timeout <duration>', 'wait for so long', '10s'],
      ['--commit-on-delivery', 'acknowledge at delivery', false],
    ],
    example: 'ephemeral pop presence --partition room-7 --cg widget -n 10',
    run: pop,
  },
  {
    name: 'ephemeral ack',
    args: '<queue> [ids...]',
    help: 'Settle messages by the ids that pop printed, from the arguments or the input.',
    flags: [
      ['--cg <group>', 'consumer group'],
      ['--status <status>', 'completed, failed or retry', 'completed'],
      ['--error <text>', 'why it failed'],
    ],
    example: 'ephemeral ack presence e:ffd12cc5ef57:room-7:0 --cg widget',
    run: ack,
  },
  doing({
    name: 'ephemeral configure',
    args: '<queue>',
    help: 'Declare a queue with options. Those that are not written are left out.',
    flags: [
      ['--max-bytes <n>', 'bound on the bytes of a partition'],
      ['--max-length <n>', 'bound on the messages of a partition'],
      ['--policy <policy>', 'what a full partition does: reject or dropOldest'],
      ['--ttl-seconds <n>', 'messages are dropped after so long'],
      ['--lease-seconds <n>', 'length of leases'],
      ['--retry-limit <n>', 'failures until a message is dropped'],
      ['--window-ms <n>', 'a pop waits so long for more'],
      ['--window-count <n>', 'or until there are so many'],
    ],
    example: 'ephemeral configure presence --ttl-seconds 60 --policy dropOldest',
    call: (given) => {
      const options: Record<string, unknown> = {};
      for (const [flag, option] of Object.entries(INTEGERS)) {
        if (given.isTyped(flag)) options[option] = given.integer(flag);
      }
      if (given.isTyped('policy')) options.policy = given.text('policy');
      const [ms, count] = [given.integer('window-ms'), given.integer('window-count')];
      if ((ms === undefined) !== (count === undefined)) {
        throw new UserError('--window-ms and --window-count go together');
      }
      if (ms !== undefined) options.windowBuffer = { ms, count };
      const body = exactJson({ queue: given.arg(0), options });
      return { method: 'POST', path: '/api/v1/ephemeral/configure', body };
    },
    said: (given) => `configured "${given.arg(0)}"`,
  }),
  doing({
    name: 'ephemeral reset',
    args: '<queue>',
    help: 'Drop the messages of a queue.',
    example: 'ephemeral reset presence --yes',
    destroys: (given) => `drop all messages of "${given.arg(0)}"`,
    call: (given) => ({
      method: 'POST',
      path: '/api/v1/ephemeral/reset',
      body: exactJson({ queue: given.arg(0) }),
    }),
    said: (_, { dropped }) => `dropped=${String(dropped)}`,
  }),
  doing({
    name: 'ephemeral delete',
    args: '<queue>',
    help: 'Delete a queue with its messages.',
    example: 'ephemeral delete presence --yes',
    destroys: (given) => `delete the queue "${given.arg(0)}" with its messages`,
    call: (given) => ({ method: 'DELETE', path: path`/api/v1/ephemeral/queue/${given.arg(0)}` }),
    said: (given, { deleted }) =>
      deleted === false ? `there is no queue "${given.arg(0)}"` : `deleted "${given.arg(0)}"`,
  }),
  listing({
    name: 'ephemeral queues',
    help: 'List the queues that the node holds.',
    example: 'ephemeral queues',
    list: () => ({ call: (page) => adminCall('ephemeralQueues', page), member: 'queues' }),
    columns: 'QUEUE=queue TIER=tier DEPTH=depth BYTES=bytes PARTITIONS=partitions GROUPS=groups',
  }),
];

async function push(run: Run) {
  const { given } = run;
  let pushed = 0;
  for await (const lines of batchesOf(linesGiven(run), given.count('batch', 1))) {
    const names = { queue: given.arg(0), partition: given.text('partition') };
    const messages = lines.map(({ text }) => `{"payload":${text}}`).join(',');
    const body = `${JSON.stringify(names).slice(0, -1)},"messages":[${messages}]}`;
    const at = '/api/v1/ephemeral/push';
    const answer = await run.call({ method: 'POST', path: at, body, repeat: 'unapplied' });
    pushed += Number(membersOf(answer.body).pushed ?? 0);
    await run.progress(`pushed ${pushed}`);
  }
  if (pushed === 0) return { kind: 'nothing' } as const;
  return { kind: 'said', text: `pushed=${pushed}`, value: { pushed } } as const;
}

async function pop(run: Run) {
  const { given } = run;
  const waitMs = given.is('wait') ? (given.durationMs('timeout') ?? 0) : 0;
  const address = withQuery('/api/v1/ephemeral/pop', {
    queue: given.arg(0),
    partition: given.text('partition'),
    group: given.text('cg'),
    batch: given.integer('batch', 1),
    wait: waitMs > 0,
    timeout: waitMs > 0 ? Math.round(waitMs) : undefined,
    autoAck: given.is('commit-on-delivery') || undefined,
  });
  const { body } = await run.call({
    method: 'GET',
    path: address,
    repeat: 'unapplied',
    timeoutMs: waitMs + ANSWER_MS,
    read: (text) => payloadTexts(text, 'payload'),
  });
  const { answer, texts } = (body ?? { answer: null, texts: [] }) as WithTexts;
  const messages = listIn(answer, 'messages');
  if (messages.length === 0) return { kind: 'nothing' } as const;
  const lines = messages.map(({ id, partition, attempts }, i) => {
    const names = JSON.stringify({ queue: given.arg(0), id, partition, attempts });
    return `${names.slice(0, -1)},"payload":${jsonLine(texts[i] ?? 'null')}}\n`;
  });
  await run.world.output.write(lines.join(''));
  return { kind: 'ended' } as const;
}

async function ack(run: Run) {
  const { given } = run;
  const typed = given.args(1);
  const ids = typed.length > 0 ? typed : await idsOf(run);
  if (ids.length === 0) return { kind: 'nothing' } as const;
  const [status, error] = [given.text('status'), given.text('error')];
  const acks = ids.map((id) => ({ id, status, error }));
  const { body } = await run.call({
    method: 'POST',
    path: '/api/v1/ephemeral/ack',
    body: exactJson({ queue: given.arg(0), group: given.text('cg'), acks }),
  });
  const results = listIn(body, 'results');
  const text = results.map(({ id, outcome }) => `${String(id)}\t${String(outcome)}`).join('\n');
  const isDone = results.every(({ outcome }) => outcome === 'acked' || outcome === 'redelivered');
  const code = isDone ? EXIT.done : EXIT.server;
  return { kind: 'said', text, value: results, isResult: true, code } as const;
}

/** Lines that pop printed. */
async function idsOf(run: Run): Promise<readonly string[]> {
  const ids: string[] = [];
  for await (const { value, number } of linesGiven(run)) {
    const { id } = membersOf(value);
    if (typeof id !== 'string') throw new UserError(`line ${number} has no id`);
    ids.push(id);
  }
  return ids;
}
