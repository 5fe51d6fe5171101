/** What a node says of itself, from its own HTTP answers. */
import { HOST } from './plan.js';

export interface NodeView {
  readonly id: number;
  /** `down` once its process ended, `starting` until it answers. */
  readonly state: string;
  readonly healthy: boolean;
  readonly term: number | null;
  readonly commit: number | null;
  readonly applied: number | null;
  readonly logBytes: number | null;
  /** Since the node started. */
  readonly requests: number | null;
  readonly messages: number | null;
  readonly memoryBytes: number | null;
}

const ANSWER_MS_MAX = 900;

interface StatusBody {
  readonly state: string;
  readonly term: number;
  readonly committedIndex: number | null;
  readonly appliedIndex: number | null;
  readonly log: { readonly bytes: number | null };
}

interface MetricsBody {
  readonly requests: { readonly total: number };
  readonly messages: { readonly total: number };
  readonly memory: { readonly rss: number };
}

export function silentNode(id: number, state: string): NodeView {
  return {
    id,
    state,
    healthy: false,
    term: null,
    commit: null,
    applied: null,
    logBytes: null,
    requests: null,
    messages: null,
    memoryBytes: null,
  };
}

export async function askNode(id: number, httpPort: number): Promise<NodeView> {
  const base = `http://${HOST}:${httpPort}`;
  try {
    const [health, status, metrics] = await Promise.all([
      get(`${base}/health`),
      get(`${base}/api/v1/raft/status`),
      get(`${base}/metrics`),
    ]);
    if (!status.ok || !metrics.ok) return silentNode(id, 'starting');
    const { state, term, committedIndex, appliedIndex, log } = (await status.json()) as StatusBody;
    const { requests, messages, memory } = (await metrics.json()) as MetricsBody;
    return {
      id,
      state,
      healthy: health.status === 200,
      term,
      commit: committedIndex,
      applied: appliedIndex,
      logBytes: log.bytes,
      requests: requests.total,
      messages: messages.total,
      memoryBytes: memory.rss,
    };
  } catch {
    // Refused, reset or late: what it is called is the caller's to say.
    return silentNode(id, 'starting');
  }
}

function get(url: string): Promise<Response> {
  return fetch(url, { signal: AbortSignal.timeout(ANSWER_MS_MAX) });
}
