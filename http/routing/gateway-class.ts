/**
 * The class of a route: under what a multi-tenant gateway in front of this API lets a request pass
 * (gateway 5). Every record states its own, so that no route comes to be served to tenants by
 * accident. The broker itself does not look at it.
 *
 * The gateway has a table of what a class asks of keys, roles, plans and the state of a cluster.
 * Where the contract names no class for a route, it was decided so:
 *
 * | Route | Class, and why |
 * | --- | --- |
 * | dead letters: `dlq/{id}/replay`, `dlq/redrive` | queue-admin, as the retry of a message, which is the same act |
 * | `analytics/dlq-signatures`, `analytics/partition-liveness` | read, as every view of a tenant's own queues |
 * | `fetch/offsets`, `consumer-groups/positions` | consume: what a consumer asks before it fetches. A viewer has the reads of groups |
 * | `resources/kv/namespaces`, `resources/timers`, `resources/queues/{queue}/sizes` | read, as the other lists of resources |
 * | `resources/quota` | blocked: grants follow from the plan |
 * | `raft/liveness` | operator, as the other raft reads |
 * | `openapi.json` | read: it describes what a credential may call, and holds nothing of a tenant |
 * | `system/link`, its promotion, `system/shared-state` | blocked, as everything under `system/` |
 * | `DELETE dlq`, `DELETE messages/...` | queue-admin: they take messages away from all consumers |
 * | pops with a body | consume, as the pop that they are |
 * | `auth/me`, `/status` | blocked: the gateway answers the first itself, the second tells of the process |
 */

/** Surfaces that a plan switches on. */
export type GatedSurface = 'streams' | 'traces' | 'kv' | 'timers' | 'ephemeral';

/**
 * What becomes of a gated call while a cluster may not grow. `read` is never refused, `grow`
 * always, `open` never although it writes, and `mixed` only when its body holds an operation that
 * grows.
 */
export type GatedHalf = 'read' | 'grow' | 'open' | 'mixed';

export type GatewayClass =
  /** Needs no credential and no cluster. */
  | 'public'
  /** Answers the token of the control plane alone. */
  | 'metrics'
  | 'produce'
  | 'consume'
  | 'queue-admin'
  | 'read'
  | 'operator'
  /** Is never let through. */
  | 'blocked'
  | `${GatedSurface}-${GatedHalf}`;
