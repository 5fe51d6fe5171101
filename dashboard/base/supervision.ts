/**
 * Consuming processes, as they report themselves: two kinds of rows in a namespace of the key/value
 * store, a head and chunks of a document in base64. A head and chunks belong together by their
 * `write`; between the two writes of a process they do not, and it is shown again with its next
 * report. Rows are what a program wrote: whatever is not as it should be is left out and counted.
 */

export const SUPERVISION = 'svc-supervisor';

export interface ReportRow {
  readonly key: string;
  readonly value?: unknown;
  readonly updatedAt: string;
}

export interface Pool {
  readonly name: string;
  readonly queue: string;
  readonly group: string;
  readonly desired: number | null;
  readonly running: number | null;
  readonly busy: number | null;
  readonly completed: number | null;
  readonly failed: number | null;
  readonly lastCompletedMs: number | null;
  readonly oldestInflightSeconds: number | null;
}

export interface ConsumerProcess {
  /** Under which the processes of a kind are shown together. */
  readonly group: string;
  readonly id: string;
  readonly host: string;
  readonly pid: number | null;
  readonly engine: string;
  readonly state: string;
  readonly uptimeSeconds: number | null;
  readonly updatedAt: string;
  readonly pools: readonly Pool[];
}

export interface Processes {
  readonly processes: readonly ConsumerProcess[];
  /** Reports that cannot be read, or of which a part is on its way. */
  readonly unread: number;
}

const HEAD = '/head';
const CHUNKS_MAX = 1000;

export function processesOf(rows: readonly ReportRow[]): Processes {
  const byKey = new Map(rows.map((row) => [row.key, row.value]));
  const heads = rows.filter(({ key }) => key.endsWith(HEAD));
  const read = heads.map((head) => processOf(head, byKey));
  const processes = read.filter((one) => one !== null);
  return { processes, unread: read.length - processes.length };
}

function processOf(
  { key, value, updatedAt }: ReportRow,
  byKey: ReadonlyMap<string, unknown>,
): ConsumerProcess | null {
  const under = key.slice(0, -HEAD.length);
  const { write, chunks } = membersOf(value);
  const count = numberOr(chunks);
  if (count === null || count < 1 || count > CHUNKS_MAX) return null;
  const parts = Array.from({ length: count }, (_, i) => {
    const part = membersOf(byKey.get(`${under}/chunk/${String(i).padStart(4, '0')}`));
    return part.write === write ? part.data : undefined;
  });
  const document = documentOf(parts);
  if (document === null) return null;
  const at = under.lastIndexOf('/');
  const { hostname, pid, engine, state, uptime_seconds, pool_status } = document;
  return {
    group: under.slice(0, Math.max(at, 0)),
    id: under.slice(at + 1),
    host: textOr(hostname),
    pid: numberOr(pid),
    engine: textOr(engine),
    state: textOr(state),
    uptimeSeconds: numberOr(uptime_seconds),
    updatedAt,
    pools: Array.isArray(pool_status) ? pool_status.map(poolOf) : [],
  };
}

/** null: a part is missing, or it is no document. */
function documentOf(parts: readonly unknown[]): Members | null {
  if (!parts.every((part) => typeof part === 'string')) return null;
  try {
    const bytes = parts.map((part) => atob(part)).join('');
    const text = new TextDecoder().decode(Uint8Array.from(bytes, (one) => one.charCodeAt(0)));
    const document: unknown = JSON.parse(text);
    return typeof document === 'object' && document !== null ? membersOf(document) : null;
  } catch {
    return null;
  }
}

function poolOf(value: unknown): Pool {
  const pool = membersOf(value);
  const completedAt = numberOr(pool.last_completed_at_epoch);
  return {
    name: textOr(pool.name),
    queue: textOr(pool.queue),
    group: textOr(pool.consumer_group),
    desired: numberOr(pool.desired),
    running: numberOr(pool.running),
    busy: numberOr(pool.busy),
    completed: numberOr(pool.completed),
    failed: numberOr(pool.failed),
    lastCompletedMs: completedAt === null ? null : completedAt * 1000,
    oldestInflightSeconds: numberOr(pool.oldest_inflight_seconds),
  };
}

type Members = Readonly<Record<string, unknown>>;

function membersOf(value: unknown): Members {
  return typeof value === 'object' && value !== null ? (value as Members) : {};
}

function textOr(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function numberOr(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}
