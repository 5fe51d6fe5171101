// Acquires a lock and releases it, again and again: one lock for each connection, one operation in
// each call, so a pair is two calls and two turns of the log. The token of the answer is what the
// release names; a pair is finished with its release.

import { requestBytes } from './http-connection.js';
import { LoadFailedError, type LoadProgram } from './load/closed-loop.js';

const PATH = '/api/v1/locks';
const TOKEN = /"token":(\d+)/;

export class LockPairs implements LoadProgram {
  readonly #name: string;
  readonly #acquire: Uint8Array;
  /** Of the lock that is held; null: none is. */
  #token: string | null = null;

  constructor(name: string) {
    this.#name = name;
    const op = { op: 'acquire', name, owner: 'bench', ttlSeconds: 3600 };
    this.#acquire = requestBytes('POST', PATH, JSON.stringify([op]));
  }

  next(): Uint8Array {
    if (this.#token === null) return this.#acquire;
    const op = `{"op":"release","name":"${this.#name}","token":${this.#token}}`;
    return requestBytes('POST', PATH, `[${op}]`);
  }

  take(status: number, body: Buffer): number {
    const text = body.toString('utf8');
    const token = TOKEN.exec(text)?.[1] ?? null;
    const isRight = this.#token === null ? token !== null : text.includes('"released":true');
    if (status !== 200 || !isRight) {
      throw new LoadFailedError(`answer ${status}: ${text.slice(0, 300)}`);
    }
    const isPair = this.#token !== null;
    this.#token = isPair ? null : token;
    return isPair ? 1 : 0;
  }
}
