/**
 * Every page of the app: where it is, what it is called, whom it is for. A page is added here by
 * one row; the navigation, the palette, the title and the not-found page follow.
 */
import type { FunctionComponent } from 'preact';
import type { Capabilities, Capability } from '../base/capabilities.js';
import type { PageParams } from '../base/routes.js';
import type { Feature, Features } from '../data/plan.js';
import { ConsolePage } from '../pages/console.js';
import { ConsumersPage } from '../pages/consumers.js';
import { DeadLettersPage } from '../pages/dead-letters.js';
import { EphemeralPage } from '../pages/ephemeral.js';
import { KeysPage } from '../pages/keys.js';
import { KvPage } from '../pages/kv.js';
import { LocksPage } from '../pages/locks.js';
import { MembersPage } from '../pages/members.js';
import { MessagesPage } from '../pages/messages.js';
import { OverviewPage } from '../pages/overview.js';
import { QueuePage } from '../pages/queue.js';
import { QueuesPage } from '../pages/queues.js';
import { SettingsPage } from '../pages/settings.js';
import { StreamsPage } from '../pages/streams.js';
import { SupervisorsPage } from '../pages/supervisors.js';
import { SystemPage } from '../pages/system.js';
import { TimersPage } from '../pages/timers.js';
import { TracesPage } from '../pages/traces.js';
import { UsersPage } from '../pages/users.js';
import { WorkloadPage } from '../pages/workload.js';

export const GROUPS = ['Overview', 'Messaging', 'Workers', 'Analysis', 'Access', 'Cell'] as const;

export interface Route {
  readonly path: string;
  readonly title: string;
  /** null: not in the navigation, being one of many. */
  readonly group: (typeof GROUPS)[number] | null;
  /** `read` where nothing is said. */
  readonly needs?: Capability;
  /** There is none where a node answers by itself. */
  readonly isOfGateway?: true;
  /** The plan has to have it. */
  readonly feature?: Feature;
  readonly page: FunctionComponent<PageParams>;
}

// biome-ignore format: a row for each page
export const ROUTES: readonly Route[] = [
  { path: '/', title: 'Overview', group: 'Overview', page: OverviewPage },
  { path: '/queues', title: 'Queues', group: 'Messaging', page: QueuesPage },
  { path: '/queues/:queue', title: 'Queue', group: null, page: QueuePage },
  { path: '/messages', title: 'Messages', group: 'Messaging', page: MessagesPage },
  { path: '/dlq', title: 'Dead letters', group: 'Messaging', page: DeadLettersPage },
  { path: '/ephemeral', title: 'Ephemeral', group: 'Messaging', feature: 'ephemeral',
    page: EphemeralPage },
  { path: '/kv', title: 'Key/value', group: 'Messaging', feature: 'kv',
    page: KvPage },
  { path: '/timers', title: 'Timers', group: 'Messaging', feature: 'timers',
    page: TimersPage },
  { path: '/locks', title: 'Locks', group: 'Messaging', feature: 'kv',
    page: LocksPage },
  { path: '/consumers', title: 'Consumers', group: 'Workers', page: ConsumersPage },
  { path: '/streams', title: 'Streams', group: 'Workers', feature: 'streams',
    page: StreamsPage },
  { path: '/supervisors', title: 'Supervision', group: 'Workers', feature: 'kv',
    page: SupervisorsPage },
  { path: '/workload', title: 'Workload', group: 'Analysis', page: WorkloadPage },
  { path: '/traces', title: 'Traces', group: 'Analysis', feature: 'traces',
    page: TracesPage },
  { path: '/console', title: 'Plan and usage', group: 'Access',
    isOfGateway: true, page: ConsolePage },
  { path: '/members', title: 'Members', group: 'Access', needs: 'clusterAdmin',
    isOfGateway: true, page: MembersPage },
  { path: '/keys', title: 'API keys', group: 'Access', needs: 'clusterAdmin',
    isOfGateway: true, page: KeysPage },
  { path: '/users', title: 'Users', group: 'Access', needs: 'operator',
    isOfGateway: true, page: UsersPage },
  { path: '/settings', title: 'Settings', group: 'Access', page: SettingsPage },
  { path: '/system', title: 'System', group: 'Cell', needs: 'nodes', page: SystemPage },
];

/** Shown in lists of pages. What the plan has may not be known yet. */
export function isListed(
  route: Route,
  capabilities: Capabilities,
  features: Features | null,
): boolean {
  return maySee(route, capabilities) && isInPlan(route, features);
}

export function isInPlan({ feature }: Route, features: Features | null): boolean {
  return feature === undefined || features?.[feature] === true;
}

export function maySee(route: Route, capabilities: Capabilities): boolean {
  const { needs = 'read', isOfGateway = false } = route;
  return capabilities[needs] && (!isOfGateway || capabilities.session);
}
