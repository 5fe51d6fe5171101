// Asks a node's `/health` every 50 ms, on one connection that stays and on a new one each time, and
// keeps the longest time for which it was away.
//
// Away means: from the moment at which a question was due to the next answer of status 200. A
// question that fails does not end that time; it goes on until another one is answered.

import { type Address, HttpConnection, requestBytes } from '../rig/http-connection.js';
import { type Elapsed, longer, type Mark, NO_TIME, Stopwatch } from './stopwatch.js';

const INTERVAL_MS = 50;
/** New connections that may wait for an answer at a time: as many as are opened in six seconds. */
const OPEN_MAX = 120;
const CONNECT_MS_MAX = 5000;
const HEALTH = requestBytes('GET', '/health');

export class HealthProbe {
  readonly #address: Address;
  readonly #timer: NodeJS.Timeout;
  readonly #stopwatch: Stopwatch;
  readonly kept: Absence;
  readonly fresh: Absence;
  #connection: HttpConnection | null = null;
  #isOpening = false;
  readonly #opened = new Set<HttpConnection>();
  #opening = 0;
  #isOver = false;

  constructor(address: Address, pid: number) {
    this.#address = address;
    this.#stopwatch = new Stopwatch(pid);
    this.kept = new Absence(this.#stopwatch);
    this.fresh = new Absence(this.#stopwatch);
    this.#timer = setInterval(() => {
      void this.#askKept();
      void this.#askFresh();
    }, INTERVAL_MS);
  }

  /** Forgets what was measured so far. */
  restart(): void {
    this.kept.restart();
    this.fresh.restart();
  }

  end(): void {
    this.#isOver = true;
    clearInterval(this.#timer);
    this.#connection?.destroy();
    for (const connection of this.#opened) connection.destroy();
  }

  async #askKept(): Promise<void> {
    this.kept.asked(this.#stopwatch.mark());
    if (this.#isOpening || this.#connection?.waiting === true) return;
    if (this.#connection === null || this.#connection.closed) {
      this.#isOpening = true;
      this.#connection = await this.#open((status) => this.kept.answered(status));
      this.#isOpening = false;
    }
    if (this.#connection?.closed === false) this.#connection.send(HEALTH);
  }

  async #askFresh(): Promise<void> {
    const due = this.#stopwatch.mark();
    this.fresh.asked(due);
    if (this.#opening + this.#opened.size >= OPEN_MAX) return;
    this.#opening += 1;
    const connection = await this.#open((status) => {
      if (connection !== null) this.#opened.delete(connection);
      connection?.destroy();
      this.fresh.answered(status, due);
    });
    this.#opening -= 1;
    if (connection === null || connection.closed) return;
    this.#opened.add(connection);
    connection.send(HEALTH);
  }

  async #open(onAnswer: (status: number) => void): Promise<HttpConnection | null> {
    const listener = {
      onAnswer,
      onClosed: () => {
        for (const one of this.#opened) if (one.closed) this.#opened.delete(one);
      },
    };
    try {
      const connection = await HttpConnection.open(this.#address, listener, CONNECT_MS_MAX);
      if (this.#isOver) connection.destroy();
      return connection;
    } catch {
      return null;
    }
  }
}

/** The longest time between a question that was due and the next answer. */
class Absence {
  readonly #stopwatch: Stopwatch;
  #since: Mark | null = null;
  #longest = NO_TIME;

  constructor(stopwatch: Stopwatch) {
    this.#stopwatch = stopwatch;
  }

  /** A question is due; the first one without an answer begins the time. */
  asked(due: Mark): void {
    this.#since ??= due;
  }

  /** `due`: when the answered question was due; needed where several questions may be open. */
  answered(status: number, due: Mark | null = this.#since): void {
    if (status !== 200 || due === null) return;
    this.#longest = longer(this.#longest, this.#stopwatch.since(this.#earlier(due)));
    this.#since = null;
  }

  restart(): void {
    this.#longest = NO_TIME;
    this.#since = null;
  }

  /** Longest absence so far, including one that has not ended yet. */
  longest(): Elapsed {
    if (this.#since === null) return this.#longest;
    return longer(this.#longest, this.#stopwatch.since(this.#since));
  }

  #earlier(due: Mark): Mark {
    return this.#since !== null && this.#since.atMs < due.atMs ? this.#since : due;
  }
}
