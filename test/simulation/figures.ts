/** What runs came to, in numbers that add up over clusters and over runs. */
import type { Cluster } from './cluster.js';

export interface Figures {
  events: number;
  simMs: number;
  starts: number;
  stored: number;
  deliveries: number;
  trimmed: number;
  moved: number;
  commits: number;
  elections: number;
  changes: number;
  snapshots: number;
  repairs: number;
  recoveries: number;
  refusedStarts: number;
  refusedFrames: number;
  frames: number;
  digestsCompared: number;
  /** Processor time, if the caller measured it. */
  cpuMs: number;
}

export function noFigures(): Figures {
  return {
    events: 0,
    simMs: 0,
    starts: 0,
    stored: 0,
    deliveries: 0,
    trimmed: 0,
    moved: 0,
    commits: 0,
    elections: 0,
    changes: 0,
    snapshots: 0,
    repairs: 0,
    recoveries: 0,
    refusedStarts: 0,
    refusedFrames: 0,
    frames: 0,
    digestsCompared: 0,
    cpuMs: 0,
  };
}

/** What the machines of all these did. */
export function figuresOf(clusters: readonly Cluster[]): Figures {
  const figures = noFigures();
  for (const { judge, machines, operator, peers, refusals, trimmed, moved } of clusters) {
    for (const machine of machines) {
      figures.starts += machine.starts;
      figures.refusedFrames += machine.refusedFramesOfAllLives;
      figures.snapshots += machine.snapshots;
      figures.repairs += machine.damagedRecords;
      figures.recoveries += machine.recoveries;
    }
    figures.trimmed += trimmed;
    figures.moved += moved;
    figures.commits += judge.commit;
    figures.elections += judge.elections;
    figures.changes += operator?.changes ?? 0;
    figures.refusedStarts += refusals;
    figures.frames += peers?.frames ?? 0;
    figures.digestsCompared += judge.digestsCompared;
  }
  return figures;
}
