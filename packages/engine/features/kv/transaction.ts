/** Key/value operations of a transaction (message-plane 6): judged and written with the rest. */

import type { KvCall, KvOutcome } from '../../base/commands/kv.js';
import type { Rollback } from '../../base/commands/transaction.js';
import { switchesOf } from '../../base/switches.js';
import type { Draft } from '../../draft/draft.js';
import { judgeKv, type KvJudged } from './judge.js';
import { checkRefusal, finishKv, kvCallBytes, writeKv } from './plan.js';

/** Why the transaction is refused whatever its parts are; null: it is not. */
export function kvLegRefusal({ state }: Draft, call: KvCall | null): Rollback | null {
  if (call === null) return null;
  if (!switchesOf(state).kv) return { reason: 'kv_disabled', error: 'key/value is paused' };
  const refusal = checkRefusal(state, call);
  if (refusal === null) return null;
  return { reason: 'kv_check_needs_cluster_version_5', error: refusal.error };
}

/** One that has its verdict, and can be written. */
export interface KvLeg {
  readonly rollback: Rollback | null;
  /** To be asked for at most once, when nothing can fail any more. */
  write(): KvOutcome | null;
}

const NO_LEG: KvLeg = { rollback: null, write: () => null };

/** `size` is what the transaction adds to its entry. */
export function judgeKvLeg(draft: Draft, call: KvCall | null, size: { bytes: number }): KvLeg {
  if (call === null) return NO_LEG;
  const verdict = judgeKv(draft.state, draft.nowUs, call);
  size.bytes += kvCallBytes(call, verdict);
  return {
    rollback: lostPrecondition(verdict),
    write: () => {
      writeKv(draft, call.tenant, verdict);
      return finishKv(draft, call, verdict);
    },
  };
}

function lostPrecondition({ failure }: KvJudged): Rollback | null {
  if (failure === null) return null;
  const error = 'QKV a required KV precondition failed; the transaction rolled back';
  return { reason: 'kv_precondition', error, kv: failure };
}
