/**
 * Goal: what an operator does to consumer groups, rows of the key/value store, timers, ephemeral
 * queues and traces is said first in numbers, done, and read back over the API; a lost race shows
 * both sides; a role that only reads sees no button. Method: Chromium, where it is installed, one
 * tab, one node without tokens; the role is another within the page.
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
  TOASTS,
  typedIn,
  typeInto,
  WIDER,
} from './dashboard-reader.js';
import { HARD_NAME } from './dashboard-stage.js';

const goWithin = (path: string) => `history.pushState(null, '', ${JSON.stringify(path)});
  dispatchEvent(new PopStateEvent('popstate')); 0`;

describe.skipIf(reason !== null)('groups and state', () => {
  let reader: Reader;
  let { client, tab, open, read, expectUsable } = {} as Reader;

  beforeAll(async () => {
    reader = await startReader();
    ({ client, tab, open, read, expectUsable } = reader);
  }, 60_000);

  afterAll(() => reader.close());

  const write = async (path: string, body: unknown) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const answer = await client.send('POST', path, Buffer.from(text));
    expect(answer.status, answer.text).toBeLessThan(300);
    return answer.text;
  };
  const pathOf = (queue: string) => `/api/v1/resources/queues/${encodeURIComponent(queue)}`;

  test('a group is moved within a queue, and it is said before what that does', async () => {
    const queue = HARD_NAME.slice(0, 60);
    const group = 'billing/1 <b>&';
    const named = encodeURIComponent(group);
    const pendingOf = async () => (await read(`${pathOf(queue)}/depth?group=${named}`)).pending;
    const items = Array.from({ length: 9 }, (_, i) => ({
      queue,
      partition: `p${i % 3}`,
      payload: i,
    }));
    await write('/api/v1/push', { items });
    const pop = `/api/v1/pop/queue/${encodeURIComponent(queue)}?consumerGroup=${named}`;
    await client.get(`${pop}&autoAck=true&batch=9&partitions=3`);
    expect(await pendingOf()).toBe(0);

    await open('/consumers');
    await says(tab).toContain(group);
    await tab.run(openRow(group));
    await says(tab).toContain('Partitions of');
    expect(await tab.run('new URLSearchParams(location.search).get("queue")')).toBe(queue);
    await tab.run(press('Seek…'));
    await tab.run(typeInto('It reads on', '2099-01-01T00:00:00'));
    await says(tab, DIALOG).toContain('Nothing is delivered again, and nothing is skipped');
    await tab.run(typeInto('It reads on', '2000-01-01T00:00:00'));
    await says(tab, DIALOG).toContain('9 messages are delivered again');
    await tab.run(press('To the end'));
    await says(tab, DIALOG).toContain('Nothing is delivered again');
    await tab.run(press('To the beginning'));
    await says(tab, DIALOG).toContain('9 messages are delivered again');
    await expectUsable();
    await tab.run(press('Seek'));
    await says(tab, TOASTS).toContain(': 3 partitions');
    expect(await pendingOf()).toBe(9);

    await says(tab).toContain('Skip to end');
    await tab.run(clickOn('[aria-label="Skip to end: p1"]'));
    await says(tab, DIALOG).toContain('3 unread messages are skipped');
    await tab.run(press('Skip to the end'));
    await says(tab, TOASTS).toContain('to its end');
    expect(await pendingOf()).toBe(6);

    await tab.run(press('Seek…'));
    await tab.run(press('To the end'));
    await says(tab, DIALOG).toContain('6 messages are skipped');
    await tab.run(press('Cancel'));
    await open('/consumers?view=lagging&age=0');
    await says(tab).toContain('p0');
    expect(await tab.run(TEXT)).not.toContain('p1');

    await tab.run(clickOn('tbody a'));
    await says(tab).toContain('Delete the group');
    await tab.run(press('Delete the group'));
    await says(tab, DIALOG).toContain('3 positions in 1 queue');
    expect(await tab.run(DIALOG)).toContain('6 messages are still unread by it');
    await tab.run(typeInto('Type its name', 'billing'));
    expect(await tab.run('document.querySelector("dialog [type=submit]").disabled')).toBe(true);
    await tab.run(typeInto('Type its name', group));
    await expectUsable();
    await tab.run(clickOn('dialog [type=submit]'));
    await says(tab).toContain('No group has read anything yet');
    expect((await client.get(`/api/v1/consumer-groups/${named}`)).status).toBe(404);
  });

  test('the effect of a seek is counted over more partitions than one call takes', async () => {
    const items = Array.from({ length: 1100 }, (_, i) => ({
      queue: 'wide',
      partition: `p${i}`,
      payload: i,
    }));
    await write('/api/v1/push', { items });
    await client.get('/api/v1/pop/queue/wide?consumerGroup=few&autoAck=true&batch=1&partitions=1');
    await open('/consumers?group=few');
    await says(tab).toContain('Partitions of wide');
    await tab.run(press('Seek…'));
    await tab.run(typeInto('It reads on', '2000-01-01T00:00:00'));
    await says(tab, DIALOG).toContain('1 message is delivered again.');
    await tab.run(typeInto('It reads on', '2099-01-01T00:00:00'));
    await says(tab, DIALOG).toContain('1,099 messages are skipped: the group never gets them.');
  });

  test('a queue of dots alone is not taken for the path above it', async () => {
    await write('/api/v1/push', { items: ['..', 'other'].map((queue) => ({ queue, payload: 1 })) });
    for (const queue of ['%2e%2e', 'other']) {
      await client.get(`/api/v1/pop/queue/${queue}?consumerGroup=dots&autoAck=true`);
    }
    await open('/consumers?group=dots');
    await says(tab).toContain('other');
    await tab.run(press('Delete the group'));
    await tab.run(typeInto('At', '..'));
    await tab.run(typeInto('Type its name', 'dots'));
    await says(tab, DIALOG).toContain('1 position in 1 queue');
    await tab.run(clickOn('dialog [type=submit]'));
    await says(tab, DIALOG).toContain('cannot stand in an address');
    expect(Object.keys(await read('/api/v1/consumer-groups/dots'))).toEqual(['..', 'other']);
  });

  test('a row is created, edited under its version, and deleted', async () => {
    const key = `a/../${HARD_NAME.slice(0, 40)}`;
    const rows = async () => {
      const list = { namespace: 'shop', prefix: 'a' };
      return write('/api/v1/resources/kv/list', list);
    };
    await open('/kv');
    await says(tab).toContain('Nothing is stored yet');
    await tab.run(press('Create a row'));
    await says(tab, DIALOG).toContain('Namespace');
    await says(tab, 'document.activeElement.tagName').toBe('INPUT');
    await tab.run(typeInto('Namespace', 'a b'));
    await tab.run(typeInto('Key', key));
    await tab.run(typeInto('Value', '{"n": 1.0,'));
    await says(tab, DIALOG).toContain('This is no JSON');
    await tab.run(typeInto('Value', '{"n": 1.0, "big": 12345678901234567890}'));
    await tab.run(typeInto('Expires', 'after'));
    await says(tab, DIALOG).toContain('Seconds');
    await expectUsable();
    await tab.run(press('Create'));
    await says(tab, DIALOG).toContain("namespace 'a b' does not match");
    await tab.run(typeInto('Namespace', 'shop'));
    await tab.run(refusingOnce('/api/v1/kv', 507, { error: 'storage_full' }));
    await tab.run(press('Create'));
    await says(tab, DIALOG).toContain('the disk is too full to store more');
    expect(await tab.run(typedIn('Value'))).toContain('12345678901234567890');
    await tab.run(press('Create'));
    await says(tab, DIALOG).toContain('"big": 12345678901234567890');
    await says(tab, 'document.querySelector("tbody")?.innerText').toContain('a/../');
    expect(await rows()).toContain('"value":{"n":1.0,"big":12345678901234567890}');

    // Somebody else writes while the row is edited.
    await tab.run(press('Edit'));
    await says(tab, DIALOG).toContain('Edit a row');
    expect(await tab.run(typedIn('Value'))).toBe(
      '{\n  "n": 1.0,\n  "big": 12345678901234567890\n}',
    );
    await tab.run(typeInto('Value', '{"mine":2.50}'));
    const theirs = `[{"op":"put","ns":"shop","key":${JSON.stringify(key)},"value":{"theirs":3.0},
      "forever":true}]`;
    await write('/api/v1/kv', theirs);
    await tab.run(press('Save'));
    await says(tab, DIALOG).toMatch(/somebody else wrote it meanwhile[\s\S]*"theirs": 3\.0/);
    expect(await tab.run(typedIn('Value'))).toBe('{"mine":2.50}');
    expect(await rows()).toContain('{"theirs":3.0}');
    await expectUsable();
    await tab.run(press('Write mine over it'));
    await says(tab, DIALOG).toContain('"mine": 2.50');
    // It keeps the expiry that was read, to the second.
    const [row] = JSON.parse(await rows()).rows;
    expect(Date.parse(row.expiresAt) - Date.parse(row.updatedAt)).toBeLessThanOrEqual(3_601_000);
    expect(await rows()).toContain('"value":{"mine":2.50}');

    await tab.run(press('Delete…'));
    await says(tab, DIALOG).toContain('if it still has version');
    await write('/api/v1/kv', theirs);
    await tab.run(press('Delete the row'));
    await says(tab, DIALOG).toMatch(/Not deleted: it was written meanwhile[\s\S]*"theirs"/);
    await tab.run(press('Delete this one'));
    await says(tab, TOASTS).toContain('Deleted');
    expect(JSON.parse(await rows()).rows).toEqual([]);
    expect(await tab.run('document.querySelector("dialog")')).toBeNull();
  });

  test('a value of 64 KiB and one of 120 levels are shown and edited', async () => {
    const deep = '['.repeat(120) + ']'.repeat(120);
    const large = JSON.stringify(HARD_NAME.repeat(150));
    for (const [key, value] of [
      ['deep', deep],
      ['large', large],
    ] as const) {
      await write(
        '/api/v1/kv',
        `[{"op":"put","ns":"shop","key":"${key}","value":${value},
        "forever":true}]`,
      );
      await open(`/kv?namespace=shop&key=${key}`);
      await says(tab, DIALOG).toContain('Edit');
      await tab.run(press('Edit'));
      await says(tab, DIALOG).toContain('Edit a row');
      await tab.run(press('Save'));
      await says(tab, TOASTS).toContain('Wrote');
      const { text } = await client.get(`/api/v1/kv/shop/${key}`);
      expect(text).toContain(`"value":${value},`);
      expect(await tab.run(WIDER)).toBeLessThanOrEqual(0);
    }
  });

  test('a timer is looked into and cancelled; one that is gone is said to be', async () => {
    const payload = Buffer.from('{"user":1.0}').toString('base64');
    const timers = ['a/../b', HARD_NAME.slice(0, 100)].map((timerKey) => ({
      op: 'schedule',
      queue: 'mail',
      timerKey,
      delayMs: 3_600_000,
      txn: 't',
      payload,
    }));
    await write('/api/v1/timers', timers);
    await open('/timers');
    await says(tab).toContain('a/../b');
    await tab.run(openRow('a/../b'));
    await says(tab, DIALOG).toContain('"user": 1.0');
    await expectUsable();
    await tab.run(press('Cancel the timer…'));
    await says(tab, DIALOG).toContain('never comes');
    await tab.run(press('Cancel the timer'));
    await says(tab, TOASTS).toContain('Cancelled');
    const { rows } = await read('/api/v1/timers/mail');
    expect(rows.map(({ timerKey }: { timerKey: string }) => timerKey)).toEqual([
      HARD_NAME.slice(0, 100),
    ]);

    await tab.run(openRow('rders'));
    await says(tab, DIALOG).toContain('"user"');
    await tab.run(press('Cancel the timer…'));
    await says(tab, DIALOG).toContain('never comes');
    await write('/api/v1/timers', [
      { op: 'cancel', queue: 'mail', timerKey: HARD_NAME.slice(0, 100) },
    ]);
    await tab.run(press('Cancel the timer'));
    await says(tab, TOASTS).toContain('Not cancelled');
    await says(tab, DIALOG).toContain('it has fired, or was cancelled');
  });

  test('an ephemeral queue is emptied, and deleted after its name was typed', async () => {
    const queue = 'presence/<b>';
    const messages = Array.from({ length: 5 }, (_, i) => ({ payload: i }));
    await write('/api/v1/ephemeral/push', { queue, partition: 'room-7', messages });
    await write('/api/v1/ephemeral/configure', { queue, options: { policy: 'dropOldest' } });
    const depth = `/api/v1/ephemeral/queues/${encodeURIComponent(queue)}/depth`;
    await open('/ephemeral');
    await says(tab).toContain('drops its oldest');
    await tab.run(openRow(queue));
    await says(tab, DIALOG).toContain('room-7');
    await expectUsable();
    await tab.run(press('Drop its messages…'));
    await says(tab, DIALOG).toContain('5 messages of 1 partition');
    await tab.run(press('Drop the messages'));
    await says(tab, TOASTS).toContain('Dropped 5 messages');
    expect((await read(depth)).pending).toBe(0);
    await tab.run(press('Delete…'));
    await says(tab, DIALOG).toContain('Its options are forgotten');
    await tab.run(typeInto('Type its name', queue));
    await tab.run(press('Delete the queue'));
    await says(tab, TOASTS).toContain('Deleted');
    expect((await client.get(depth)).status).toBe(404);
    expect(await tab.run('document.querySelector("dialog")')).toBeNull();
  });

  test('the traces of a name lead to the timeline of a message, and to the message', async () => {
    await write('/api/v1/push', { items: [{ queue: 'traced', payload: 1, transactionId: 'o/1' }] });
    const { messages } = await read('/api/v1/messages?queue=traced');
    const [{ partitionId }] = messages;
    for (const eventType of ['begun', 'charged']) {
      const data = `{"amount":1.0,"of":"${eventType}"}`;
      await write(
        '/api/v1/traces',
        `{"transactionId":"o/1","partitionId":"${partitionId}",
        "traceNames":["checkout"],"eventType":"${eventType}","data":${data},"worker":"w-1"}`,
      );
    }
    await write('/api/v1/traces', { transactionId: 'o/1', traceNames: ['alone'] });
    await open('/traces');
    await says(tab).toContain('checkout');
    await tab.run(openRow('checkout'));
    await says(tab).toContain('charged');
    await tab.run(openRow('charged'));
    await says(tab, DIALOG).toMatch(/begun[\s\S]*1\.0[\s\S]*charged[\s\S]*\+/);
    const href = `[...document.querySelectorAll('dialog a')]
      .find(({ innerText }) => innerText === 'Open the message').getAttribute('href')`;
    expect(String(await tab.run(href))).toMatch(/\/messages\?pid=\d+&txn=o%2F1$/);
    await expectUsable();
    await open('/traces?name=alone');
    await says(tab).toContain('o/1');
    await tab.run(openRow('o/1'));
    await says(tab, DIALOG).toContain('of no partition');
  });

  test('a role that only reads sees no button', async () => {
    await write('/api/v1/push', { items: [{ queue: 'read', payload: 1 }] });
    await write('/api/v1/kv', [{ op: 'put', ns: 'shop', key: 'read', value: 1, forever: true }]);
    await client.get('/api/v1/pop/queue/read?consumerGroup=readers&autoAck=true');
    await write('/api/v1/timers', [
      {
        op: 'schedule',
        queue: 'mail',
        timerKey: 'k',
        delayMs: 3_600_000,
        txn: 't',
        payload: 'e30=',
      },
    ]);
    await write('/api/v1/ephemeral/push', { queue: 'memory', messages: [{ payload: 1 }] });
    await open('/kv?namespace=shop&key=read');
    await says(tab, DIALOG).toContain('Edit');
    // The page learns the role anew when another token is entered.
    await tab.run(`{
      const real = window.fetch;
      window.fetch = async (url, options) => {
        const answer = await real(url, options);
        if (!String(url).endsWith('/auth/me')) return answer;
        const body = { ...(await answer.json()), role: 'read-only', is_operator: false };
        return new Response(JSON.stringify(body));
      };
      document.querySelector('[aria-label="Close"]').click();
    }`);
    await tab.run(clickOn('.top .wide-only'));
    await says(tab, DIALOG).toContain('Bearer token');
    await tab.run(typeInto('Bearer token', 'any'));
    await tab.run(press('Use'));
    await says(tab).not.toContain('Create a row');
    for (const [path, shown, hidden] of [
      ['/kv?namespace=shop&key=read', 'As stored', 'Edit'],
      ['/consumers?group=readers&queue=gone', 'Partitions of read', 'Seek'],
      ['/timers?queue=mail&timer=k', 'Scheduled', 'Cancel'],
      ['/ephemeral?queue=memory', 'When full', 'Delete'],
    ] as const) {
      await tab.run(goWithin(path));
      await says(tab).toContain(shown);
      expect(await tab.run(TEXT)).not.toContain(hidden);
      expect(await tab.run(TEXT)).not.toContain('Delete');
    }
  });
});
