/**
 * Goal: behind a gateway a person logs in, by password or by a provider, comes to the page that was
 * asked for, sees what the role allows on the cluster that is acted on and nothing of another one,
 * and is out after a logout or when the session ends. Method: Chromium, where it is installed, with
 * one tab, one node with two clusters, and a process with the providers: a real OpenID Connect
 * server for Google, a real OAuth 2 server for GitHub.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { callerWith } from '../process/http-client.js';
import { Chromium, type Page } from './chromium.js';
import {
  clickOn,
  DIALOG,
  expectAccessible,
  press,
  reason,
  says,
  TEXT,
} from './dashboard-reader.js';
import { fill, PAGES } from './dashboard-stage.js';
import {
  ADMIN,
  fillGateway,
  type GatewayStage,
  KEY,
  logIn,
  OPERATOR,
  PASSWORD,
  startGateway,
  VIEWER,
} from './gateway-stage.js';
import { type Account, LoginProviders } from './login-providers.js';

const inPage = JSON.stringify;
const CONTROL = 'control';
/** Words of buttons that change something. */
const WRITES = /\b(create|delete|push|purge|replay|seek|skip|cancel|edit|save|drop)\b/i;
const HERE = 'location.pathname + location.search';
const CLUSTER = 'document.querySelector(".top .cluster")?.innerText ?? ""';
const BODY = 'document.body.innerText';

describe.skipIf(reason !== null)('sessions', () => {
  let browser: Chromium;
  let stage: GatewayStage;
  let tab: Page;
  let providers: LoginProviders;
  const google: Account = { email: ADMIN, isVerified: true };
  const github: Account = { email: VIEWER, isVerified: true };

  beforeAll(async () => {
    providers = new LoginProviders();
    const at = await providers.prove({ google, github });
    const [id, secret] = ['a client', 'a secret'];
    stage = await startGateway({
      SVC_PROXY_CP_TOKEN: CONTROL,
      SVC_PROXY_GOOGLE_BASE_URL: at.google,
      SVC_PROXY_GITHUB_BASE_URL: at.github,
      GOOGLE_CLIENT_ID: id,
      GOOGLE_CLIENT_SECRET: secret,
      GITHUB_CLIENT_ID: id,
      GITHUB_CLIENT_SECRET: secret,
    });
    await fillGateway(stage);
    await fill(tenant());
    const made = { tenant_slug: 'acme', slug: 'acme-tests', plan: 'free' };
    const headers = { 'x-svc-cp-token': CONTROL };
    const { status } = await stage.client.post('/api/cp/clusters', made, { headers });
    expect(status).toBe(201);
    browser = new Chromium();
    tab = await browser.open('about:blank');
    await tab.look(1280, 800, 'light');
  }, 60_000);

  afterAll(async () => {
    await browser.close();
    await stage.close();
    await providers.close();
  });

  /** A program with the key of the cluster. */
  const tenant = () =>
    callerWith(stage.client, { host: 'acme.example', authorization: `Bearer ${KEY}` });
  const open = (path: string) => tab.go(stage.origin + path);
  /** An expression that leads to another document may end unanswered: the address tells. */
  const leave = (expression: string) => tab.run(expression).catch(() => null);
  const send = (email: string, password: string) =>
    leave(`{
      document.querySelector('[name=email]').value = ${inPage(email)};
      document.querySelector('[name=password]').value = ${inPage(password)};
      document.querySelector('main button').click();
    }`);
  const isAt = (path: string) => says(tab, HERE).toBe(path);
  const logOut = async () => {
    await tab.run(clickOn('.top .account'));
    await leave(press('Log out'));
    await isAt('/auth/login');
  };

  test('a page without a session leads to the login, and a login back to it', async () => {
    const deep = '/messages?queue=orders&range=24h';
    await open(deep);
    await isAt(`/auth/login?next=${encodeURIComponent(deep)}`);
    await expectAccessible(tab);
    await tab.look(1280, 800, 'light');
    expect(await tab.run('document.activeElement.name')).toBe('email');
    await send(ADMIN, 'wrong');
    await says(tab, BODY).toContain('Invalid email or password.');
    expect(await tab.run('document.querySelector("[name=email]").value')).toBe(ADMIN);
    expect(await tab.run('document.activeElement.name')).toBe('password');
    await expectAccessible(tab);
    await tab.look(1280, 800, 'light');
    await send(ADMIN, PASSWORD);
    await isAt(deep);
    await says(tab).toContain('Transaction id');
    expect(await tab.run(CLUSTER)).toBe('acme');
    expect(await tab.run('document.querySelector(".account").innerText')).toContain(ADMIN);
    expect(await tab.run('document.cookie')).toBe('');
  });

  test('the account shows who it is, and makes a token for programs', async () => {
    await tab.run(clickOn('.top .account'));
    await says(tab, DIALOG).toContain(ADMIN);
    await tab.run(press('Make a token'));
    await says(tab, 'document.querySelector(".token input")?.value ?? ""').toMatch(/^ey.+\..+\../);
    const token = await tab.run('document.querySelector(".token input").value');
    const headers = { host: 'acme.example', authorization: `Bearer ${token}` };
    expect((await stage.client.get('/api/v1/resources/queues', { headers })).status).toBe(200);
    await expectAccessible(tab);
    await tab.look(1280, 800, 'light');
  });

  test('after a logout nothing is left, also by the way back', async () => {
    await tab.run(clickOn('[aria-label="Close"]'));
    await tab.run(`document.querySelector('[href$="/dlq"]').click()`);
    await isAt('/dlq');
    await logOut();
    await leave('history.back()');
    await says(tab, 'location.search').toContain('next=');
    await says(tab, 'location.pathname').toBe('/auth/login');
    expect(await tab.run(BODY)).not.toContain('acme');
  });

  test('a viewer sees every page and no control that writes', async () => {
    await logIn(tab, stage.origin, VIEWER, '/queues');
    await says(tab).toContain('orders');
    const written: unknown[] = [];
    for (const { path, shows } of PAGES) {
      await tab.run(`history.pushState(null, '', ${inPage(path)});
        dispatchEvent(new PopStateEvent('popstate')); 0`);
      const isAllowed = path !== '/system';
      await says(tab).toContain(isAllowed ? shows : 'does not allow it');
      await says(tab).not.toMatch(/Asking for/);
      if (isAllowed) expect(await tab.run(TEXT), path).not.toContain('Not shown');
      written.push(
        ...((await tab.run(`[...document.querySelectorAll('main button, main input')]
          .filter((one) => !one.matches(':disabled'))
          .map((one) => one.innerText || one.ariaLabel || '')
          .filter((text) => ${WRITES}.test(text))`)) as string[]),
      );
    }
    expect(written).toEqual([]);
    expect(await tab.run('document.querySelector("nav").innerText')).not.toMatch(
      /System|Users|Members|API keys/,
    );
    await open('/system');
    await says(tab).toContain('your role on acme, viewer, does not allow it');
  });

  test('a session that ends while a page is open leads to the login and back', async () => {
    await open('/queues?q=or');
    await says(tab).toContain('orders');
    // As from another tab.
    await tab.run(`fetch('/auth/logout', { method: 'POST' }).then(() => 0)`);
    await leave(`document.querySelector('[href$="/dlq"]').click()`);
    await isAt('/auth/login?next=%2Fdlq');
    await send(OPERATOR, PASSWORD);
    await isAt('/dlq');
    await says(tab).toContain('Dead letters');
  });

  test('nothing of one cluster is shown under the name of another', async () => {
    const end = await tab.before(`{
      const look = () => {
        const name = document.querySelector('.top .cluster')?.innerText ?? '';
        const isMixed = /acme-tests/.test(name) && /shop.mail/.test(document.body?.innerText ?? '');
        if (isMixed) sessionStorage.setItem('mixed', 'yes');
      };
      new MutationObserver(look).observe(document, { childList: true, subtree: true });
      const real = window.fetch;
      window.sent = new Set();
      window.fetch = (url, options) => {
        const { pathname } = new URL(url);
        if (/^\\/api\\//.test(pathname)) window.sent.add(options.headers['x-svc-act-cluster']);
        return real(url, options);
      };
    }`);
    await open('/queues');
    await says(tab).toContain('shop.mail');
    const [acme, ...none] = (await tab.run('[...window.sent]')) as string[];
    expect([typeof acme, none]).toEqual(['string', []]);
    await tab.run(clickOn('.top .cluster'));
    await says(tab, DIALOG).toContain('acme-tests');
    await leave(clickOn('.clusters li:nth-child(2) button'));
    await isAt('/queues');
    await says(tab, CLUSTER).toContain('acme-tests');
    await says(tab).toContain('No queue yet');
    const sent = (await tab.run('[...window.sent]')) as string[];
    expect([sent.length, sent[0] === acme]).toEqual([1, false]);
    expect(await tab.run('sessionStorage.getItem("mixed")')).toBeNull();
    const kept = await tab.run(`Object.entries(localStorage)
      .find(([name]) => name.startsWith('svc.acting_cluster.'))[1]`);
    expect(kept).toBe(sent[0]);
    await open('/');
    await says(tab, CLUSTER).toContain('acme-tests');
    await end();
  });

  test('what the plan has not is not in the lists, and its page says so', async () => {
    const nav = 'document.querySelector("nav").innerText';
    await says(tab, nav).toContain('Timers');
    expect(await tab.run(nav)).not.toMatch(/Streams|Traces/);
    await open('/streams');
    await says(tab).toContain('The plan of acme-tests does not have this');
    await logOut();
  });

  test('Google', async () => {
    await open('/workload?range=6h');
    await leave(clickOn('a[href^="/auth/google"]'));
    await isAt('/workload?range=6h');
    await says(tab, 'document.querySelector(".account").innerText').toContain(ADMIN);
    await logOut();
  });

  test('GitHub, and one who has not verified the address', async () => {
    await open('/dlq');
    await providers.prove({ google, github: { email: VIEWER, isVerified: false } });
    await leave(clickOn('a[href^="/auth/github"]'));
    await says(tab, BODY).toContain('The address of mail is not verified.');
    expect(await tab.run('document.querySelectorAll("form").length')).toBe(1);
    await providers.prove({ google, github });
    await leave(clickOn('a[href^="/auth/github"]'));
    await isAt('/');
    await says(tab, 'document.querySelector(".account").innerText').toContain(VIEWER);
    const refused = browser.logged.filter((text) => !/status of (40[134]|503)/.test(text));
    expect(refused).toEqual([]);
    await logOut();
  });

  test('a provider that dies during a login leads back to the login page', async () => {
    await open('/dlq');
    await providers.prove({ google, github, isDying: true });
    await leave(clickOn('a[href^="/auth/github"]'));
    await says(tab, BODY).toContain('The provider did not answer.');
    await send(VIEWER, PASSWORD);
    await says(tab, 'document.querySelector(".account")?.innerText ?? ""').toContain(VIEWER);
  });
});
