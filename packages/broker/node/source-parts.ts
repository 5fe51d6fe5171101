/** The parts of a node that a standby cluster reads. Without `SVC_LINK_TOKEN` there are none. */
import type { Config } from '../config/config.js';
import type { OpenDirectory } from '../directory/node-directory.js';
import { HoldKeeper, type HoldKeeperOptions } from '../standby/hold-keeper.js';
import { SourceReads } from '../standby/source-reads.js';

export interface SourcePartsOptions extends Pick<HoldKeeperOptions, 'disk' | 'clock' | 'logger'> {
  readonly config: Config;
  readonly opened: Pick<OpenDirectory, 'directory' | 'identity' | 'log'>;
  readonly gate: { readonly usedPct: number };
  readonly appliedIndex: () => number;
  readonly onDamage: () => void;
}

export interface SourceParts {
  readonly holds: HoldKeeper | null;
  readonly sourceReads: SourceReads | null;
}

export function sourceParts(options: SourcePartsOptions): SourceParts {
  const { config, opened, gate } = options;
  if (config.standbyToken === null) return { holds: null, sourceReads: null };
  const { directory, identity, log } = opened;
  const holds = new HoldKeeper({
    ...options,
    directory: `${directory}/raft`,
    holdMs: config.standbyHoldSeconds * 1000,
    diskPct: config.standbyHoldDiskPct,
    usedPct: () => gate.usedPct,
    firstIndex: () => log.firstIndex,
  });
  const sourceReads = new SourceReads({
    ...options,
    clusterId: identity.clusterId,
    log,
    holds,
    bytesPerS: config.catchUpMibPerSecond * 1024 * 1024,
  });
  return { holds, sourceReads };
}
