/** A load balancer with a configuration of deploy/, in front of three stand-ins for nodes. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import {
  Agent,
  createServer,
  type IncomingMessage,
  request,
  type Server,
  type ServerResponse,
} from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DEPLOY, run, toolPath } from './real-tools.js';

const HOST = '127.0.0.1';
const START_MS_MAX = 10_000;

export interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** Answers as told and remembers what came. */
export class StandIn {
  readonly requests: IncomingMessage[] = [];
  connections = 0;
  health = 200;
  respond: (request: IncomingMessage, response: ServerResponse) => void = (_, response) => {
    response.end('ok');
  };
  readonly #server: Server;

  constructor() {
    this.#server = createServer((incoming, response) => {
      incoming.resume().on('end', () => {
        if (incoming.httpVersion !== '1.1' || incoming.headers.host === undefined) {
          // A node takes nothing else.
          incoming.socket.destroy();
          return;
        }
        if (incoming.url === '/health') {
          response.writeHead(this.health).end();
          return;
        }
        this.requests.push(incoming);
        this.respond(incoming, response);
      });
    });
    this.#server.on('connection', () => this.connections++);
  }

  listen(port: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.on('error', reject);
      this.#server.listen(port, HOST, resolve);
    });
  }

  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }
}

export class BalancerUnderTest {
  readonly port: number;
  readonly #child: ChildProcess;
  readonly #directory: string;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  readonly #exited: Promise<void>;
  output = '';

  /** `tlsPort`: HTTPS is served there too, with a certificate made for it. */
  constructor(
    kind: 'haproxy' | 'nginx',
    port: number,
    nodePorts: readonly number[],
    tlsPort: number | null = null,
  ) {
    this.port = port;
    this.#directory = mkdtempSync(join(tmpdir(), 'svc-balancer-'));
    const args =
      kind === 'haproxy'
        ? haproxyArguments(tlsPort !== null)
        : ['-e', 'stderr', '-c', nginxCopy(this.#directory, port, nodePorts, tlsPort)];
    if (tlsPort !== null) makeCertificate(this.#directory);
    this.#child = spawn(toolPath(kind), args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...process.env,
        ...haproxyEnvironment(port, nodePorts),
        SVC_LB_TLS_BIND: `${HOST}:${tlsPort}`,
        SVC_LB_TLS_CERT: join(this.#directory, 'svc.pem'),
      },
    });
    const kill = () => void this.#child.kill('SIGKILL');
    process.once('exit', kill);
    const take = (chunk: Buffer) => {
      this.output += chunk.toString();
    };
    this.#child.stdout?.on('data', take);
    this.#child.stderr?.on('data', take);
    this.#exited = new Promise((resolve) => {
      this.#child.once('exit', () => {
        process.off('exit', kill);
        resolve();
      });
    });
  }

  /** Once it passes requests on. */
  async ready(): Promise<void> {
    const untilMs = performance.now() + START_MS_MAX;
    while (performance.now() < untilMs) {
      const answer = await this.send('GET', '/ready').catch(() => null);
      if (answer?.status === 200) return;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error(`the balancer does not pass requests on: ${this.output}`);
  }

  send(method: string, path: string, body = '', headers = {}): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const outgoing = request(
        { host: HOST, port: this.port, method, path, headers, agent: this.#agent },
        (incoming) => {
          let text = '';
          incoming.on('data', (chunk: Buffer) => {
            text += chunk.toString();
          });
          incoming.on('end', () => {
            resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, body: text });
          });
        },
      );
      outgoing.on('error', reject);
      outgoing.end(body);
    });
  }

  async stop(): Promise<void> {
    this.#agent.destroy();
    this.#child.kill('SIGTERM');
    await this.#exited;
    rmSync(this.#directory, { recursive: true, force: true });
  }
}

export function haproxyEnvironment(port: number, nodePorts: readonly number[]) {
  const nodes = nodePorts.map((nodePort, i) => [`SVC_LB_NODE_${i + 1}`, `${HOST}:${nodePort}`]);
  return { SVC_LB_BIND: `${HOST}:${port}`, ...Object.fromEntries(nodes) };
}

/** nginx reads no environment: addresses and places are put into a copy. */
export function nginxCopy(
  directory: string,
  port: number,
  nodePorts: readonly number[],
  tlsPort: number | null = null,
): string {
  const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${directory}/${name};`)
    .join(' ');
  const text = readFileSync(join(DEPLOY, 'nginx/nginx.conf'), 'utf8')
    .replace(/svc-(\d):6632/g, (_, number) => `${HOST}:${nodePorts[Number(number) - 1]}`)
    .replace('listen 6632;', `listen ${HOST}:${port};`)
    .replace(/^pid .*$/m, `pid ${directory}/nginx.pid; daemon off;`)
    .replace('http {', `http { ${places}`)
    .replace('#include tls.conf;', tlsPort === null ? '' : nginxTls(directory, tlsPort));
  const path = join(directory, 'nginx.conf');
  writeFileSync(path, text);
  return path;
}

function nginxTls(directory: string, port: number): string {
  return readFileSync(join(DEPLOY, 'nginx/tls.conf'), 'utf8')
    .replace('listen 6643 ssl;', `listen ${HOST}:${port} ssl;`)
    .replaceAll('/etc/nginx/', `${directory}/`);
}

export function haproxyArguments(withTls: boolean): string[] {
  const files = ['haproxy.cfg', ...(withTls ? ['tls.cfg'] : [])];
  return ['-db', ...files.flatMap((file) => ['-f', join(DEPLOY, 'haproxy', file)])];
}

/**
 * Makes a certificate for 127.0.0.1 that is valid for one day: `svc.crt`, `svc.key`, and both in
 * `svc.pem`.
 */
export function makeCertificate(directory: string): void {
  const subject = ['-subj', '/CN=svc.test', '-addext', `subjectAltName=IP:${HOST}`];
  const [key, certificate] = [join(directory, 'svc.key'), join(directory, 'svc.crt')];
  const args = ['-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '1', ...subject];
  const { status, output } = run('openssl', ['req', ...args, '-keyout', key, '-out', certificate]);
  if (status !== 0) throw new Error(`openssl made no certificate: ${output}`);
  const both = readFileSync(certificate, 'utf8') + readFileSync(key, 'utf8');
  writeFileSync(join(directory, 'svc.pem'), both, { mode: 0o600 });
}
