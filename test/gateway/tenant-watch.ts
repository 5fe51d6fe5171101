/**
 * A tenant that asks all reads again and again, each at the next node, by the names and ids that
 * others use at that moment, and keeps what of theirs it finds.
 */
import { CLASSES } from '@svc/gateway';
import { ROUTES } from '@svc/http';
import { sleep } from '../process/node-under-test.js';
import { accessHeaders, type GatewayNodes, type TenantAccess } from './gateway-nodes.js';
import type { KnownIds } from './known-ids.js';
import { ASKED, type Named } from './marked-tenant.js';

/** Most of the time the rows have the processors for themselves. */
const PAUSE_MS = 50;
/** Names of rows' queues. */
const QUEUE = /row\.q\d+/g;

/** But for pops, which change what the next question finds. */
const READS = ROUTES.filter(({ method, gateway }) => {
  return method === 'GET' && CLASSES[gateway].gate === 'tenants';
})
  .map(({ method, path }) => `${method} ${path}`)
  .filter((at) => !/\/pop(\/|$)/.test(at));

export class TenantWatch {
  readonly #nodes: GatewayNodes;
  readonly #access: TenantAccess;
  readonly #ids: KnownIds;
  #queue = 'row.q1';
  #isStopped = false;
  #done: Promise<void> = Promise.resolve();
  readonly found: string[] = [];
  asked = 0;

  constructor(nodes: GatewayNodes, access: TenantAccess, ids: KnownIds) {
    this.#nodes = nodes;
    this.#access = access;
    this.#ids = ids;
  }

  /** A queue that somebody else uses now. */
  look(queue: string): void {
    this.#queue = queue;
  }

  start(): void {
    this.#done = this.#watch();
  }

  /** Rejects with what ended the watch before. */
  stop(): Promise<void> {
    this.#isStopped = true;
    return this.#done;
  }

  async #watch(): Promise<void> {
    for (let turn = 0; !this.#isStopped; turn++) {
      const at = READS[turn % READS.length] as string;
      const { gateways } = this.#nodes;
      const gateway = gateways[(turn + Math.floor(turn / READS.length)) % gateways.length];
      for (const { path } of ASKED[at]?.(this.#names()) ?? []) {
        const headers = accessHeaders(this.#access);
        const answer = await gateway?.send('GET', path, undefined, { headers });
        this.#judge(path, answer?.status ?? 0, answer?.text ?? '');
      }
      await sleep(PAUSE_MS);
    }
  }

  #judge(path: string, status: number, text: string): void {
    this.asked++;
    if (status >= 500) this.found.push(`GET ${path}: ${status} ${text.slice(0, 100)}`);
    // The document of the API has examples.
    if (path === '/openapi.json') return;
    const queues = [...text.matchAll(QUEUE)].map(([name]) => name);
    const others = queues.filter((name) => !path.includes(name));
    for (const one of [...others, ...this.#ids.of(text, path)]) {
      this.found.push(`GET ${path}: ${one}`);
    }
  }

  /** Names that most rows use, and the newest id. */
  #names(): Named {
    const id = this.#ids.last ?? '0';
    return {
      queue: this.#queue,
      ephemeral: this.#queue,
      partition: 'p',
      group: 'g',
      transactionId: 'a',
      deadTransactionId: 'a',
      kvNamespace: 'n',
      kvKey: 'k',
      timer: 'a',
      trace: 'n',
      query: 'sums',
      lock: 'l',
      partitionId: `${(this.asked % 1000) + 1}`,
      leaseId: id,
      messageId: id,
      deadLetterId: id,
      ephemeralId: id,
      traceId: id,
      queryId: id,
      brokerTenant: id,
    };
  }
}
