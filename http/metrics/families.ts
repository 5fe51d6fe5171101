/** All families of `GET /metrics/prometheus`, in the order of the contract (inspection 9). */
import { CONSTANT_FAMILIES } from './constant-families.js';
import type { Family } from './family.js';
import { GROUP_FAMILIES } from './group-families.js';
import { NAME_FAMILIES } from './name-families.js';
import { CLUSTER_FAMILIES, PROCESS_FAMILIES, STORAGE_FAMILIES } from './node-families.js';
import { ADMISSION_FAMILIES, PIPELINE_FAMILIES } from './pipeline-families.js';
import { QUEUE_FAMILIES } from './queue-families.js';
import { SURFACE_FAMILIES } from './surface-families.js';

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
  ...CONSTANT_FAMILIES,
];
