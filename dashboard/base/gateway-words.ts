/** Roles, scopes, plans and reasons for blocked pushes, in words for readers. */
import type { GatewayApi } from '@svc/gateway/api';
import { formatBytes, formatDuration, formatInteger } from './format.js';

export type Overview = GatewayApi['GET /api/console/overview']['answers'][200];
export type MemberRole = Overview['role'];
export type Scope = GatewayApi['POST /api/console/keys']['body']['scopes'][number];
export type ClusterStatus = Overview['status'];
type LimitName = keyof Overview['limits'];

export const ROLE_WORDS: Readonly<Record<MemberRole, string>> = {
  admin: 'do everything here, and decide on members and keys',
  producer: 'push messages and read',
  consumer: 'take messages, acknowledge them, and read',
  viewer: 'read',
};

/** From the least to the most; the first is what a new member gets by default. */
export const MEMBER_ROLES: readonly MemberRole[] = ['viewer', 'consumer', 'producer', 'admin'];

export const SCOPE_WORDS: Readonly<Record<Scope, string>> = {
  produce: 'push messages',
  consume: 'take messages and acknowledge them',
  read: 'read queues, messages and figures',
  admin: 'create, change and delete queues and groups',
};

export const SCOPES: readonly Scope[] = ['produce', 'consume', 'read', 'admin'];

export const STATUS_WORDS: Readonly<Record<ClusterStatus, string>> = {
  active: 'active',
  push_blocked: 'pushes blocked',
  suspended: 'suspended',
  deleting: 'being deleted',
};

/** Why nothing can be pushed, and what ends that; null: pushes are taken. */
export function whyBlocked({
  status,
  push_block: block,
}: Pick<Overview, 'status' | 'push_block'>): string | null {
  if (status === 'suspended') return 'The cluster is suspended: nothing is served until it is not.';
  if (status === 'deleting') return 'The cluster is being deleted: nothing is served any more.';
  if (status === 'push_blocked') {
    return 'Whoever runs this service has stopped the pushes. Messages can be taken and read.';
  }
  if (block === 'storage') {
    return (
      'More is stored than the plan allows. Pushes are taken again when messages are ' +
      'consumed and their retention is over, or queues are deleted.'
    );
  }
  if (block === 'monthly_quota') {
    return (
      'The messages of this month are used up. Pushes are taken again when the next month ' +
      'begins (UTC) or the quota is raised.'
    );
  }
  return null;
}

interface LimitWords {
  readonly label: string;
  readonly format: (value: number) => string;
}

const each = (value: number): string => formatInteger(value);
const perSecond = (value: number): string => `${formatInteger(value)} per second`;

/** All that a plan limits, in the order of the page. */
export const LIMIT_WORDS: Readonly<Record<LimitName, LimitWords>> = {
  max_req_per_sec: { label: 'Requests', format: perSecond },
  req_burst: { label: 'Requests at once', format: each },
  max_msgs_per_sec: { label: 'Messages', format: perSecond },
  msgs_burst: { label: 'Messages at once', format: each },
  max_queues: { label: 'Queues', format: each },
  max_partitions_per_queue: { label: 'Partitions of a queue', format: each },
  max_parked_pops: { label: 'Waiting pops', format: each },
  max_payload_bytes: { label: 'Size of a message', format: formatBytes },
  max_batch_items: { label: 'Messages of a request', format: each },
  max_retained_bytes: { label: 'Stored in all', format: formatBytes },
  max_retention_seconds: { label: 'Retention', format: formatDuration },
};

export function limitText(name: LimitName, value: number | null): string {
  return value === null ? 'unlimited' : LIMIT_WORDS[name].format(value);
}

export const FEATURE_WORDS: Readonly<Record<keyof Overview['features'], string>> = {
  kv: 'key/value and locks',
  timers: 'timers',
  ephemeral: 'ephemeral queues',
  streams: 'streams',
  traces: 'traces',
};
