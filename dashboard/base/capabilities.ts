/**
 * The capabilities of the reader, by the role. A node has roles of tokens, a gateway roles of
 * members on the cluster that the reader acts on. Either decides in any case; a control without its
 * capability is not shown.
 *
 * A gateway lets nobody through to `/api/v1/system`, and to the state of the nodes operators alone.
 */

export interface Capabilities {
  /** Every page that shows something. */
  readonly read: boolean;
  /** Push a message, schedule a timer. */
  readonly produce: boolean;
  /** Fetch and acknowledge messages. */
  readonly consume: boolean;
  /** Write keys, cancel timers, empty and delete ephemeral queues. */
  readonly write: boolean;
  /** Ask where a group is in a partition. */
  readonly positions: boolean;
  /** Create queues and change their options; seek, replay, delete a message; save settings. */
  readonly queueAdmin: boolean;
  /** Delete queues and groups, purge dead letters; members and keys. */
  readonly clusterAdmin: boolean;
  /** Users of the cell; the bar with the load of the nodes. */
  readonly operator: boolean;
  /** Pages of a gateway: plan and usage; members, keys and users need another one as well. */
  readonly session: boolean;
  /** The state of the nodes. */
  readonly nodes: boolean;
  /** Members of the raft cluster, the standby link, the switches of surfaces. */
  readonly nodeAdmin: boolean;
}

export type Capability = keyof Capabilities;

export interface RoleHeld {
  readonly role: string;
  readonly isOperator: boolean;
  /** The role is that of a member behind a gateway, not that of a node's token. */
  readonly isMember: boolean;
}

const NONE: Capabilities = {
  read: false,
  produce: false,
  consume: false,
  write: false,
  positions: false,
  queueAdmin: false,
  clusterAdmin: false,
  operator: false,
  session: false,
  nodes: false,
  nodeAdmin: false,
};

type ByRole = Readonly<Record<string, Partial<Capabilities>>>;

const FULL = {
  read: true,
  produce: true,
  consume: true,
  write: true,
  positions: true,
  queueAdmin: true,
};

const BY_TOKEN_ROLE: ByRole = {
  'read-only': { read: true, positions: true },
  'write-only': { produce: true },
  'read-write': { ...FULL, nodes: true },
  admin: { ...FULL, clusterAdmin: true, nodes: true, nodeAdmin: true },
};

const BY_MEMBER_ROLE: ByRole = {
  viewer: { read: true },
  producer: { read: true, produce: true, write: true },
  consumer: { read: true, consume: true, write: true, positions: true },
  admin: { ...FULL, clusterAdmin: true },
};

export function capabilitiesOf({ role, isOperator, isMember }: RoleHeld): Capabilities {
  const byRole = isMember ? BY_MEMBER_ROLE : BY_TOKEN_ROLE;
  // A name of somebody's role may be one that every object has.
  const held = Object.hasOwn(byRole, role) ? byRole[role] : NONE;
  const ofGateway = isMember ? { nodes: isOperator, session: true } : {};
  return { ...NONE, ...held, operator: isOperator, ...ofGateway };
}
