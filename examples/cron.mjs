/**
 * A cron by timers: something is done at every full second, by one process of however many run.
 *
 * A timer becomes a message at its time. Whoever gets the message acknowledges it and schedules
 * the next one in one transaction: a tick is not lost when a worker dies, and not doubled.
 */
import { Client } from '@svc/client';

const TICKS = Number(process.argv[2] ?? 3);
const EVERY_MS = 1000;

const client = new Client(process.env.SVC_SERVER ?? 'http://localhost:6632');
const queue = 'example-cron';
const next = (ms) => new Date(ms + EVERY_MS - (ms % EVERY_MS));

// The id belongs to the tick: two processes that begin together schedule one message. The key
// belongs to the job: scheduling it again moves it.
async function begin(at) {
  const id = `tick-${at.toISOString()}`;
  await client.timer(queue).key('tick').at(at).payload({ at }).transactionId(id).schedule();
}

const stop = new AbortController();
process.once('SIGINT', () => stop.abort());

await begin(next(Date.now()));
let ticks = 0;
await client
  .queue(queue)
  .group('cron')
  .each()
  .autoAck(false)
  .consume(
    async (message) => {
      ticks++;
      const lateMs = Date.now() - Date.parse(message.data.at);
      console.log(`tick ${ticks} of ${message.data.at}, ${lateMs} ms late`);
      // The work stands here. It follows the clock: ticks that were missed are passed over.
      const at = next(Date.now());
      await client
        .transaction()
        .ack(message)
        .timer({
          queue,
          key: 'tick',
          at,
          payload: { at },
          transactionId: `tick-${at.toISOString()}`,
        })
        .commit();
      if (ticks === TICKS) stop.abort();
    },
    { signal: stop.signal },
  );

// The next tick waits for whoever comes: other processes, or the next run.
await client.close();
