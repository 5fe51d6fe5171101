/**
 * How long the stages of a command take on this node, and how much goes through at a time
 * (inspection 9: pipeline timing, admission and forwarding). Durations in microseconds.
 *
 * The stages of one push, in the order in which it passes them; the leader's stand between:
 *
 *     arrived | prepared | handed over | ........................ outcome known | answered
 *     |<-------------------------------- pushTotal -------------------------------->|
 *               |<- queueWait ->|<- plan ->| proposed | committed | applied |
 *
 * A layer that has no clock counts; whoever calls it and has one times.
 */
import { type Counts, counts } from './meters-counts.js';
import { Summary } from './summary.js';

export const FORWARD_KINDS = ['sent', 'served', 'streams_opened', 'legacy_leader'] as const;
export const APPLY_FIELDS = [
  'entries',
  'skipped',
  'effects',
  'appends',
  'messages',
  'bytes_appended',
  'commits',
  'durable_points',
  'durable_points_failed',
  'outcomes_recorded',
  'wakes',
  'files_unlinked',
  'gc_deferred',
  'rows_swept',
  'missing_rows',
] as const;

/** Counts of one kind of command. */
export interface CommandMeters {
  planned: number;
  /** Those that took as long as a slow one. */
  slow: number;
  readonly tookUs: Summary;
}

export interface PipelineMeters {
  // --- the front of the node that took the request
  /** From the body's last byte to the answer. */
  readonly pushTotal: Summary;
  /** Parsing and validating. */
  readonly pushPrepare: Summary;
  /** Handing it to the broker: the leader's memory, or the wire to it. */
  readonly pushSubmit: Summary;
  /** From there to the outcome. */
  readonly pushAwait: Summary;
  /** With the time that it was parked. */
  readonly popTotal: Summary;
  /** Reading the messages of a pop from the log. */
  readonly popRead: Summary;

  // --- the leader
  /** Planning of a turn. */
  readonly plan: Summary;
  /** A turn from its beginning to its end. */
  readonly turn: Summary;
  /** Commands but pops, from their arrival at the leader to the proposal of their entry. */
  readonly arrivalToProposed: Summary;
  /** From their arrival to the turn that planned them. */
  readonly queueWait: Summary;
  /** From the beginning of the turn to the proposal of its entry. */
  readonly drainToPropose: Summary;
  /** From the proposal until the entry was applied, and its answers left. */
  readonly proposeRoundtrip: Summary;
  readonly proposedToCommitted: Summary;
  /** Commands that a turn left for the next. */
  readonly planDeferred: Summary;
  /** Commands, and messages that they push, of one turn. */
  readonly drainCommands: Summary;
  readonly drainMessages: Summary;
  proposals: number;
  /** By the kind of the command, as commands come. */
  readonly commands: Map<string, CommandMeters>;

  // --- the log
  /** From the append of entries to the write that takes them. */
  readonly writerPickup: Summary;
  readonly logSync: Summary;
  /** Entries and bytes that one write and one sync made durable. */
  readonly groupEntries: Summary;
  readonly groupBytes: Summary;

  // --- applying
  readonly applyEntry: Summary;
  /** Committed entries that are handed over at once. */
  readonly applyDepth: Summary;
  applyReceives: number;
  /** A checkpoint's transaction, and the checkpoint as a whole. */
  readonly storeCommit: Summary;
  readonly checkpoint: Summary;
  readonly applied: Counts<(typeof APPLY_FIELDS)[number]>;
  /** Pairs of group and partition that delivery took into memory, and let go. */
  readonly consumed: Counts<'loaded' | 'unloaded'>;

  // --- admission and forwarding
  readonly admission: Counts<'waited' | 'refused'>;
  readonly admissionForwarded: Counts<'admitted' | 'refused'>;
  readonly forward: Counts<(typeof FORWARD_KINDS)[number]>;
}

export function newPipelineMeters(): PipelineMeters {
  return {
    pushTotal: new Summary(),
    pushPrepare: new Summary(),
    pushSubmit: new Summary(),
    pushAwait: new Summary(),
    popTotal: new Summary(),
    popRead: new Summary(),
    plan: new Summary(),
    turn: new Summary(),
    arrivalToProposed: new Summary(),
    queueWait: new Summary(),
    drainToPropose: new Summary(),
    proposeRoundtrip: new Summary(),
    proposedToCommitted: new Summary(),
    planDeferred: new Summary(),
    drainCommands: new Summary(),
    drainMessages: new Summary(),
    proposals: 0,
    commands: new Map(),
    writerPickup: new Summary(),
    logSync: new Summary(),
    groupEntries: new Summary(),
    groupBytes: new Summary(),
    applyEntry: new Summary(),
    applyDepth: new Summary(),
    applyReceives: 0,
    storeCommit: new Summary(),
    checkpoint: new Summary(),
    applied: counts(APPLY_FIELDS),
    consumed: counts(['loaded', 'unloaded']),
    admission: counts(['waited', 'refused']),
    admissionForwarded: counts(['admitted', 'refused']),
    forward: counts(FORWARD_KINDS),
  };
}

/** The meters of a kind of command; the kinds are few and fixed. */
export function commandMeters(pipeline: PipelineMeters, kind: string): CommandMeters {
  const known = pipeline.commands.get(kind);
  if (known !== undefined) return known;
  const made = { planned: 0, slow: 0, tookUs: new Summary() };
  pipeline.commands.set(kind, made);
  return made;
}
