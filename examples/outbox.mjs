/**
 * An outbox in one transaction.
 *
 * For each order a record is written, an invoice goes to another queue, and the order is
 * acknowledged: all of it, or nothing, so a crash at any moment leaves no order half done. `once`
 * remembers the order's own id: one that was sent twice is done once.
 */
import { Client } from '@svc/client';

const client = new Client(process.env.SVC_SERVER ?? 'http://localhost:6632');
const orders = client.queue('example-orders').group('shop');
const invoices = client.queue('example-invoices').group('mailer');
const run = Date.now(); // other ids in every run of the example

await orders.push([
  { payload: { id: `${run}-a`, cents: 1250 } },
  { payload: { id: `${run}-b`, cents: 900 } },
  { payload: { id: `${run}-a`, cents: 1250 } }, // the customer pressed the button twice
]);

const stop = new AbortController();
process.once('SIGINT', () => stop.abort());

await orders
  .each()
  .autoAck(false)
  .limit(3)
  .idleMillis('2s')
  .consume(
    async (message) => {
      const { id, cents } = message.data;
      const name = id.replace(`${run}-`, 'order ');
      const result = await client
        .transaction()
        .ack(message)
        .once(`example-order-${id}`, { ttl: '1h' })
        .kv({ op: 'put', ns: 'example-orders', key: id, value: { cents }, ttlSeconds: 3600 })
        .queue('example-invoices')
        .push({ payload: { order: name, cents } })
        .commit();
      console.log(`${name}: ${result.success ? 'stored, invoice sent' : 'was done before'}`);
      // The transaction did nothing, its acknowledgement neither.
      if (!result.success) await client.ack(message);
    },
    { signal: stop.signal },
  );

await invoices
  .each()
  .idleMillis('500ms')
  .consume(({ data }) =>
    console.log(`invoice for ${data.order}: ${(data.cents / 100).toFixed(2)}`),
  );
await client.close();
