/**
 * How one client of a load talks to a cluster: it keeps to one node while that answers, goes to
 * another when it does not, and now and then without a reason; and it says of each request what is
 * known of its effect.
 */
import type { SeededRandom } from '../seeded-random.js';
import { type Answer, type HttpClient, NoAnswer } from './http-client.js';

/**
 * `refused`: answered, and nothing was done. `unknown`: no answer, or one that leaves open what was
 * done. `not-sent`: no connection was made.
 */
export type Reply =
  | { readonly kind: 'answer'; readonly answer: Answer }
  | { readonly kind: 'refused'; readonly answer: Answer }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'not-sent' };

/** Told of every request: what it was, and how it ended in a word or two. */
export type Observe = (request: string, outcome: string, beganMs: number, endedMs: number) => void;

export interface NodeCallerOptions {
  /** May change from call to call; never empty. */
  readonly nodes: readonly HttpClient[];
  readonly random: SeededRandom;
  readonly requestMsMax?: number | undefined;
  readonly observe?: Observe | undefined;
}

/** Share of requests that go to another node than the last one. */
const ROAM = 0.02;
/** Statuses that say for sure that the request did nothing, as the 503 of a standby does. */
const REFUSALS = new Set([400, 413, 429, 507]);

export class NodeCaller {
  readonly #options: NodeCallerOptions;
  #at: number;

  constructor(options: NodeCallerOptions) {
    this.#options = options;
    this.#at = options.random.between(0, options.nodes.length - 1);
  }

  get(request: string, path: string): Promise<Reply> {
    return this.#call(request, (node, options) => node.get(path, options));
  }

  post(request: string, path: string, body: string): Promise<Reply> {
    return this.#call(request, (node, options) => node.post(path, body, options));
  }

  async #call(
    request: string,
    send: (node: HttpClient, options: { readonly timeoutMs?: number }) => Promise<Answer>,
  ): Promise<Reply> {
    const { random, requestMsMax, observe } = this.#options;
    if (random.chance(ROAM)) this.#moveOn();
    const beganMs = performance.now();
    const note = (outcome: string) => observe?.(request, outcome, beganMs, performance.now());
    try {
      const answer = await send(
        this.#node,
        requestMsMax === undefined ? {} : { timeoutMs: requestMsMax },
      );
      note(outcomeOf(answer));
      const isStandby = answer.status === 503 && codeOf(answer) === 'standby';
      if (REFUSALS.has(answer.status) || isStandby) {
        if (answer.status >= 500) this.#moveOn();
        return { kind: 'refused', answer };
      }
      if (answer.status < 500) return { kind: 'answer', answer };
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error;
      note(error.code === 'refused' ? 'not connected' : 'no answer');
      this.#moveOn();
      return error.code === 'refused' ? { kind: 'not-sent' } : { kind: 'unknown' };
    }
    this.#moveOn();
    return { kind: 'unknown' };
  }

  get #node(): HttpClient {
    const { nodes } = this.#options;
    return nodes[this.#at % nodes.length] as HttpClient;
  }

  #moveOn(): void {
    this.#at = (this.#at + 1) % this.#options.nodes.length;
  }
}

function outcomeOf(answer: Answer): string {
  const { status } = answer;
  if (status < 300) return 'ok';
  const code = codeOf(answer);
  return code === undefined ? `${status}` : `${status} ${code}`;
}

function codeOf({ text }: Answer): string | undefined {
  return /"code":"(\w+)"/.exec(text)?.[1];
}
