/** Measures the process and its node once a second. */
import { resourceUsage } from 'node:process';
import { residentBytes, virtualBytes } from '@svc/http';
import type { RaftStatusAnswer } from '@svc/wire';
import type { Clock } from '../system/clock.js';
import type { LoopLagBucket } from '../system/loop-lag.js';
import { type Gauges, Gauging, PROCESS_GAUGES, type ProcessGauge } from './series-process.js';

export interface SamplerSources {
  readonly clock: Clock;
  /** null while no node is open. */
  readonly raft: () => RaftStatusAnswer | null;
  readonly takeLoopLag: () => LoopLagBucket;
}

/** Microseconds of processor per second of time are hundredths of a percent times this. */
const US_PER_PERCENT_HUNDREDTH = 100;

export class SeriesSampler {
  readonly #sources: SamplerSources;
  readonly #gauging: ReadonlyMap<ProcessGauge, Gauging>;
  #samples = 0;
  #cpu = resourceUsage();
  #cpuAtMs: number;

  constructor(sources: SamplerSources) {
    this.#sources = sources;
    this.#gauging = new Map(PROCESS_GAUGES.map((name) => [name, new Gauging()]));
    this.#cpuAtMs = sources.clock.nowMs();
  }

  sample(): void {
    this.#samples++;
    this.#sampleCpu();
    this.#add('residentBytes', residentBytes());
    this.#add('virtualBytes', virtualBytes());
    const { avgMs, maxMs } = this.#sources.takeLoopLag();
    this.#addLag(avgMs, maxMs);
    const raft = this.#sources.raft();
    if (raft === null) return;
    const { inflight, committedIndex, appliedIndex, log, store } = raft;
    this.#add('inFlight', inflight);
    this.#add('logBytes', log.bytes);
    this.#add('logFiles', log.files);
    this.#add('mapUsedPct', store.mapUsedPct);
    if (committedIndex === null || appliedIndex === null) return;
    this.#add('appliedLag', Math.max(0, committedIndex - appliedIndex));
  }

  /** What was measured since the last time. */
  take(): { readonly samples: number; readonly gauges: Gauges } {
    const samples = this.#samples;
    this.#samples = 0;
    const gauges = Object.fromEntries(
      [...this.#gauging].map(([name, gauging]) => [name, gauging.take()]),
    ) as Gauges;
    return { samples, gauges };
  }

  #sampleCpu(): void {
    const nowMs = this.#sources.clock.nowMs();
    const seconds = (nowMs - this.#cpuAtMs) / 1000;
    if (seconds <= 0) return;
    const usage = resourceUsage();
    const perSecond = (us: number) => us / seconds / US_PER_PERCENT_HUNDREDTH;
    this.#add('cpuUser', perSecond(usage.userCPUTime - this.#cpu.userCPUTime));
    this.#add('cpuSystem', perSecond(usage.systemCPUTime - this.#cpu.systemCPUTime));
    this.#cpu = usage;
    this.#cpuAtMs = nowMs;
  }

  #addLag(avgMs: number, maxMs: number): void {
    this.#gauging.get('loopLagMs')?.addRange(avgMs, maxMs);
  }

  #add(name: ProcessGauge, value: number | null): void {
    if (value !== null) this.#gauging.get(name)?.add(value);
  }
}
