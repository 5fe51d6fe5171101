/** A cluster as the path of a request knows it: its rows joined and its limits resolved. */
import type { ClusterStatus, Feature, PlanLimits } from './access.js';

export interface ClusterView {
  readonly id: string;
  readonly slug: string;
  readonly tenantId: string;
  readonly tenantSlug: string;
  /** The broker's tenant of these requests; never seen by a client. */
  readonly brokerTenant: string;
  readonly cellId: string;
  /** The worse of the cluster's and its tenant's. */
  readonly status: ClusterStatus;
  readonly planCode: string;
  readonly features: { readonly [Name in Feature]: boolean };
  /** Plan and overrides joined. */
  readonly limits: PlanLimits;
}
