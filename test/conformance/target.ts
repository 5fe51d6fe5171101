/**
 * The broker that is looked at, through the addresses that were given: its clients with their
 * token, and what can be found out about it without changing anything.
 */
import type { RaftStatusAnswer } from '@svc/wire';
import { type Answer, HttpClient, NoAnswer, type RequestOptions } from '../process/http-client.js';
import { type Arguments, UsageError } from './arguments.js';

/** Requests on connections of their own that tell whether an address is that of one node. */
const LOOKS = 8;

/** A client of one address that shows the token with every request. */
export class TokenClient {
  readonly base: URL;
  readonly #client: HttpClient;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(base: URL, token: string | null) {
    this.base = base;
    this.#client = new HttpClient(base);
    this.#headers = token === null ? {} : { authorization: `Bearer ${token}` };
  }

  send(
    method: string,
    path: string,
    body: Uint8Array | string | undefined = undefined,
    options: RequestOptions = {},
  ): Promise<Answer> {
    const headers = { ...this.#headers, ...options.headers };
    return this.#client.send(method, path, body, { ...options, headers });
  }

  close(): void {
    this.#client.close();
  }
}

export interface Target {
  readonly clients: readonly TokenClient[];
  /** Members of the cluster. */
  readonly nodes: number;
  /** Each address is that of one node. */
  readonly isPinned: boolean;
  /** Requests without a token are refused. */
  readonly wantsToken: boolean;
  readonly openApi: string;
}

/** Throws a `UsageError` when there is no broker to look at. */
export async function openTarget({ bases, token }: Arguments): Promise<Target> {
  const clients = bases.map((base) => new TokenClient(base, token));
  try {
    for (const client of clients) await expectBroker(client, token);
    const seen = await Promise.all(bases.map((base) => lookBehind(base, token)));
    const nodes = Math.max(...seen.map(({ voters }) => voters));
    const distinct = new Set(seen.flatMap(({ ids }) => [...ids])).size;
    const wantsToken = await isRefused(bases[0] as URL);
    const [first] = clients;
    const openApi = (await (first as TokenClient).send('GET', '/openapi.json')).text;
    const isPinned = seen.every(({ ids }) => ids.size === 1) && distinct === bases.length;
    return { clients, nodes, isPinned, wantsToken, openApi };
  } catch (error) {
    for (const client of clients) client.close();
    throw error;
  }
}

/** That a broker answers there which has a leader, and takes the token. */
async function expectBroker(client: TokenClient, token: string | null): Promise<void> {
  const at = client.base.origin;
  const health = await reached(client, '/health');
  if (!isHealth(health)) {
    throw new UsageError(`${at}: no broker answers there (GET /health: ${shown(health)})`);
  }
  if (health.status !== 200) {
    throw new UsageError(`${at}: the node is not ready, or knows no leader (${shown(health)})`);
  }
  const list = await reached(client, '/api/v1/resources/queues?limit=1');
  if (list.status === 401 || list.status === 403) {
    const what = token === null ? 'needs a token: give one with --token' : 'refuses the token';
    throw new UsageError(`${at}: the broker ${what} (${shown(list)})`);
  }
  if (list.status !== 200) throw new UsageError(`${at}: the broker cannot list (${shown(list)})`);
}

async function reached(client: TokenClient, path: string): Promise<Answer> {
  try {
    return await client.send('GET', path);
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error;
    throw new UsageError(`${client.base.origin}: nothing answers there (${error.message})`);
  }
}

function shown({ status, text }: Answer): string {
  return `${status} ${text.replace(/\s+/g, ' ').slice(0, 120)}`.trim();
}

function isHealth({ text }: Answer): boolean {
  try {
    const read = JSON.parse(text) as { engine?: unknown; raft?: unknown; code?: unknown } | null;
    // A balancer speaks for nodes that it cannot reach, with the code of one that has no leader.
    return read?.engine === 'raft' || read?.code === 'no_leader';
  } catch {
    return false;
  }
}

interface Behind {
  readonly ids: ReadonlySet<number>;
  readonly voters: number;
}

/** The nodes that requests to one address reach. */
async function lookBehind(base: URL, token: string | null): Promise<Behind> {
  const ids = new Set<number>();
  let voters = 1;
  for (let i = 0; i < LOOKS; i++) {
    const client = new TokenClient(base, token);
    const { status, text } = await client.send('GET', '/api/v1/raft/status');
    client.close();
    // A token that may only read: as if a balancer chose.
    if (status !== 200) return { ids: new Set([-1, -2]), voters };
    const told = JSON.parse(text) as RaftStatusAnswer;
    ids.add(told.nodeId);
    voters = Math.max(voters, told.voters);
  }
  return { ids, voters };
}

async function isRefused(base: URL): Promise<boolean> {
  const client = new TokenClient(base, null);
  const { status } = await client.send('GET', '/api/v1/resources/queues?limit=1');
  client.close();
  return status === 401;
}
