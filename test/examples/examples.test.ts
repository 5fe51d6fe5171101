/**
 * What a newcomer runs, against one real node. The examples, each by its command: they end by
 * themselves with 0, say what their text promises, and can be run again. All run at the same time,
 * as they are on queues of their own. And the packages, installed in an empty project.
 */
import { execFile, spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { useNode } from '../contract/node-fixture.js';
import { temporaryDirectory } from '../process/node-under-test.js';

const node = useNode();
const directory = temporaryDirectory();
afterAll(() => directory.remove());
const root = new URL('../..', import.meta.url).pathname;
const examples = join(root, 'examples');
const logPath = join(directory.path, 'access.log');
const wholeLog = readFileSync(join(root, 'bench/data/apache-access.log'), 'utf8');
const log = wholeLog.split('\n').slice(0, 2000);
const hasProgram = (name: string) => spawnSync(name, ['--version']).error === undefined;

const lines = (program: string, ...args: readonly string[]) => linesIn(root, program, ...args);

/** Its lines; rejects when it fails, or is not quiet on standard error. */
function linesIn(
  folder: string,
  program: string,
  ...args: readonly string[]
): Promise<readonly string[]> {
  const env = { ...process.env, SVC_SERVER: `http://127.0.0.1:${node.port}` };
  return new Promise((resolve, reject) => {
    execFile(program, args, { cwd: folder, env, timeout: 60_000 }, (error, out, err) => {
      if (error !== null || err !== '') reject(error ?? new Error(err));
      else resolve(out.split('\n').slice(0, -1));
    });
  });
}

const run = new Map<string, Promise<readonly string[]>>();
const linesOf = (name: string) => run.get(name) ?? Promise.reject(new Error(`no run of ${name}`));

beforeAll(() => {
  for (const name of ['worker', 'outbox', 'cron', 'leader']) {
    run.set(name, lines(process.execPath, `examples/${name}.mjs`));
  }
  writeFileSync(logPath, log.join('\n'));
  run.set('window', lines(process.execPath, 'examples/window.mjs', logPath));
  run.set('leader, a second one', lines(process.execPath, 'examples/leader.mjs'));
  if (hasProgram('python3')) run.set('consumer', lines('python3', 'examples/consumer.py'));
  if (hasProgram('curl')) run.set('curl', lines('sh', 'examples/curl.sh'));
  for (const ran of run.values()) ran.catch(() => undefined);
});

describe('examples', () => {
  it('worker: what fails comes again, and ends as a dead letter', async () => {
    expect([...(await linesOf('worker'))].sort()).toEqual([
      'dead letter: mail to nobody: the mail server refused it',
      'mail to bob: attempt 1 failed',
      'mail to bob: done at attempt 2',
      'mail to nobody: attempt 1 failed',
      'mail to nobody: attempt 2 failed',
      'mail to nobody: attempt 3 failed',
      'resize image 1: done at attempt 1',
      'resize image 2: done at attempt 1',
    ]);
  });

  it('outbox: an order that was sent twice is done once', async () => {
    expect(await linesOf('outbox')).toEqual([
      'order a: stored, invoice sent',
      'order b: stored, invoice sent',
      'order a: was done before',
      'invoice for order a: 12.50',
      'invoice for order b: 9.00',
    ]);
  });

  it('cron: a tick at each full second, and the next run goes on', async () => {
    const first = await linesOf('cron');
    const second = await lines(process.execPath, 'examples/cron.mjs', '1');
    const ticks = [...first, ...second].map((line) => {
      const [, at = ''] = /^tick \d of (\S+\.000Z), \d+ ms late$/.exec(line) ?? [];
      return Date.parse(at);
    });
    expect(ticks).toHaveLength(4);
    expect(ticks.every((at, i) => i === 0 || at > Number(ticks[i - 1]))).toBe(true);
  });

  it('leader: of two processes one leads at a time', async () => {
    const both = await Promise.all([linesOf('leader'), linesOf('leader, a second one')]);
    const rounds = both.map((said) =>
      said.flatMap((line) => /, (\d+) of all leaders$/.exec(line)?.[1] ?? []).map(Number),
    );
    expect(rounds.sort(([a = 0], [b = 0]) => a - b)).toEqual([
      [1, 2, 3],
      [4, 5, 6],
    ]);
    for (const said of both) expect(said.at(-1)).toMatch(/^process \d+ stepped down$/);
  });

  it('window: counts every line of the log once', async () => {
    const counts = new Map<string, Map<string, number>>();
    for (const line of log) {
      const [, date = '', status = ''] = /\[(\S+?):.*?" (\d{3}) /.exec(line) ?? [];
      const day = new Date(`${date.replaceAll('/', ' ')} UTC`).toISOString().slice(0, 10);
      const ofDay = counts.get(day) ?? new Map<string, number>();
      counts.set(day, ofDay.set(status, (ofDay.get(status) ?? 0) + 1));
    }
    const shown = [...counts].map(([day, ofDay]) => {
      const texts = [...ofDay].map(([status, count]) => `${status}: ${count}`).sort();
      return `${day}  ${texts.join(', ')}`;
    });
    const said = await linesOf('window');
    expect(said.slice(0, -1)).toEqual(shown.sort());
    expect(said.at(-1)).toMatch(/^200\d messages in \d+ commits$/);
  });

  it.runIf(hasProgram('python3'))('consumer.py: with the standard library alone', async () => {
    expect([...(await linesOf('consumer'))].sort()).toEqual([
      'dead letter: order 2: an order of less than nothing',
      'order 0: 1250 cents',
      'order 1: 900 cents',
      'order 2: an order of less than nothing',
    ]);
  });

  it.runIf(hasProgram('curl'))('curl.sh: any HTTP client is a client', async () => {
    expect(await linesOf('curl')).toEqual([
      'push 1: queued',
      'push 2: duplicate',
      'popped: {"total":12.50}',
      'acknowledged: true',
      'key: hello',
    ]);
  });

  it('are short, and each is in the list', () => {
    const list = readFileSync(join(examples, 'README.md'), 'utf8');
    for (const name of readdirSync(examples).filter((one) => /\.(mjs|py|sh)$/.test(one))) {
      expect(list).toContain(`[${name}](${name})`);
      expect(readFileSync(join(examples, name), 'utf8').split('\n').length).toBeLessThan(80);
    }
  });
});

describe('packages', () => {
  const PROGRAM = `import { Client } from '@svc/client';
const client = new Client(process.env.SVC_SERVER);
const [{ status }] = await client.queue('packed').push([{ payload: { first: 1.5 } }]);
console.log(status);
await client.close();
`;

  it('are installed in an empty project, and send the first message', async () => {
    const project = join(directory.path, 'project');
    mkdirSync(project);
    const packed = await linesIn(
      root,
      'npm',
      ...['pack', '--json', '--loglevel=error'],
      ...['--pack-destination', project, './packages/client', './packages/cli'],
    );
    const [client, cli] = JSON.parse(packed.join('\n')) as readonly {
      readonly files: readonly { readonly path: string }[];
    }[];
    const others = (one: typeof client) =>
      one?.files.map(({ path }) => path).filter((path) => !/^dist\/.+\.(js|d\.ts)$/.test(path));
    expect(others(client)).toEqual(['LICENSE', 'README.md', 'package.json']);
    expect(others(cli)).toEqual(['LICENSE', 'README.md', 'bin/svcctl.js', 'package.json']);
    expect(packed.join('\n')).not.toMatch(/\.(test|fake)\./);
    // What the command line depends on comes from this checkout, so no registry is asked.
    const dependencies = {
      '@svc/client': `file:${join(project, 'svc-client-2.1.0.tgz')}`,
      '@svc/cli': `file:${join(project, 'svc-cli-2.1.0.tgz')}`,
      commander: `file:${join(root, 'node_modules/commander')}`,
      yaml: `file:${join(root, 'node_modules/yaml')}`,
    };
    writeFileSync(join(project, 'package.json'), JSON.stringify({ dependencies }));
    writeFileSync(join(project, 'first.mjs'), PROGRAM);
    const quiet = ['--no-audit', '--no-fund', '--no-update-notifier', '--loglevel=error'];
    const cache = ['--offline', '--cache', join(project, 'cache')];
    await linesIn(project, 'npm', 'install', ...quiet, ...cache);
    expect(await linesIn(project, process.execPath, 'first.mjs')).toEqual(['queued']);
    const svcctl = join(project, 'node_modules/.bin/svcctl');
    const popped = await linesIn(project, svcctl, 'pop', 'packed');
    expect(popped).toEqual([expect.stringContaining('"data":{"first":1.5}')]);
  });
});
