/**
 * What a row may send to a broker that others use. A run may change nothing that it did not make,
 * whatever a row does and however the broker answers, so each request is judged before it leaves; a
 * row that wants to send another one is skipped with the reason.
 *
 * Two modes:
 * - `tenants`: each row has tenants of its own, which are purged after it. It may do there what it
 *   likes; what concerns the node, the cluster or another tenant is not sent.
 * - `queues`: everybody shares one tenant. Only queues can be taken away again without touching
 *   what is another's, so a row sends what names its own queue, and reads what tells of nothing
 *   else. Key/value namespaces, locks, timers, traces, streams, ephemeral queues and groups are
 *   left alone, and so are lists, which show what others have.
 *
 * A queue is the row's own when its name holds the row's number, twelve digits of which eight are
 * the run's and random. Ids of partitions, messages and leases cannot be guessed: a row has them
 * from answers about its own queue, or they name nothing. The short numbers that also name
 * partitions are looked up in what the row was told.
 */
import { Unmet } from '../contract/broker-under-test.js';

export type Mode = 'tenants' | 'queues';

export interface Sent {
  readonly method: string;
  readonly path: string;
  readonly tenant: string | undefined;
  readonly body: Uint8Array | string | undefined;
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const WHOLE_BROKER = /^\/api\/v1\/(system|internal)\//;
const QUOTAS = /^\/api\/v1\/(resources\/quota|system\/quotas?)$/;
const PURGE = '/api/v1/resources/tenant';
/** Reading them changes nothing, and they show no list of one tenant. */
const OF_THE_NODE = /^\/(health|status|metrics|metrics\/prometheus|openapi\.json)$/;
/** Bodies whose every queue is named by `queue`. */
const BY_BODY =
  /^\/api\/v1\/(push|configure|fetch(\/offsets)?|partitions\/changed|ack(\/batch)?|transaction)$/;
const BY_LEASE = /^\/api\/v1\/lease\/[^/]+\/extend$/;
/** A queue in their path or query says what they are about. */
const BY_NAME = /^\/api\/v1\/(pop|resources|messages|dlq|status|analytics|consumer-groups)(\/|$)/;
const REPLAY = /^\/api\/v1\/dlq\/[^/]+\/replay$/;
const BY_PARTITION = /^\/api\/v1\/messages\/([^/]+)\/[^/]+(\/(retry|dlq))?$/;

const SHARED = 'needs tenants of its own (SVC_TENANCY_HEADER, and an admin) for ';

export class RowGuard {
  readonly #mode: Mode;
  readonly #tenants: string;
  /** Holds in every name of a queue of the row. */
  readonly #mark: string;
  /** Whether the row expects its request to be refused, so that a list has nothing to show. */
  readonly #isRefusal: boolean;
  readonly #tenantsUsed = new Set<string>();
  readonly #queuesUsed = new Set<string>();
  #told = '';
  #unmet: Unmet | null = null;

  constructor(mode: Mode, tenants: string, number: number, isRefusal: boolean) {
    this.#mode = mode;
    this.#tenants = tenants;
    this.#mark = `q${number}`;
    this.#isRefusal = isRefusal;
  }

  /** Tenants that have been named. */
  get tenants(): readonly string[] {
    return [...this.#tenantsUsed];
  }

  /** Queues that have been named, in the mode `queues`. */
  get queues(): readonly string[] {
    return [...this.#queuesUsed];
  }

  /** The first request that was held back; the row's own error is a consequence of it. */
  get unmet(): Unmet | null {
    return this.#unmet;
  }

  /** Throws `Unmet` instead of letting a request leave. */
  judge(sent: Sent): void {
    const why = this.#mode === 'tenants' ? this.#wrongTenant(sent) : this.#wrongQueue(sent);
    if (why === null) return;
    this.#unmet ??= new Unmet(why);
    throw this.#unmet;
  }

  /** An answer, from which the row may know numbers of partitions. */
  saw(text: string): void {
    if (this.#mode === 'queues' && this.#told.length < 1_000_000) this.#told += text;
  }

  // --- tenants -----------------------------------------------------------------------------------

  #wrongTenant({ method, path, tenant = '', body }: Sent): string | null {
    const [plain = ''] = path.split('?');
    const named = [tenant, ...tenantsIn(path, plain, body)].map((one) => one.toLowerCase());
    const foreign = named.some((one) => !this.#isOwnTenant(one));
    if (foreign && (method !== 'GET' || plain.startsWith('/api/v1/pop'))) {
      return 'would act on a tenant that others may use';
    }
    if (method !== 'GET' && WHOLE_BROKER.test(plain) && !QUOTAS.test(plain)) {
      return 'would act on the whole broker';
    }
    for (const one of named) if (this.#isOwnTenant(one) && UUID.test(one)) this.#use(one);
    return null;
  }

  /** A text that is not a UUID is refused; "" is the default tenant. */
  #isOwnTenant(tenant: string): boolean {
    if (tenant === '') return false;
    return !UUID.test(tenant) || tenant.startsWith(`${this.#tenants}-`);
  }

  #use(tenant: string): void {
    this.#tenantsUsed.add(tenant);
  }

  // --- queues ------------------------------------------------------------------------------------

  #wrongQueue({ method, path, tenant = '', body }: Sent): string | null {
    if (tenant !== '') return `${SHARED}a tenant that is named`;
    const [plain = '', query = ''] = path.split('?');
    const named = [...queuesInPath(plain), ...queuesInQuery(query)];
    if (named.length > 0 && BY_NAME.test(plain)) return this.#ownAll(named);
    // A balancer may keep what operators do from clients.
    if (WHOLE_BROKER.test(plain)) return `${SHARED}${familyOf(plain)}`;
    if (method === 'GET') return this.#wrongRead(plain, query);
    const text = textOf(body);
    if (method === 'POST' && (BY_BODY.test(plain) || REPLAY.test(plain))) {
      return this.#wrongBody(text);
    }
    if (BY_LEASE.test(plain)) return null;
    const partition = BY_PARTITION.exec(plain)?.[1];
    if (partition !== undefined && this.#knowsPartition(partition)) return null;
    if (!plain.startsWith('/api/v1/') && !plain.startsWith('/streams/')) return null;
    return `${SHARED}${familyOf(plain)}`;
  }

  #wrongRead(plain: string, query: string): string | null {
    if (OF_THE_NODE.test(plain) || !/^\/(api\/v1|streams)\//.test(plain)) return null;
    if (this.#isRefusal && !plain.startsWith('/api/v1/pop')) return null;
    if (new URLSearchParams(query).get('task') === this.#mark) return null;
    const partition = BY_PARTITION.exec(plain)?.[1];
    if (partition !== undefined && this.#knowsPartition(partition)) return null;
    return `${SHARED}${familyOf(plain)}`;
  }

  #wrongBody(text: string): string | null {
    if (/"(kv|timers)"\s*:/.test(text)) return `${SHARED}key/value and timers in a transaction`;
    for (const [, id = ''] of text.matchAll(/"partitionId"\s*:\s*"([^"]*)"/g)) {
      if (!this.#knowsPartition(id)) return `${SHARED}a partition by its number`;
    }
    return this.#ownAll(queuesInBody(text));
  }

  #ownAll(queues: readonly string[]): string | null {
    if (!queues.every((one) => one.includes(this.#mark))) {
      return `${SHARED}queues whose names are not of this run`;
    }
    for (const one of queues) this.#queuesUsed.add(one);
    return null;
  }

  #knowsPartition(id: string): boolean {
    return !/^\d+$/.test(id) || this.#told.includes(`"${id}"`);
  }
}

/** In the query of a purge, and in the bodies that name a tenant. */
function tenantsIn(path: string, plain: string, body: Sent['body']): string[] {
  if (plain !== PURGE && !QUOTAS.test(plain)) return [];
  const query = new URLSearchParams(path.slice(plain.length));
  const found = textOf(body).matchAll(/"tenant(?:Id|_id)?"\s*:\s*"([^"]*)"/g);
  return [...query.getAll('tenant'), ...[...found].map(([, tenant = '']) => tenant)];
}

function queuesInPath(plain: string): string[] {
  const found = /^\/api\/v1\/(?:.*\/)?queues?\/([^/]+)/.exec(plain);
  return found === null ? [] : [decoded(found[1] ?? '')];
}

function queuesInQuery(query: string): string[] {
  return new URLSearchParams(query).getAll('queue');
}

/** By text, not by structure: a body need not be JSON, and a broker might read it all the same. */
function queuesInBody(text: string): string[] {
  return [...text.matchAll(/"queue"\s*:\s*"([^"]*)"/g)].map(([, queue = '']) => queue);
}

function textOf(body: Sent['body']): string {
  return typeof body === 'string' ? body : Buffer.from(body ?? []).toString('latin1');
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** `/api/v1/kv/n/k` is of `/api/v1/kv`. */
function familyOf(plain: string): string {
  return plain.split('/').slice(0, 4).join('/');
}
