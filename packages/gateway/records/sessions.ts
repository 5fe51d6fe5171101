/** The deny-list: sessions that ended before their time. */
import { NIL_ID } from '../base/random.js';
import { pages } from '../store/kv.js';
import { type Actor, change, deleteRows, heldOf, type Records } from './batch.js';
import { REVOKED } from './rows.js';

/**
 * Puts a session on the list until its token ends by itself; every node forgets whom it took for
 * not revoked. `tenantId`: of its user.
 */
export function revokeSession(
  records: Records,
  actor: Actor,
  session: { readonly jti: string; readonly expiresAtUs: number; readonly tenantId: string },
): Promise<void> {
  return change(records, actor, async (batch) => {
    const { jti, expiresAtUs, tenantId } = session;
    const ttlMs = Math.ceil((expiresAtUs - batch.nowUs) / 1_000);
    if (ttlMs <= 0) return;
    batch.add({
      op: 'put',
      namespace: REVOKED.namespace,
      key: `#${jti}`,
      value: { jti, expires_at_us: expiresAtUs },
      ttlMs,
    });
    batch.invalidate(NIL_ID);
    batch.audit({ tenantId, action: 'session_revoked', target: jti });
  });
}

/**
 * Takes away what is over. Rows end with their tokens, by their TTL; this is for those that came
 * without one, from an import or another build.
 */
export async function sweepRevoked(records: Records): Promise<void> {
  const nowUs = records.clock.wallUs();
  for await (const rows of pages(records.store, REVOKED.namespace, '#')) {
    const ended = rows.filter((row) => heldOf(REVOKED, row).value.expires_at_us <= nowUs);
    await deleteRows(
      records,
      REVOKED.namespace,
      ended.map(({ key }) => key),
    );
  }
}

export async function isRevoked({ store }: Pick<Records, 'store'>, jti: string): Promise<boolean> {
  return (await store.get(REVOKED.namespace, `#${jti}`)) !== null;
}
