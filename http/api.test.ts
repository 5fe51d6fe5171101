// Goal: what clients send and get is typed as the records say. Method: the types of five endpoints,
// each against the same type written by hand; the compiler of the tests is the judge.
import type { PushResult } from '@svc/wire';
import { expectTypeOf, test } from 'vitest';
import type { Answer, Api } from './api.js';

type QueueNameRow = Extract<
  Answer<'GET /api/v1/resources/queues'>,
  { readonly stats: string }
>['queues'][number];
type QueueRow = Answer<'GET /api/v1/status/queues'>['queues'][number];
type SeekAnswer = Answer<'POST /api/v1/consumer-groups/{group}/queues/{queue}/seek'>;

/** Without the members that may not be there. */
type Mentioned<Body> = {
  [Name in keyof Body as Body[Name] extends undefined ? never : Name]: Body[Name];
};

test('push', () => {
  type Push = Api['POST /api/v1/push'];
  interface Item {
    readonly queue: string;
    readonly partition?: string | null;
    readonly transactionId?: string | null;
    readonly payload: unknown;
  }
  expectTypeOf<keyof (Push['params'] & Push['query'])>().toEqualTypeOf<never>();
  expectTypeOf<Push['body']>().toEqualTypeOf<{ readonly items: readonly Item[] }>();
  expectTypeOf<Push['answers'][201]>().toEqualTypeOf<readonly PushResult[]>();
  expectTypeOf<keyof Push['answers']>().toEqualTypeOf<201 | 507>();
});

test('kv put', () => {
  type Put = Api['PUT /api/v1/kv/{ns}/{key...}'];
  interface Written {
    readonly value: unknown;
    readonly expect?: number;
    readonly required?: boolean;
  }
  interface ForATime extends Written {
    readonly ttlSeconds: number;
    readonly forever?: false;
  }
  interface ForEver extends Written {
    readonly ttlSeconds?: never;
    readonly forever: true;
  }
  expectTypeOf<Put['params']>().toEqualTypeOf<{ readonly ns: string; readonly key: string }>();
  expectTypeOf<Put['body']>().toEqualTypeOf<ForATime | ForEver>();
  expectTypeOf<Put['answers'][507]>().toHaveProperty('error').toEqualTypeOf<string>();
});

test('seek', () => {
  type Seek = Api['POST /api/v1/consumer-groups/{group}/queues/{queue}/seek'];
  interface ToEnd {
    readonly toEnd: true;
    readonly timestamp?: string | null;
  }
  interface ToInstant {
    readonly toEnd?: boolean | null;
    readonly timestamp: string;
  }
  interface Refused {
    readonly success: false;
    readonly error: string;
  }
  expectTypeOf<Seek['params']>().toEqualTypeOf<{
    readonly group: string;
    readonly queue: string;
  }>();
  expectTypeOf<Seek['body']>().toEqualTypeOf<ToEnd | ToInstant>();
  expectTypeOf<Seek['answers'][200]>().toEqualTypeOf<SeekAnswer>();
  expectTypeOf<Seek['answers'][400]>().toEqualTypeOf<Refused>();
});

test('timers', () => {
  type Timers = Api['POST /api/v1/timers'];
  type Truth = boolean | 'true' | 'false' | 0 | 1 | null;
  interface Schedule {
    readonly op: 'schedule' | 'reschedule';
    readonly queue: string;
    readonly timerKey: string;
    readonly partition?: string | null;
    readonly delayMs: number;
    readonly txn: string;
    readonly payload: string;
    readonly payloadZstd?: Truth;
    readonly encrypted?: Truth;
  }
  interface Cancel {
    readonly op: 'cancel';
    readonly queue: string;
    readonly timerKey: string;
    readonly txn?: unknown;
  }
  type Sent = Extract<Timers['body'], readonly unknown[]>[number];
  expectTypeOf<Mentioned<Exclude<Sent, { op: 'cancel' }>>>().toEqualTypeOf<Schedule>();
  expectTypeOf<Mentioned<Extract<Sent, { op: 'cancel' }>>>().toEqualTypeOf<Cancel>();
  type Wrapped = Exclude<Timers['body'], readonly unknown[]>;
  expectTypeOf<Wrapped>().toEqualTypeOf<{ readonly operations: readonly Sent[] }>();
  type List = Api['GET /api/v1/timers/{queue}'];
  expectTypeOf<List['query']>().toEqualTypeOf<{
    readonly after?: string;
    readonly limit?: number;
  }>();
});

test('queues list', () => {
  type List = Api['GET /api/v1/resources/queues'];
  type Listed = List['answers'][200];
  expectTypeOf<List['body']>().toEqualTypeOf<undefined>();
  expectTypeOf<List['query']>().toEqualTypeOf<{
    readonly stats?: string;
    readonly limit?: string;
    readonly after?: string;
  }>();
  expectTypeOf<Listed['queues'][number]>().toEqualTypeOf<QueueRow | QueueNameRow>();
});
