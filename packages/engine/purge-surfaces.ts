/** How each surface that keeps rows of a tenant lets them go when the tenant is purged. */
import { purgeEphemeral } from './ephemeral-plan.js';
import { purgeKv } from './kv-plan.js';
import type { PurgeSurfaces } from './purge.js';
import { purgeStreams } from './stream-sweep.js';
import { purgeTimers } from './timer-plan.js';

export const PURGE_SURFACES: PurgeSurfaces = {
  kv: purgeKv,
  timers: purgeTimers,
  streams: purgeStreams,
  ephemeral: purgeEphemeral,
};
