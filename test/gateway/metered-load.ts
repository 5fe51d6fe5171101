/**
 * Pushes through the gateways of nodes that are killed, and what was answered: the base of whatever
 * metering has to agree with.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Caller, NoAnswer } from '../process/http-client.js';
import { sleep } from '../process/node-under-test.js';
import { accessHeaders, type TenantAccess } from './gateway-nodes.js';

export interface PushClientSettings {
  readonly access: TenantAccess;
  readonly gateway: Caller;
  readonly batch: number;
  /** Its own, so that no client waits for another. */
  readonly queue: string;
  /** Called before each push; false: nothing more is to be pushed. */
  readonly mayGoOn: () => boolean;
}

const TIMEOUT_MS = 60_000;

/** One client of one node: a push, its answer, the next push. */
export class PushClient {
  readonly #settings: PushClientSettings;
  readonly #body: string;
  readonly #done: Promise<void>;
  #isPaused = false;
  #pushing: Promise<void> = Promise.resolve();
  /** Messages that the client was told are queued. */
  acknowledged = 0;
  /** Messages of pushes that no answer came for. */
  unanswered = 0;
  /** Pushes that were refused while the cluster had no leader. */
  refused = 0;

  constructor(settings: PushClientSettings) {
    this.#settings = settings;
    const { queue, batch } = settings;
    const items = Array.from({ length: batch }, () => ({ queue, payload: 1 }));
    this.#body = JSON.stringify({ items });
    this.#done = this.#run();
  }

  /** Resolves when nothing of it is under way. */
  async pause(): Promise<void> {
    this.#isPaused = true;
    await this.#pushing;
  }

  resume(): void {
    this.#isPaused = false;
  }

  /** Resolves when `mayGoOn` said no; rejects for an answer that nothing explains. */
  get done(): Promise<void> {
    return this.#done;
  }

  async #run(): Promise<void> {
    while (this.#settings.mayGoOn()) {
      if (this.#isPaused) {
        await sleep(20);
        continue;
      }
      this.#pushing = this.#push();
      await this.#pushing;
      await nextTurn();
    }
  }

  async #push(): Promise<void> {
    const { gateway, access, batch } = this.#settings;
    try {
      const headers = accessHeaders(access);
      const options = { headers, timeoutMs: TIMEOUT_MS };
      const { status, text } = await gateway.send('POST', '/api/v1/push', this.#body, options);
      if (status === 201) this.acknowledged += text.split('"queued"').length - 1;
      else if (status === 503 || status === 504) this.refused++;
      else throw new Error(`a push was answered ${status}: ${text.slice(0, 200)}`);
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error;
      if (error.code === 'unknown') this.unanswered += batch;
      await sleep(50);
    }
  }
}
