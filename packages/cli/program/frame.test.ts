/**
 * The frame: exit codes for each class of failure, the resolution of server and token, the forms of
 * the output, completion and help. Commands run in this process against a server that answers as
 * the test says.
 */
import {
  type ChildProcess,
  execFileSync,
  type StdioOptions,
  spawn,
  spawnSync,
} from 'node:child_process';
import {
  chmodSync,
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { VERSION } from '../base/version.js';
import { FakeWorld, memoryCredentials, temporaryHome } from '../base/world.fake.js';
import { commands } from './commands.js';
import { run } from './program.js';
import { StubServer } from './stub-server.fake.js';

const stub = new StubServer();
const home = temporaryHome();
const HEALTH = { status: 'healthy', engine: 'raft', version: '2.1.0' };

beforeAll(() => stub.start());
afterAll(() => {
  stub.stop();
  home.remove();
});
beforeEach(() => stub.answers({ body: HEALTH }));

describe('exit codes', () => {
  const failure = (error: string, code?: string) => ({ error, ...(code && { code }) });
  it.each([
    [401, failure('no token'), 3, /401 no token/],
    [403, failure('Insufficient permissions'), 3, /403/],
    [404, failure('hidden', 'route_blocked'), 1, /for operators/],
    [404, failure('nothing', 'no_such_route'), 1, /no such route/],
    [404, failure('unknown queue'), 2, /404 unknown queue/],
    [400, failure('no \u001b[2J \u202e name\nx'), 2, /400 no {2}\[2J {3}name x\n/],
    [502, '<html>', 2, /502\n$/],
    [200, '<html>', 2, /200 with what is no JSON\n$/],
    [400, failure('bad', 'bad_request'), 2, /400 bad/],
    [409, failure('conflict'), 2, /409/],
    [500, failure('fault', 'internal'), 2, /500 fault/],
  ])('%i %j ends with %i', async (status, body, code, text) => {
    stub.answers({ status, body });
    const ran = await stub.svcctl('metrics');
    expect([ran.code, ran.out]).toEqual([code, '']);
    expect(ran.err).toMatch(/^svcctl: .*\n$/);
    expect(ran.err).toMatch(text);
  });

  it('ends with 2 when the server is not reached, hangs up or sends no JSON', async () => {
    const refused = await stub.svcctl('metrics --server http://127.0.0.1:1');
    expect([refused.code, refused.out]).toEqual([2, '']);
    stub.answers({ cut: true });
    expect((await stub.svcctl('ping')).code).toBe(2);
    stub.answers({ body: '<html>' });
    const ran = await stub.svcctl('ping');
    expect([ran.code, ran.err]).toEqual([2, expect.stringContaining('no JSON')]);
  });

  it.each([
    ['nonsense', /unknown command 'nonsense'/],
    ['pnig', /Did you mean ping/],
    ['ping --nonsense', /unknown option '--nonsense'/],
    ['config use-context', /missing required argument/],
    ['metrics -o xml', /-o xml: write one of/],
    ['metrics -o jsonpath=.a[', /not understood/],
    ['ping --timeout soon', /no duration/],
    ['metrics --server ftp://x', /is no URL/],
    ['metrics --server localhost:6632', /write http:\/\/localhost:6632\n$/],
    ['push q text', /push does not take "text": write it like svcctl push orders --data/],
    ['push q --data text', /--data is no JSON.*a text is written '"text"'/],
    ['pop q --cg=', /--cg is empty/],
    ['dlq drain --yes --queue=', /--queue is empty/],
    ['kv put n k v --ttl 0s', /--ttl is nothing/],
    ['lock acquire l --ttl 0', /--ttl is nothing/],
    ['metrics --context nowhere', /no context "nowhere"/],
  ])('%s ends with 1 and calls nothing', async (words, text) => {
    const ran = await stub.svcctl(words);
    expect([ran.code, ran.out, stub.asked]).toEqual([1, '', []]);
    expect(ran.err).toMatch(text);
  });

  it.each(commands.filter(({ args = '' }) => /^<(?!value)/.test(args)).map(({ name }) => name))(
    '%s refuses an empty name',
    async (name) => {
      const ran = await stub.svcctl([...name.split(' '), '', 'a', 'b']);
      expect([ran.code, stub.asked]).toEqual([1, []]);
      expect(ran.err).toMatch(/> is empty|\.\.\.> is empty|does not take "[ab]"/);
    },
  );

  it('says that a call may have been carried out where a second one would do harm', async () => {
    stub.answers({ cut: true });
    for (const words of ['push q --data 1', 'pop q', 'kv incr n k', 'dlq retry 1 t']) {
      expect((await stub.svcctl(words)).err).toContain('(it may have been carried out)');
    }
    for (const words of ['queue list', 'kv put n k 1', 'queue configure q']) {
      expect((await stub.svcctl(words)).err).not.toContain('carried out');
    }
  });

  it('ends with 1 when no server is configured', async () => {
    const world = new FakeWorld();
    expect(await run(['metrics'], world)).toBe(1);
    expect(world.err).toBe(
      'svcctl: no server configured: set --server, SVC_SERVER, ' +
        "or run 'svcctl config set-context'\n",
    );
  });

  it('ends with 130 when it is interrupted', async () => {
    const interrupt = new AbortController();
    stub.answer = () => {
      interrupt.abort(new Error('interrupted'));
      return { cut: true };
    };
    const ran = await stub.svcctl('metrics', { signal: interrupt.signal });
    expect([ran.code, ran.out, ran.err]).toEqual([130, '', '']);
  });

  it('ends with 2 for a server that is not healthy', async () => {
    stub.answers({ body: { ...HEALTH, status: 'settling' } });
    const ran = await stub.svcctl('ping -o table');
    expect([ran.code, ran.out]).toEqual([2, expect.stringContaining('settling')]);
  });

  it.each(['get', 'on', 'off'])('maintenance %s ends with 1', async (word) => {
    stub.answers({ status: 404, body: failure('no such route', 'no_such_route') });
    expect((await stub.svcctl(`maintenance ${word}`)).code).toBe(1);
  });
});

describe('server and token', () => {
  const config = join(home.path, 'given.yaml');
  const file = `current-context: a
contexts:
  - {name: a, server: http://127.0.0.1:1, token-ref: 'literal:from-context'}
  - {name: b, server: http://127.0.0.1:1, token-ref: env}
  - {name: c, server: http://127.0.0.1:1, token-ref: 'file://${home.path}/token'}
  - {name: d, server: http://127.0.0.1:1, token-ref: 'keychain://d'}
  - {name: e, server: http://127.0.0.1:1}
`;
  beforeAll(() => {
    writeFileSync(config, file, { mode: 0o600 });
    writeFileSync(join(home.path, 'token'), 'from-file\n');
  });
  const tokenSent = async (words: string, env: Record<string, string> = {}) => {
    const credentials = memoryCredentials();
    credentials.kept.set('d', 'from-store');
    const ran = await stub.svcctl(`metrics --config ${config} ${words}`, { env, credentials });
    expect(ran.err).toBe('');
    return stub.asked[0]?.headers.authorization;
  };

  it.each([
    ['the current context', '', {}, 'Bearer from-context'],
    ['SVC_CONTEXT', '', { SVC_CONTEXT: 'c' }, 'Bearer from-file'],
    ['--context over SVC_CONTEXT', '--context d', { SVC_CONTEXT: 'c' }, 'Bearer from-store'],
    ['a context without a token', '--context e', {}, undefined],
    ['env', '--context b', { SVC_TOKEN: 'from-env' }, 'Bearer from-env'],
    ['SVC_TOKEN over the context', '', { SVC_TOKEN: 'from-env' }, 'Bearer from-env'],
    ['--token over SVC_TOKEN', '--token flag', { SVC_TOKEN: 'from-env' }, 'Bearer flag'],
  ])('take the token of %s', async (_, words, env, token) => {
    expect(await tokenSent(words, env)).toBe(token);
  });

  it('take the server of the flag over that of the environment and the context', async () => {
    const unreachable = 'http://127.0.0.1:1';
    const inContext = await stub.svcctl(`metrics --config ${config}`, { env: { SVC_SERVER: '' } });
    expect(inContext.code).toBe(2);
    const ran = await stub.svcctl(`metrics --server ${stub.url} --config ${config}`, {
      env: { SVC_SERVER: unreachable },
    });
    expect(ran.code).toBe(0);
  });

  it('refuse a file that is none', async () => {
    const broken = join(home.path, 'broken.yaml');
    for (const text of ['a: [', 'contexts: 5', 'contexts: [{server: x}]', '[]']) {
      writeFileSync(broken, text);
      const ran = await stub.svcctl(`metrics --config ${broken}`);
      expect([ran.code, ran.err]).toEqual([1, expect.stringMatching(/^svcctl: [^\n]*[^:]\n$/)]);
    }
  });
});

describe.runIf(spawnSync('openssl', ['version']).error === undefined)('--insecure', () => {
  const [key, cert] = [join(home.path, 'key.pem'), join(home.path, 'cert.pem')];
  const secured = createServer((request, response) => {
    response.setHeader('set-cookie', ['session=a=b; Path=/', 'other=c']);
    request.resume().on('end', () => response.end(JSON.stringify(HEALTH)));
  });
  let server = '';
  beforeAll(async () => {
    const made = [
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:P-256',
      '-nodes',
      '-subj',
      '/CN=x',
    ];
    spawnSync('openssl', ['req', '-x509', ...made, '-keyout', key, '-out', cert]);
    secured.setSecureContext({ key: readFileSync(key), cert: readFileSync(cert) });
    await new Promise<void>((resolve) => secured.listen(0, '127.0.0.1', resolve));
    server = `https://127.0.0.1:${(secured.address() as AddressInfo).port}`;
  });
  afterAll(() => {
    secured.closeAllConnections();
    secured.close();
  });

  it('takes any certificate, for calls and for the login by password', async () => {
    const env = { SVC_SERVER: server, SVC_CONFIG: join(home.path, 'secured.yaml') };
    const refused = await stub.svcctl('ping', { env });
    expect([refused.code, refused.err]).toEqual([2, expect.stringContaining('self-signed')]);
    expect((await stub.svcctl('ping --insecure', { env })).code).toBe(0);
    const words = 'login --method password -u ada --password pw';
    const failed = await stub.svcctl(words, { env });
    expect([failed.code, failed.err]).toEqual([2, expect.stringContaining('self-signed')]);
    expect((await stub.svcctl(`${words} --insecure`, { env })).code).toBe(0);
    expect(readFileSync(env.SVC_CONFIG, 'utf8')).toMatch(
      /token-ref: literal:a=b\n +insecure: true/,
    );
    expect((await stub.svcctl('ping', { env })).code).toBe(0);
    expect((await stub.svcctl('ping --insecure=false', { env })).code).toBe(2);
  });
});

describe('contexts', () => {
  const at = (name: string) => join(home.path, name, 'config.yaml');

  it('are written to a file of mode 0600 in a folder of mode 0700, at once', async () => {
    const path = at('written');
    const env = { SVC_CONFIG: path };
    await stub.svcctl('config set-context a --server http://a --token secret --no-keychain', {
      env,
    });
    const before = statSync(path).ino;
    const ran = await stub.svcctl('config set-context b --server http://b --insecure', { env });
    expect(ran.out).toBe('set context "b"\n');
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(join(home.path, 'written')).mode & 0o777).toBe(0o700);
    expect(statSync(path).ino).not.toBe(before);
    expect(readFileSync(path, 'utf8')).toBe(`current-context: a
contexts:
  - name: a
    server: http://a
    token-ref: literal:secret
  - name: b
    server: http://b
    insecure: true
`);
    const view = await stub.svcctl('config view -o yaml', { env });
    expect(view.out).toContain('literal:***');
    expect(view.out).not.toContain('secret');
    const list = await stub.svcctl('config get-contexts -o wide', { env });
    expect(list.out).toBe(
      'CURRENT   NAME   SERVER     AUTH      INSECURE\n' +
        '*         a      http://a   literal   false\n' +
        '-         b      http://b   none      true\n',
    );
    await stub.svcctl('config use-context b', { env });
    expect((await stub.svcctl('config current-context', { env })).out).toBe('b\n');
    await stub.svcctl('config delete-context b', { env });
    expect((await stub.svcctl('config current-context', { env })).code).toBe(1);
  });

  it('keep a link to the file, and warn of a token that others can read', async () => {
    const [link, file] = [join(home.path, 'link.yaml'), join(home.path, 'linked.yaml')];
    writeFileSync(file, 'contexts: []\n');
    symlinkSync(file, link);
    const env = { SVC_CONFIG: link };
    await stub.svcctl('config set-context a --server http://a --token t --no-keychain', { env });
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
    expect(readFileSync(file, 'utf8')).toContain('literal:t');
    expect((await stub.svcctl('ping', { env })).err).toBe('');
    chmodSync(file, 0o644);
    const ran = await stub.svcctl('ping', { env });
    expect([ran.code, ran.err]).toEqual([0, expect.stringMatching(/others can read.*chmod 600/)]);
    expect((await stub.svcctl('ping --token u', { env })).err).toBe('');
  });

  it('keep a file that cannot be written, and replace what a write that was cut left', async () => {
    const path = at('whole');
    mkdirSync(join(home.path, 'whole'));
    writeFileSync(`${path}.tmp`, 'half');
    chmodSync(`${path}.tmp`, 0o644);
    const env = { SVC_CONFIG: path };
    await stub.svcctl('config set-context a --server http://a', { env });
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const text = readFileSync(path, 'utf8');
    mkdirSync(`${path}.tmp`);
    expect((await stub.svcctl('config set-context b --server http://b', { env })).code).not.toBe(0);
    expect(readFileSync(path, 'utf8')).toBe(text);
  });

  it('keep tokens in the credential store, and warn when there is none', async () => {
    const env = { SVC_CONFIG: at('stored') };
    const credentials = memoryCredentials();
    const ran = await stub.svcctl('login --context prod --token t0k3n', { env, credentials });
    expect([ran.code, ran.err]).toEqual([0, '']);
    expect(stub.asked[0]?.line).toBe('GET /auth/me');
    expect(stub.asked[0]?.headers.authorization).toBe('Bearer t0k3n');
    expect(readFileSync(at('stored'), 'utf8')).toContain('token-ref: keychain://prod');
    expect(credentials.kept.get('prod')).toBe('t0k3n');
    await stub.svcctl('logout', { env, credentials });
    expect(credentials.kept.size).toBe(0);
    const warned = await stub.svcctl('login --context prod', { env, answers: ['typed'] });
    expect([warned.code, warned.err]).toEqual([0, expect.stringContaining('no credential store')]);
    expect(readFileSync(at('stored'), 'utf8')).toContain('token-ref: literal:typed');
  });

  it.each(['env', 'keychain://a', 'file:///a', 'literal:a'])(
    'take the reference %s',
    async (ref) => {
      const env = { SVC_CONFIG: at('references') };
      expect((await stub.svcctl(`config set-context a --token-ref ${ref}`, { env })).code).toBe(0);
      expect(readFileSync(at('references'), 'utf8')).toContain(`token-ref: ${ref}\n`);
      for (const wrong of ['--token-ref vault://a', '--token-ref env --token t']) {
        expect((await stub.svcctl(`config set-context a ${wrong}`, { env })).code).toBe(1);
      }
    },
  );

  it('store nothing that the server refuses', async () => {
    stub.answers({ status: 401, body: { error: 'no' } });
    const ran = await stub.svcctl('login --token bad', { env: { SVC_CONFIG: at('refused') } });
    expect(ran.code).toBe(3);
    expect(() => statSync(at('refused'))).toThrow('ENOENT');
  });

  it('log in by password and by a page of the browser', async () => {
    const env = { SVC_CONFIG: at('methods') };
    stub.answers({ body: {}, headers: { 'set-cookie': 'session=ab=c; HttpOnly' } }, { body: {} });
    const words = 'login --method password -u ada --password pw';
    expect((await stub.svcctl(words, { env })).code).toBe(0);
    expect(stub.asked[1]?.headers.authorization).toBe('Bearer ab=c');
    const ran = await stub.svcctl('login --method github', { env, answers: ['pasted'] });
    expect(ran.world.browsed).toEqual([`${stub.url}/auth/github?next=/auth/session-token`]);
    const shown = await stub.svcctl('login --method google --no-browser', { env, answers: ['t'] });
    expect([shown.world.browsed, shown.err]).toEqual([
      [],
      expect.stringContaining(`Open ${stub.url}/auth/google?next=/auth/session-token\n`),
    ]);
    expect((await stub.svcctl('login --method ldap', { env })).code).toBe(1);
  });
});

describe('output', () => {
  it('is a table on a terminal and JSON on a pipe', async () => {
    const table = await stub.svcctl('ping --no-color', { terminal: true });
    expect(table.out).toMatch(
      /^STATUS +DATABASE +VERSION +LATENCY\nhealthy +raft +2\.1\.0 +0ms\n$/,
    );
    expect(JSON.parse((await stub.svcctl('ping')).out)).toMatchObject(HEALTH);
    const bold = await stub.svcctl('ping', { terminal: true });
    expect(bold.out).toContain('\u001b[1mSTATUS');
    const plain = await stub.svcctl('ping', { terminal: true, env: { NO_COLOR: '1' } });
    expect(plain.out).not.toContain('\u001b');
    expect((await stub.svcctl('ping -o table --no-headers')).out).toMatch(/^healthy/);
  });

  it('has the forms of -o', async () => {
    const body = '{ "n": 12345678901234567890, "list": [{"a": 1.50}, {"a": "x"}] }';
    stub.answers({ body });
    const form = async (name: string) => (await stub.svcctl(['-o', name, 'metrics'])).out;
    expect(await form('raw')).toBe(`${body}\n`);
    expect(await form('jsonl')).toBe('{"n":12345678901234567890,"list":[{"a":1.50},{"a":"x"}]}\n');
    expect(await form('ndjson')).toBe(await form('jsonl'));
    expect(await form('yaml')).toBe('n: 12345678901234567890\nlist:\n  - a: 1.50\n  - a: x\n');
    expect(await form('jsonpath=.list[*].a')).toBe('1.50\nx\n');
    expect(await form('jsonpath={.list[-1]}')).toBe('{"a":"x"}\n');
    expect(await form('jsonpath=.n')).toBe('12345678901234567890\n');
    expect(await form('table')).toBe(await form('json'));
  });

  it('is the text of Prometheus as it came', async () => {
    stub.answers({ body: '# HELP a b\na 1.50\n' });
    const ran = await stub.svcctl('metrics --prometheus -o yaml');
    expect([ran.out, stub.asked[0]?.line]).toEqual([
      '# HELP a b\na 1.50\n',
      'GET /metrics/prometheus',
    ]);
  });

  it('says nothing on success with -q', async () => {
    const env = { SVC_CONFIG: join(home.path, 'quiet.yaml') };
    const ran = await stub.svcctl('config set-context a --server http://a -q', { env });
    expect([ran.code, ran.out, ran.err]).toEqual([0, '', '']);
  });

  it('is with -q what the command was asked for', async () => {
    const result = { applied: true, acquired: true, slot: 0, token: 5, value: 6 };
    stub.answers({ body: { results: [result] } });
    const env = { SVC_CONFIG: join(home.path, 'quiet.yaml') };
    expect((await stub.svcctl('kv incr n k -q')).out).toBe('6\n');
    expect((await stub.svcctl('lock acquire l -q')).out).toBe('acquired l slot=0 token=5\n');
    expect((await stub.svcctl('version --short -q')).out).toBe(`${VERSION}\n`);
    expect((await stub.svcctl('config current-context -q', { env })).out).toBe('a\n');
    expect((await stub.svcctl('kv put n k 1 -q')).out).toBe('');
  });
});

describe('the process', () => {
  const launcher = new URL('../bin/svcctl.js', import.meta.url).pathname;
  const started = (
    words: string,
    act: (child: ChildProcess) => void,
    stdio: StdioOptions = 'pipe',
  ) => {
    const env = { ...process.env, SVC_SERVER: stub.url, SVC_CONFIG: join(home.path, 'none') };
    const child = spawn(process.execPath, [launcher, ...words.split(' ')], { env, stdio });
    let err = '';
    child.stderr?.on('data', (part) => {
      err += part;
    });
    act(child);
    return new Promise((resolve) => child.once('close', (code) => resolve([code, err])));
  };

  it('ends by its input, its reader and Ctrl-C', async () => {
    stub.answers({ body: { text: 'x'.repeat(1_000_000) } });
    const { answer } = stub;
    const ended = await Promise.all([
      started('login', (child) => child.stdin?.end()),
      started('metrics', (child) => child.stdout?.once('data', () => child.stdout?.destroy())),
      started('pop q', (child) => {
        stub.answer = (asked, index) => {
          if (!asked.line.includes('/pop/')) return answer(asked, index);
          child.kill('SIGINT');
          return { hold: true };
        };
      }),
    ]);
    expect(ended).toEqual([
      [1, 'Token: \nsvcctl: there is no token\n'],
      [0, ''],
      [130, ''],
    ]);
  });

  it.runIf(existsSync('/dev/full'))(
    'says that its output fails, not that its messages do',
    async () => {
      const full = openSync('/dev/full', 'w');
      const act = () => {};
      const ended = await Promise.all([
        started('metrics', act, ['ignore', full, 'pipe']),
        started('metrics --server http://127.0.0.1:1', act, ['ignore', 'ignore', full]),
      ]).finally(() => closeSync(full));
      expect(ended).toEqual([
        [2, expect.stringMatching(/^svcctl: the output cannot be written: ENOSPC[^\n]*\n$/)],
        [2, ''],
      ]);
    },
  );
});

describe('version and help', () => {
  it('show the versions of the client and of a server that is reached', async () => {
    expect((await stub.svcctl('version')).out).toBe(`client ${VERSION}\nserver 2.1.0\n`);
    expect((await stub.svcctl('version --short')).out).toBe(`${VERSION}\n`);
    const alone = await stub.svcctl('version --server http://127.0.0.1:1');
    expect([alone.code, alone.out]).toEqual([0, `${VERSION}\n`]);
    const manifest = new URL('../package.json', import.meta.url);
    expect(JSON.parse(readFileSync(manifest, 'utf8')).version).toBe(VERSION);
  });

  it('print help on request to the output, and for a group alone as an error', async () => {
    const help = await stub.svcctl('help config');
    expect([help.code, help.out]).toEqual([0, expect.stringContaining('set-context')]);
    expect((await stub.svcctl('ping --help')).out).toContain('Example:\n  svcctl ping');
    const group = await stub.svcctl('config');
    expect([group.code, group.out, group.err]).toEqual([1, '', expect.stringContaining('Usage')]);
  });
});

describe('completion', () => {
  const words = async (...line: string[]) =>
    (await stub.svcctl(['__complete', '--', ...line])).out.split('\n').slice(0, -1);

  it('offers commands, flags and values', async () => {
    expect(await words('pi')).toEqual(['ping']);
    expect(await words('config', 'use')).toEqual(['use-context']);
    expect(await words('-o', 'json', 'config', 'g')).toEqual(['get-contexts']);
    expect(await words('ping', '--t')).toEqual(['--timeout', '--token']);
    expect(await words('ping', '-o', 'j')).toEqual(['json', 'jsonl', 'jsonpath=']);
    expect(await words('completion', '')).toEqual(['bash', 'zsh', 'fish']);
    expect((await words('')).filter((word) => word.startsWith('_'))).toEqual([]);
  });

  const bin = join(home.path, 'bin');
  const launcher = new URL('../bin/svcctl.js', import.meta.url).pathname;
  const hasShell = (shell: string) => spawnSync(shell, ['--version']).error === undefined;
  beforeAll(() => {
    mkdirSync(bin);
    writeFileSync(join(bin, 'svcctl'), `#!/bin/sh\nexec ${process.execPath} ${launcher} "$@"\n`);
    chmodSync(join(bin, 'svcctl'), 0o755);
  });
  const inShell = (shell: string, args: readonly string[]) =>
    execFileSync(shell, args, {
      encoding: 'utf8',
      env: { PATH: `${bin}:${process.env.PATH}`, HOME: home.path, TERM: 'dumb' },
    });

  it.runIf(hasShell('bash'))('works in bash', () => {
    const script = `source <(svcctl completion bash)
      COMP_WORDS=(svcctl config use); COMP_CWORD=2; _svcctl; echo "\${COMPREPLY[@]}"`;
    expect(inShell('bash', ['--norc', '-c', script])).toBe('use-context\n');
  });

  it.runIf(hasShell('zsh'))('works in zsh', () => {
    const script = `autoload -Uz compinit; compinit -u -d ${home.path}/zcompdump
      source <(svcctl completion zsh)
      compadd() { print -r -- "\${(P)2}" }
      words=(svcctl config use); CURRENT=3; _svcctl; print $_comps[svcctl]`;
    expect(inShell('zsh', ['-f', '-c', script])).toBe('use-context\n_svcctl\n');
  });

  it.runIf(hasShell('fish'))('works in fish', () => {
    const script = `svcctl completion fish | source; complete -C 'svcctl config use'`;
    expect(inShell('fish', ['--no-config', '-c', script])).toBe('use-context\n');
  });
});
