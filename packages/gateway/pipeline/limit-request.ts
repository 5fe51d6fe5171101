/**
 * The limits of a request that may go on (gateway 4, step 7), in their order: what its head says,
 * then what its body says. Each of the two runs once, for it takes what it lets through.
 *
 * In shadow mode what would have been refused is told and goes on, but for sizes and the blocks of
 * pushes, which hold always.
 */
import type { ClusterView } from '../base/cluster-view.js';
import { REFUSALS, type Refusal } from '../base/refusal.js';
import {
  type Denial,
  type Destination,
  isDenial,
  type Limits,
  type ParkedSlot,
} from '../limits/limits.js';
import type { BodySummary } from './body-summary.js';
import type { Passed } from './decide.js';
import type { RouteTarget } from './targets.js';

export interface LimitConfig {
  /** False: shadow mode. */
  readonly isEnforced: boolean;
  /** Bytes of a body that is kept whole to be read here. */
  readonly bodyBytesMax: number;
}

export interface LimitPorts {
  readonly limits: Limits;
  readonly config: LimitConfig;
  /** Shadow mode let something pass. */
  readonly onShadow: (cluster: ClusterView, denial: Denial) => void;
}

export type HeadLimited =
  | { readonly kind: 'refused'; readonly refusal: Refusal }
  /** `slot`: to be released when the answer has been given, or the client is gone. */
  | { readonly kind: 'admitted'; readonly readsBody: boolean; readonly slot: ParkedSlot | null };

const UNLIMITED: HeadLimited = { kind: 'admitted', readsBody: false, slot: null };

/** `contentLength`: null where the head does not say it. */
export function limitHead(
  { cluster, target }: Passed,
  query: string,
  contentLength: number | null,
  ports: LimitPorts,
  nowMs: number,
): HeadLimited {
  if (cluster === null) return UNLIMITED;
  const { limits, config } = ports;
  const refusal = denied(ports, cluster, limits.request(cluster, nowMs));
  if (refusal !== null) return { kind: 'refused', refusal };
  const readsBody = target.body !== null && target.body !== 'kv';
  if (readsBody && (contentLength ?? 0) > config.bodyBytesMax) {
    return { kind: 'refused', refusal: REFUSALS.bodyTooLarge };
  }
  if (!target.isPop || !waits(query)) return { kind: 'admitted', readsBody, slot: null };
  const slot = limits.park(cluster);
  if (!isDenial(slot)) return { kind: 'admitted', readsBody, slot };
  const full = denied(ports, cluster, slot);
  return full === null
    ? { kind: 'admitted', readsBody, slot: null }
    : { kind: 'refused', refusal: full };
}

/** null: it goes on. A body without a summary is not limited: the front refuses it. */
export function limitBody(
  { cluster, target }: Passed,
  summary: BodySummary | null,
  ports: LimitPorts,
  nowMs: number,
): Refusal | null {
  if (cluster === null || summary === null) return null;
  const { limits } = ports;
  const { largest, destinations, retention, features } = summary;
  // A timer without a delay is a push by another name.
  const items = summary.items + summary.timers;
  for (const feature of features) if (!cluster.features[feature]) return REFUSALS.featureGated;
  const refused = (denial: Denial | null) => denied(ports, cluster, denial);
  switch (target.body) {
    case 'push':
    case 'transaction':
    case 'cycle':
    case 'timers':
      if (items === 0) return null;
      return (
        (target.body === 'cycle' ? blocked(ports, cluster) : null) ??
        refused(limits.sizes(cluster, items, largest)) ??
        refused(limits.admit(cluster, destinations, nowMs)) ??
        refused(limits.messages(cluster, items, nowMs))
      );
    case 'ephemeral-push':
      return items === 0 ? null : refused(limits.messages(cluster, items, nowMs));
    case 'configure':
      return (
        refused(limits.retention(cluster, retention)) ??
        refused(limits.admit(cluster, destinations, nowMs))
      );
    case 'replay':
      return refused(limits.admit(cluster, destinations, nowMs));
    default:
      return null;
  }
}

/** Bodies that make queues and partitions by naming them. */
const MAKES_QUEUES: ReadonlySet<RouteTarget['body']> = new Set([
  'push',
  'transaction',
  'cycle',
  'configure',
  'replay',
  'timers',
]);

/**
 * The question that the broker has to answer before `limitBody`, or null. A body that is too large
 * anyhow costs no question.
 */
export function unknownOf(
  { cluster, target }: Passed,
  summary: BodySummary | null,
  { limits }: LimitPorts,
  nowMs: number,
): { readonly cluster: ClusterView; readonly destinations: readonly Destination[] } | null {
  if (cluster === null || summary === null || !MAKES_QUEUES.has(target.body)) return null;
  const { destinations, largest } = summary;
  const items = summary.items + summary.timers;
  if (limits.knows(cluster, destinations, nowMs)) return null;
  return limits.sizes(cluster, items, largest) === null ? { cluster, destinations } : null;
}

/** A cycle is let through by its head; what it pushes is refused while the cluster may not grow. */
function blocked({ limits }: LimitPorts, cluster: ClusterView): Refusal | null {
  const block = limits.pushBlock(cluster.id);
  if (block === 'storage') return REFUSALS.storageBlocked;
  if (block === 'monthly') return REFUSALS.monthlyBlocked;
  return cluster.status === 'push_blocked' ? REFUSALS.pushBlocked : null;
}

function denied(
  { config, onShadow }: LimitPorts,
  cluster: ClusterView,
  denial: Denial | null,
): Refusal | null {
  if (denial === null) return null;
  if (config.isEnforced || !denial.shadowable) return denial.refusal;
  onShadow(cluster, denial);
  return null;
}

/** As the front reads it: decoded, and the last of several. */
export function waits(query: string): boolean {
  return lastOf(query, 'wait') === 'true';
}

function lastOf(query: string, name: string): string | null {
  return new URLSearchParams(query).getAll(name).at(-1) ?? null;
}

export interface TimeoutConfig {
  readonly upstreamTimeoutMs: number;
  readonly longPollMarginMs: number;
  readonly longPollMaxMs: number;
}

const POP_TIMEOUT_MS = 30_000;
const DIGITS = /^\d+$/;

/** How long the broker has for its answer: for a pop that waits its own time, and a margin. */
export function upstreamTimeoutMs(
  { target }: Passed,
  query: string,
  { upstreamTimeoutMs, longPollMarginMs, longPollMaxMs }: TimeoutConfig,
): number {
  const waitMs = waitMsOf(target, query);
  return waitMs === null ? upstreamTimeoutMs : Math.min(waitMs, longPollMaxMs) + longPollMarginMs;
}

/** How long a pop asks to wait for messages; null: it does not wait. */
export function waitMsOf({ isPop }: Pick<RouteTarget, 'isPop'>, query: string): number | null {
  if (!isPop || !waits(query)) return null;
  const asked = lastOf(query, 'timeout') ?? '';
  return DIGITS.test(asked) ? Number(asked) : POP_TIMEOUT_MS;
}
