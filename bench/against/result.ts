// The result of `npm run bench -- --against ...`: what is written as JSON, printed as a table and
// drawn as a page. Everything a reader needs to judge a figure stands in it: every round, what the
// load program and the server took of the processors, and the settings of each system.

import type { LatencySummary } from '../load/percentiles.js';
import type { Machine } from '../load/report.js';

export const PEER_NAMES = ['nats', 'rabbitmq', 'redis', 'postgres'] as const;
export type PeerName = (typeof PEER_NAMES)[number];
export type SystemName = 'ours' | PeerName;

/**
 * `durable`: an acknowledgement means "on disk" (on a majority, where there are three nodes).
 * `defaults`: the settings the system comes with. Ours has only the first.
 */
export const SETTINGS = ['durable', 'defaults'] as const;
export type Setting = (typeof SETTINGS)[number];

/**
 * `publish`: acknowledged messages a second, closed loop. `consume`: messages published, consumed
 * and acknowledged a second, all at the same time, half of the connections on each side.
 * `latency`: single publishes in an open loop, each timed from the moment it was due to leave.
 */
export const WORKS = ['publish', 'consume', 'latency'] as const;
export type Work = (typeof WORKS)[number];

/** One system as it ran. (system, setting, nodes) is unique among the contenders of a result. */
export interface Contender {
  readonly system: SystemName;
  readonly setting: Setting;
  readonly nodes: number;
  /** As the program itself states it. */
  readonly version: string;
  /** What its acknowledgement means and by which settings, for people. */
  readonly label: string;
}

/** What one system did in one round of a load. */
export interface Round {
  /**
   * Of its load, from 0. Those of one number were measured side by side: ours has each, another
   * system one of so many.
   */
  readonly number: number;
  /** Windows it is made of, in turn with the other system. Quantiles are medians of theirs. */
  readonly turns: number;
  /** Of `publish` and `latency`: acknowledged. Of `consume`: consumed and acknowledged. */
  readonly messages: number;
  readonly seconds: number;
  readonly messagesPerSecond: number;
  /** Of one request of the load program: a batch with its acknowledgements. */
  readonly latency: LatencySummary;
  /** Processor time of the load program, and of all processes of the system, per message. */
  readonly loadMicrosecondsPerMessage: number;
  readonly serverMicrosecondsPerMessage: number;
}

/** What one contender did under one load. The medians are those of `rounds`. */
export interface Measurement {
  readonly system: SystemName;
  readonly setting: Setting;
  readonly nodes: number;
  readonly work: Work;
  readonly payloadBytes: number;
  readonly batch: number;
  readonly rounds: readonly Round[];
  readonly messagesPerSecond: number;
  readonly latency: LatencySummary;
  readonly serverMicrosecondsPerMessage: number;
}

export interface Goal {
  readonly bound: 'at least' | 'at most';
  readonly value: number;
  readonly reached: boolean;
}

/** Ours beside a peer under one load. */
export interface Pairing {
  readonly peer: PeerName;
  readonly setting: Setting;
  readonly nodes: number;
  readonly work: 'publish' | 'consume';
  readonly payloadBytes: number;
  readonly batch: number;
}

/** Our rate divided by a peer's under the same load: in each round, and of all, see compare.ts. */
export interface Comparison extends Pairing {
  readonly ratio: number;
  readonly ratios: readonly number[];
  /** null: nothing was promised for this load. */
  readonly goal: Goal | null;
}

/** A quantile of our own latency, in ms, and what was promised for it. */
export interface LatencyVerdict {
  readonly nodes: number;
  readonly payloadBytes: number;
  readonly quantile: 'p50Ms' | 'p99Ms';
  readonly value: number;
  readonly goal: Goal;
}

/** A round that brought nothing: see left-out.ts. */
export interface LeftOutRound extends Pairing {
  /** What the load program said. */
  readonly reason: string;
}

export interface AgainstResult {
  readonly program: 'bench --against';
  /** ISO 8601. */
  readonly date: string;
  readonly command: string;
  readonly machine: Machine;
  readonly connections: number;
  /** Of our queue, and the number of keys, subjects, tables or queues a peer has: see labels. */
  readonly partitions: number;
  /** At least: the least certain pairs were measured more often. */
  readonly rounds: number;
  readonly secondsPerRound: number;
  readonly ratePerSecond: number;
  /** One synced write of 4 KiB on this disk, alone, at the median. */
  readonly diskSyncMs: number;
  /** Memory that its host could not take away meanwhile: bench/memory. 0 where none was kept. */
  readonly keptMemoryMib: number;
  readonly contenders: readonly Contender[];
  readonly measurements: readonly Measurement[];
  readonly comparisons: readonly Comparison[];
  readonly latencyVerdicts: readonly LatencyVerdict[];
  readonly leftOut: readonly LeftOutRound[];
}
