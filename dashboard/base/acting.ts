/** The cluster on which the reader of a session acts, among those on which it may. */

interface Membership {
  readonly id: string;
  readonly status: string;
}

interface Clusters<Cluster> {
  readonly clusters: readonly Cluster[];
  /** The only one that the session is for; null: each of them. */
  readonly cluster: string | null;
}

interface Session<Cluster> extends Clusters<Cluster> {
  readonly acting_cluster: { readonly id: string } | null;
}

/** Those on which the session may act. */
export function clustersOf<Cluster extends Membership>({
  clusters,
  cluster: only,
}: Clusters<Cluster>): readonly Cluster[] {
  return only === null ? clusters : clusters.filter(({ id }) => id === only);
}

/**
 * The one that the reader chose last, else that of the address, else one that serves. null: there
 * is none.
 */
export function clusterToActOn<Cluster extends Membership>(
  session: Session<Cluster>,
  chosenId: string | null,
): Cluster | null {
  const allowed = clustersOf(session);
  const named = (wanted: string | null | undefined) => allowed.find(({ id }) => id === wanted);
  const serving = allowed.find(({ status }) => status !== 'suspended' && status !== 'deleting');
  return named(chosenId) ?? named(session.acting_cluster?.id) ?? serving ?? allowed[0] ?? null;
}
