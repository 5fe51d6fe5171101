/**
 * The process: reads the configuration, opens and starts one node, and ends it on a signal.
 *
 * Exit codes: 0 after a graceful stop; 1 when the boot was refused or the node could not go on.
 * Every refusal is one line `FATAL: ...`.
 */
import { setFlagsFromString } from 'node:v8';
import { workerData } from 'node:worker_threads';
import { AppendDamage, CatalogueFault } from '@svc/engine';
import { ListenError, NativeBuildMissingError, StaticFilesError } from '@svc/http';
import { CommitError, DamageError, DiskError, LockedError, RealDisk } from '@svc/storage';
import { type Config, describeConfig, readConfig } from '../config/config.js';
import { configWarnings } from '../config/warnings.js';
import { StateDivergedError } from '../consensus/group-faults.js';
import { isFrontThread, runFrontThread } from '../front/front-thread.js';
import { FrontThreadHangsError } from '../front/front-threads.js';
import { keyWarning } from '../reads/payload-cipher.js';
import { type Clock, SystemClock } from '../system/clock.js';
import { dieByKill, readCrashSetting } from '../system/crash-points.js';
import { prepareDataDirectory } from '../system/data-directory.js';
import { createLogger, type Logger } from '../system/logging.js';
import { BootRefusedError } from '../system/node-refusal.js';
import { SystemRandom } from '../system/random.js';
import { RaftListenError } from './peers.js';
import { NodeProcess } from './process.js';

type OnFatal = (error: Error) => void;

/**
 * The old generation is collected when it has grown to four times what the last collection left.
 * Where little is allocated V8 lets it grow by a third: at 1,000 pushes a second the rows of some
 * seconds, which are garbage when the next checkpoint replaces them, had 25 MB marked every 2.5 s,
 * and whoever was served in those 20 to 40 ms waited for it.
 */
setFlagsFromString('--heap-growing-percent=300');

async function main(): Promise<void> {
  const config = readConfig(process.env);
  if (config.kind === 'refused') {
    end(createLogger({ level: 'info', json: false }), config.error);
    return;
  }
  const crash = readCrashSetting(process.env.SVC_CRASH_AT, dieByKill);
  if (crash.kind === 'refused') {
    end(createLogger(config.logging), crash.error);
    return;
  }
  const logger = createLogger(config.logging);
  for (const line of describeConfig(config)) logger.info('boot', line);
  for (const line of configWarnings(process.env)) logger.warn('boot', line);
  const warning = keyWarning(config.encryptionKey);
  if (warning !== null) logger.warn('boot', warning);
  const clock = new SystemClock();
  const node = new NodeProcess({
    config,
    disk: new RealDisk(),
    clock,
    random: new SystemRandom(),
    logger,
    crash,
    threadProgram: new URL(import.meta.url),
    onFatal: (error) => end(logger, describe(error)),
  });
  const onFailure: OnFatal = (error) => node.fail(error);
  process.on('uncaughtException', onFailure);
  // A warning of the platform that nobody can read any more is no reason to end.
  process.stderr.on('error', () => undefined);
  onSignals(clock, () => node.stop(), onFailure);
  await start(node, config, logger).catch(onFailure);
}

async function start(node: NodeProcess, config: Config, logger: Logger): Promise<void> {
  prepareDataDirectory(config.dataDirectory, logger);
  await node.start();
}

/** A terminal and the package manager in between may both pass on one Ctrl-C. */
const SAME_SIGNAL_MS = 500;

/**
 * The first signal drains; a second one ends at once, which loses nothing that was acknowledged.
 */
function onSignals(clock: Clock, stop: () => Promise<void>, onFatal: OnFatal): void {
  let stoppingSinceMs: number | null = null;
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      const nowMs = clock.nowMs();
      if (stoppingSinceMs !== null) {
        if (nowMs - stoppingSinceMs > SAME_SIGNAL_MS) process.exit(1);
        return;
      }
      stoppingSinceMs = nowMs;
      stop().then(() => process.exit(0), onFatal);
    });
  }
}

const FAULTS = [
  AppendDamage,
  BootRefusedError,
  CatalogueFault,
  CommitError,
  DamageError,
  DiskError,
  FrontThreadHangsError,
  ListenError,
  LockedError,
  NativeBuildMissingError,
  RaftListenError,
  StateDivergedError,
  StaticFilesError,
];

/** A fault's message tells the operator all; anything else is a bug, and its stack is wanted. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const isFault = FAULTS.some((fault) => error instanceof fault) || 'syscall' in error;
  return isFault ? error.message : (error.stack ?? error.message);
}

/** Logs are written synchronously, so the line is out before the process is. */
function end(logger: Logger, text: string): void {
  logger.fatal(text.split('\n').join(' | '));
  process.exit(1);
}

await (isFrontThread(workerData) ? runFrontThread() : main());
