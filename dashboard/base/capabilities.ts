/**
 * What the caller may do, by the role of the token. The node decides in any case; a control without
 * its capability is not shown.
 */

export interface Capabilities {
  /** Every page that shows something. */
  readonly read: boolean;
  /** Push a message, schedule a timer. */
  readonly produce: boolean;
  /** Acknowledge, seek, replay, cancel a timer, write keys; the state of the nodes. */
  readonly consume: boolean;
  /** Create queues and change their options, save settings. */
  readonly queueAdmin: boolean;
  /** Delete queues and groups, purge dead letters, switch surfaces. */
  readonly clusterAdmin: boolean;
  /** Members of the cluster, the standby link; the bar with the load of the nodes. */
  readonly operator: boolean;
}

export type Capability = keyof Capabilities;

export interface Role {
  readonly role: string;
  readonly is_operator: boolean;
}

const NONE: Capabilities = {
  read: false,
  produce: false,
  consume: false,
  queueAdmin: false,
  clusterAdmin: false,
  operator: false,
};

const BY_ROLE: Readonly<Record<string, Partial<Capabilities>>> = {
  'read-only': { read: true },
  'write-only': { produce: true },
  'read-write': { read: true, produce: true, consume: true, queueAdmin: true },
  admin: { read: true, produce: true, consume: true, queueAdmin: true, clusterAdmin: true },
};

export function capabilitiesOf({ role, is_operator: operator }: Role): Capabilities {
  return { ...NONE, ...BY_ROLE[role], operator };
}
