/** A server that keeps what it is asked, and answers as a test says. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { type FakeOptions, FakeWorld } from '../base/world.fake.js';
import { run } from './program.js';

export interface Asked {
  /** `POST /api/v1/push`, with its query. */
  readonly line: string;
  readonly body: unknown;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}

export interface StubAnswer {
  readonly status?: number;
  /** A text is sent as it stands. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Cuts the connection instead. */
  readonly cut?: boolean;
  /** Never answers instead. */
  readonly hold?: boolean;
}

export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
  readonly world: FakeWorld;
}

export class StubServer {
  readonly asked: Asked[] = [];
  answer: (asked: Asked, index: number) => StubAnswer | Promise<StubAnswer> = () => ({ body: {} });
  readonly #server: Server;

  constructor() {
    this.#server = createServer(async (request, response) => {
      const body = await text(request);
      const { method, url, headers } = request;
      const asked = {
        line: `${method} ${url}`,
        body:
          body === ''
            ? null
            : headers['content-type'] === 'application/json'
              ? JSON.parse(body)
              : body,
        headers,
      };
      this.asked.push(asked);
      const answer = await this.answer(asked, this.asked.length - 1);
      if (answer.hold === true) return;
      if (answer.cut === true) {
        request.socket.destroy();
        return;
      }
      const shown = typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body);
      response.writeHead(answer.status ?? 200, answer.headers);
      response.end(answer.status === 204 ? undefined : shown);
    });
  }

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Forgets what was asked; answers each call with the next of `answers`, the last for ever. */
  answers(...answers: readonly StubAnswer[]): void {
    this.asked.length = 0;
    this.answer = (_, index) => answers[Math.min(index, answers.length - 1)] ?? {};
  }

  /** `svcctl <words>` against this server. */
  async svcctl(words: string | readonly string[], options: FakeOptions = {}): Promise<Ran> {
    const world = new FakeWorld({ ...options, env: { SVC_SERVER: this.url, ...options.env } });
    const code = await run(
      typeof words === 'string' ? words.split(' ').filter(Boolean) : words,
      world,
    );
    return { code, out: world.out, err: world.err, world };
  }
}
