/**
 * Host names of peers, looked up anew for each connection, because the address behind a name may
 * have changed while the node there was away.
 *
 * The system's resolver occupies one of the process's few threads for files until its name server
 * answers, which may be never. So there is one question at a time, and whoever wants the same name
 * meanwhile gets its answer: a dead name server can hold up one thread, and never the log's disk.
 */
import { type LookupAddress, lookup } from 'node:dns';
import type { LookupFunction } from 'node:net';

export type Resolver = (
  host: string,
  done: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

type Waiter = (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void;

const SYSTEM: Resolver = (host, done) => lookup(host, { all: true }, done);
/** Peers are few, each with a handful of connections; a waiter gives up by itself. */
const WAITERS_MAX = 1024;

export class PeerLookup {
  readonly #resolve: Resolver;
  /** By host, in the order they were first asked for; the first one is being looked up. */
  readonly #waiting = new Map<string, Waiter[]>();
  #waiters = 0;

  constructor(resolve: Resolver = SYSTEM) {
    this.#resolve = resolve;
  }

  /** As `net.connect` wants it; it is not called for what is an address already. */
  readonly forSocket: LookupFunction = (host, options, done) => {
    this.#ask(host, (error, addresses) => {
      const { family } = options;
      const only = family === 4 || family === 6 ? family : null;
      const fitting = addresses.filter((each) => only === null || each.family === only);
      const [first] = fitting;
      if (error === null && first === undefined) error = notFound(host);
      if (error !== null) done(error, options.all === true ? [] : '', 0);
      else if (options.all === true) done(null, fitting);
      else done(null, first?.address ?? '', first?.family ?? 0);
    });
  };

  #ask(host: string, waiter: Waiter): void {
    if (this.#waiters >= WAITERS_MAX) {
      process.nextTick(() => waiter(notFound(host), []));
      return;
    }
    this.#waiters++;
    const waiting = this.#waiting.get(host);
    if (waiting !== undefined) {
      waiting.push(waiter);
      return;
    }
    this.#waiting.set(host, [waiter]);
    if (this.#waiting.size === 1) this.#next();
  }

  #next(): void {
    const [host] = this.#waiting.keys();
    if (host === undefined) return;
    this.#resolve(host, (error, addresses) => {
      const waiting = this.#waiting.get(host) ?? [];
      this.#waiting.delete(host);
      this.#waiters -= waiting.length;
      for (const waiter of waiting) waiter(error, addresses ?? []);
      this.#next();
    });
  }
}

function notFound(host: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`no address of ${host} is known`), { code: 'ENOTFOUND' });
}
