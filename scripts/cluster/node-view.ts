/** What a node says of itself, from its own HTTP answers. */
import { localGet } from './local-get.js';
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
      localGet(`${base}/health`, ANSWER_MS_MAX),
      localGet(`${base}/api/v1/raft/status`, ANSWER_MS_MAX),
      localGet(`${base}/metrics`, ANSWER_MS_MAX),
    ]);
    if (status.status !== 200 || metrics.status !== 200) return silentNode(id, 'starting');
    const { state, term, committedIndex, appliedIndex, log } = JSON.parse(
      status.text,
    ) as StatusBody;
    const { requests, messages, memory } = JSON.parse(metrics.text) as MetricsBody;
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
