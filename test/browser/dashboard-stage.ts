/**
 * What every test and every picture of the dashboard looks at: the pages, and a cluster in which
 * each of them has something to show, names that are hard to draw among it.
 *
 * A page is added by one row of `PAGES`, and what it shows by one call in `fill`.
 */
import type { Caller } from '../process/http-client.js';

export interface StagedPage {
  /** The name of the pictures too. */
  readonly name: string;
  readonly path: string;
  /** Stands in the page when its figures are there. */
  readonly shows: string;
}

/** Quotes, markup, text from right to left, 400 bytes. */
export const HARD_NAME = `"<i>o'rders</i>" ${'\u05d0'.repeat(188)}`;

export const PAGES: readonly StagedPage[] = [
  { name: 'overview', path: '/', shows: 'Queues with most pending' },
  { name: 'queues', path: '/queues', shows: 'shop.mail' },
  { name: 'queue', path: '/queues/orders', shows: 'streams.totals' },
  { name: 'messages', path: '/messages?queue=shop.billing', shows: 'dead letter' },
  { name: 'dlq', path: '/dlq', shows: 'the card was declined' },
  { name: 'ephemeral', path: '/ephemeral', shows: 'presence' },
  { name: 'kv-namespaces', path: '/kv', shows: 'svc-locks' },
  { name: 'kv', path: '/kv?namespace=settings', shows: '12345678901234567890' },
  { name: 'kv-row', path: '/kv?namespace=settings&key=exact', shows: '"one": 1.0' },
  { name: 'timers', path: '/timers', shows: 'remind-1' },
  { name: 'timer', path: '/timers?queue=reminders&timer=remind-7', shows: '"user": 7' },
  { name: 'locks', path: '/locks', shows: 'worker-7' },
  { name: 'consumers', path: '/consumers', shows: 'shop.billing' },
  { name: 'lagging', path: '/consumers?view=lagging&age=0', shows: 'streams.totals' },
  { name: 'group', path: '/consumers?group=billing', shows: 'Partitions of' },
  { name: 'streams', path: '/streams', shows: 'totals' },
  { name: 'supervisors', path: '/supervisors', shows: 'worker-host' },
  { name: 'workload', path: '/workload', shows: 'shop' },
  { name: 'workload-queues', path: '/workload?by=queue&namespace=shop', shows: 'shop.mail' },
  { name: 'settings', path: '/settings', shows: 'Span of time' },
  { name: 'traces', path: '/traces', shows: 'checkout' },
  { name: 'trace', path: '/traces?name=checkout', shows: 'declined' },
  { name: 'system', path: '/system', shows: 'Standby link' },
  { name: 'not-found', path: '/nothing/here', shows: 'No page has this address' },
];

/** Puts something into every surface. */
export async function fill(client: Caller): Promise<void> {
  const ok = async (path: string, body: unknown) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const { status, text: answer } = await client.send('POST', path, Buffer.from(text));
    if (status >= 300) throw new Error(`${path} answered ${status}: ${answer}`);
  };
  const items = ['orders', 'shop.mail', 'shop.billing', HARD_NAME].flatMap((queue, size) =>
    Array.from({ length: 5 * (size + 1) }, (_, i) => ({
      queue,
      partition: `p${i % 3}`,
      payload: { order: i, customer: { name: 'Ada', tags: ['new', 'eu'] } },
    })),
  );
  await ok('/api/v1/push', { items });
  await ok('/api/v1/kv', [
    { op: 'put', ns: 'settings', key: 'theme', value: { dark: true }, forever: true },
    { op: 'put', ns: 'settings', key: `limits/${HARD_NAME}`, value: 7, ttlSeconds: 3600 },
  ]);
  // A number that no double holds, and one whose text is not that of its value.
  const exact = '{"value":{"big":12345678901234567890,"one":1.0},"forever":true}';
  await client.send('PUT', '/api/v1/kv/settings/exact', Buffer.from(exact));
  await ok('/api/v1/locks', [
    { op: 'acquire', name: 'nightly', owner: 'worker-7', ttlSeconds: 3600 },
    { op: 'acquire', name: HARD_NAME.slice(0, 120), owner: 'worker-8', ttlSeconds: 3600 },
  ]);
  const timers = Array.from({ length: 60 }, (_, i) => ({
    op: 'schedule',
    queue: 'reminders',
    timerKey: `remind-${i}`,
    delayMs: 3_600_000 + i * 1000,
    txn: `t-${i}`,
    payload: Buffer.from(`{"user":${i}}`).toString('base64'),
  }));
  await ok('/api/v1/timers', timers);
  await ok('/api/v1/ephemeral/push', { queue: 'presence', messages: [{ payload: { user: 1 } }] });
  await ok('/api/v1/kv', reportOfProcess(1, 'worker-host', 'orders'));
  await ok('/streams/v1/queries', { name: 'totals', source_queue: 'orders', config_hash: 'a1' });
  await client.get(
    '/api/v1/pop/queue/orders?consumerGroup=streams.totals&autoAck=true&timeout=500',
  );
  await failOne(client, ok);
}

type Post = (path: string, body: unknown) => Promise<void>;

/** One dead letter, with what its consumer noted about it. */
async function failOne(client: Caller, ok: Post): Promise<void> {
  const pop = '/api/v1/pop/queue/shop.billing?consumerGroup=billing&batch=1&timeout=1000';
  const { text } = await client.get(pop);
  const { messages, leaseId } = JSON.parse(text);
  const [message] = messages;
  for (const [eventType, data] of [
    ['charge', { amount: 12.5, currency: 'EUR' }],
    ['declined', { code: 51, [HARD_NAME]: '<b>no</b>' }],
  ] as const) {
    await ok('/api/v1/traces', {
      transactionId: message.transactionId,
      partitionId: message.partitionId,
      traceNames: ['checkout', HARD_NAME],
      eventType,
      data,
      consumerGroup: 'billing',
      worker: 'worker-7',
    });
  }
  await ok('/api/v1/ack', {
    transactionId: message.transactionId,
    partitionId: message.partitionId,
    leaseId: leaseId ?? message.leaseId,
    consumerGroup: 'billing',
    status: 'dlq',
    error: 'the card was declined',
  });
}

/** As the client writes it with `supervision`. */
export function reportOfProcess(i: number, hostname: string, queue: string): object[] {
  const pool = {
    name: 'orders',
    queue,
    consumer_group: 'billing',
    desired: 4,
    running: 3,
  };
  const counts = { busy: 1, completed: 90, failed: 2, oldest_inflight_seconds: 4 };
  const document = {
    hostname,
    pid: 4711,
    engine: 'js',
    state: 'running',
    uptime_seconds: 3600,
    pool_status: [{ ...pool, ...counts, last_completed_at_epoch: Date.now() / 1000 }],
  };
  const data = Buffer.from(JSON.stringify(document)).toString('base64');
  const row = { op: 'put', ns: 'svc-supervisor', ttlSeconds: 3600 };
  return [
    { ...row, key: `billing/${i}/head`, value: { write: 'w', chunks: 1 } },
    { ...row, key: `billing/${i}/chunk/0000`, value: { write: 'w', index: 0, data } },
  ];
}
