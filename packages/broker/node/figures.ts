/** What a node tells a scrape beside what was counted (inspection 9). */
import {
  type DeadLetterGauges,
  type NameLimits,
  nameCountsOf,
  readTotals,
  storedTraces,
} from '@svc/engine';
import type { NamesView, NodeFigures, Pressure } from '@svc/http';
import type { Checkpoint } from '@svc/storage';
import type { GroupLagFigures } from '../analytics/group-lag-figures.js';
import type { Leadership } from '../requests/leadership.js';
import type { NodeStatus } from '../service/node-status.js';

export interface FigureSources {
  readonly state: Checkpoint;
  readonly status: NodeStatus;
  readonly leadership: Leadership;
  readonly deadLetters: DeadLetterGauges;
  readonly groupLags: GroupLagFigures;
  /** Bounds of names over all tenants. */
  readonly nameLimits: NameLimits;
  /** SVC_METRICS_QUEUE_SERIES_MAX. */
  readonly queueSeriesMax: number;
  readonly wallUs: () => number;
  readonly pressure: () => Pressure;
  readonly loopLagMs: () => number;
  /** SVC_RAFT_METRICS. */
  readonly showsPipeline: boolean;
}

const NOTHING_CONSUMED = { groups: 0, parts: 0, partitions: 0 };

export function nodeFigures(sources: FigureSources): NodeFigures {
  const { state, status, leadership, deadLetters, pressure, loopLagMs, showsPipeline } = sources;
  const { groupLags, wallUs } = sources;
  const { leader } = leadership;
  leader?.settleCounts();
  return {
    raft: status.raftStatus(),
    pressure: pressure(),
    loopLagMs: loopLagMs(),
    parked: parkedByQueue(leadership),
    memoryRows: state.memoryRows(),
    names: namesView(state, sources.nameLimits),
    tracesStored: storedTraces(state),
    consumption: leader?.consumption ?? NOTHING_CONSUMED,
    totals: readTotals(state),
    showsPipeline,
    deadLetters: leader === null ? null : deadLetters.read(),
    queueSeriesMax: sources.queueSeriesMax,
    groupLags: groupLags.read(leader !== null),
    wallUs: wallUs(),
  };
}

function namesView(state: Checkpoint, limits: NameLimits): NamesView {
  const { queues, partitions, groups } = nameCountsOf(state, null);
  return {
    counts: { queues, partitions, consumer_groups: groups },
    limits: {
      queues: limits.queues,
      partitions: limits.partitions,
      consumer_groups: limits.groups,
    },
  };
}

function parkedByQueue(leadership: Leadership): ReadonlyMap<string, number> {
  const parked = new Map<string, number>();
  leadership.eachParked(({ scope }) => {
    const queue = scope.kind === 'discovery' ? '' : scope.queue;
    parked.set(queue, (parked.get(queue) ?? 0) + 1);
  });
  return parked;
}
