/**
 * Admission, forwarding and the timing of the pipeline (inspection 9); left out with
 * `SVC_RAFT_METRICS` off.
 */

import { labelText } from './exposition.js';
import {
  counter,
  custom,
  type Family,
  gauge,
  labelled,
  labelledSeconds,
  pipelineOnly,
  seconds,
  sizes,
} from './family.js';

export const ADMISSION_FAMILIES: readonly Family[] = pipelineOnly([
  labelled(
    'svc_raft_admit_bytes',
    'gauge',
    'kind',
    'Bytes of growing writes that may wait to be written, 0 for no bound, and that do.',
    ({ figures: { pressure } }) => ({
      cap: pressure.admission.bytesMax,
      held: pressure.admission.bytes,
    }),
  ),
  gauge(
    'svc_raft_admit_waiting',
    'Writes that wait for room now.',
    ({ figures }) => figures.pressure.admission.waiting,
  ),
  labelled(
    'svc_raft_admit_total',
    'counter',
    'outcome',
    'Writes that had to wait for room, and that were refused after it.',
    ({ meters }) => meters.pipeline.admission,
  ),
  labelled(
    'svc_raft_admit_forwarded_total',
    'counter',
    'outcome',
    'Writes of other nodes that this leader let in, and that it refused.',
    ({ meters }) => meters.pipeline.admissionForwarded,
  ),
  labelled(
    'svc_raft_forward_total',
    'counter',
    'kind',
    'Commands sent to leaders, those taken as the leader, leaderships that were sent any.',
    ({ meters }) => meters.pipeline.forward,
  ),
]);

export const PIPELINE_FAMILIES: readonly Family[] = pipelineOnly([
  seconds('svc_raft_plan_seconds', 'Planning of a turn.', ({ meters }) => meters.pipeline.plan),
  seconds(
    'svc_raft_plan_whole_wall_seconds',
    'A turn of the leader with its proposal.',
    ({ meters }) => meters.pipeline.turn,
  ),
  seconds(
    'svc_raft_push_h_total_seconds',
    'A push from its whole body to its answer.',
    ({ meters }) => meters.pipeline.pushTotal,
  ),
  seconds(
    'svc_raft_push_h_prep_seconds',
    'Parsing and checking of a push.',
    ({ meters }) => meters.pipeline.pushPrepare,
  ),
  seconds(
    'svc_raft_push_h_submit_seconds',
    'Handing a push over to the broker.',
    ({ meters }) => meters.pipeline.pushSubmit,
  ),
  seconds(
    'svc_raft_push_h_await_seconds',
    'From there to the outcome of the push.',
    ({ meters }) => meters.pipeline.pushAwait,
  ),
  seconds(
    'svc_raft_pop_h_total_seconds',
    'A pop from its arrival to its answer, with the time that it was parked.',
    ({ meters }) => meters.pipeline.popTotal,
  ),
  seconds(
    'svc_raft_arrival_to_proposed_seconds',
    'A command but a pop, from its arrival at the leader to the proposal of its entry.',
    ({ meters }) => meters.pipeline.arrivalToProposed,
  ),
  seconds(
    'svc_raft_queue_wait_seconds',
    'From its arrival there to the turn that plans it.',
    ({ meters }) => meters.pipeline.queueWait,
  ),
  seconds(
    'svc_raft_drain_to_propose_seconds',
    'From the beginning of a turn to the proposal of its entry.',
    ({ meters }) => meters.pipeline.drainToPropose,
  ),
  seconds(
    'svc_raft_propose_roundtrip_seconds',
    'From the proposal of an entry until it was applied and answered.',
    ({ meters }) => meters.pipeline.proposeRoundtrip,
  ),
  seconds(
    'svc_raft_proposed_to_committed_seconds',
    'From the proposal of an entry until it was known to be committed.',
    ({ meters }) => meters.pipeline.proposedToCommitted,
  ),
  seconds(
    'svc_raft_writer_pickup_seconds',
    'From an append to the log to the write that takes it.',
    ({ meters }) => meters.pipeline.writerPickup,
  ),
  seconds(
    'svc_raft_log_fsync_seconds',
    'An fdatasync of the log.',
    ({ meters }) => meters.pipeline.logSync,
  ),
  seconds(
    'svc_raft_apply_entry_seconds',
    'Applying an entry.',
    ({ meters }) => meters.pipeline.applyEntry,
  ),
  seconds(
    'svc_raft_store_commit_seconds',
    'The transaction of a checkpoint.',
    ({ meters }) => meters.pipeline.storeCommit,
  ),
  seconds(
    'svc_raft_durable_point_seconds',
    'A checkpoint as a whole, encoded in slices and committed.',
    ({ meters }) => meters.pipeline.checkpoint,
  ),
  seconds(
    'svc_raft_pop_read_seconds',
    'Reading the messages of a pop.',
    ({ meters }) => meters.pipeline.popRead,
  ),
  sizes(
    'svc_raft_plan_deferred',
    'Commands that a turn left for the next.',
    ({ meters }) => meters.pipeline.planDeferred,
  ),
  sizes(
    'svc_raft_drain_commands',
    'Commands that a turn answered.',
    ({ meters }) => meters.pipeline.drainCommands,
  ),
  sizes(
    'svc_raft_drain_messages',
    'Messages that the commands of a turn push.',
    ({ meters }) => meters.pipeline.drainMessages,
  ),
  sizes(
    'svc_raft_group_entries',
    'Entries that one write and one sync made durable.',
    ({ meters }) => meters.pipeline.groupEntries,
  ),
  sizes(
    'svc_raft_group_bytes',
    'Bytes that one write and one sync made durable.',
    ({ meters }) => meters.pipeline.groupBytes,
  ),
  sizes(
    'svc_raft_apply_channel_depth',
    'Committed entries that were handed over to be applied at once.',
    ({ meters }) => meters.pipeline.applyDepth,
  ),
  ...commandFamilies(),
  counter(
    'svc_raft_apply_receives_total',
    'How often committed entries were handed over to be applied.',
    ({ meters }) => meters.pipeline.applyReceives,
  ),
  labelled(
    'svc_raft_apply_stats',
    'counter',
    'field',
    'What was applied here since the start.',
    ({ meters }) => meters.pipeline.applied,
  ),
]);

function commandFamilies(): readonly Family[] {
  return [
    ofCommands('svc_raft_planner_commands_total', 'Commands that were planned.', 'planned'),
    ofCommands('svc_raft_planner_slow_total', 'Of those, the ones that took long.', 'slow'),
    labelledSeconds(
      'svc_raft_planner_plan_seconds',
      'kind',
      'Planning of a command.',
      [0.5, 0.99, 1],
      ({ meters }) =>
        [...meters.pipeline.commands].map(([kind, { tookUs }]) => [kind, tookUs] as const),
    ),
    counter(
      'svc_raft_slow_commands_total',
      'Commands whose planning took SVC_RAFT_SLOW_COMMAND_MS or more.',
      ({ meters }) =>
        [...meters.pipeline.commands.values()].reduce((sum, { slow }) => sum + slow, 0),
    ),
  ];
}

function ofCommands(name: string, help: string, member: 'planned' | 'slow'): Family {
  return custom(name, 'counter', help, (out, { meters }) => {
    for (const [kind, counted] of meters.pipeline.commands) {
      out.sample(labelText('kind', kind), counted[member]);
    }
  });
}
