/** How each surface that keeps rows of a tenant lets them go when the tenant is purged. */
import { purgeEphemeral } from '../features/ephemeral/plan.js';
import { purgeKv } from '../features/kv/plan.js';
import { purgeTimers } from '../features/timers/plan.js';
import { purgeStreams } from '../streams/sweep.js';
import type { PurgeSurfaces } from './purge.js';

export const PURGE_SURFACES: PurgeSurfaces = {
  kv: purgeKv,
  timers: purgeTimers,
  streams: purgeStreams,
  ephemeral: purgeEphemeral,
};
