// Sends prepared pushes, again and again.

import { LoadFailedError, type LoadProgram } from './closed-loop.js';

const DUPLICATE = Buffer.from('"status":"duplicate"');
const ERROR = Buffer.from('"status":"error"');

export interface PushPlan {
  /** Sent in turn. */
  readonly requests: readonly Uint8Array[];
  /** Messages in each request. */
  readonly batch: number;
  /** Asked before each request; holds the connection while it says no. */
  readonly mayPush: (messages: number) => boolean;
  /** Told of each acknowledged push; returns how many messages are finished by it. */
  readonly onStored: (messages: number) => number;
}

export class PushProgram implements LoadProgram {
  readonly #plan: PushPlan;
  #checked = false;
  #sent = 0;

  constructor(plan: PushPlan) {
    this.#plan = plan;
  }

  next(): Uint8Array | null {
    const { requests, batch, mayPush } = this.#plan;
    if (!mayPush(batch)) {
      return null;
    }
    const request = requests[this.#sent % requests.length];
    this.#sent += 1;
    return request ?? null;
  }

  take(status: number, body: Buffer): number {
    if (status !== 201) {
      throw new LoadFailedError(`push was answered ${status}: ${body.toString('utf8', 0, 300)}`);
    }
    if (body.indexOf(DUPLICATE) >= 0 || body.indexOf(ERROR) >= 0) {
      throw new LoadFailedError('a pushed message was not stored as a new one');
    }
    const batch = this.#plan.batch;
    if (!this.#checked) {
      const results: unknown = JSON.parse(body.toString());
      if (!Array.isArray(results) || results.length !== batch) {
        throw new LoadFailedError(`push of ${batch} was answered for another number`);
      }
      this.#checked = true;
    }
    return this.#plan.onStored(batch);
  }
}
