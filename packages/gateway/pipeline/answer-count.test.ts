// Goal: the messages of an answer, as they are billed (gateway 10). Method: answers of each route.
import { ROUTES, Router } from '@svc/http';
import { expect, test } from 'vitest';
import { fakeCluster } from '../base/cluster-view.fake.js';
import { type Answered, countAnswer, countsAnswer } from './answer-count.js';
import type { BodySummary } from './body-summary.js';
import type { Passed } from './decide.js';
import { Targets } from './targets.js';

const targets = new Targets(ROUTES, new Router(ROUTES));

function passed(method: string, path: string): Passed {
  const target = targets.of(method, path);
  if (target.kind !== 'route') throw new Error('no route');
  return { kind: 'passed', cluster: fakeCluster(), caller: null, target };
}

const items = (count: number): BodySummary => ({
  items: count,
  timers: 0,
  largest: null,
  destinations: [],
  growing: null,
  isFacade: false,
  features: new Set(),
  retention: [],
});

function answered(status: number, body: unknown): Answered {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const bytes = body === null ? null : Buffer.from(text);
  return { status, bytesIn: 10, bytesOut: bytes?.length ?? 0, body: bytes };
}

const PUSH = ['POST', '/api/v1/push'] as const;
const TXN = ['POST', '/api/v1/transaction'] as const;
const POP = ['GET', '/api/v1/pop/queue/q'] as const;
const EPHEMERAL = ['POST', '/api/v1/ephemeral/push'] as const;
const CYCLE = ['POST', '/streams/v1/cycle'] as const;

const status = (name: string) => ({ status: name, error: null });
const duplicate = { type: 'push', duplicate: true };

test.each<[string, readonly [string, string], number, number, unknown, number[]]>([
  ['queued items', PUSH, 3, 201, [status('queued'), status('duplicate'), status('queued')], [2]],
  ['failed items', PUSH, 1, 201, [status('error')], [0]],
  ['a refusal', PUSH, 1, 400, { error: 'x' }, [0]],
  ['a failure', PUSH, 1, 503, [status('queued')], [0]],
  ['an answer without end', PUSH, 1, 201, '[{"status":"que', [0]],
  ['a commit', TXN, 3, 200, { success: true, results: [duplicate, { type: 'ack' }] }, [2]],
  ['a rollback', TXN, 3, 200, { success: false, results: [] }, [0]],
  ['a delivery', POP, 0, 200, { messages: [{}, { payload: [1, 2] }] }, [2]],
  ['an empty pop', POP, 0, 204, null, [0]],
  ['in-memory messages', EPHEMERAL, 2, 201, { pushed: 2 }, [2]],
  ['a cycle', CYCLE, 2, 200, { success: true, push_results: [{}, {}] }, [0, 2]],
  ['a cycle without sink items', CYCLE, 0, 200, { success: true, push_results: [] }, [0]],
])('%s', (_name, [method, path], count, code, body, wanted) => {
  const counted = countAnswer(passed(method, path), items(count), answered(code, body));
  const samples = [counted?.first, counted?.sink].filter((sample) => sample != null);
  expect(samples.map(({ msgs }) => msgs)).toEqual(wanted);
  expect(samples[0]).toMatchObject({ reqs: 1, bytesIn: 10 });
  expect(counted?.isUnreadable).toBe(body === '[{"status":"que');
  expect(counted?.delivered).toBe(path === POP[1] ? wanted[0] : 0);
});

test('only answers that are counted are kept', () => {
  const keeps = (method: string, path: string, count: number) =>
    countsAnswer(passed(method, path), items(count));
  expect(keeps(...PUSH, 1)).toBe(true);
  expect(keeps(...TXN, 0), 'a transaction of acks').toBe(false);
  expect(keeps(...POP, 0)).toBe(true);
  expect(keeps('POST', '/api/v1/ack', 0)).toBe(false);
  expect(keeps('GET', '/api/v1/messages', 0)).toBe(false);
});

test('what belongs to no cluster is not metered', () => {
  const nobody = { ...passed('GET', '/health'), cluster: null };
  expect(countAnswer(nobody, null, answered(200, {}))).toBe(null);
});
