/**
 * What this node's broker grants tenants, for the gateway in front of it (`upkeep/` there). Grants
 * are read as this node has applied them, and written by the command that operators write them by,
 * at the leader.
 */
import type { BrokerGrants, Grant, GrantKind } from '@svc/gateway';
import type { Service } from '@svc/http';
import { GRANT_LIMITS } from '@svc/wire';
import type { Unavailable } from './kv-store.js';

export type GrantService = Pick<Service, 'submit' | 'surfaces'>;

const UNLIMITED = Object.fromEntries(GRANT_LIMITS.map((name) => [name, null])) as {
  readonly [Name in (typeof GRANT_LIMITS)[number]]: null;
};

export class ServiceGrants implements BrokerGrants {
  readonly #service: () => GrantService | null;
  readonly #unavailable: Unavailable;

  /** `service`: null while the node serves nothing. */
  constructor(service: () => GrantService | null, unavailable: Unavailable) {
    this.#service = service;
    this.#unavailable = unavailable;
  }

  held(tenant: string, kind: GrantKind): Grant | null {
    return this.#service()?.surfaces.grant(tenant, kind) ?? null;
  }

  set(tenant: string, kind: GrantKind, grant: Grant): Promise<void> {
    const service = this.#service();
    if (service === null) {
      return Promise.reject(new this.#unavailable('the node serves nothing yet'));
    }
    const limits = service.surfaces.grant(tenant, kind) ?? UNLIMITED;
    return new Promise((resolve, reject) => {
      service.submit(
        { kind: 'set-grant', tenant, surface: kind, grant: { ...limits, ...grant } },
        {
          gone: false,
          onGone: null,
          send: (outcome) => {
            if (outcome.kind === 'grant-set') resolve();
            else {
              const why = outcome.kind === 'refused' ? outcome.refusal.error : outcome.kind;
              reject(new this.#unavailable(why));
            }
            return true;
          },
        },
      );
    });
  }
}
