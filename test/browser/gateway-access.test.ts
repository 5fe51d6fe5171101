/**
 * Goal: behind a gateway an administrator makes a key in the console, which works, and takes it
 * back, which its user feels within 1.5 s; gives and takes roles, the last one excepted; and an
 * operator makes and changes users. What is refused says why and loses nothing that was typed.
 * Method: Chromium, where it is installed, one tab, one node with a gateway, people who log in.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Chromium, type Page } from './chromium.js';
import {
  DIALOG,
  expectAccessible,
  openRow,
  press,
  reason,
  refusingOnce,
  says,
  TEXT,
  TOASTS,
  typedIn,
  typeInto,
} from './dashboard-reader.js';
import {
  ADMIN,
  fillGateway,
  GATEWAY_PAGES,
  type GatewayStage,
  logIn,
  OPERATOR,
  startGateway,
  VIEWER,
} from './gateway-stage.js';

const NAV = 'document.querySelector("nav").innerText';
const OPEN_DIALOGS = 'document.querySelectorAll("dialog").length';
const FOCUSED = 'document.activeElement?.value ?? document.activeElement?.innerText ?? ""';
/** The value of the field of the key that is shown once. */
const SHOWN_KEY = 'document.querySelector("dialog input[readonly]").value';
const isDisabled = (label: string) => `[...document.querySelectorAll('button')]
  .findLast((button) => button.innerText.trim() === ${JSON.stringify(label)}).disabled`;
/** Counts what the page asks the gateway to change from now on. */
const COUNT_WRITES = `{
  const real = window.fetch;
  window.writes = 0;
  window.fetch = (url, options) => {
    if (options.method !== 'GET') window.writes++;
    return real(url, options);
  };
}`;

describe.skipIf(reason !== null)('access', () => {
  let stage: GatewayStage;
  let browser: Chromium;
  let tab: Page;

  beforeAll(async () => {
    stage = await startGateway();
    await fillGateway(stage);
    browser = new Chromium();
    tab = await browser.open('about:blank');
    await tab.look(1280, 800, 'light');
    await logIn(tab, stage.origin, OPERATOR, '/console');
  }, 60_000);

  afterAll(async () => {
    await browser.close();
    await stage.close();
  });

  const open = (path: string) => tab.go(stage.origin + path);
  const closed = () => expect.poll(() => tab.run(OPEN_DIALOGS)).toBe(0);

  test.each(GATEWAY_PAGES)('$name can be read by everybody, on a phone too', async (page) => {
    await open(page.path);
    await says(tab).toContain(page.shows);
    await expectAccessible(tab);
    await tab.look(1280, 800, 'light');
    expect(browser.logged).toEqual([]);
  });

  test('a key is made, shown once, used, and refused when it is revoked', async () => {
    await open('/keys');
    await tab.run(press('Create a key'));
    await tab.run(press('Create'));
    await says(tab, DIALOG).toContain('A name is needed');
    await tab.run(typeInto('Name', 'from the test'));
    await tab.run(refusingOnce('/api/console/keys', 503, { error: 'not now' }));
    await tab.run(press('Create'));
    await says(tab, DIALOG).toContain('not now; if it is in the list all the same');
    expect(await tab.run(typedIn('Name'))).toBe('from the test');
    await tab.run(press('Create'));
    await says(tab, DIALOG).toContain('Your new key');
    const key = String(await tab.run(SHOWN_KEY));
    expect(key).toMatch(/^qk_live_/);
    expect(await tab.run(FOCUSED)).toBe(key);
    expect(await tab.run(DIALOG)).toContain(`curl '${stage.origin}/api/v1/push'`);
    await expectAccessible(tab);
    await tab.look(1280, 800, 'light');
    // The page came over plain HTTP, where a browser has no clipboard.
    await tab.run(`addEventListener('copy', () => window.copied = document.activeElement.value);
      document.querySelector('[aria-label="Copy the key"]').focus()`);
    await tab.press(' ');
    await says(tab, DIALOG).toContain('Copied');
    expect(await tab.run('window.copied')).toBe(key);

    await tab.press('Escape');
    await says(tab, DIALOG).toContain('not shown again');
    await tab.press('Escape');
    await tab.press('Escape');
    expect(await tab.run(SHOWN_KEY)).toBe(key);
    expect(await stage.push(key)).toBe(201);
    await tab.run(press('Close it'));
    await closed();
    expect(await tab.run('document.documentElement.outerHTML')).not.toContain(key);

    await tab.run(openRow('from the test'));
    await tab.run(press('Revoke'));
    expect(await tab.run(isDisabled('Revoke the key'))).toBe(true);
    await tab.run(typeInto('Type its name', 'from the test'));
    await tab.run(press('Revoke the key'));
    await says(tab, TOASTS).toContain('Revoked from the test');
    await expect.poll(() => stage.push(key)).toBe(401);
    await expect.poll(() => tab.run(TEXT)).not.toContain('from the test');
    await tab.run(`document.querySelector('.toggle input').click()`);
    await says(tab).toContain('from the test');
  });

  test('a key that somebody else has revoked meanwhile says so', async () => {
    const { id } = await stage.send('POST', '/api/console/keys', {
      name: 'raced',
      scopes: ['read'],
    });
    await open(`/keys?key=${id}`);
    await tab.run(press('Revoke'));
    await stage.send('DELETE', `/api/console/keys/${id}`);
    await tab.run(typeInto('Type its name', 'raced'));
    await tab.run(press('Revoke the key'));
    await says(tab, DIALOG).toContain('unknown key');
  });

  test('a member gets another role, and is removed; who is nobody here is explained', async () => {
    await open('/members');
    await says(tab).toContain(VIEWER);
    await tab.run(openRow(VIEWER));
    await tab.run(typeInto('Role', 'producer'));
    await tab.run(press('Change'));
    await says(tab, TOASTS).toContain(`${VIEWER} is producer now`);
    await closed();
    await tab.run(openRow(VIEWER));
    await says(tab, DIALOG).toContain('is producer');
    await tab.run(press('Remove'));
    await tab.run(press('Remove the member'));
    await says(tab, TOASTS).toContain(`Removed ${VIEWER}`);
    await closed();
    await expect.poll(() => tab.run(TEXT)).not.toContain(VIEWER);

    await tab.run(press('Add a member'));
    await tab.run(typeInto('Address', 'stranger@else.example'));
    await tab.run(press('Add'));
    await says(tab, DIALOG).toContain('No user of this tenant');
    await tab.run(typeInto('Address', ` ${VIEWER.toUpperCase()}`));
    await tab.run(press('Add'));
    await says(tab).toContain(VIEWER);
    await closed();
  });

  test('the last admin is told before, and after when another was faster', async () => {
    await open('/members');
    await tab.run(openRow(ADMIN));
    await tab.run(typeInto('Role', 'viewer'));
    const taken = { error: 'the cluster would have no administrator', code: 'invalid_request' };
    await tab.run(refusingOnce('/api/console/members', 400, taken));
    await tab.run(press('Change'));
    await says(tab, DIALOG).toContain('would have no administrator');
    await tab.run(press('Change'));
    await closed();
    await tab.run(openRow(OPERATOR));
    await says(tab, DIALOG).toContain('This is the only admin');
    expect(await tab.run(isDisabled('Remove'))).toBe(true);
    expect(await tab.run(isDisabled('Change'))).toBe(true);
    await tab.press('Escape');
    await closed();
    await stage.send('POST', '/api/console/members', { email: ADMIN, role: 'admin' });
  });

  test('a user is made, renamed, and gets and loses a role', async () => {
    const made = async () => {
      const { users } = await stage.send('GET', '/api/operator/users');
      return users.find(({ email }: { readonly email: string }) => email === 'new@acme.example');
    };
    await open('/users');
    await tab.run(press('Create a user'));
    await tab.run(typeInto('Address', 'new@acme.example'));
    await tab.run(typeInto('Name', 'New'));
    await tab.run(typeInto('Password', 'short'));
    await tab.run(press('Create'));
    await says(tab, DIALOG).toContain('12 to 128');
    await tab.run(typeInto('Password', 'long enough for a password'));
    await tab.run(press('Create'));
    await says(tab, TOASTS).toContain('Created new@acme.example');
    await tab.run(typeInto('Address, name or tenant holds', 'new@'));
    await tab.run(openRow('new@acme.example'));
    await tab.run(typeInto('Name', 'Newer'));
    await tab.run(press('Rename'));
    await says(tab, TOASTS).toContain('Renamed to Newer');
    await tab.run(COUNT_WRITES);
    await tab.run(typeInto('Role on acme', 'admin'));
    await says(tab, isDisabled('Change')).toBe('false');
    expect(await tab.run('window.writes')).toBe(0);
    await tab.run(press('Change'));
    await says(tab, TOASTS).toContain('is admin on acme now');
    expect(await tab.run('window.writes')).toBe(1);
    expect(await made()).toMatchObject({ name: 'Newer', roles: [{ role: 'admin' }] });
    await tab.run(press('Remove'));
    await says(tab, DIALOG).toContain('No role on any cluster');
    await expectAccessible(tab);
    await tab.look(1280, 800, 'light');
    expect(await made()).toMatchObject({ roles: [] });
  });

  test('10,000 users are there at once, and a search takes no time', async () => {
    const { users, ...cell } = await stage.send('GET', '/api/operator/users');
    const many = Array.from({ length: 10_000 }, (_, i) => {
      return { ...users[0], id: crypto.randomUUID(), email: `user-${i}@acme.example` };
    });
    const answer = JSON.stringify({ ...cell, users: many });
    const end = await tab.before(`{
      const real = window.fetch;
      window.fetch = (url, options) => String(url).endsWith('/api/operator/users')
        ? Promise.resolve(new Response(${JSON.stringify(answer)})) : real(url, options);
    }`);
    await open('/users');
    await says(tab).toContain('10,000 users');
    await end();
    expect(Number(await tab.run('document.querySelectorAll("tbody tr").length'))).toBeLessThan(200);
    await tab.run(typeInto('Address, name or tenant holds', 'user-9999@'));
    await says(tab).toContain('1 user');
    await tab.run(openRow('user-9999@acme.example'));
    await says(tab, DIALOG).toContain('user-9999@acme.example');
  });

  test('usage is drawn and summed, and why pushes are blocked is said', async () => {
    const minute = new Date(Date.now() - 120_000).toISOString().slice(0, 16);
    const used = { minute: `${minute}:00Z`, reqs: 7, bytes_in: 2048, bytes_out: 10 };
    const usage = [
      { ...used, op: 'push', msgs: 40 },
      { ...used, op: 'delivery', msgs: 30 },
    ];
    const overview = await stage.send('GET', '/api/console/overview');
    const plan = { ...overview.plan, monthly_msgs_quota: 100 };
    const full = { ...overview, plan, usage: { month: '2026-11', msgs: 100 } };
    const blocked = { ...full, push_block: 'monthly_quota' };
    const end = await tab.before(`{
      const real = window.fetch;
      const answers = ${JSON.stringify({ usage, overview: blocked })};
      window.asked = [];
      window.fetch = (url, options) => {
        const name = /console\\/(\\w+)/.exec(String(url))?.[1];
        if (!(name in answers)) return real(url, options);
        window.asked.push(name);
        return Promise.resolve(new Response(JSON.stringify(answers[name])));
      };
    }`);
    await open('/console?hours=1');
    await says(tab).toMatch(/messages of this month are used up/);
    expect(await tab.run('window.asked.filter((name) => name === "overview").length')).toBe(1);
    await says(tab).toMatch(/100 % of 100/);
    await says(tab).toMatch(/pushes\s+7\s+40\s+2 KiB/);
    await says(tab).toContain('at most 40 at');
    await expectAccessible(tab);
    await tab.look(1280, 800, 'light');
    await end();
  });

  test('an answer of another shape, and a refusal, are told in their place', async () => {
    for (const [status, body, shows] of [
      [200, '[{"id":1}]', 'not as a node gives it'],
      [403, '{"error":"admin role required","code":"forbidden"}', 'admin role required'],
      [503, '{"error":"away","code":"unavailable"}', 'away'],
    ] as const) {
      const end = await tab.before(`{
        const real = window.fetch;
        window.fetch = (url, options) => String(url).includes('/api/console/keys')
          ? Promise.resolve(new Response(${JSON.stringify(body)}, { status: ${status} }))
          : real(url, options);
      }`);
      await open('/keys');
      await says(tab).toContain(shows);
      await end();
    }
  });

  test('who only reads sees the plan, and no page of administrators', async () => {
    await logIn(tab, stage.origin, VIEWER, '/console');
    await says(tab).toContain('viewer');
    const pages = String(await tab.run(NAV));
    expect(pages).toContain('Plan and usage');
    for (const hidden of ['Members', 'API keys', 'Users']) expect(pages).not.toContain(hidden);
    expect(browser.logged.filter((line) => !/status of 40\d|503/.test(line))).toEqual([]);
  });
});
