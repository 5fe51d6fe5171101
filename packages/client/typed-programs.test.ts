// Goal: types let through what works, refuse what does not, and agree with those of the endpoints.
// Method: the compiler of the tests; a line marked as wrong must be wrong. Nothing of it is run.
import type { Answer, Api } from '@svc/http/api';
import { expect, test } from 'vitest';
import {
  type AckResult,
  type Client,
  type Configured,
  type DeadLetter,
  type Message,
  type StandardSchema,
  Stream,
  tokenBucketGate,
} from './index.js';

interface Order {
  readonly id: string;
  readonly cents: number;
}

declare const client: Client;
declare const dated: StandardSchema<{ at: string }, { at: Date }>;

async function typed(): Promise<void> {
  const orders = client.queue<Order>('orders').group('billing');
  const results = await orders.push({ payload: { id: 'o', cents: 1 } });
  results[0]?.status satisfies 'queued' | 'duplicate' | 'error' | undefined;
  // @ts-expect-error: a bare value
  await orders.push({ id: 'o', cents: 1 });
  // @ts-expect-error: a payload of another type
  await orders.push({ payload: { id: 'o', cents: 'one' } });
  // @ts-expect-error: buffered pushes have no results yet
  (await orders.buffer().push({ payload: { id: 'o', cents: 1 } }))[0];
  (await orders.buffer().push({ payload: { id: 'o', cents: 1 } })).count satisfies number;

  for (const { data } of await orders.pop()) data.cents satisfies number;
  for await (const { data } of orders.messages()) data.cents satisfies number;
  await orders.consume((batch) => batch.map(({ data }) => data.cents satisfies number));
  await orders.each().consume(({ data }) => data.cents satisfies number);
  // @ts-expect-error: without each() the handler gets a batch
  await orders.consume(({ data }) => data);
  // @ts-expect-error: with each() it gets one message
  await orders.each().consume((batch) => batch.length);

  const checked = client.queue('events', { schema: dated });
  await checked.push({ payload: { at: '2026-11-25' } });
  // @ts-expect-error: what is pushed is the input of the schema
  await checked.push({ payload: { at: new Date() } });
  (await checked.pop())[0]?.data.at satisfies Date | undefined;

  const [message] = await client.queue('any').pop();
  // @ts-expect-error: a payload without a type is unknown
  message?.data.id;
  // @ts-expect-error: no such status
  await client.ack(message as Message, 'done');
  // @ts-expect-error: no such option
  await client.queue('any').config({ leaseSeconds: 5 }).create();
  (await client.ack([message as Message])).length satisfies number;
  const committed = await client.transaction().once('k').commit();
  // @ts-expect-error: results are there when it was committed
  committed.results;
  if (committed.success) committed.results satisfies readonly object[];
  else committed.reason satisfies 'kv_precondition';
}

async function typedStreams(): Promise<void> {
  const orders = Stream.from(client.queue<Order>('orders'));
  const sums = orders
    .filter(({ cents }) => cents > 0)
    .keyBy(({ id }) => id)
    .windowTumbling({ seconds: 60, eventTime: ({ id }) => id })
    .aggregate({ count: () => 1, sum: ({ cents }, { message }) => cents + message.offset });
  sums.map(({ value, windowStart }, { message }) => {
    message satisfies null;
    // @ts-expect-error: no such sum
    value.total;
    return value.count + value.sum + windowStart;
  });
  const runner = await sums
    .to(client.queue<{ key: string; value: { sum: number } }>('sums'))
    .run({ queryId: 'sums' });
  runner.metrics().late satisfies number;
  orders.flatMap(({ id }) => [...id]).foreach((letter) => letter.length);
  orders.gate(tokenBucketGate({ capacity: 1, refillPerSec: 1 })).to('slow');
  orders
    .map((order): Order | null => order)
    .filter((order) => order !== null)
    .foreach(({ id }) => id);
  Stream.from<Order>('orders')
    .windowSession({ gap: '30s' })
    .reduce((n, { cents }) => n + cents, 0);
  // @ts-expect-error: a payload without a type is unknown
  Stream.from('orders').map(({ id }) => id);
  // @ts-expect-error: a sink of another type
  sums.to(client.queue<Order>('orders'));
  // @ts-expect-error: a window comes to nothing without reduce or aggregate
  orders.windowTumbling({ seconds: 60 }).to('sums');
  // @ts-expect-error: reduce needs a window
  orders.reduce((n: number) => n, 0);
  // @ts-expect-error: keyBy stands before the window
  sums.keyBy(({ key }) => key);
  // @ts-expect-error: one window to a stream
  sums.windowCron({ every: 'day' });
  // @ts-expect-error: no such unit
  orders.windowCron({ every: 'month' });
  // @ts-expect-error: values go somewhere
  orders.run({ queryId: 'q' });
  // @ts-expect-error: what is folded is of the type of the beginning
  orders.windowCron({ every: 'day' }).reduce((n) => `${n}`, 0);
  // @ts-expect-error: a stream has a name
  orders.to('out').run({});
}

type Popped = Exclude<Answer<'GET /api/v1/pop/queue/{queue}'>, undefined>['messages'][number];
type Extends<Narrow, Wide> = Narrow extends Wide ? true : never;

const agreed: readonly true[] = [
  true satisfies Extends<Answer<'POST /api/v1/ack/batch'>[number], AckResult>,
  true satisfies Extends<
    Popped,
    Omit<Message, 'raw' | 'trace' | 'replaceData' | 'refuseData' | 'signal' | 'takenUnder'>
  >,
  true satisfies Extends<Answer<'GET /api/v1/dlq'>['messages'][number], Omit<DeadLetter, 'raw'>>,
  true satisfies Extends<Answer<'POST /api/v1/configure'>, Configured>,
  true satisfies Extends<Api['POST /api/v1/push']['answers'][201][number]['message_id'], string>,
];

test('types agree', () => {
  expect([typed, typedStreams]).toHaveLength(2);
  expect(agreed).not.toContain(false);
});
