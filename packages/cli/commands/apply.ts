/**
 * `apply`: queues and positions of groups, declared in YAML documents.
 *
 * What must hold: nothing of a file with a mistake is sent, so every document is checked before the
 * first call; and a queue is what its document says, so an option that it does not name goes back
 * to the broker's default (`mode: replace`). A misspelt key would do so silently, and is refused.
 */
import { adminCall, QUEUE_OPTIONS, type QueueOptions } from '@svc/client';
import { parseAllDocuments } from 'yaml';
import { UserError } from '../base/errors.js';
import { timeOf } from '../base/times.js';
import { type Command, membersOf, type Request, written } from '../command/command.js';
import type { Run } from '../command/run.js';
import { yamlFault } from '../config/config-file.js';
import { seekRequest } from './groups.js';
import { fileText } from './line-input.js';

type Members = Readonly<Record<string, unknown>>;
const KEYS: Readonly<Record<string, readonly string[]>> = {
  Queue: ['kind', 'name', 'namespace', 'task', 'config'],
  ConsumerGroup: ['kind', 'name', 'queue', 'seek-to'],
};

interface Resource {
  /** `Queue "orders"`. */
  readonly shown: string;
  /** null: it has no name, and is skipped. */
  readonly request: Request | null;
}

export const applyCommands: readonly Command[] = [
  {
    name: 'apply',
    help: 'Make queues and groups what the documents of a file say.',
    flags: [
      ['-f, --file <path>', 'YAML, a document for each resource; - is the input'],
      ['--dry-run', 'check the file and send nothing', false],
    ],
    example: 'apply -f queues.yaml',
    run: apply,
  },
];

async function apply(run: Run) {
  const file = run.given.required('file');
  const resources = resourcesOf(await fileText(run, file), file, run.world.nowMs());
  const isDry = run.given.is('dry-run');
  const said: string[] = [];
  for (const { shown, request } of resources) {
    if (request === null) {
      await run.note(`[skip] ${shown}`);
      continue;
    }
    if (!isDry) await run.call(request);
    said.push(`${isDry ? '[dry-run] would apply' : 'applied'} ${shown}`);
    await run.progress(`${said.length} of ${resources.length}`);
  }
  if (said.length === 0) return { kind: 'nothing' } as const;
  return { kind: 'said', text: said.join('\n'), value: { applied: said.length } } as const;
}

function resourcesOf(text: string, file: string, nowMs: number): readonly Resource[] {
  const documents = parseAllDocuments(text, { uniqueKeys: true });
  if (!Array.isArray(documents)) return [];
  return documents.flatMap((document, i) => {
    const [fault] = document.errors;
    if (fault !== undefined) throw new UserError(`${file}: ${yamlFault(fault)}`);
    const value: unknown = document.toJS();
    // Nothing between two separators.
    if (value === null || value === undefined) return [];
    return [resourceOf(value, `${file}, document ${i + 1}`, nowMs)];
  });
}

function resourceOf(value: unknown, at: string, nowMs: number): Resource {
  if (typeof value !== 'object' || Array.isArray(value)) throw new UserError(`${at}: no mapping`);
  const members = membersOf(value);
  const { kind = 'Queue', name } = members;
  const keys = KEYS[String(kind)];
  if (keys === undefined) {
    throw new UserError(`${at}: kind ${String(kind)}: write Queue or ConsumerGroup`);
  }
  refuseUnknown(members, keys, at);
  for (const key of keys.filter((one) => one !== 'config')) textOrAbsent(members[key], key, at);
  const request = kind === 'Queue' ? configureOf(members, at) : seekOf(members, at, nowMs);
  if (name === undefined || name === '') {
    return { shown: `${at}: a ${String(kind)} without a name`, request: null };
  }
  return { shown: `${String(kind)} "${String(name)}"`, request };
}

function refuseUnknown(members: Members, keys: readonly string[], at: string): void {
  const unknown = Object.keys(members).find((key) => !keys.includes(key));
  if (unknown === undefined) return;
  throw new UserError(`${at}: ${unknown} is not known: write one of ${keys.join(', ')}`);
}

function textOrAbsent(value: unknown, key: string, at: string): void {
  if (value === undefined || typeof value === 'string') return;
  throw new UserError(`${at}: ${key} is no text`);
}

function configureOf({ name, namespace, task, config = {} }: Members, at: string): Request {
  if (typeof config !== 'object' || config === null || Array.isArray(config)) {
    throw new UserError(`${at}: config is no mapping`);
  }
  refuseUnknown(config as Members, Object.keys(QUEUE_OPTIONS), `${at}, config`);
  for (const [option, value] of Object.entries(config)) {
    const kind = typeof QUEUE_OPTIONS[option as keyof QueueOptions];
    if (typeof value === kind && (kind !== 'number' || Number.isSafeInteger(value))) continue;
    throw new UserError(`${at}, config: ${option} is no ${kind === 'number' ? 'integer' : kind}`);
  }
  const labels = written({ namespace, task }) as Readonly<Record<string, string>>;
  const options = { ...config, ...labels };
  return adminCall('configureQueue', { queue: String(name), mode: 'replace', options });
}

function seekOf(members: Members, at: string, nowMs: number): Request | null {
  const { name, queue, 'seek-to': to } = members;
  if (typeof queue !== 'string' || queue === '') throw new UserError(`${at}: queue is missing`);
  if (typeof to !== 'string') throw new UserError(`${at}: seek-to is missing`);
  const time = timeOf(to, nowMs, `${at}: seek-to`);
  return typeof name === 'string' && name !== '' ? seekRequest(name, queue, time) : null;
}
