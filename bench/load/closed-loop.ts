// Closed loop: every connection sends its next request when its answer came. The rate is what the
// node can take with that many clients; what a client waits while the node stalls is not in it.
//
// A program decides what a connection sends. The loop owns the connections, counts what programs
// credit, and cuts the measured window out of the run: requests in flight at its edges count
// where their answer falls.

import { setTimeout as sleep } from 'node:timers/promises';
import { type Address, HttpConnection } from '../http-connection.js';

export interface LoadProgram {
  /** The next request; null holds the connection until some program finished a message. */
  next(): Uint8Array | null;
  /** Takes the answer to it; returns how many messages it finished. Throws on a wrong answer. */
  take(status: number, body: Buffer): number;
}

export interface LoopWindow {
  readonly warmUpMs: number;
  readonly measureMs: number;
  /** Ends the window early, for example when a backlog is used up. */
  readonly finished: () => boolean;
}

export interface LoopResult {
  readonly messages: number;
  readonly seconds: number;
  readonly messagesPerSecond: number;
}

/** A connection failed or an answer was not what its program expects. */
export class LoadFailedError extends Error {
  readonly code = 'load_failed';
}

const POLL_MS = 10;
const DRAIN_TIMEOUT_MS = 10_000;
const STALL_TIMEOUT_MS = 30_000;

class Client {
  connection: HttpConnection | null = null;
  readonly program: LoadProgram;
  readonly #loop: ClosedLoop;

  constructor(program: LoadProgram, loop: ClosedLoop) {
    this.program = program;
    this.#loop = loop;
  }

  sendNext(): void {
    if (this.connection === null || this.connection.waiting) {
      return;
    }
    const request = this.#loop.stopping ? null : this.program.next();
    if (request === null) {
      this.#loop.hold(this);
    } else {
      this.connection.send(request);
    }
  }

  onAnswer(status: number, body: Buffer): void {
    const messages = this.program.take(status, body);
    this.sendNext();
    if (messages > 0) {
      this.#loop.credit(messages);
    }
  }

  onClosed(reason: Error): void {
    this.#loop.fail(reason);
  }
}

export class ClosedLoop {
  readonly #clients: readonly Client[];
  #held: Client[] = [];
  #messages = 0;
  #creditedAtMs = 0;
  #stopping = false;
  #failure: Error | null = null;

  private constructor(programs: readonly LoadProgram[]) {
    this.#clients = programs.map((program) => new Client(program, this));
  }

  /** Connects one connection for each program. */
  static async open(address: Address, programs: readonly LoadProgram[]): Promise<ClosedLoop> {
    const loop = new ClosedLoop(programs);
    for (const client of loop.#clients) {
      client.connection = await HttpConnection.open(address, client);
    }
    return loop;
  }

  get stopping(): boolean {
    return this.#stopping;
  }

  credit(messages: number): void {
    this.#messages += messages;
    this.#creditedAtMs = performance.now();
    if (this.#held.length > 0 && !this.#stopping) {
      const held = this.#held;
      this.#held = [];
      for (const client of held) {
        client.sendNext();
      }
    }
  }

  hold(client: Client): void {
    this.#held.push(client);
  }

  fail(reason: Error): void {
    this.#failure ??= reason;
  }

  /** Runs the programs and closes the connections; to be called once. */
  async run(window: LoopWindow): Promise<LoopResult> {
    try {
      this.#creditedAtMs = performance.now();
      for (const client of this.#clients) {
        client.sendNext();
      }
      await this.#until(performance.now() + window.warmUpMs, window.finished);
      const startMs = performance.now();
      const before = this.#messages;
      await this.#until(startMs + window.measureMs, window.finished);
      const endMs = window.finished() ? this.#creditedAtMs : performance.now();
      const messages = this.#messages - before;
      const seconds = (endMs - startMs) / 1000;
      await this.#drain(window.finished());
      if (messages === 0) {
        throw new LoadFailedError('the measured window saw no finished message');
      }
      return { messages, seconds, messagesPerSecond: messages / seconds };
    } finally {
      for (const client of this.#clients) {
        client.connection?.destroy();
      }
    }
  }

  async #until(deadlineMs: number, finished: () => boolean): Promise<void> {
    while (performance.now() < deadlineMs && !finished()) {
      this.#throwFailure();
      if (performance.now() - this.#creditedAtMs > STALL_TIMEOUT_MS) {
        throw new LoadFailedError(`no message was finished in ${STALL_TIMEOUT_MS} ms`);
      }
      await sleep(Math.max(0, Math.min(POLL_MS, deadlineMs - performance.now())));
    }
    this.#throwFailure();
  }

  /** Lets answers in flight come; parked pops of a used-up backlog are cut instead. */
  async #drain(cut: boolean): Promise<void> {
    this.#stopping = true;
    const deadlineMs = performance.now() + DRAIN_TIMEOUT_MS;
    while (!cut && this.#clients.some((client) => client.connection?.waiting)) {
      this.#throwFailure();
      if (performance.now() > deadlineMs) {
        throw new LoadFailedError(`answers are missing ${DRAIN_TIMEOUT_MS} ms after the end`);
      }
      await sleep(POLL_MS);
    }
  }

  #throwFailure(): void {
    if (this.#failure !== null) {
      throw new LoadFailedError(this.#failure.message, { cause: this.#failure });
    }
  }
}
