/** Environment variables that bound how many names there may be. */
import type { NameBounds } from '@svc/engine';
import type { Config } from './config.js';
import { exactInteger, orUnset } from './values.js';
import { variable } from './variable.js';

/** Text that is no number is refused: read as unset, `10k` would be no bound at all. */
const optional = orUnset(exactInteger(1, { min: 1 }), 'none');

export const NAME_VARIABLES = {
  queuesMax: variable(
    'server',
    'SVC_MAX_QUEUES',
    optional,
    'queues of all tenants; what would make one more is answered 403 `quota_exceeded`',
  ),
  partitionsMax: variable('server', 'SVC_MAX_PARTITIONS', optional, 'partitions of all tenants'),
  groupsMax: variable(
    'server',
    'SVC_MAX_CONSUMER_GROUPS',
    optional,
    'consumer groups of all tenants, each counted once for every queue that it reads',
  ),
  tenantQueuesMax: variable(
    'server',
    'SVC_MAX_QUEUES_PER_TENANT',
    optional,
    'queues of one tenant',
  ),
  tenantPartitionsMax: variable(
    'server',
    'SVC_MAX_PARTITIONS_PER_TENANT',
    optional,
    'partitions of one tenant',
  ),
  tenantGroupsMax: variable(
    'server',
    'SVC_MAX_CONSUMER_GROUPS_PER_TENANT',
    optional,
    'consumer groups of one tenant',
  ),
};

export function nameBounds(config: Config): NameBounds {
  return {
    tenant: {
      queues: config.tenantQueuesMax,
      partitions: config.tenantPartitionsMax,
      groups: config.tenantGroupsMax,
    },
    all: {
      queues: config.queuesMax,
      partitions: config.partitionsMax,
      groups: config.groupsMax,
    },
  };
}
