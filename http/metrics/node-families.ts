/** The process, the replicated log and the store (inspection 9). */

import type { NodeFigures } from '../ports/node-figures.js';
import { labelText } from './exposition.js';
import { counter, custom, type Family, gauge, labelled, oneOfNames } from './family.js';
import { residentBytes } from './machine-figures.js';

const CALLS = ['push', 'pop', 'ack'] as const;
const RAFT_STATES = ['leader', 'follower', 'candidate', 'learner', 'shutdown'] as const;

export const PROCESS_FAMILIES: readonly Family[] = [
  gauge('svc_uptime_seconds', 'Age of the process.', () => Math.floor(process.uptime())),
  gauge('svc_process_resident_memory_bytes', 'Resident memory of the process.', residentBytes),
  ...CALLS.flatMap((call) => [
    counter(
      `svc_process_${call}_requests_total`,
      `${call} calls of clients of this node.`,
      ({ meters }) => meters.calls[`${call}Requests`],
    ),
    counter(
      `svc_process_${call}_messages_total`,
      `Messages of ${call} calls of clients of this node.`,
      ({ meters }) => meters.calls[`${call}Messages`],
    ),
  ]),
  gauge(
    'svc_event_loop_lag_avg_milliseconds',
    'Mean lag of the event loop since the start.',
    ({ figures }) => figures.loopLagMs,
  ),
];

export const STORAGE_FAMILIES: readonly Family[] = [
  labelled('svc_raft_state', 'gauge', 'state', '1 for the state of this node.', ({ figures }) =>
    oneOfNames(RAFT_STATES, figures.raft.state),
  ),
  gauge('svc_raft_term', 'The term that this node knows.', ({ figures }) => figures.raft.term),
  labelled('svc_raft_index', 'gauge', 'kind', 'Log indexes of this node.', ({ figures }) => ({
    log: figures.raft.lastLogIndex,
    committed: figures.raft.committedIndex,
    applied: figures.raft.appliedIndex,
    durable: figures.raft.durableIndex,
  })),
  gauge(
    'svc_raft_inflight',
    'Entries proposed by this leader and not applied.',
    ({ figures }) => figures.raft.inflight,
  ),
  counter(
    'svc_raft_proposals_total',
    'Entries that this node proposed as the leader.',
    ({ meters }) => meters.pipeline.proposals,
  ),
  labelled(
    'svc_raft_log_storage',
    'gauge',
    'kind',
    'Files and bytes of the log.',
    ({ figures }) => figures.raft.log,
  ),
  gauge(
    'svc_raft_storage_full',
    '1 while the volume of this node is too full for writes that grow it.',
    ({ figures }) => (figures.pressure.storageFull ? 1 : 0),
  ),
  custom(
    'svc_raft_store_ram_rows',
    'gauge',
    'Changed rows held in memory, by table: since the last checkpoint, while it is written, after.',
    (out, { figures }) => {
      for (const { table, level, rows } of figures.memoryRows) {
        out.sample(`${labelText('ks', table)},${labelText('kind', level)}`, rows);
      }
    },
  ),
  gauge(
    'svc_raft_traces_stored',
    'Traces kept by the cluster.',
    ({ figures }) => figures.tracesStored,
  ),
  counter(
    'svc_payloads_not_decrypted_total',
    'Stored envelopes read at this node that its SVC_ENCRYPTION_KEY does not open.',
    ({ meters }) => meters.encryption.unopened,
  ),
  gauge(
    'svc_http_threads',
    'Front threads that listen; 0 where the thread of the broker serves the port itself.',
    ({ meters }) => meters.frontThreads.running,
  ),
  counter(
    'svc_http_thread_restarts_total',
    'Front threads that ended by themselves and were started again.',
    ({ meters }) => meters.frontThreads.restarts,
  ),
  gauge(
    'svc_http_threads_silent',
    'Front threads that have said nothing for 10 s: their clients wait.',
    ({ meters }) => meters.frontThreads.silent,
  ),
  labelled(
    'svc_consume_engine',
    'gauge',
    'kind',
    'What the leader remembers for delivery: groups, pairs of group and partition, partitions.',
    ({ figures: { consumption } }) => ({
      groups: consumption.groups,
      parts: consumption.parts,
      partitions: consumption.partitions,
    }),
  ),
  labelled(
    'svc_consume_parts_total',
    'counter',
    'kind',
    'Pairs of group and partition that this node as the leader took into its memory, and let go.',
    ({ meters }) => meters.pipeline.consumed,
  ),
];

/** Settled point 13 of the contract's README; they outlive every node. */
export const CLUSTER_FAMILIES: readonly Family[] = [
  totals('push_messages', 'Messages stored', 'pushed'),
  totals('ack_messages', 'Messages that groups are done with', 'acked'),
  totals('dead_letters', 'Messages that became dead letters', 'deadLettered'),
];

function totals(what: string, help: string, member: keyof NodeFigures['totals']): Family {
  return counter(
    `svc_cluster_${what}_total`,
    `${help}, since the cluster exists; the same on all nodes: aggregate by max.`,
    ({ figures }) => figures.totals[member],
  );
}
