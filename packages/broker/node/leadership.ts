/**
 * A leadership begins with a planner of its own; nothing of an earlier one is carried over. That of
 * a standby has none (leader/standby-leader.ts).
 */
import { crc32 } from 'node:zlib';
import {
  AppendDamage,
  type CleanupLimits,
  PLANNER_LIMITS,
  Planner,
  readMeta,
  STANDBY_ID_CHARACTERS,
  type StandbyRoleRow,
  type Surroundings,
  type TimerLimits,
} from '@svc/engine';
import { DamageError } from '@svc/storage';
import { hostAndPortText } from '../config/addresses.js';
import type { Config } from '../config/config.js';
import { NODE_NUMBER_MAX } from '../config/member-id.js';
import { nameBounds } from '../config/names.js';
import type { OpenDirectory } from '../directory/node-directory.js';
import { EncryptAhead } from '../leader/encrypt-ahead.js';
import { EntryMemory } from '../leader/entry-memory.js';
import { Leader } from '../leader/leader.js';
import { PopAnswers } from '../leader/pop-answers.js';
import { StandbyLeader } from '../leader/standby-leader.js';
import { TurnMeters } from '../leader/turn-meters.js';
import type { NodeOptions } from './options.js';
import type { NodeParts } from './parts.js';

/** The leadership that the role of the cluster asks for; `onPromoted`: the role has changed. */
export function newOffice(
  options: NodeOptions,
  opened: OpenDirectory,
  parts: NodeParts,
  onPromoted: () => void,
): Leader | StandbyLeader {
  const { config, clock } = options;
  const begins = parts.role.row === null ? roleToBegin(options, opened) : null;
  if (!parts.role.isStandby && begins === null) return newLeader(options, opened, parts);
  return new StandbyLeader({
    state: opened.state,
    proposer: parts.consensus,
    clock,
    pipelineMax: config.standbyPipelineMax,
    readByAll: () => parts.reports.versionReadByAll(),
    hasSpace: () => parts.gate.space !== 'full',
    begins,
    onPromoted,
  });
}

/** The warning at each start of a node whose cluster was promoted; null: none. */
export function promotedWarning(
  { sourceAddresses }: Pick<Config, 'sourceAddresses'>,
  role: StandbyRoleRow | null,
): string | null {
  if (role?.role !== 'promoted' || sourceAddresses.length === 0) return null;
  const source = sourceAddresses.map(hostAndPortText).join(',');
  return `SVC_LINK_SOURCE=${source} is set, and this cluster was promoted: it follows nobody`;
}

/**
 * An empty cluster becomes a standby if it is told to; null: it is not told, or not empty. Each
 * entry that ever was planned has left its stamp.
 */
function roleToBegin(
  { config, clock, random, logger }: NodeOptions,
  { state }: OpenDirectory,
): StandbyRoleRow | null {
  if (!config.beginsAsStandby) return null;
  if (readMeta(state).stampUs > 0) {
    logger.error(
      'standby',
      'SVC_LINK_STANDBY is set, and this cluster has entries of its own: it stays what it is',
    );
    return null;
  }
  const wallUs = clock.wallUs();
  const source = config.sourceAddresses.map(hostAndPortText).join(',');
  const id = random.newUuid(wallUs).slice(-STANDBY_ID_CHARACTERS);
  logger.info('standby', `this empty cluster becomes standby ${id} of ${source}`);
  return {
    role: 'standby',
    id,
    source,
    sourceCluster: null,
    atUs: 0,
    wallUs,
    position: null,
  };
}

export function newLeader(options: NodeOptions, opened: OpenDirectory, parts: NodeParts): Leader {
  const { config, clock, logger, crash, random } = options;
  const { groupChangeRowsMax = PLANNER_LIMITS.groupChangeRowsMax } = options;
  const { state, identity } = opened;
  const { consensus, reader, transactions, cipher, gate, replica } = parts;
  const meters = new TurnMeters(parts.meters.pipeline, clock, config.slowCommandMs);
  const pops = new PopAnswers();
  const memory = new EntryMemory(clock);
  const surroundings: Surroundings = {
    nodeId: granter(identity.nodeId, parts),
    checksum: crc32,
    newUuid: (nowUs) => random.newUuid(nowUs),
    readLog: (location) => {
      try {
        return reader.readSync(location);
      } catch (error) {
        if (!(error instanceof DamageError)) throw error;
        logger.error('log', error.message);
        throw new AppendDamage(error.message);
      }
    },
    cipher,
    timerClock: parts.timerClock,
    mayGrow: () => gate.space !== 'full',
    mayTakeWide: () => !replica.isTight,
    planned: (kind) => meters.planned(kind),
    memory: (bytes) => memory.take(bytes),
    popRoom: pops,
  };
  const planner = new Planner(state, transactions, surroundings, {
    ...PLANNER_LIMITS,
    groupChangeRowsMax,
    turnBytesMax: config.turnBytesMax,
    entryBytesMax: config.entryBytesMax,
    leaseGraceMs: config.clockSkewMs,
    requestWindowMs: config.requestIdWindowSeconds * 1000,
    traceRetentionSeconds: config.traceRetentionSeconds,
    retention: {
      intervalMs: config.retentionIntervalMs,
      batchAppends: config.retentionBatchAppends,
    },
    cleanup: cleanupLimits(config),
    timers: timerLimits(config),
    names: nameBounds(config),
    autopilot: {
      drainMs: config.autopilotDrainMs,
      batchMin: config.autopilotBatchMin,
      batchMax: config.autopilotBatchMax,
    },
  });
  const ahead = cipher === null ? null : new EncryptAhead({ cipher, clock, state: planner.state });
  return new Leader(
    planner,
    consensus,
    clock,
    config.pipelineMax,
    crash.reach,
    ahead,
    meters,
    pops,
    memory,
  );
}

const DAY_US = 86_400_000_000;

function cleanupLimits(config: Config): CleanupLimits | null {
  if (!config.partitionCleanup) return null;
  return {
    intervalMs: config.retentionIntervalMs,
    afterUs: config.partitionCleanupDays * DAY_US,
  };
}

function timerLimits(config: Config): TimerLimits {
  return {
    batchMax: config.timerFireBatch,
    batchBytesMax: config.timerFireBytesMax,
    backoffMinMs: config.timerBackoffMinMs,
    backoffMaxMs: config.timerBackoffMaxMs,
    transientBackoffMs: config.timerTransientBackoffMs,
    attemptsMax: config.timerAttemptsMax,
    fires: config.timerTickMs > 0,
  };
}

/**
 * Names the granter of leases from now on. Alone it is the node, whose clock measures its leases
 * after a restart too. In a group each leadership is another granter: since this node led last,
 * stamps may have followed another one's clock, so its former leases need the same grace as theirs.
 * A promoted cluster holds leases of its source, whose nodes and terms have the same numbers: its
 * own granters are told apart by its id.
 */
function granter(nodeId: number, { consensus, role }: NodeParts): number {
  const { term = 0 } = consensus.status() ?? {};
  const own = consensus.alone ? nodeId : NODE_NUMBER_MAX + term;
  return role.row === null ? own : Number.parseInt(role.row.id.slice(1), 16) * GRANTERS_MAX + own;
}

/** Terms of a cluster do not get this high. Times 28 bits of an id it fits a number. */
const GRANTERS_MAX = 2 ** 25;
