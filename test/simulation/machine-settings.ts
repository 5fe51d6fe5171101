/**
 * How the nodes of one seed are set up: small segments, frequent checkpoints, short time-outs, so
 * that in a minute everything rolls, is given back and is sent as a snapshot many times.
 */
import type { SeededRandom } from '../seeded-random.js';
import type { Fault } from './faults.js';
import type { ShapeName } from './shape.js';

export interface MachineSettings {
  readonly environment: Readonly<Record<string, string>>;
  /** Small generations, so that ids move from one to the next all the time. */
  readonly geometry: { readonly pageBits: number; readonly idsPerPage: number };
  /** All nodes of a cluster compare their states at multiples of it. */
  readonly digestEvery: number;
  readonly changedRowsMax: number;
  readonly logSpace: {
    readonly purgeStep: number;
    readonly stepMs?: number;
    readonly purgeHoldMs?: number;
    readonly slackBytes?: number;
  };
  readonly electionMs: number;
}

export const DIRECTORY = '/data';
/** Of standbys and their sources: then a source gives its log up as soon as it may. */
const HASTENED_SHARE = 0.6;
/** For a busy run, where leaders change every second. */
const PURGE_EVERY_MS = 40;
/** So few that applying often waits for a checkpoint, and so many that it never does. */
const CHANGED_ROWS_FEW = 30;
const CHANGED_ROWS_MANY = 1 << 17;
const HOLD_MS = [30, 100, 300] as const;
/** Beside what is live: with little of it, live appends move all the time. */
const SLACK_BYTES = [0, 10_000, 100_000_000] as const;

export function drawSettings(
  random: SeededRandom,
  shape: ShapeName,
  faults: ReadonlySet<Fault>,
): MachineSettings {
  const settings = drawOrdinary(random, shape === 'single');
  if (shape === 'busy') return hastened(settings, random);
  if (shape === 'standby' && random.chance(HASTENED_SHARE)) return hastened(settings, random);
  // Alone, only a whole log mends a state store that was damaged.
  if (shape !== 'single' || faults.has('bit-flip')) return settings;
  const logSpace = { purgeStep: 1, stepMs: PURGE_EVERY_MS, slackBytes: random.pick(SLACK_BYTES) };
  return { ...settings, logSpace };
}

/** Requests are given up after a second or two, and short time-outs make many elections. */
function hastened(settings: MachineSettings, random: SeededRandom): MachineSettings {
  const heartbeatMs = random.pick([25, 50]);
  const electionMs = heartbeatMs * 4;
  const environment = {
    ...settings.environment,
    SVC_RAFT_SEGMENT_BYTES: '4096',
    SVC_RAFT_DURABLE_EVERY_MS: `${random.pick([50, 200, 500])}`,
    SVC_RAFT_HEARTBEAT_MS: `${heartbeatMs}`,
    SVC_RAFT_ELECTION_MS: `${electionMs}`,
    POP_DEFAULT_TIMEOUT_MS: '1500',
    SVC_STMT_TIMEOUT_MS: '1500',
    SVC_RAFT_LOG_KEEP: `${random.pick([1, 1, 20])}`,
  };
  const purgeStep = random.pick([1, 8]);
  const purgeHoldMs = random.pick(HOLD_MS);
  const logSpace = { ...settings.logSpace, purgeStep, stepMs: PURGE_EVERY_MS, purgeHoldMs };
  return { ...settings, environment, electionMs, digestEvery: 16, logSpace };
}

/** `dense`: the run is short and has one machine. */
function drawOrdinary(random: SeededRandom, dense: boolean): MachineSettings {
  const geometry = { pageBits: random.between(1, 4), idsPerPage: random.between(4, 20) };
  const changedRowsMax = geometry.pageBits === 1 ? CHANGED_ROWS_FEW : CHANGED_ROWS_MANY;
  const environment: Record<string, string> = {
    SVC_RAFT_DIR: DIRECTORY,
    SVC_SERVER_ID: 'simulated',
    SVC_RAFT_SEGMENT_BYTES: `${random.pick([4096, 8192, 32_768, dense ? 262_144 : 4096])}`,
    SVC_RAFT_DURABLE_EVERY_MS: `${random.pick(dense ? [5, 20, 100, 400] : [100, 500, 2000])}`,
    SVC_RAFT_DURABLE_EVERY_BYTES: `${random.pick([2000, 20_000, 1_000_000])}`,
    RETENTION_INTERVAL: '100',
    RETENTION_BATCH_SIZE: '5',
    SVC_RAFT_PIPELINE: `${random.pick([1, 2, 8])}`,
    SVC_RAFT_BATCH_MAX_BYTES: `${random.pick([500, 4000, 4_194_304])}`,
  };
  if (dense)
    return {
      environment,
      geometry,
      digestEvery: 1024,
      changedRowsMax,
      logSpace: { purgeStep: 1024 },
      electionMs: 150,
    };
  const heartbeatMs = random.pick([100, 200, 400]);
  const electionMs = heartbeatMs * random.pick([4, 8]);
  environment.SVC_RAFT_HEARTBEAT_MS = `${heartbeatMs}`;
  environment.SVC_RAFT_ELECTION_MS = `${electionMs}`;
  environment.SVC_RAFT_REPLICATOR = 'raft';
  environment.POP_DEFAULT_TIMEOUT_MS = '4000';
  environment.SVC_STMT_TIMEOUT_MS = '4000';
  environment.SVC_RAFT_PURGE_HOLD_S = `${random.pick([1, 5, 20])}`;
  environment.SVC_RAFT_LOG_KEEP = `${random.pick([1, 20, 200])}`;
  const digestEvery = random.pick([16, 64, 256]);
  const logSpace = { purgeStep: random.pick([8, 64]), slackBytes: random.pick(SLACK_BYTES) };
  return { environment, geometry, digestEvery, changedRowsMax, logSpace, electionMs };
}

export function peerList(numbers: readonly number[]): string {
  return numbers.map((n) => `${n}=node-${n}:7400/node-${n}:6632`).join(',');
}
