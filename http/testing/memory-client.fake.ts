/** A client for tests whose requests are calls in memory, with the surface of `RawClient`. */
import type { AnswerHead, CallClient, MemoryCall } from '../exchange/memory-call.js';
import type { HttpServer } from '../server/server.js';
import type { RawAnswer, RawRequest, TestClient } from './raw-client.fake.js';

/** Bodies beyond one piece of this size come in such pieces. */
const PIECE_BYTES = 65_536;
const LOOPBACK = Uint8Array.of(127, 0, 0, 1);

export class MemoryClient implements TestClient {
  readonly #server: HttpServer;
  readonly #begun: OneCall[] = [];
  #isReading = true;
  #isDestroyed = false;

  constructor(server: HttpServer) {
    this.#server = server;
  }

  get unsent(): number {
    return this.#begun.reduce((sum, call) => sum + call.unsent, 0);
  }

  begin(path: string, request: RawRequest = {}): void {
    const call = new OneCall(this.#isReading);
    this.#begun.push(call);
    call.start(this.#server, path, request);
  }

  async request(path: string, request: RawRequest = {}): Promise<RawAnswer> {
    this.begin(path, request);
    return await this.answer();
  }

  async answer(): Promise<RawAnswer> {
    const [call] = this.#begun;
    if (call === undefined) throw new Error('nothing was asked');
    await call.over;
    this.#begun.shift();
    return call.answer();
  }

  pauseReading(): void {
    this.#isReading = false;
    for (const call of this.#begun) call.read(false);
  }

  resumeReading(): void {
    this.#isReading = true;
    for (const call of this.#begun) call.read(true);
  }

  destroy(): void {
    this.#isDestroyed = true;
    for (const call of this.#begun) call.abort();
  }

  async closed(): Promise<void> {
    if (!this.#isDestroyed) await this.#begun[0]?.over;
  }
}

class OneCall implements CallClient {
  readonly over: Promise<void>;
  #ended = (): void => {};
  #call: MemoryCall | null = null;
  #body = Buffer.alloc(0);
  #sent = 0;
  #isReading: boolean;
  #head: AnswerHead | null = null;
  readonly #chunks: Buffer[] = [];
  #isBroken = false;

  constructor(isReading: boolean) {
    this.#isReading = isReading;
    this.over = new Promise((resolve) => {
      this.#ended = resolve;
    });
  }

  get unsent(): number {
    return this.#body.length - this.#sent;
  }

  start(server: HttpServer, target: string, request: RawRequest): void {
    const { method = request.body === undefined ? 'GET' : 'POST', headers = {}, body } = request;
    this.#body = Buffer.from(body ?? '');
    const isWhole = this.#body.length <= PIECE_BYTES;
    if (isWhole) this.#sent = this.#body.length;
    const lines: [string, string][] = [['host', 'test']];
    for (const [name, value] of Object.entries(headers)) lines.push([name.toLowerCase(), value]);
    if (body !== undefined) lines.push(['content-length', String(this.#body.length)]);
    const bytes = body === undefined ? null : this.#body;
    this.#call = server.call(
      {
        method,
        target,
        headers: lines,
        body: isWhole ? bytes : 'chunks',
        peer: LOOPBACK,
        identity: null,
      },
      this,
    );
    this.onReadOn();
  }

  read(isReading: boolean): void {
    this.#isReading = isReading;
    if (isReading) this.#call?.takesMore();
  }

  abort(): void {
    this.#call?.abort();
    this.#isBroken = true;
    this.#ended();
  }

  answer(): RawAnswer {
    const head = this.#head;
    if (head === null || this.#isBroken) throw new Error('the call was broken');
    const headers = new Map(head.headers.map(([name, value]) => [name.toLowerCase(), value]));
    if (head.length !== null) headers.set('content-length', String(head.length));
    if (head.closes) headers.set('connection', 'close');
    const body = Buffer.concat(this.#chunks).toString();
    return { status: Number.parseInt(head.status, 10), headers, body };
  }

  onHead(head: AnswerHead): void {
    this.#head = head;
  }

  onBytes(bytes: Uint8Array): number {
    if (!this.#isReading) return 0;
    this.#chunks.push(Buffer.from(bytes));
    return bytes.length;
  }

  onEnd(): void {
    this.#ended();
  }

  onBroken(): void {
    this.#isBroken = true;
    this.#ended();
  }

  onReadOn(): void {
    for (let goesOn = true; goesOn && this.unsent > 0; ) {
      const chunk = this.#body.subarray(this.#sent, this.#sent + PIECE_BYTES);
      this.#sent += chunk.length;
      goesOn = this.#call?.sendBody(chunk, this.unsent === 0) === true;
    }
  }
}
