/**
 * Goal: what an operator does with a queue, its messages and its dead letters is done, said
 * beforehand in numbers, and read back over the API. Method: Chromium, where it is installed, one
 * tab, one node without tokens; refusals happen within the page.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  clickOn,
  DIALOG,
  openRow,
  press,
  type Reader,
  reason,
  refusingOnce,
  says,
  startReader,
  TEXT,
  typeInto,
} from './dashboard-reader.js';
import { HARD_NAME } from './dashboard-stage.js';

const PAYLOAD = '{"big":12345678901234567890,"one":1.0,"<b>":"\u202eevil"}';
const TRANSACTION = 'order/1 <b>%41</b>';

describe.skipIf(reason !== null)('queues, messages and dead letters', () => {
  let reader: Reader;
  let { client, tab, open, read, expectUsable } = {} as Reader;

  beforeAll(async () => {
    reader = await startReader();
    ({ client, tab, open, read, expectUsable } = reader);
  }, 60_000);

  afterAll(() => reader.close());

  const push = (queue: string, count: number, partition = 'p') =>
    client.post('/api/v1/push', {
      items: Array.from({ length: count }, (_, i) => ({
        queue,
        partition,
        transactionId: `${queue}-${i}`,
        payload: { i },
      })),
    });
  /** Files so many as dead letters of the group, each with an error. */
  const bury = async (queue: string, count: number, group: string, error: string) => {
    const pop = `/api/v1/pop/queue/${queue}?consumerGroup=${group}&batch=${count}&timeout=2000`;
    const { messages } = await read(pop);
    const acknowledgments = messages.map((message: Readonly<Record<string, string>>) => ({
      transactionId: message.transactionId,
      partitionId: message.partitionId,
      leaseId: message.leaseId,
      status: 'dlq',
      error,
    }));
    const body = { consumerGroup: group, acknowledgments };
    const { status } = await client.post('/api/v1/ack/batch', body);
    expect(status).toBe(200);
  };

  test('a message is pushed as typed, found by its ids, and shown with its traces', async () => {
    await open('/messages?queue=typed');
    await says(tab).toContain('No message of this span fits');
    await tab.run(press('Push a message'));
    await says(tab, DIALOG).toContain('Transaction id');
    await tab.run(typeInto('Payload', '{"big":12'));
    await says(tab, DIALOG).toMatch(/JSON/);
    expect(await tab.run('document.querySelector("dialog .primary:not(:disabled)")')).toBeNull();
    await tab.run(typeInto('Payload', PAYLOAD));
    await tab.run(typeInto('Partition', HARD_NAME.slice(0, 60)));
    await tab.run(typeInto('Transaction id', TRANSACTION));
    await tab.run(refusingOnce('/push', 507, { error: 'disk_full' }));
    await tab.run(press('Push'));
    await says(tab, DIALOG).toContain('too full');
    await tab.run(press('Push'));
    await says(tab).toContain(TRANSACTION);
    const { messages } = await read('/api/v1/messages?queue=typed');
    expect((await client.get('/api/v1/messages?queue=typed')).text).toContain(`"data":${PAYLOAD}`);
    const [{ id, partitionId }] = messages;
    for (const [eventType, data] of [
      ['begun', { step: 1 }],
      ['charged', { cents: 5 }],
    ]) {
      const trace = { transactionId: TRANSACTION, partitionId, eventType, data, worker: 'w-1' };
      expect((await client.post('/api/v1/traces', trace)).status).toBeLessThan(300);
    }
    await tab.run(openRow(TRANSACTION));
    await says(tab, DIALOG).toContain('charged');
    const shown = String(await tab.run(DIALOG));
    expect(shown).toContain('12345678901234567890');
    expect(shown).toContain('⟨U+202E⟩evil');
    expect(shown.indexOf('begun')).toBeLessThan(shown.indexOf('charged'));
    await tab.run(press('As stored'));
    await says(tab, 'document.querySelector("dialog textarea").value').toBe(PAYLOAD);
    await expectUsable();
    // The address alone leads there again.
    const address = String(await tab.run('location.pathname + location.search'));
    await open(address);
    await says(tab, DIALOG).toContain('charged');
    for (const wanted of [id, TRANSACTION]) {
      await open('/messages?queue=typed');
      await says(tab).toContain(TRANSACTION);
      await tab.run(typeInto('Message id or transaction id', wanted));
      await tab.run(press('Open'));
      await says(tab, DIALOG).toContain(id);
    }
    await open('/messages?queue=typed');
    await says(tab).toContain(TRANSACTION);
    await tab.run(typeInto('Message id or transaction id', 'nobody'));
    await tab.run(press('Open'));
    await says(tab).toContain('No stored message of the queue has this id');
  });

  test('messages are filtered, shown as a group has read them, and paged', async () => {
    await push('paged', 250);
    const pop = '/api/v1/pop/queue/paged?consumerGroup=billing&batch=245&autoAck=true';
    await read(`${pop}&timeout=2000`);
    await open('/messages?queue=paged&group=billing');
    await says(tab).toContain('1 to 100');
    expect(await tab.run(TEXT)).toMatch(/For billing[\s\S]*unread[\s\S]*read/);
    await tab.run(press('Older'));
    await says(tab).toContain('101 to 200');
    expect(await tab.run('location.search')).toMatch(/from=.*to=.*offset=100/);
    await tab.run(press('Older'));
    await says(tab).toContain('201 to 250');
    // While a filter is typed the rows stay, marked as old, and the node is asked once.
    await tab.run(`{
      const real = window.fetch;
      window.asked = [];
      window.fetch = async (url, options) => {
        if (!/partition=/.test(url)) return real(url, options);
        window.asked.push(String(url));
        const answer = await real(url, options);
        await new Promise((done) => { window.answer = done; });
        return answer;
      };
      window.seen = new Set();
      new MutationObserver(() => window.seen.add(/Asking for/.test(${TEXT})))
        .observe(document.querySelector('main'), { subtree: true, childList: true });
    }`);
    for (const text of ['n', 'no', 'non', 'none']) {
      await tab.run(typeInto('Partition', text));
    }
    const isOld = 'document.querySelector(".loaded").hasAttribute("data-stale")';
    await says(tab, 'window.asked.length').toBe('1');
    expect(await tab.run(isOld)).toBe(true);
    expect(await tab.run(TEXT)).toContain('paged-49');
    expect(await tab.run('window.asked[0]')).toContain('partition=none&');
    await says(tab, 'typeof window.answer').toBe('function');
    await tab.run('window.answer()');
    await says(tab).toContain('No message of this span fits');
    expect(await tab.run(isOld)).toBe(false);
    expect(await tab.run('[...window.seen]')).toEqual([false]);
    await open('/messages?queue=paged&status=pending');
    await says(tab).toContain('paged-249');
    expect(await tab.run(TEXT)).not.toContain('paged-244');
    await open('/messages?queue=paged&status=nonsense');
    await says(tab).toContain('status must be one of');
  });

  test('a dead letter is inspected, replayed from its message, and deleted', async () => {
    await push('lost', 2);
    await bury('lost', 2, 'billing', 'declined <i>twice</i>');
    await open('/dlq?queue=lost');
    await says(tab).toContain('2 dead letters');
    expect(await tab.run(TEXT)).toMatch(/by its consumer/);
    await tab.run(openRow('lost-0'));
    await says(tab, DIALOG).toContain('declined <i>twice</i>');
    await expectUsable();
    await tab.run(clickOn('dialog a[href*="txn=lost-0"]'));
    await says(tab, DIALOG).toContain('Replay…');
    await tab.run(press('Replay…'));
    await says(tab, DIALOG).toContain('as a new message at the end of partition');
    await tab.run(press('Replay'));
    await says(tab, DIALOG).toContain('completed');
    const { messages } = await read('/api/v1/messages?queue=lost&status=pending');
    expect(messages).toHaveLength(1);
    await open('/dlq?queue=lost');
    await says(tab).toContain('1 dead letter');
    await tab.run(openRow('lost-1'));
    await says(tab, DIALOG).toContain('One dead letter');
    await tab.run(clickOn('dialog a[href*="txn=lost-1"]'));
    await says(tab, DIALOG).toContain('Replay…');
    await tab.run(press('Delete the dead letter…'));
    await says(tab, DIALOG).toContain('of every group');
    await tab.run(press('Delete the dead letter'));
    await says(tab, DIALOG).not.toContain('Replay…');
    expect((await read('/api/v1/dlq?queue=lost')).total).toBe(0);
  });

  test('chosen ones are replayed, and it is said of each what became of it', async () => {
    await push('chosen', 3);
    await bury('chosen', 3, 'billing', 'no');
    await open('/dlq?queue=chosen');
    await says(tab).toContain('3 dead letters');
    await tab.run(clickOn('[aria-label="Choose chosen-0"]'));
    await tab.run(clickOn('[aria-label="Choose chosen-2"]'));
    // One is replayed by somebody else meanwhile.
    const letters = (await read('/api/v1/dlq?queue=chosen')).messages;
    const gone = letters.find(({ transactionId }: { transactionId: string }) =>
      transactionId.endsWith('2'),
    );
    await client.post(`/api/v1/dlq/${gone.id}/replay`, {});
    // Chosen rows belong to the list that is shown.
    await tab.run(typeInto('Group', 'mail'));
    await says(tab).toContain('Replay 0 chosen…');
    await tab.run(typeInto('Group', ''));
    await tab.run(press('Replay 2 chosen…'));
    await says(tab, DIALOG).toContain('Pushes 2 payloads again');
    await tab.run(typeInto('To another queue', 'elsewhere'));
    await tab.run(press('Replay 2 dead letters'));
    await says(tab, DIALOG).toContain('2 of 2, 1 refused, over');
    expect(await tab.run(DIALOG)).toMatch(/chosen-0 .*moved to elsewhere, p/);
    expect(await tab.run(DIALOG)).toMatch(/chosen-2 .*Message not found/);
    expect((await read('/api/v1/messages?queue=elsewhere')).messages).toHaveLength(1);
    await tab.run(press('Close'));
    await says(tab).toContain('1 dead letter');
  });

  test('all of a queue are replayed in slices, and go on after a refusal', async () => {
    await push('many', 250);
    await bury('many', 250, 'billing', 'no');
    await open('/dlq?queue=many&group=billing');
    await says(tab).toContain('250 dead letters');
    await tab.run(press('Replay all of a queue…'));
    await says(tab, DIALOG).toContain('Pushes 250 payloads of many');
    await tab.run(`{
      const real = window.fetch;
      let slices = 0;
      window.fetch = (url, options) => {
        if (!String(url).endsWith('/redrive') || ++slices !== 2) return real(url, options);
        return Promise.resolve(new Response('{"error":"no_leader"}', { status: 503 }));
      };
    }`);
    await tab.run(press('Replay all'));
    await says(tab, DIALOG).toContain('no_leader');
    expect(await tab.run(DIALOG)).toContain('100 of 250 tried, stopped');
    await tab.run(press('Go on'));
    await says(tab, DIALOG).toContain('250 of 250 tried, over');
    expect((await read('/api/v1/dlq?queue=many')).total).toBe(0);
    expect((await read('/api/v1/resources/queues/many')).totals.total).toBe(500);
  });

  test('a purge of one group says its number first, and leaves the others', async () => {
    await push('purged', 4);
    await bury('purged', 4, 'billing', 'no');
    await bury('purged', 2, 'mail', 'no');
    await open('/dlq?queue=purged');
    await says(tab).toContain('Errors alike');
    await tab.run(press('Purge…'));
    await says(tab, DIALOG).toMatch(/Deletes 6 [\s\S]*billing: 4 [\s\S]*mail: 2 /);
    await tab.run(press('Cancel'));
    await open('/dlq?queue=purged&group=mail');
    await says(tab).toContain('2 dead letters');
    await tab.run(press('Purge…'));
    await says(tab, DIALOG).toContain('Deletes 2 dead letters');
    await tab.run(typeInto('Type its name', 'purged'));
    await tab.run(press('Delete the dead letters'));
    await says(tab).toContain('No dead letter');
    const left = (await read('/api/v1/dlq?queue=purged')).messages;
    expect(left).toHaveLength(4);
  });

  test('options are changed after it was said what changes, and only those are sent', async () => {
    await push('set', 1);
    await client.post('/api/v1/configure', { queue: 'set', options: { retryLimit: 7 } });
    await open('/queues/set');
    await says(tab).toContain('Kept without effect');
    await tab.run(press('Edit options'));
    await says(tab, DIALOG).toContain('Nothing yet');
    await tab.run(typeInto('Lease', '4.5'));
    await says(tab, DIALOG).toContain('A whole number from 0');
    await tab.run(typeInto('Lease', '45'));
    await tab.run(typeInto('Kept for', '3600'));
    await says(tab, DIALOG).toContain('Lease: 60 s → 45 s. New leases last 45 s');
    expect(await tab.run(DIALOG)).toContain(
      'Removes messages older than 3,600 s (1 h), read or not',
    );
    await expectUsable();
    // Somebody else changes another option meanwhile: it is not sent back.
    await client.post('/api/v1/configure', { queue: 'set', options: { retryLimit: 9 } });
    await tab.run(press('Change 2 options'));
    await says(tab, DIALOG).toBe('none');
    await says(tab).toContain('45 s');
    const { options } = await read('/api/v1/resources/queues/set?limit=1');
    expect(options).toMatchObject({ leaseTime: 45, retentionSeconds: 3600, retryLimit: 9 });
    // A queue that somebody deletes meanwhile does not come back.
    await tab.run(press('Edit options'));
    await tab.run(typeInto('Lease', '50'));
    await client.send('DELETE', '/api/v1/resources/queues/set', undefined);
    await tab.run(press('Change 1 option'));
    await says(tab, DIALOG).toMatch(/not found/i);
    expect((await client.get('/api/v1/resources/queues/set')).status).toBe(404);
  });

  test('a queue is looked into, by its partitions too, and nothing is consumed', async () => {
    await push('looked', 3, 'deep');
    await push('looked', 1, 'shallow');
    await read('/api/v1/pop/queue/looked/partition/deep?consumerGroup=g&autoAck=true&batch=1');
    await open('/queues/looked');
    await says(tab).toMatch(/2 of 2 partitions with pending[\s\S]*deep[\s\S]*shallow/);
    await says(tab).toMatch(/Consumer groups[\s\S]*\bg\b/);
    // The deepest seed is in the middle.
    await tab.run(`{
      const canvas = document.querySelector('canvas');
      const middle = canvas.clientWidth / 2;
      const { left, top } = canvas.getBoundingClientRect();
      canvas.dispatchEvent(new MouseEvent('click',
        { clientX: left + middle, clientY: top + middle, bubbles: true }));
    }`);
    await says(tab, DIALOG).toMatch(/deep[\s\S]*Where each group is[\s\S]*g\s+1/);
    expect(await tab.run('location.search')).toContain('partition=deep');
    await expectUsable();
    await tab.run(press('Peek'));
    await says(tab, DIALOG).toContain('Which');
    await says(tab, DIALOG).toContain('Stored from offset 0, next 3');
    expect(await tab.run(DIALOG)).toContain('looked-2');
    expect((await read('/api/v1/resources/queues/looked')).totals.processing).toBe(0);
    await tab.run(clickOn('dialog a[href*="looked-2"]'));
    await says(tab, DIALOG).toContain('One message');
    await open('/queues/looked?partitions=name');
    await says(tab).toMatch(/Oldest message[\s\S]*shallow/);
  });

  test('a queue is deleted after its numbers were said and its name typed', async () => {
    await push('doomed', 5);
    await open('/queues/doomed');
    await says(tab).toContain('Kept without effect');
    await tab.run(press('Delete…'));
    await says(tab, DIALOG).toMatch(/Deletes 5 messages in 1 partition/);
    await tab.run(typeInto('Type its name', 'doomed'));
    await tab.run(press('Delete the queue'));
    await says(tab, 'location.pathname').toBe('/queues');
    expect((await client.get('/api/v1/resources/queues/doomed')).status).toBe(404);
    await open('/queues/doomed');
    await says(tab).toContain('No queue has this name');
  });

  test('addresses of earlier releases lead here and keep the span', async () => {
    await push('moved', 1);
    await open('/analytics?queue=moved&range=6h');
    await says(tab).toContain('Kept without effect');
    expect(await tab.run('location.pathname + location.search')).toBe('/queues/moved?range=6h');
    expect(await tab.run(`document.querySelector('[aria-label="Span of time"]').value`)).toBe('6h');
  });

  test('hard names and 10,000 partitions stay readable', async () => {
    const items = Array.from({ length: 10_000 }, (_, i) => ({
      queue: HARD_NAME,
      partition: i === 0 ? '<b>p</b>' : `p${i}`,
      payload: i,
    }));
    items.push({ queue: HARD_NAME, partition: '<b>p</b>', payload: -1 });
    expect((await client.post('/api/v1/push', { items })).status).toBe(201);
    await open(`/queues/${encodeURIComponent(HARD_NAME)}`);
    await says(tab).toContain('At least 5,000 of 10,000 partitions with pending messages');
    await says(tab).toContain('5,000 partitions more have 1 pending or fewer');
    expect(await tab.run('document.querySelector(".partitions tbody").innerText')).toContain(
      '<b>p',
    );
    expect(await tab.run('document.querySelectorAll("main tr").length')).toBeLessThan(200);
    await expectUsable();
  });

  test('a payload of a MiB and one as deep as can be are shown whole', async () => {
    const deep = `${'['.repeat(125)}1.0${']'.repeat(125)}`;
    const long = `"${'x'.repeat(1_048_576)}"`;
    for (const payload of [deep, long]) {
      const body = Buffer.from(`{"items":[{"queue":"large","payload":${payload}}]}`);
      expect((await client.send('POST', '/api/v1/push', body)).status).toBe(201);
      await open('/messages?queue=large');
      await says(tab).toContain('Default');
      await tab.run(clickOn('tbody tr td'));
      await says(tab, DIALOG).toContain('As stored');
      await tab.run(press('As stored'));
      const bytes = 'document.querySelector("dialog textarea").value.length';
      await says(tab, bytes).toBe(String(payload.length));
    }
  });

  test('a role that only reads sees what there is, and nothing that it may not do', async () => {
    await push('only', 2);
    await bury('only', 1, 'billing', 'no');
    await open('/queues/only');
    await says(tab).toContain('Push a message');
    await tab.run(`{
      const real = window.fetch;
      window.fetch = async (url, options) => {
        const answer = await real(url, options);
        if (!String(url).endsWith('/auth/me')) return answer;
        const body = { ...(await answer.json()), role: 'read-only', is_operator: false };
        return new Response(JSON.stringify(body));
      };
      document.querySelector('.top .wide-only').click();
    }`);
    await says(tab, 'document.querySelector("dialog")?.innerText').toContain('Bearer token');
    // The page learns the role anew when another token is entered.
    await tab.run(`{
      const field = document.querySelector('dialog [type=password]');
      field.value = 'any';
      field.dispatchEvent(new Event('input', { bubbles: true }));
    }`);
    await tab.run(press('Use'));
    await says(tab).not.toContain('Push a message');
    for (const [path, shown] of [
      ['/queues/only?partition=p', 'Where each group is'],
      ['/dlq?queue=only', '1 dead letter'],
      ['/messages?queue=only&status=dead_letter', 'only-0'],
    ]) {
      await tab.run(`history.pushState(null, '', ${JSON.stringify(path)});
        dispatchEvent(new PopStateEvent('popstate')); 0`);
      await says(tab).toContain(shown);
      const buttons = `[...document.querySelectorAll('main button')].map((one) => one.innerText)`;
      const offered = (await tab.run(buttons)) as string[];
      const words = /Push a|Peek|Delete|Edit|Replay|Purge|Choose/;
      expect(offered.filter((text) => words.test(text))).toEqual([]);
    }
    await tab.run(clickOn('tbody tr td'));
    await says(tab, DIALOG).toContain('One message');
    await says(tab, DIALOG).toContain('dead letter');
    expect(await tab.run(DIALOG)).not.toMatch(/Replay|Delete/);
  });
});
