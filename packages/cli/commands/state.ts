/** `kv`, `timer`, `lock`: keys, messages of a later time, and permits. */
import { randomUUID } from 'node:crypto';
import { adminCall, path, withQuery } from '@svc/client';
import { RefusedError, UserError } from '../base/errors.js';
import { exactJson, parseExact } from '../base/exact-json.js';
import {
  type Command,
  doing,
  type Flag,
  listIn,
  membersOf,
  type Request,
  written,
} from '../command/command.js';
import { type Given, integerOf } from '../command/given.js';
import { type List, listing, type Page, readPages } from '../command/pages.js';
import type { Run } from '../command/run.js';

type Members = Readonly<Record<string, unknown>>;

const ROW_COLUMNS =
  'KEY=key VALUE=value VERSION=version:plain EXPIRES=expiresAt | UPDATED=updatedAt';
const TTL: Flag = ['--ttl <duration>', 'how long it is kept; for ever when absent'];
const TXN: Flag = ['--transaction-id <id>', 'of the message; a new one when absent'];

export const stateCommands: readonly Command[] = [
  {
    name: 'kv get',
    args: '<namespace> <key>',
    help: 'Show a key. Ends with 4 when it is not there.',
    example: 'kv get orders o-1',
    run: async (run) => {
      const { given } = run;
      // As a path a key with `..` in it would name another one.
      const body = exactJson([{ op: 'get', ns: given.arg(0), key: given.arg(1) }]);
      const row = firstOf((await run.call({ method: 'POST', path: '/api/v1/kv', body })).body);
      if (row.found !== true) return { kind: 'nothing' };
      return { kind: 'shown', value: row, columns: ROW_COLUMNS };
    },
  },
  {
    name: 'kv put',
    args: '<namespace> <key> <value>',
    help: 'Write a key. The value is JSON, or a text when it is none.',
    flags: [
      TTL,
      ['--expect <version>', 'only if this is its version; 0: only if it is not there'],
      ['--if-absent', 'only if it is not there', false],
    ],
    example: 'kv put orders o-1 \'{"total":12.5}\' --ttl 1h',
    run: (run) => {
      const { given } = run;
      const op = given.is('if-absent') ? 'putIfAbsent' : 'put';
      const expect = given.integer('expect');
      if (op === 'putIfAbsent' && expect !== undefined) {
        throw new UserError('--expect and --if-absent exclude each other');
      }
      return kvWrite(run, { op, value: jsonOrText(given.arg(2)), expect, ...expiryOf(given) });
    },
  },
  {
    name: 'kv delete',
    args: '<namespace> <key>',
    help: 'Remove a key.',
    flags: [['--expect <version>', 'only if this is its version']],
    example: 'kv delete orders o-1',
    run: (run) => kvWrite(run, { op: 'delete', expect: run.given.integer('expect') }),
  },
  {
    name: 'kv incr',
    args: '<namespace> <key> [delta]',
    help: 'Add to a number, by 1 when absent.',
    flags: [TTL, ['--min <n>', 'not below this'], ['--max <n>', 'not above this']],
    example: 'kv incr counts orders 5',
    run: (run) => {
      const { given } = run;
      const number = (text: string | undefined, name: string) =>
        text === undefined ? undefined : numberOf(text, name);
      return kvWrite(run, {
        op: 'incr',
        delta: numberOf(given.optionalArg(2) ?? '1', 'delta'),
        min: number(given.text('min'), '--min'),
        max: number(given.text('max'), '--max'),
        ...expiryOf(given),
      });
    },
  },
  {
    name: 'kv list',
    args: '[namespace]',
    help: 'List the keys of a namespace, or the namespaces.',
    flags: [
      ['--prefix <text>', 'keys that begin so'],
      ['--limit <n>', 'at most so many'],
    ],
    example: 'kv list orders --prefix o-',
    run: kvList,
  },
  doing({
    name: 'timer schedule',
    args: '<queue> <key>',
    help: 'Push a message at a later time. The same key again moves it.',
    flags: [
      ['--delay <duration>', 'after so long'],
      ['--data <json>', 'the payload', 'null'],
      ['--partition <name>', 'where it goes'],
      TXN,
    ],
    example: 'timer schedule mail welcome:42 --delay 90s --data \'{"to":"ada"}\'',
    call: (given) => {
      const delayMs = given.durationMs('delay');
      if (delayMs === undefined) throw new UserError('--delay is missing');
      const data = exactJson(jsonOrText(given.text('data') ?? 'null'));
      const operation = {
        op: 'schedule',
        ...timerOf(given),
        partition: given.text('partition'),
        delayMs,
        txn: given.text('transaction-id') ?? `${given.arg(1)}@${randomUUID()}`,
        payload: Buffer.from(data).toString('base64'),
      };
      return { method: 'POST', path: '/api/v1/timers', body: exactJson([operation]) };
    },
    said: (_, body) => {
      const { status, queue, timerKey, deliverAt } = firstOf(body);
      return `${String(status)} ${String(queue)}/${String(timerKey)} at ${String(deliverAt)}`;
    },
  }),
  doing({
    name: 'timer cancel',
    args: '<queue> <key>',
    help: 'Cancel a timer. One that is absent may have fired.',
    example: 'timer cancel mail welcome:42',
    call: (given) => ({
      method: 'POST',
      path: '/api/v1/timers',
      body: exactJson([{ op: 'cancel', ...timerOf(given) }]),
    }),
    said: (given, body) => {
      const { ok, status } = firstOf(body);
      if (ok !== true)
        throw new RefusedError(`not cancelled: ${given.arg(1)} is ${String(status)}`);
      return `cancelled ${given.arg(0)}/${given.arg(1)}`;
    },
  }),
  {
    name: 'timer peek',
    args: '<queue> <key>',
    help: 'Show a timer with its payload. Ends with 4 when it is not there.',
    example: 'timer peek mail welcome:42',
    run: timerPeek,
  },
  {
    name: 'timer list',
    args: '[queue]',
    help: 'List the timers of a queue, or the queues that have some.',
    flags: [['--limit <n>', 'at most so many']],
    example: 'timer list mail',
    run: timerList,
  },
  {
    name: 'lock acquire',
    args: '<name>',
    help: 'Acquire a lock, or a permit of a semaphore. Ends with 4 when others hold it.',
    flags: [
      ['--ttl <duration>', 'it ends by itself after so long', '30s'],
      ['--owner <name>', 'the same owner gets the same permit again'],
      ['--limit <n>', 'how many may hold it; 1 when absent'],
    ],
    example: 'lock acquire job --owner w-1 --ttl 1m',
    run: (run) =>
      lockCall(run, 'acquired', {
        op: 'acquire',
        owner: run.given.text('owner'),
        limit: run.given.integer('limit', 1),
        ttlSeconds: ttlSeconds(run.given),
      }),
  },
  {
    name: 'lock renew',
    args: '<name> <token>',
    help: 'Extend a permit. The answer has its new token.',
    flags: [
      ['--ttl <duration>', 'from now on', '30s'],
      ['--slot <n>', 'of a semaphore'],
    ],
    example: 'lock renew job 5',
    run: (run) =>
      lockCall(run, 'renewed', { op: 'renew', ttlSeconds: ttlSeconds(run.given), ...held(run) }),
  },
  {
    name: 'lock release',
    args: '<name> <token>',
    help: 'Give a permit back.',
    flags: [['--slot <n>', 'of a semaphore']],
    example: 'lock release job 6',
    run: (run) => lockCall(run, 'released', { op: 'release', ...held(run) }),
  },
  {
    name: 'lock get',
    args: '<name>',
    help: 'Show who holds a lock.',
    example: 'lock get job',
    run: async (run) => {
      const result = await lockResult(run, { op: 'get' });
      const columns = 'SLOT=slot OWNER=owner TOKEN=token:plain SINCE=since EXPIRES=expiresAt';
      return { kind: 'shown', value: result, rows: listIn(result, 'holders'), columns };
    },
  },
  listing({
    name: 'lock list',
    help: 'List the permits of all locks that are held.',
    example: 'lock list',
    list: () => keysOf('svc-locks'),
    row: (row) => ({ ...row, ...lockKey(String(row.key)), owner: membersOf(row.value).owner }),
    columns:
      'NAME=name SLOT=slot OWNER=owner TOKEN=version:plain EXPIRES=expiresAt | RENEWED=updatedAt',
  }),
];

/** `job#0`. */
function lockKey(key: string) {
  const at = key.lastIndexOf('#');
  return { name: key.slice(0, at), slot: Number(key.slice(at + 1)) };
}

function jsonOrText(text: string): unknown {
  try {
    return parseExact(text);
  } catch {
    return text;
  }
}

function numberOf(text: string, name: string): number {
  const value = Number(text);
  if (text.trim() !== '' && Number.isFinite(value)) return value;
  throw new UserError(`${name} ${JSON.stringify(text)} is no number`);
}

function expiryOf(given: Given): Members {
  return given.isTyped('ttl') ? { ttlSeconds: ttlSeconds(given) } : { forever: true };
}

function ttlSeconds(given: Given): number {
  const seconds = Math.ceil((given.durationMs('ttl') ?? 0) / 1000);
  if (seconds > 0) return seconds;
  throw new UserError('--ttl is nothing: write how long, such as 30s');
}

async function kvWrite(run: Run, operation: Members) {
  const [ns, key] = [run.given.arg(0), run.given.arg(1)];
  // Counting again would count twice.
  const repeat = operation.op === 'incr' ? 'unapplied' : 'any';
  const body = exactJson([{ ns, key, ...operation }]);
  const heard = await run.call({ method: 'POST', path: '/api/v1/kv', body, repeat });
  const result = firstOf(heard.body);
  if (result.applied !== true) {
    const found = result.version === undefined ? '' : ` (version ${String(result.version)})`;
    const done = operation.op === 'delete' ? 'deleted' : 'written';
    throw new RefusedError(`not ${done}: ${ns}/${key}: ${String(result.reason)}${found}`);
  }
  const { value, version } = result;
  const text =
    operation.op === 'incr'
      ? exactJson(value)
      : `${operation.op === 'delete' ? 'deleted' : 'wrote'} ${ns}/${key}` +
        (version === undefined ? '' : ` version=${String(version)}`);
  return { kind: 'said', text, value: result, isResult: operation.op === 'incr' } as const;
}

/** The first result of a call that had one operation. */
function firstOf(body: unknown): Members {
  return listIn(body, 'results')[0] ?? {};
}

async function kvList(run: Run) {
  const namespace = run.given.optionalArg(0);
  if (namespace === undefined) {
    const { body } = await run.call(adminCall('kvNamespaces'));
    const rows = listIn(body, 'namespaces');
    const columns = 'NAMESPACE=namespace KEYS=keys';
    return { kind: 'shown', value: body, rows, columns } as const;
  }
  const list = keysOf(namespace, written({ prefix: run.given.text('prefix') }));
  const rows = await readPages(run, list, { limit: run.given.integer('limit', 1) });
  return { kind: 'shown', value: { rows }, rows, columns: ROW_COLUMNS } as const;
}

function keysOf(namespace: string, query: { readonly prefix?: string } = {}): List {
  return { call: (page) => adminCall('kvRows', { namespace, ...query, ...page }), member: 'rows' };
}

function timerOf(given: Given) {
  return { queue: given.arg(0), timerKey: given.arg(1) };
}

async function timerPeek(run: Run) {
  const [queue, timerKey] = [run.given.arg(0), run.given.arg(1)];
  const at = path`/api/v1/timers/${queue}/${timerKey}`;
  const { body } = await run.call({ method: 'GET', path: at });
  const timer = membersOf(body);
  if (timer.found !== true) return { kind: 'nothing' } as const;
  const payload = Buffer.from(String(timer.payload), 'base64').toString();
  const value = { ...timer, payload: jsonOrText(payload) };
  return { kind: 'shown', value, instead: 'yaml' } as const;
}

async function timerList(run: Run) {
  const queue = run.given.optionalArg(0);
  const part = { limit: run.given.integer('limit', 1) };
  const list: List =
    queue === undefined
      ? { call: (page) => adminCall('timerQueues', page), member: 'timers' }
      : { call: (page) => timersOf(queue, page), member: 'rows' };
  const columns =
    queue === undefined
      ? 'QUEUE=queue PENDING=pending NEXT=nextAt'
      : 'KEY=timerKey DUE=deliverAt PARTITION=partition TX=txn | ATTEMPTS=attempts ERROR=lastError';
  const rows = await readPages(run, list, part);
  return { kind: 'shown', value: { [list.member ?? '']: rows }, rows, columns } as const;
}

function timersOf(queue: string, page: Page): Request {
  return { method: 'GET', path: withQuery(path`/api/v1/timers/${queue}`, { ...page }) };
}

function held({ given }: Run) {
  return { token: integerOf(given.arg(1), 'token'), slot: given.integer('slot') };
}

async function lockResult(run: Run, operation: Members): Promise<Members> {
  const body = exactJson([{ name: run.given.arg(0), ...operation }]);
  return firstOf((await run.call({ method: 'POST', path: '/api/v1/locks', body })).body);
}

async function lockCall(run: Run, done: 'acquired' | 'renewed' | 'released', operation: Members) {
  const result = await lockResult(run, operation);
  const { slot, token, reason } = result;
  if (result[done] === true) {
    const text = [done, run.given.arg(0), `slot=${String(slot)}`];
    if (token !== undefined) text.push(`token=${String(token)}`);
    const isResult = token !== undefined;
    return { kind: 'said', text: text.join(' '), value: result, isResult } as const;
  }
  if (done !== 'acquired') throw new RefusedError(`not ${done}: ${String(reason)}`);
  return { kind: 'nothing' } as const;
}
