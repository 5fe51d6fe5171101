/** Who the caller is, as the dashboard asks it (gateway 7). */
export interface IdentityAnswer {
  /** `standalone` while tokens are not checked; otherwise `sub` of the token, "" without one. */
  readonly user_id: string;
  readonly email: string | null;
  readonly tenant_slug: string;
  readonly is_operator: boolean;
  readonly operator_enabled: boolean;
  readonly operator_live: boolean;
  readonly acting_cluster: { readonly id: string; readonly slug: string } | null;
  /** Name of the header that chooses it. */
  readonly act_cluster_header: string;
  /** The widest role of the token: `admin`, `read-write`, `read-only`, `write-only` or `none`. */
  readonly role: string;
  readonly cluster: string | null;
  readonly clusters: readonly IdentityCluster[];
  /** There is no gateway, so there are no sessions. */
  readonly standalone: true;
  /** The node that answers, by its name. */
  readonly server_id: string;
}

export interface IdentityCluster {
  readonly id: string;
  readonly slug: string;
  readonly role: string;
  readonly tenant_slug: string;
  readonly tenant_id: string;
  readonly status: string;
  readonly cell_slug: string;
}
