/** How many names there are of all tenants, and how many there may be. */
import { labelled } from './family.js';

export const NAME_FAMILIES = [
  labelled(
    'svc_names',
    'gauge',
    'kind',
    'Queues, partitions and consumer groups of all tenants, a group once for each queue it reads.',
    ({ figures: { names } }) => names.counts,
  ),
  labelled(
    'svc_names_max',
    'gauge',
    'kind',
    'How many of them this node allows when it leads; no sample: any number.',
    ({ figures: { names } }) => names.limits,
  ),
];
