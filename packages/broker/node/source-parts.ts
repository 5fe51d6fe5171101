/** The parts of a node that a standby cluster reads. Without `SVC_LINK_TOKEN` there are none. */
import type { Config } from '../config/config.js';
import type { OpenDirectory } from '../directory/node-directory.js';
import type { SnapshotSender } from '../repair/snapshot-sender.js';
import { HoldKeeper, type HoldKeeperOptions } from '../standby/hold-keeper.js';
import { SeedAnswers } from '../standby/seed-answers.js';
import { SourceReads } from '../standby/source-reads.js';

export interface SourcePartsOptions extends Pick<HoldKeeperOptions, 'disk' | 'clock' | 'logger'> {
  readonly config: Config;
  readonly opened: Pick<OpenDirectory, 'directory' | 'identity' | 'log'>;
  readonly gate: { readonly usedPct: number };
  /** null: there are no other nodes. */
  readonly sender: SnapshotSender | null;
  readonly appliedIndex: () => number;
  readonly onDamage: () => void;
}

export interface SourceParts {
  readonly holds: HoldKeeper | null;
  readonly sourceReads: SourceReads | null;
  readonly seeds: SeedAnswers | null;
}

export function sourceParts(options: SourcePartsOptions): SourceParts {
  const { config, opened, gate, sender } = options;
  if (config.standbyToken === null) return { holds: null, sourceReads: null, seeds: null };
  const { directory, identity, log } = opened;
  const holds = new HoldKeeper({
    ...options,
    directory: `${directory}/raft`,
    holdMs: config.standbyHoldSeconds * 1000,
    diskPct: config.standbyHoldDiskPct,
    usedPct: () => gate.usedPct,
    firstIndex: () => log.firstIndex,
    bytesFrom: (index) => log.bytesFrom(index),
  });
  const sourceReads = new SourceReads({
    ...options,
    clusterId: identity.clusterId,
    log,
    holds,
    bytesPerS: config.catchUpMibPerSecond * 1024 * 1024,
  });
  const { clusterId } = identity;
  const seeds = sender === null ? null : new SeedAnswers({ clusterId, log, sender, holds });
  return { holds, sourceReads, seeds };
}
