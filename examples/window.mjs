/**
 * A windowed count over log lines by streams: answers of a web server, by day and status.
 *
 * A stream keeps its counts in the broker, and commits counts, outputs and the place in the log in
 * one call: a worker that dies counts nothing twice, and several share the partitions. Run it with
 * a path to count lines of your own, in the format of Apache.
 */
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { Client, Stream } from '@svc/client';

const path = process.argv[2] ?? new URL('../bench/data/apache-access.log', import.meta.url);
const client = new Client(process.env.SVC_SERVER ?? 'http://localhost:6632');
const log = client.queue('example-log');
const days = client.queue('example-log-days').group('table');

// Begin anew, so that the example can be run again.
await log.delete();
await days.delete();

const timeOf = (line) => {
  const [, day, month, year, time] = /\[(\d+)\/(\w+)\/(\d+):(\S+ \S+)\]/.exec(line) ?? [];
  return new Date(`${day} ${month} ${year} ${time}`);
};

const runner = await Stream.from(log)
  // Each status has a partition of its own, and a partition without `keyBy` is the key.
  .windowCron({ every: 'day', eventTime: timeOf, allowedLateness: '1h' })
  .aggregate({ count: () => 1 })
  .to('example-log-days')
  .run({ queryId: 'example-log-days', batchSize: 1000 });

const statuses = new Set();
let pushed = 0;
const lines = log.buffer({ messageCount: 500 });
for await (const line of createInterface({ input: createReadStream(path) })) {
  const status = /" (\d{3}) /.exec(line)?.[1] ?? 'other';
  statuses.add(status);
  pushed++;
  await lines.partition(status).push({ payload: line });
}
// The time of a partition follows its lines: a later one closes the last window of each.
for (const status of statuses) {
  pushed++;
  await lines.partition(status).push({ payload: '[01/Jan/2100:00:00:00 +0000]' });
}
await lines.flushBuffer();

let isStopped = false;
process.once('SIGINT', () => (isStopped = true));
while (runner.metrics().messages < pushed && !isStopped) {
  await new Promise((resolve) => setTimeout(resolve, 100));
}
await runner.stop();

const counts = [];
for (;;) {
  const messages = await days.batch(100).partitions(10).wait(false).commitOnDelivery().pop();
  if (messages.length === 0) break;
  for (const { data } of messages) counts.push(data);
}

const dayOf = ({ windowStart }) => new Date(windowStart).toISOString().slice(0, 10);
for (const day of [...new Set(counts.map(dayOf))].sort()) {
  const ofDay = counts.filter((one) => dayOf(one) === day);
  const texts = ofDay.map(({ key, value }) => `${key}: ${value.count}`).sort();
  console.log(`${day}  ${texts.join(', ')}`);
}
const { messages, cycles } = runner.metrics();
console.log(`${messages} messages in ${cycles} commits`);
await client.close();
