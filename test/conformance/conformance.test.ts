/**
 * Goal: a run says the truth about a broker, leaves nothing there, touches nothing that others have
 * made, and tells a user in one line what keeps it from running. Method: the built program, against
 * a node with default settings and against stand-ins that answer as told.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { builtFile } from '../cluster/built-file.js';
import { BrokerApi } from '../contract/broker-api.js';
import { useNode } from '../contract/node-fixture.js';
import { freePort } from '../process/ports.js';
import { readArguments, UsageError } from './arguments.js';
import { openTarget } from './target.js';

const PROGRAM = builtFile('conformance/main.js');

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly errors: string;
}

/** `seen` is called with what has been written so far. */
function run(args: readonly string[], seen?: (out: string, child: ChildProcess) => void) {
  return new Promise<Ended>((resolve, reject) => {
    const child = spawn(process.execPath, [PROGRAM, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const kill = () => void child.kill('SIGKILL');
    process.once('exit', kill);
    let out = '';
    let errors = '';
    child.stdout.on('data', (chunk: Buffer) => {
      out += chunk.toString();
      seen?.(out, child);
    });
    child.stderr.on('data', (chunk: Buffer) => {
      errors += chunk.toString();
    });
    child.once('error', reject);
    child.once('close', (code) => {
      process.off('exit', kill);
      resolve({ code, out, errors });
    });
  });
}

function pointsOf(out: string): { met: number; failed: number; skipped: number; planned: number } {
  const lines = out.split('\n');
  const ok = lines.filter((line) => line.startsWith('ok '));
  const skipped = ok.filter((line) => line.includes(' # SKIP ')).length;
  const failed = lines.filter((line) => line.startsWith('not ok ')).length;
  const planned = Number(/^1\.\.(\d+)$/m.exec(out)?.[1]);
  return { met: ok.length - skipped, failed, skipped, planned };
}

describe('against a node with default settings', () => {
  const node = useNode();
  let base = '';

  beforeAll(async () => {
    base = `http://localhost:${node.port}`;
    await node.api.pushIds('the.users', 'p', ['a']);
  });

  async function onlyTheUsers(): Promise<void> {
    const { text } = await node.client.get('/api/v1/resources/queues');
    const { queues } = JSON.parse(text) as { queues: readonly { name: string }[] };
    expect(queues.map(({ name }) => name)).toEqual(['the.users']);
    const { pending } = await new BrokerApi(node.client).depth('the.users', 'g');
    expect(pending).toBe(1);
  }

  it('each row of a section is met or says what it needs, and nothing is left', async () => {
    const ended = await run(['--base', base, '--section', 'message-plane 5']);
    expect(ended, ended.out).toMatchObject({ code: 0, errors: '' });
    const { met, failed, skipped, planned } = pointsOf(ended.out);
    expect(failed).toBe(0);
    expect(met).toBeGreaterThan(10);
    expect(met + skipped).toBe(planned);
    expect(ended.out.startsWith('TAP version 14\n')).toBe(true);
    expect(ended.out).toContain(`# rows ${planned}, met ${met}, failed 0, skipped ${skipped}\n`);
    await onlyTheUsers();
  });

  it('rows of a source and its standby say what they need', async () => {
    const ended = await run(['--base', base, '--section', 'standby-link 5']);
    expect(ended.code, ended.out).toBe(0);
    expect(ended.out).toContain(' # SKIP needs a source and a standby of its own');
    await onlyTheUsers();
  });

  it('what others may use is not touched', async () => {
    const ended = await run(['--base', base, '--section', 'state-surfaces 1.2']);
    expect(ended.code, ended.out).toBe(0);
    expect(ended.out).toContain(' # SKIP needs tenants of its own');
    // The row that looks whether anything is left.
    expect(pointsOf(ended.out).met).toBe(1);
    await onlyTheUsers();
  });

  it('an interrupted run takes away what it made', async () => {
    let isSent = false;
    const interrupt = (out: string, child: ChildProcess) => {
      if (!isSent && out.includes('\nok ')) isSent = child.kill('SIGINT');
    };
    const ended = await run(['--base', base, '--section', 'message-plane 3'], interrupt);
    expect(ended.code, ended.out).toBe(130);
    expect(ended.out).toContain('Bail out! interrupted');
    expect(ended.out).toMatch(/^ok \d+ - nothing is left behind$/m);
    await onlyTheUsers();
  });
});

describe('where there is nothing to run against', () => {
  let stand: Server;
  let base = '';
  let answers: Readonly<Record<string, readonly [status: number, body: string]>> = {};
  const HEALTHY = '{"status":"healthy","engine":"raft","raft":{}}';

  beforeAll(async () => {
    stand = createServer((request, response) => {
      const [path = ''] = (request.url ?? '').split('?');
      const [status, body] = answers[request.method ?? ''] ?? answers[path] ?? [404, 'no'];
      request.resume().on('end', () => response.writeHead(status).end(body));
    });
    await new Promise<void>((resolve) => stand.listen(0, '127.0.0.1', resolve));
    base = `http://127.0.0.1:${(stand.address() as AddressInfo).port}`;
  });

  afterAll(() => {
    stand.close();
    stand.closeAllConnections();
  });

  /** One line, on the error output, and exit code 2. */
  it('nothing listens there', async () => {
    const address = `http://127.0.0.1:${await freePort()}`;
    const { code, out, errors } = await run(['--base', address]);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(errors).toMatch(/^conformance: .*: nothing answers there .*\n$/);
  });

  it.each([
    [['--base', 'ftp://localhost'], /not an address such as/],
    [['--base', 'localhost:6632'], /not an address such as/],
    [['--base', 'http://localhost:6632/svc'], /only scheme, host and port/],
    [['--base', 'http://a', '--base', 'http://a/'], /the same address is given twice/],
    [['--base', 'http://a', '--section', 'message-plane 99'], /message-plane 99: there is none/],
    [['--base', 'http://a', '--quick'], /Unknown option/],
    [[], /--base is missing/],
  ])('%j', (args, told) => {
    expect(() => readArguments(args)).toThrow(UsageError);
    expect(() => readArguments(args)).toThrow(told);
  });

  it.each([
    ['https://[::1]:6643', 'message-plane'],
    ['http://svc.example', 'streams'],
  ])('%s is an address, %s are sections', (address, section) => {
    const { bases, sections } = readArguments(['--base', address, '--section', section]);
    expect(bases.map(({ origin }) => origin)).toEqual([address]);
    expect(sections.size).toBeGreaterThan(5);
  });

  async function refused(told: RegExp, token: string | null = null): Promise<void> {
    const opening = openTarget({ bases: [new URL(base)], token, sections: new Set() });
    await expect(opening).rejects.toThrow(told);
    await expect(opening).rejects.toThrow(UsageError);
  }

  it('a server that is no broker', async () => {
    answers = { '/health': [200, '<html>'] };
    await refused(/: no broker answers there/);
  });

  it('a broker without a leader', async () => {
    answers = { '/health': [503, '{"status":"unhealthy","engine":"raft"}'] };
    await refused(/: the node is not ready, or knows no leader/);
  });

  it('a broker that wants a token', async () => {
    answers = {
      '/health': [200, HEALTHY],
      '/api/v1/resources/queues': [401, '{"error":"Missing"}'],
    };
    await refused(/: the broker needs a token: give one with --token/);
    await refused(/: the broker refuses the token/, 'x');
  });

  it('a token that may not remove what rows make', async () => {
    answers = { ...willing(), DELETE: [403, 'no'] };
    const { code, errors } = await run(['--base', base, '--token', 'x']);
    expect(code).toBe(2);
    expect(errors).toMatch(/could not be removed: .* answered 403/);
  });

  it('a broker that does not keep the contract: exit code 1', async () => {
    answers = willing();
    const { code, out } = await run(['--base', base, '--section', 'message-plane 5']);
    expect(code, out).toBe(1);
    expect(pointsOf(out).failed).toBeGreaterThan(10);
  });

  function willing(): typeof answers {
    return {
      '/health': [200, HEALTHY],
      '/api/v1/resources/queues': [200, '{"queues":[]}'],
      '/api/v1/raft/status': [200, '{"nodeId":1,"voters":1}'],
      DELETE: [200, '{}'],
      '/openapi.json': [200, '{"paths":{},"components":{"schemas":{}}}'],
    };
  }
});
