/**
 * Goal: the page shows the cluster whichever node answers: behind a balancer nothing flips, a node
 * that is gone is said at once, and an operator moves leadership, removes that node and has another
 * one join, from the page. Method: Chromium, where it is installed, three nodes, and a balancer of
 * the test that changes the node with every request.
 */
import { createServer, request, type Server } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Cluster } from '../cluster/cluster.js';
import { freePort } from '../process/ports.js';
import { Chromium, chromiumMissing, type Page } from './chromium.js';
import { clickOn, DIALOG, press, TOASTS, typeInto } from './dashboard-reader.js';
import { fill, PAGES } from './dashboard-stage.js';

const reason = chromiumMissing();
if (reason !== null) console.log(reason);

const TEXT = 'document.querySelector("main").innerText';
const GAUGES = 'document.querySelector(".gauges").innerText.replace(/\\s+/g, " ")';
const says = (page: Page, expression = TEXT) =>
  expect.poll(() => page.run(expression).then(String), { timeout: 20_000 });

/** Each request goes to the next node that runs. */
function balancer(cluster: Cluster): Server {
  let turn = 0;
  return createServer((incoming, outgoing) => {
    const { running } = cluster;
    const port = running[turn++ % running.length]?.settings.httpPort;
    const { url: path, method, headers } = incoming;
    const onward = request({ host: '127.0.0.1', port, path, method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    onward.on('error', () => outgoing.destroy());
    incoming.pipe(onward);
  });
}

describe.skipIf(reason !== null)('the dashboard of a cluster', () => {
  let browser: Chromium;
  let cluster: Cluster;
  let server: Server;
  let tab: Page;
  let origin: string;
  let failed = true;

  beforeAll(async () => {
    browser = new Chromium();
    cluster = await Cluster.create({ size: 3 });
    await cluster.startAll();
    await cluster.ready();
    server = balancer(cluster);
    const port = await freePort();
    await new Promise<void>((resolve) => void server.listen(port, '127.0.0.1', resolve));
    origin = `http://127.0.0.1:${port}`;
    tab = await browser.open('about:blank');
    await tab.look(1280, 800, 'light');
  }, 120_000);

  afterAll(async () => {
    await browser.close();
    server.close();
    server.closeAllConnections();
    await cluster.close(failed);
  });

  const membership = async () => {
    const { client } = await cluster.waitForLeader();
    const { text } = await client.get('/api/v1/system/raft/membership');
    return JSON.parse(text).membership;
  };

  test('figures are of all nodes, and the same whoever answers', async () => {
    const leader = await cluster.waitForLeader();
    await tab.go(`${origin}/`);
    await says(tab, GAUGES).toContain(`leader ${leader.number}`);
    const told = new Set<unknown>();
    for (let i = 0; i < 12; i++) {
      await tab.run('new Promise((done) => setTimeout(done, 500))');
      told.add(await tab.run(`${TEXT}.match(/node \\d leads/)[0]`));
      expect(await tab.run('document.querySelectorAll("main table")[0].rows.length')).toBe(4);
    }
    expect([...told]).toEqual([`node ${leader.number} leads`]);
  });

  test('leadership moves by a button, and the page says what will happen first', async () => {
    const leader = await cluster.waitForLeader();
    const [other] = (await cluster.followers()).map(({ number }) => number);
    await tab.go(`${origin}/system`);
    await says(tab).toContain('Let lead');
    await tab.run(clickOn(`[aria-label="Let lead: node ${other}"]`));
    await says(tab, DIALOG).toContain('Nothing is lost');
    await tab.run(clickOn('dialog [type=submit]'));
    await says(tab, TOASTS).toContain('Done');
    expect((await cluster.waitForLeader()).number).toBe(other);
    expect(other).not.toBe(leader.number);
    await says(tab, GAUGES).toContain(`leader ${other}`);
  });

  test('ephemeral queues are summed over the nodes, of which each answers for itself', async () => {
    const { client } = await cluster.waitForLeader();
    const messages = [{ payload: 1 }];
    for (let i = 0; i < 12; i++) {
      const push = { queue: 'everywhere', partition: `p${i}`, messages };
      expect((await client.post('/api/v1/ephemeral/push', push)).status).toBe(201);
    }
    await tab.go(`${origin}/ephemeral`);
    await says(tab).toContain('Sums over the 3 nodes');
    await says(tab, 'document.querySelector("tbody tr").innerText').toMatch(
      /everywhere\s+implicit\s+12\s/,
    );
  });

  test('every page is there without a node; it is removed after its number was typed', async () => {
    await fill((await cluster.waitForLeader()).client);
    const [gone] = await cluster.followers();
    const number = gone?.number ?? 0;
    await gone?.kill();
    await tab.go(`${origin}/`);
    await says(tab).toContain(`Node ${number} does not answer`);
    await says(tab, GAUGES).toContain('1 silent');
    for (const { name, path, shows } of PAGES) {
      await tab.go(origin + path);
      // What an ephemeral queue holds is gone with its node.
      await says(tab).toContain(name === 'ephemeral' ? 'Ephemeral' : shows);
    }
    await tab.go(`${origin}/system`);
    await says(tab).toContain('does not answer');
    await tab.run(clickOn(`[aria-label="Remove: node ${number}"]`));
    await says(tab, DIALOG).toContain('Then 2 nodes vote');
    await tab.run(typeInto('Type its name', `${number}`));
    await tab.run(clickOn('dialog [type=submit]'));
    await says(tab, TOASTS).toContain('Done');
    expect((await membership()).voters).not.toContain(number);
    await says(tab).not.toContain('does not answer');
  });

  test('a node is added as a learner, and votes once it is let', async () => {
    const voters = cluster.running.map((node) => node.number);
    const added = 4;
    (await cluster.addMachine(added, voters)).start({ SVC_RAFT_JOIN: 'true' });
    const { raft, http } = cluster.addresses(added);
    await tab.go(`${origin}/system`);
    await tab.run(press('Add a node'));
    await tab.run(typeInto('Number', `${added}`));
    await tab.run(typeInto('Address for the other nodes', raft));
    await tab.run(press('Add'));
    await says(tab, DIALOG).toContain('host:port is needed');
    await tab.run(typeInto('Address for clients', http));
    await tab.run(press('Add'));
    await says(tab, TOASTS).toContain(`Node ${added} is added`);
    expect((await membership()).learners).toContain(added);
    await tab.run(clickOn(`[aria-label="Let vote: node ${added}"]`));
    await says(tab, DIALOG).toContain(`Node ${added} votes from then on. Then 3 nodes vote`);
    await expect
      .poll(
        async () => {
          // Until it has caught up the leader refuses, and the dialog says so.
          await tab.run(`document.querySelector('dialog [type=submit]')?.click()`);
          return (await membership()).voters;
        },
        { timeout: 60_000, interval: 500 },
      )
      .toContain(added);
    await says(tab, DIALOG).toBe('none');
    failed = false;
  });
});
