/**
 * One machine of a cluster under test: a directory, its ports and, most of the time, a running
 * node. It comes back on the same directory and ports after whatever happened to it.
 */
import { appendFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { HealthAnswer, LinkAnswer, RaftStatusAnswer } from '@svc/wire';
import { type Answer, HttpClient, NoAnswer } from '../process/http-client.js';
import { type Environment, type Exit, NodeUnderTest } from '../process/node-under-test.js';
import { builtFile } from './built-file.js';
import type { PrivateVolume } from './private-volume.js';

export interface ClusterNodeSettings {
  readonly number: number;
  readonly httpPort: number;
  /** Where the node itself listens for others; they know the proxy's port. */
  readonly raftPort: number;
  readonly directory: string;
  readonly environment: Environment;
  /** Holds the data instead of the directory. */
  readonly volume: PrivateVolume | null;
}

/** Nodes 1 to 5 have 1, 2, 0, 1 and 2 front threads: a fault meets nodes with and without. */
const FRONT_THREAD_COUNTS = 3;
const STATUS_MS_MAX = 1000;
const STOP_MS_MAX = 30_000;

export class ClusterNode {
  readonly number: number;
  readonly client: HttpClient;
  readonly settings: ClusterNodeSettings;
  readonly logFile: string;
  life: NodeUnderTest | null = null;
  paused = false;
  /** Which build its next life runs: the one of this checkout, or one of a version later. */
  build: 'this' | 'next' = 'this';
  /** How often it was started. */
  lives = 0;
  /** Variables of its next lives, beside those of its settings. */
  variables: Environment = {};

  constructor(settings: ClusterNodeSettings) {
    this.settings = settings;
    this.number = settings.number;
    this.client = new HttpClient(settings.httpPort);
    this.logFile = join(settings.directory, `node-${settings.number}.log`);
    mkdirSync(settings.directory, { recursive: true });
  }

  /** Its process is there and not paused; it may still be on its way up. */
  get running(): boolean {
    return this.life !== null && this.life.exit === null && !this.paused;
  }

  /** Begins a life, and does not wait for the node to be ready. */
  start(environment: Environment = {}): NodeUnderTest {
    if (this.life !== null && this.life.exit === null) {
      throw new Error(`node ${this.number} is running already`);
    }
    const { directory, httpPort, volume } = this.settings;
    this.lives++;
    appendFileSync(this.logFile, `--- life ${this.lives} ---\n`);
    const delay = { SVC_TEST_SYNC_DELAY_FILE: this.#delayFile };
    this.life = new NodeUnderTest({
      directory,
      port: httpPort,
      frontThreads: this.number % FRONT_THREAD_COUNTS,
      environment: {
        ...this.settings.environment,
        ...this.#place,
        ...delay,
        ...this.variables,
        ...environment,
      },
      logFile: this.logFile,
      runtimeArguments: this.build === 'next' ? [...PRELOADED, ...NEXT_BUILD] : PRELOADED,
      launcher: volume?.launcher ?? [],
    });
    this.paused = false;
    return this.life;
  }

  async kill(): Promise<void> {
    this.paused = false;
    await this.life?.kill();
  }

  pause(): void {
    this.life?.send('SIGSTOP');
    this.paused = true;
  }

  resume(): void {
    this.life?.send('SIGCONT');
    this.paused = false;
  }

  /** SIGTERM. */
  async stop(msMax = STOP_MS_MAX): Promise<Exit> {
    if (this.life === null) throw new Error(`node ${this.number} was never started`);
    return this.life.signal('SIGTERM', msMax);
  }

  /** Removes what the node stored; it is not running. */
  wipe(): void {
    const { directory, volume } = this.settings;
    if (this.life !== null && this.life.exit === null) {
      throw new Error(`node ${this.number} is running`);
    }
    if (volume !== null) volume.wipe();
    else rmSync(join(directory, 'data'), { recursive: true, force: true });
  }

  /** Every sync of its disk takes so much longer from now on, in this life and the next. */
  slowDisk(delayMs: number): void {
    writeFileSync(this.#delayFile, `${delayMs}`);
  }

  /** null: no answer. */
  async status(): Promise<RaftStatusAnswer | null> {
    const answer = await this.#ask('/api/v1/raft/status');
    return answer?.status === 200 ? (JSON.parse(answer.text) as RaftStatusAnswer) : null;
  }

  /** null: no answer; a node that is not ready answers too. */
  async health(): Promise<HealthAnswer | null> {
    const answer = await this.#ask('/health');
    return answer === null ? null : (JSON.parse(answer.text) as HealthAnswer);
  }

  /** What its cluster is to another one; null: no answer. */
  async link(): Promise<LinkAnswer | null> {
    const answer = await this.#ask('/api/v1/system/link');
    return answer?.status === 200 ? (JSON.parse(answer.text) as LinkAnswer) : null;
  }

  async #ask(path: string): Promise<Answer | null> {
    if (!this.running) return null;
    try {
      return await this.client.get(path, { timeoutMs: STATUS_MS_MAX });
    } catch (error) {
      if (error instanceof NoAnswer) return null;
      throw error;
    }
  }

  get #place(): Environment {
    const { volume } = this.settings;
    return volume === null ? {} : { SVC_RAFT_DIR: join(volume.path, 'data') };
  }

  get #delayFile(): string {
    return join(this.settings.directory, 'sync-delay-ms');
  }
}

const PRELOADED = ['--import', builtFile('cluster/slow-disk.js')];
const NEXT_BUILD = ['--import', builtFile('cluster/next-version.js')];
