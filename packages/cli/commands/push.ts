/** `push`: lines of JSON into a queue, in batches. */
import { UserError } from '../base/errors.js';
import { exactJson, parseExact } from '../base/exact-json.js';
import { type Command, type Flag, listIn, membersOf } from '../command/command.js';
import type { Given } from '../command/given.js';
import type { Run } from '../command/run.js';
import { batchesOf, type Line, linesGiven } from './line-input.js';

const FLAGS: readonly Flag[] = [
  ['--partition <name>', 'partition of every message'],
  ['--partition-key <path>', 'partition is what the payload has at this path, such as customer.id'],
  ['--batch <n>', 'messages of one call', '100'],
  ['--data <json>', 'one payload, instead of the input'],
  ['-f, --file <path>', 'read lines from a file, - for the input'],
  ['--trace-id <id>', 'trace id of every message'],
  ['--transaction-id <id>', 'transaction id of the first message'],
  ['--wrapped', 'lines are {transactionId?, traceId?, partition?, data}', false],
  ['--dry-run', 'check the lines and send nothing', false],
];

export const pushCommands: readonly Command[] = [
  {
    name: 'push',
    args: '<queue>',
    help: 'Push messages: a JSON value a line, from the input, a file or --data.',
    flags: FLAGS,
    example: 'push orders --data \'{"total":12.5}\' --partition customer-7',
    run: push,
  },
];

/** What one line becomes; its payload stays the text that it is. */
export interface Item {
  readonly queue: string;
  readonly partition?: string;
  readonly transactionId?: string;
  readonly traceId?: string;
  /** JSON. */
  readonly payload: string;
}

async function push(run: Run) {
  const { given } = run;
  const counts = { queued: 0, duplicate: 0, failed: 0 };
  const batch = given.count('batch', 1);
  let number = 0;
  for await (const lines of batchesOf(linesGiven(run), batch)) {
    const items = lines.map((line) => itemOf(line, given, number++ === 0));
    if (given.is('dry-run')) continue;
    const json = `{"items":[${items.map(itemText).join(',')}]}`;
    // Without transaction ids a repeated push would store its messages twice.
    const repeat = items.every(({ transactionId }) => transactionId !== undefined)
      ? 'any'
      : 'unapplied';
    const request = { method: 'POST', path: '/api/v1/push', body: json, repeat } as const;
    const { body } = await run.call(request);
    for (const { status } of listIn(body, '')) {
      if (status === 'queued') counts.queued++;
      else if (status === 'duplicate') counts.duplicate++;
      else counts.failed++;
    }
    await run.progress(`pushed ${number}`);
  }
  if (number === 0) return { kind: 'nothing' } as const;
  if (given.is('dry-run')) {
    const text = `[dry-run] would push ${number} messages to "${given.arg(0)}"`;
    return { kind: 'said', text, value: { messages: number } } as const;
  }
  const text = `queued=${counts.queued} duplicate=${counts.duplicate} failed=${counts.failed}`;
  return { kind: 'said', text, value: counts } as const;
}

function itemOf(line: Line, given: Given, isFirst: boolean): Item {
  const wrapped = given.is('wrapped') ? wrappedOf(line) : { payload: line.text };
  const key = given.text('partition-key');
  const value = given.is('wrapped') ? membersOf(line.value).data : line.value;
  const keyed = key === undefined ? undefined : partitionAt(value, key);
  const partition = wrapped.partition ?? keyed ?? given.text('partition');
  const transactionId =
    wrapped.transactionId ?? (isFirst ? given.text('transaction-id') : undefined);
  const traceId = wrapped.traceId ?? given.text('trace-id');
  return {
    queue: given.arg(0),
    payload: wrapped.payload,
    ...(partition === undefined ? {} : { partition }),
    ...(transactionId === undefined ? {} : { transactionId }),
    ...(traceId === undefined ? {} : { traceId }),
  };
}

/** undefined where the payload has no string, number or boolean there. */
function partitionAt(payload: unknown, path: string): string | undefined {
  const value = path.split('.').reduce<unknown>((at, name) => {
    return Object.hasOwn(membersOf(at), name) ? membersOf(at)[name] : undefined;
  }, payload);
  const isName = ['string', 'number', 'boolean'].includes(typeof value);
  return isName ? exactJson(value).replace(/^"(.*)"$/s, () => String(value)) : undefined;
}

const WRAPPED = new Set(['transactionId', 'traceId', 'partition', 'data']);

function wrappedOf({ text, number }: Line): Omit<Item, 'queue'> {
  const members = membersOf(parseExact(text));
  const unknown = Object.keys(members).find((name) => !WRAPPED.has(name));
  const wrong = ['transactionId', 'traceId', 'partition'].find(
    (name) => members[name] !== undefined && typeof members[name] !== 'string',
  );
  if (!('data' in members) || unknown !== undefined || wrong !== undefined) {
    const what = unknown ?? wrong ?? 'data, which is missing';
    throw new UserError(
      `line ${number} is not {transactionId?, traceId?, partition?, data}: see ${what}`,
    );
  }
  const { data, ...names } = members;
  return { ...(names as Partial<Item>), payload: exactJson(data) };
}

function itemText({ payload, ...names }: Item): string {
  return `${JSON.stringify(names).slice(0, -1)},"payload":${payload}}`;
}
