/** The deny-list: sessions that ended before their time. */
import { NIL_ID } from '../base/random.js';
import { type Actor, change, type Records } from './batch.js';
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

export async function isRevoked({ store }: Pick<Records, 'store'>, jti: string): Promise<boolean> {
  return (await store.get(REVOKED.namespace, `#${jti}`)) !== null;
}
