/**
 * The version of the effect catalogue that the cluster writes (cluster-and-config 11): one number
 * in the replicated state, raised by an entry and never lowered. A build reads all versions up to
 * its own; whoever writes something that an older build does not know waits until the cluster's
 * version says that every member reads it.
 *
 * A state without the row counts as the version that introduced it.
 */
import { CatalogueFault } from '../base/catalogue-fault.js';
import { SINGLETON_KEY } from '../base/keys.js';
import type { State } from '../base/state.js';
import { clusterVersions } from '../base/tables.js';

/** The newest catalogue that this build reads, and with which it begins a cluster. */
export const CLUSTER_VERSION_READ = 5;
const VERSION_WITHOUT_ROW = 5;

export function clusterVersionOf(state: State): number {
  return state.get(clusterVersions, SINGLETON_KEY) ?? VERSION_WITHOUT_ROW;
}

/** Refuses a state that a newer build has written to. @throws CatalogueFault */
export function refuseNewerVersion(state: State, readable: number = CLUSTER_VERSION_READ): void {
  refuseNewer(clusterVersionOf(state), readable);
}

/** The effect of a raise. @throws CatalogueFault when this build does not read the version. */
export function applyClusterVersion(state: State, version: number, readable: number): void {
  refuseNewer(version, readable);
  if (version > clusterVersionOf(state)) state.put(clusterVersions, SINGLETON_KEY, version);
}

function refuseNewer(version: number, readable: number): void {
  if (version <= readable) return;
  throw new CatalogueFault(
    'cluster_version_unreadable',
    `this build reads effect catalogue version ${readable}, and the cluster this store belongs ` +
      `to writes version ${version}: run a build that reads version ${version} or a newer one, ` +
      'never an older one',
  );
}
