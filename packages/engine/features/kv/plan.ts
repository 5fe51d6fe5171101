/**
 * Planning a key/value call (state-surfaces 1.4): judged, then written as one effect, then its
 * reads of many keys. A transaction does the same in three steps, with its other parts in between.
 */
import { KV_KEY_BYTES_MAX } from '@svc/wire';
import type { RefusedOutcome, Tenant } from '../../base/commands/commands.js';
import type { KvCall, KvOutcome, KvResult } from '../../base/commands/kv.js';
import { tenantRange } from '../../base/keys.js';
import type { Refusal } from '../../base/refusals.js';
import type { State } from '../../base/state.js';
import { bytesPrice } from '../../base/work-prices.js';
import type { Draft } from '../../draft/draft.js';
import { clusterVersionOf } from '../../state/cluster-version.js';
import type { KvWrite } from '../../state/kv/apply.js';
import { kvRows, lastKvVersion, placeOfRow } from '../../state/kv/tables.js';
import { PURGED_ROWS, type PurgeStep, purgeRange } from '../job.js';
import { judgeKv, type KvJudged, readManyKv } from './judge.js';
import { atOneMoment } from './moment.js';

/** Before it, an older member could be asked for what it does not know (state-surfaces 1.7). */
const CHECK_VERSION = 5;
/** Bytes of a write beside its texts: flags, numbers, what it replaces, and its tenant. */
const WRITE_BYTES = 48 + 36;
/** Bytes of what one operation, or one row of several, found: kind, numbers, a short value. */
const FOUND_BYTES = 128;
const UTF8_BYTES_MAX = 3;

export function planKv(
  draft: Draft,
  call: KvCall,
  entryBytesMax: number,
): KvOutcome | RefusedOutcome {
  const refusal = checkRefusal(draft.state, call);
  if (refusal !== null) return { kind: 'refused', refusal };
  const verdict = judgeKv(draft.state, draft.nowUs, call);
  const bytes = kvCallBytes(call, verdict);
  if (bytes > entryBytesMax) {
    const error = `the call takes ${bytes} bytes, an entry holds ${entryBytesMax}`;
    return { kind: 'refused', refusal: { reason: 'too_large', error } };
  }
  writeKv(draft, call.tenant, verdict);
  return finishKv(draft, call, verdict);
}

/**
 * What the call adds to the entry, at most: its writes, and the record of its outcome. All values
 * that its operations on one key found are counted, as if the record kept them (kv/record.ts): the
 * answer shows them in full, and it goes to the node that was asked, which takes no more than an
 * entry has.
 */
export function kvCallBytes({ ops }: KvCall, { writes, results }: KvJudged): number {
  let bytes = 0;
  for (const { place, value } of writes) {
    bytes += WRITE_BYTES + place.length + (value?.length ?? 0);
  }
  for (const op of ops) {
    if (op.op === 'getPrefix') bytes += op.limit * (FOUND_BYTES + KV_KEY_BYTES_MAX);
    else if (op.op !== 'getMany') bytes += FOUND_BYTES + op.key.length * UTF8_BYTES_MAX;
    else for (const key of op.keys) bytes += FOUND_BYTES + key.length * UTF8_BYTES_MAX;
  }
  for (const result of results) if (result !== undefined) bytes += bytesFound(result);
  return bytes;
}

export function writeKv(draft: Draft, tenant: Tenant, { writes }: Pick<KvJudged, 'writes'>): void {
  if (writes.length > 0) {
    const versionBefore = lastKvVersion(draft.state);
    draft.emit({ kind: 'kv', tenant, writes, versionBefore });
  }
}

/** After `writeKv`. */
export function finishKv(draft: Draft, call: KvCall, verdict: KvJudged): KvOutcome {
  const { state, nowUs } = draft;
  if (verdict.failure !== null) return { kind: 'kv', failure: verdict.failure, results: [] };
  const reads = readManyKv(state, nowUs, call, verdict);
  for (;;) {
    const step = reads.next();
    if (step.done !== true) continue;
    const results = step.value;
    // How long values are that a call finds is known when they are found.
    draft.spend(results.reduce((units, result) => units + bytesPrice(bytesFound(result)), 0));
    return { kind: 'kv', failure: null, results };
  }
}

function bytesFound(result: KvResult): number {
  switch (result.kind) {
    case 'got':
      return result.row?.value?.length ?? 0;
    case 'many':
    case 'page':
      return result.rows.reduce((bytes, { value }) => bytes + (value?.length ?? 0), 0);
    case 'judged':
      return result.value?.length ?? 0;
    case 'put':
      return 0;
  }
}

/** A call that writes nothing, at a node that has caught up with everything answered before. */
export function* readKv(
  state: State,
  nowUs: number,
  call: KvCall,
): Generator<void, KvOutcome | RefusedOutcome> {
  const refusal = checkRefusal(state, call);
  if (refusal !== null) return { kind: 'refused', refusal };
  return yield* atOneMoment(state, call.tenant, nowUs, (atUs) => readOnce(state, atUs, call));
}

function* readOnce(state: State, nowUs: number, call: KvCall): Generator<void, KvOutcome> {
  const verdict = judgeKv(state, nowUs, call);
  if (verdict.failure !== null) return { kind: 'kv', failure: verdict.failure, results: [] };
  return { kind: 'kv', failure: null, results: yield* readManyKv(state, nowUs, call, verdict) };
}

/** null: every member knows the operations of the call. */
export function checkRefusal(state: State, { ops }: KvCall): Refusal | null {
  const version = clusterVersionOf(state);
  if (version >= CHECK_VERSION || ops.every(({ op }) => op !== 'check')) return null;
  const error = `this cluster is at ${version}`;
  return { reason: 'kv_check_needs_cluster_version_5', error };
}

export function purgeKv(step: PurgeStep): string | null {
  const { draft, tenant } = step;
  return purgeRange(step, kvRows, tenantRange(tenant), PURGED_ROWS, (found) => {
    const writes = found.map(({ key, row: { value, expiresAtUs } }): KvWrite => {
      const replaced = { bytes: value.length, expiresAtUs };
      return { place: placeOfRow(key), value: null, expiresAtUs: 0, replaced };
    });
    writeKv(draft, tenant, { writes });
  });
}
