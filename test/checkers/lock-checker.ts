/**
 * Judges locks and semaphores: each permit has one owner at a time, its tokens rise, and what is
 * guarded by a token commits only while the permit is at that token.
 *
 * A client knows only when a request began and ended. That a permit is held is certain from the
 * answer that gave the token until its lifetime, counted from the request, is over, or until
 * somebody began to renew or release it; that it is free is certain only when its lifetime, counted
 * from the answer, is over, or a release was answered. Every rule speaks of what is certain, and
 * keeps silent about the rest. Which of two grants came first is read off their tokens, since those
 * are versions of one counter.
 *
 * Guarded transactions store a message in a partition of their permit, which says in what order
 * they committed.
 */
import { type Anomaly, groupBy } from './history.js';

export type LockAnomalyKind =
  /** A permit was given to somebody while another one certainly held it. */
  | 'two_owners'
  /** A slot beyond the limit that the caller stated. */
  | 'over_limit'
  | 'token_twice'
  /** A later grant has a lower token. */
  | 'token_order'
  /** A guard held although the permit had moved on, was released, or had expired. */
  | 'guarded_after_moved'
  /** Messages of one permit are not in the order of their tokens. */
  | 'guard_order'
  /** The message of a transaction whose guard did not hold. */
  | 'rolled_back_output'
  | 'output_lost'
  | 'committed_twice'
  /** A holder was told that it is none. */
  | 'valid_guard_refused'
  | 'valid_renew_lost'
  | 'valid_release_lost'
  /** `held`, where fewer can hold permits than there are. */
  | 'held_by_nobody';

export type LockAnomaly = Anomaly<LockAnomalyKind>;

export interface LockCall {
  readonly name: string;
  readonly owner: string;
  readonly op: 'acquire' | 'renew' | 'release';
  /** For an acquire or a renewal: how long the permit lasts. */
  readonly ttlMs: number;
  /** For an acquire: permits of the lock; 1 otherwise. */
  readonly limit: number;
  /** What a renewal or a release names, or what an acquire was given; null: none. */
  readonly slot: number | null;
  /** What a renewal or a release names; null in an acquire. */
  readonly token: number | null;
  /** The token that was given; null: none was. */
  readonly granted: number | null;
  readonly beganMs: number;
  readonly endedMs: number;
  /** The wall clock of the node that was asked was ahead of another one's by more than is safe. */
  readonly isAhead: boolean;
  /** `already`: its owner held it before. `refused`: nothing was done, for whatever reason. */
  readonly outcome:
    | 'granted'
    | 'already'
    | 'released'
    | 'held'
    | 'contended'
    | 'lost'
    | 'refused'
    | 'unknown';
}

/** A transaction with the guard of a token, that stores `value`. */
export interface GuardedCommit {
  readonly name: string;
  readonly slot: number;
  readonly token: number;
  readonly value: string;
  readonly beganMs: number;
  readonly endedMs: number;
  /** `guard`: it was rolled back because the guard did not hold. */
  readonly outcome: 'committed' | 'guard' | 'refused' | 'unknown';
}

export interface LockHistory {
  readonly calls: readonly LockCall[];
  readonly commits: readonly GuardedCommit[];
  /** The values that are stored; those of one permit in the order of their partition. */
  readonly stored: readonly string[];
  /** Instants at which lifetimes may have ended early or late by any time. */
  readonly clockBreaksMs: readonly number[];
  /** How much sooner, and how much later, a lifetime may end than by the clients' clock. */
  readonly earlyMsMax: number;
  readonly lateMsMax: number;
  /** A request that was not answered has its effect before then, or never. */
  readonly effectUntilMs: (beganMs: number) => number;
}

type Report = (kind: LockAnomalyKind, text: string) => void;

/** One token of one permit. */
interface Link {
  readonly call: LockCall;
  readonly permit: string;
  readonly token: number;
  /** Certainly held from the answer until then. */
  readonly heldUntilMs: number;
  /** Certainly over from then on, if nothing renewed it. */
  readonly goneMs: number;
}

export function checkLocks(history: LockHistory): LockAnomaly[] {
  const anomalies: LockAnomaly[] = [];
  const report: Report = (kind, text) => anomalies.push({ kind, text });
  const links = linksOf(history);
  checkTokens(links, report);
  const byPermit = groupBy(links, (link) => link.permit);
  for (const own of byPermit.values()) {
    own.sort((a, b) => a.token - b.token);
    checkOwners(own, report);
    checkOrder(own, report);
  }
  for (const call of history.calls) {
    if (call.op === 'acquire' && call.slot !== null && call.slot >= call.limit) {
      report('over_limit', `${call.name}: slot ${call.slot} of ${call.limit}`);
    }
    if (call.outcome === 'lost') checkLost(call, byPermit, report);
    if (call.outcome === 'held') checkHeld(call, links, history, report);
  }
  for (const commit of history.commits) checkCommit(commit, byPermit, history, report);
  checkStored(history, report);
  return anomalies;
}

function permitOf(name: string, slot: number | null): string {
  return `${name}#${slot}`;
}

function linksOf(history: LockHistory): Link[] {
  const { calls, clockBreaksMs, earlyMsMax, lateMsMax, effectUntilMs } = history;
  const onPermit = groupBy(calls, ({ name, slot }) => permitOf(name, slot));
  return calls.flatMap((call) => {
    if (call.granted === null || call.outcome !== 'granted') return [];
    const permit = permitOf(call.name, call.slot);
    const token = call.granted;
    const end = call.beganMs + call.ttlMs - earlyMsMax;
    const others = onPermit.get(permit) ?? [];
    const ends = others.filter(
      (other) => other !== call && mayEnd(other, call, token, effectUntilMs),
    );
    const breaks = clockBreaksMs.filter((atMs) => atMs >= call.beganMs);
    const heldUntilMs = Math.min(end, ...ends.map(({ beganMs }) => beganMs), ...breaks);
    const goneMs = call.endedMs + call.ttlMs + lateMsMax;
    return [{ call, permit, token, heldUntilMs, goneMs }];
  });
}

/**
 * Whether the permit of `holder` may not be at this token any more because of it. A renewal that
 * was given up before may act on it later: it names its owner, and not only the token of then.
 */
function mayEnd(
  other: LockCall,
  holder: LockCall,
  token: number,
  effectUntilMs: LockHistory['effectUntilMs'],
): boolean {
  if (other.outcome === 'refused' || other.outcome === 'lost') return false;
  if (other.op === 'release') return other.token === token;
  const isOwn = other.token === token || other.owner === holder.owner;
  const { op, outcome, beganMs, endedMs } = other;
  const untilMs = outcome === 'unknown' ? Math.max(endedMs, effectUntilMs(beganMs)) : endedMs;
  return op === 'renew' && isOwn && untilMs > holder.beganMs;
}

function checkTokens(links: readonly Link[], report: Report): void {
  for (const [token, same] of groupBy(links, (link) => `${link.token}`)) {
    const shown = same.map(({ call, permit }) => `${permit} of ${call.owner}`);
    if (same.length > 1) report('token_twice', `${token}: ${shown.join(', ')}`);
  }
}

/** `links` are those of one permit by token, which is the order in which they were given. */
function checkOwners(links: readonly Link[], report: Report): void {
  links.forEach((link, i) => {
    for (const before of links.slice(0, i)) {
      if (link.call.op === 'renew' && link.call.owner === before.call.owner) continue;
      const isLater = link.call.endedMs > before.call.beganMs;
      if (!isLater || link.call.endedMs > before.heldUntilMs) continue;
      report(
        'two_owners',
        `${link.permit}: ${link.call.owner} got ${link.token} while ` +
          `${before.call.owner} held ${before.token}`,
      );
    }
  });
}

function checkOrder(links: readonly Link[], report: Report): void {
  let latest = links[0];
  for (const link of links) {
    if (latest === undefined) return;
    if (link.call.endedMs < latest.call.beganMs) {
      report('token_order', `${link.permit}: ${latest.token} was given after ${link.token} was`);
    }
    if (link.call.beganMs > latest.call.beganMs) latest = link;
  }
}

/**
 * A renewal or a release that was told that the permit is lost, of one that certainly was not.
 * A renewal begins with a read, whose time is the wall clock of the node that was asked: where that
 * is ahead, the permit is over before the leader takes it away (state-surfaces 0.3).
 */
function checkLost(
  call: LockCall,
  byPermit: ReadonlyMap<string, readonly Link[]>,
  report: Report,
): void {
  const permit = permitOf(call.name, call.slot);
  const link = byPermit.get(permit)?.find(({ token }) => token === call.token);
  if (link === undefined || !isHeldDuring(link, call)) return;
  if (call.op === 'renew' && call.isAhead) return;
  const kind = call.op === 'renew' ? 'valid_renew_lost' : 'valid_release_lost';
  report(kind, `${permit}: ${call.owner} held ${call.token}`);
}

function isHeldDuring(
  { call, heldUntilMs }: Link,
  { beganMs, endedMs }: { readonly beganMs: number; readonly endedMs: number },
): boolean {
  return call.endedMs < beganMs && endedMs <= heldUntilMs;
}

/** Counts the slots that anybody can have held while the caller asked. */
function checkHeld(
  call: LockCall,
  links: readonly Link[],
  { calls, clockBreaksMs, lateMsMax, effectUntilMs }: LockHistory,
  report: Report,
): void {
  if (clockBreaksMs.length > 0) return;
  const slots = new Set<string>();
  for (const link of links) {
    if (link.call.name !== call.name || link.call.beganMs > call.endedMs) continue;
    const isReleased = calls.some(
      (other) =>
        other.outcome === 'released' &&
        permitOf(other.name, other.slot) === link.permit &&
        other.token === link.token &&
        other.endedMs < call.beganMs,
    );
    if (!isReleased && link.goneMs >= call.beganMs) slots.add(link.permit);
  }
  let unseen = 0;
  for (const { name, op, outcome, beganMs, ttlMs } of calls) {
    if (name !== call.name || outcome !== 'unknown' || op === 'release') continue;
    const untilMs = effectUntilMs(beganMs) + ttlMs + lateMsMax;
    if (beganMs <= call.endedMs && untilMs >= call.beganMs) unseen++;
  }
  if (slots.size + unseen >= call.limit) return;
  report(
    'held_by_nobody',
    `${call.name}: ${call.owner} was refused at ${call.beganMs.toFixed(0)} ms, ` +
      `where ${slots.size + unseen} of ${call.limit} can have been held`,
  );
}

function checkCommit(
  commit: GuardedCommit,
  byPermit: ReadonlyMap<string, readonly Link[]>,
  { calls, clockBreaksMs }: LockHistory,
  report: Report,
): void {
  const permit = permitOf(commit.name, commit.slot);
  const links = byPermit.get(permit) ?? [];
  const link = links.find(({ token }) => token === commit.token);
  if (commit.outcome === 'guard' && link !== undefined && isHeldDuring(link, commit)) {
    report('valid_guard_refused', `${permit}: ${commit.value} under ${commit.token}`);
  }
  if (commit.outcome !== 'committed') return;
  const moved = links.find(
    ({ call, token }) => token > commit.token && call.endedMs < commit.beganMs,
  );
  const released = calls.find(
    ({ name, slot, token, outcome, endedMs }) =>
      outcome === 'released' &&
      permitOf(name, slot) === permit &&
      token === commit.token &&
      endedMs < commit.beganMs,
  );
  const isExpired =
    link !== undefined && clockBreaksMs.length === 0 && link.goneMs < commit.beganMs;
  if (moved === undefined && released === undefined && !isExpired) return;
  const why =
    moved !== undefined ? `it had moved to ${moved.token}` : isExpired ? 'expired' : 'released';
  report('guarded_after_moved', `${permit}: ${commit.value} under ${commit.token}: ${why}`);
}

function checkStored({ commits, stored }: LockHistory, report: Report): void {
  const commitOf = new Map(commits.map((commit) => [commit.value, commit]));
  const times = new Map<string, number>();
  const last = new Map<string, GuardedCommit>();
  for (const value of stored) {
    times.set(value, (times.get(value) ?? 0) + 1);
    const commit = commitOf.get(value);
    if (commit === undefined || commit.outcome === 'guard' || commit.outcome === 'refused') {
      report('rolled_back_output', `${value}: ${commit?.outcome ?? 'nobody sent it'}`);
      continue;
    }
    const permit = permitOf(commit.name, commit.slot);
    const before = last.get(permit);
    if (before !== undefined && before.token > commit.token) {
      const text = `${value} under ${commit.token} after ${before.value} under ${before.token}`;
      report('guard_order', `${permit}: ${text}`);
    }
    last.set(permit, commit);
  }
  for (const { value, outcome } of commits) {
    const count = times.get(value) ?? 0;
    if (outcome === 'committed' && count === 0) report('output_lost', value);
    if (count > 1) report('committed_twice', `${value}: ${count} times`);
  }
}
