/** The cluster on which the reader of a session acts, among those on which it may. */

interface Membership {
  readonly id: string;
  readonly status: string;
}

interface Clusters<Cluster> {
  readonly clusters: readonly Cluster[];
  readonly acting_cluster: { readonly id: string } | null;
  /** The only one that the session is for; null: each of them. */
  readonly cluster: string | null;
}

/**
 * The one that the reader chose last, else that of the address, else one that serves. null: there
 * is none.
 */
export function clusterToActOn<Cluster extends Membership>(
  { clusters, acting_cluster: ofAddress, cluster: only }: Clusters<Cluster>,
  chosenId: string | null,
): Cluster | null {
  const allowed = only === null ? clusters : clusters.filter(({ id }) => id === only);
  const named = (wanted: string | null | undefined) => allowed.find(({ id }) => id === wanted);
  const serving = allowed.find(({ status }) => status !== 'suspended' && status !== 'deleting');
  return named(chosenId) ?? named(ofAddress?.id) ?? serving ?? allowed[0] ?? null;
}
