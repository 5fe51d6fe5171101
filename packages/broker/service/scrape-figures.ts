/** The figures that a scrape shows beside what was counted. */
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
import type { NodeSeries } from '../analytics/node-series.js';
import type { Config } from '../config/config.js';
import { nameBounds } from '../config/names.js';
import type { Requests } from '../requests/held-requests.js';
import type { Leadership } from '../requests/leadership.js';
import type { Clock } from '../system/clock.js';
import type { NodeStatus } from './node-status.js';

export interface ScrapeSources {
  readonly config: Config;
  readonly clock: Clock;
  readonly state: Checkpoint;
  readonly status: NodeStatus;
  readonly leadership: Leadership;
  readonly requests: Requests;
  readonly deadLetters: DeadLetterGauges;
  readonly groupLags: GroupLagFigures;
  /** null: the process keeps no series of itself. */
  readonly series: NodeSeries | null;
}

const NOTHING_CONSUMED = { groups: 0, parts: 0, partitions: 0 };

export function nodeFigures(sources: ScrapeSources, pressure: Pressure): NodeFigures {
  const { state, status, leadership, deadLetters, groupLags, config, clock, series } = sources;
  const { leader } = leadership;
  leader?.settleCounts();
  return {
    raft: status.raftStatus(),
    pressure,
    loopLagMs: series?.loopLag.meanMs ?? 0,
    parked: parkedByQueue(sources.requests),
    memoryRows: state.memoryRows(),
    names: namesView(state, nameBounds(config).all),
    tracesStored: storedTraces(state),
    consumption: leader?.consumption ?? NOTHING_CONSUMED,
    totals: readTotals(state),
    showsPipeline: config.pipelineMetrics,
    deadLetters: leader === null ? null : deadLetters.read(),
    queueSeriesMax: config.queueSeriesMax,
    groupLags: groupLags.read(leader !== null),
    link: status.linkView(),
    wallUs: clock.wallUs(),
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

function parkedByQueue(requests: Requests): ReadonlyMap<string, number> {
  const parked = new Map<string, number>();
  requests.eachParked(({ scope }) => {
    const queue = scope.kind === 'discovery' ? '' : scope.queue;
    parked.set(queue, (parked.get(queue) ?? 0) + 1);
  });
  return parked;
}
