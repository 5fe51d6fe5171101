/** All families of the scrape, in their order. */

import { CONSTANT_FAMILIES } from './constant-families.js';
import { type Family, labelled } from './family.js';
import { GROUP_FAMILIES } from './group-families.js';
import { CLUSTER_FAMILIES, PROCESS_FAMILIES, STORAGE_FAMILIES } from './node-families.js';
import { ADMISSION_FAMILIES, PIPELINE_FAMILIES } from './pipeline-families.js';
import { QUEUE_FAMILIES } from './queue-families.js';
import { STANDBY_FAMILIES } from './standby-families.js';
import { SURFACE_FAMILIES } from './surface-families.js';

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

export const FAMILIES: readonly Family[] = [
  ...PROCESS_FAMILIES,
  ...CLUSTER_FAMILIES,
  ...STORAGE_FAMILIES,
  ...ADMISSION_FAMILIES,
  ...PIPELINE_FAMILIES,
  ...NAME_FAMILIES,
  ...QUEUE_FAMILIES,
  ...GROUP_FAMILIES,
  ...SURFACE_FAMILIES,
  ...STANDBY_FAMILIES,
  ...CONSTANT_FAMILIES,
];
