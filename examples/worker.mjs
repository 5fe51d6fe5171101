/**
 * A worker with retries and dead letters.
 *
 * Jobs that fail come again, after a delay that doubles. What failed more often than `retryLimit`
 * allows is a dead letter, which somebody looks at. The jobs of a partition are done in order: one
 * that fails holds up those behind it in its partition, and no others.
 */
import { Client } from '@svc/client';

const client = new Client(process.env.SVC_SERVER ?? 'http://localhost:6632');
const jobs = client.queue('example-jobs').group('worker');

// Begin anew, so that the example can be run again.
await jobs.delete();
await jobs.config({ leaseTime: 30, retryLimit: 2, retryBackoffMs: 100 }).create();

await jobs.push([
  { payload: { name: 'resize image 1' }, partition: 'ada' },
  { payload: { name: 'resize image 2' }, partition: 'ada' },
  { payload: { name: 'mail to bob', failures: 1 }, partition: 'bob' },
  { payload: { name: 'mail to nobody', failures: 99 }, partition: 'eve' },
]);

const stop = new AbortController();
process.once('SIGINT', () => stop.abort());

await jobs
  .each()
  .concurrency(4)
  .renewLease()
  .idleMillis('1s') // a real worker goes on
  .consume(
    ({ data, retryCount }) => {
      const { name, failures = 0 } = data;
      if (retryCount < failures) {
        console.log(`${name}: attempt ${retryCount + 1} failed`);
        throw new Error('the mail server refused it');
      }
      console.log(`${name}: done at attempt ${retryCount + 1}`);
    },
    { signal: stop.signal },
  );

const { messages } = await jobs.dlq('worker').get();
for (const { data, errorMessage } of messages) {
  console.log(`dead letter: ${data.name}: ${errorMessage}`);
}
await client.close();
