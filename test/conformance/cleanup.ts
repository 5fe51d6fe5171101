/** Takes away what rows made, and looks whether anything is left. */
import type { Answer } from '../process/http-client.js';
import type { Target, TokenClient } from './target.js';

/** What a row may have left: tenants of its own, or queues in a tenant that others use. */
export interface Traces {
  readonly tenants: readonly string[];
  readonly queues: readonly string[];
}

/** Lists of a tenant, each with the member that says how many there are. */
const LISTS: readonly (readonly [path: string, list: string])[] = [
  ['/api/v1/resources/queues', 'queues'],
  ['/api/v1/resources/kv/namespaces', 'namespaces'],
  ['/api/v1/resources/timers', 'timers'],
  ['/api/v1/traces/names', 'trace_names'],
  ['/api/v1/ephemeral/queues', 'queues'],
  ['/api/v1/consumer-groups', 'groups'],
];

/** Removes as much as can be removed; `leftovers` tells what could not. */
export async function remove({ clients }: Target, traces: Traces): Promise<void> {
  const [client] = clients;
  if (client === undefined) return;
  for (const tenant of traces.tenants) {
    await tried(client, 'DELETE', `/api/v1/resources/tenant?tenant=${tenant}`);
  }
  for (const queue of traces.queues) await tried(client, 'DELETE', queuePath(queue));
}

/** Names that are still there, one line each. */
export async function leftovers(target: Target, traces: Traces): Promise<string[]> {
  const [client] = target.clients;
  if (client === undefined) return [];
  const found: string[] = [];
  for (const tenant of traces.tenants) {
    for (const [path, list] of LISTS) {
      const answer = await tried(client, 'GET', path, { 'x-svc-tenant': tenant });
      // A surface that is switched off, or not granted any more, has nothing to show.
      if (answer !== null && [403, 404, 503].includes(answer.status)) continue;
      const count = answer?.status === 200 ? countOf(answer.text, list) : -1;
      if (count !== 0) found.push(`tenant ${tenant}: GET ${path}: ${answer?.text.slice(0, 200)}`);
    }
  }
  for (const queue of traces.queues) {
    const answer = await tried(client, 'GET', queuePath(queue));
    if (answer?.status !== 404) found.push(`queue ${queue}: status ${answer?.status ?? 'none'}`);
  }
  return found;
}

function queuePath(queue: string): string {
  return `/api/v1/resources/queues/${encodeURIComponent(queue)}`;
}

/** -1: the answer has no such list. */
function countOf(text: string, list: string): number {
  const read: unknown = JSON.parse(text);
  const rows = Array.isArray(read) ? read : (read as Record<string, unknown>)[list];
  return Array.isArray(rows) ? rows.length : -1;
}

const ATTEMPTS = 3;

/** A leader that has just changed, or a rate, answers otherwise a moment later. null: no answer. */
async function tried(
  client: TokenClient,
  method: string,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer | null> {
  let answer: Answer | null = null;
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    answer = await client
      .send(method, path, undefined, { headers, timeoutMs: 30_000 })
      .catch(() => null);
    if (answer !== null && ![429, 502, 503, 504].includes(answer.status)) return answer;
    await new Promise((resolve) => setTimeout(resolve, 300 * attempt));
  }
  return answer;
}
