/** A listening front over a fake service, for tests that look at the wire. */
import type { AnswerShare } from '../exchange/answer-budget.js';
import type { Rim } from '../exchange/rim.js';
import type { SubmittedOutcome } from '../ports/service.js';
import { createServer, type HttpServer, type HttpServerOptions } from '../server/server.js';
import { MemoryClient } from './memory-client.fake.js';
import { RawClient, type TestClient } from './raw-client.fake.js';
import { FakeService } from './service.fake.js';

/** The outcome of a push of one message. */
export const PUSHED: SubmittedOutcome = {
  kind: 'pushed',
  status: new Uint8Array(1),
  messageIds: ['01a2b3c4-0000-7000-8000-000000000001'],
};

/** How a request comes to a front. */
export type Transport = 'sockets' | 'memory';
export const TRANSPORTS: readonly Transport[] = ['sockets', 'memory'];

export class TestFront {
  readonly service: FakeService;
  readonly server: HttpServer;
  readonly port: number;
  /** Messages of the logger. */
  readonly logged: string[];
  readonly #clients: TestClient[] = [];

  private constructor(service: FakeService, server: HttpServer, port: number, logged: string[]) {
    this.service = service;
    this.server = server;
    this.port = port;
    this.logged = logged;
  }

  static async start(options: Partial<HttpServerOptions> = {}): Promise<TestFront> {
    const service = new FakeService();
    const logged: string[] = [];
    const logger = {
      error: (message: string, error: unknown): void => {
        logged.push(`${message}: ${String(error)}`);
      },
    };
    const server = createServer({ logger, ...options }, service);
    const port = await server.listen('127.0.0.1', 0);
    return new TestFront(service, server, port, logged);
  }

  /** One whose service answers every push, in a later turn. */
  static async startPushed(options: Partial<HttpServerOptions> = {}): Promise<TestFront> {
    const front = await TestFront.start(options);
    front.service.onSubmit = (_, reply) => {
      setImmediate(() => reply.send(PUSHED));
    };
    return front;
  }

  /** Bytes that answers of this share have reserved. */
  reserved(share: AnswerShare): number {
    return this.rim.answers.used(share);
  }

  /** Its exchanges share it. */
  get rim(): Rim {
    return (this.server as unknown as { readonly rim: Rim }).rim;
  }

  client(): RawClient;
  client(over: Transport): TestClient;
  client(over: Transport = 'sockets'): TestClient {
    const client = over === 'sockets' ? new RawClient(this.port) : new MemoryClient(this.server);
    this.#clients.push(client);
    return client;
  }

  async stop(): Promise<void> {
    for (const client of this.#clients) client.destroy();
    await this.server.stop(0);
  }
}

/** Waits, turn by turn, until what a test expects has happened; the test's own limit ends it. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 2));
}
