/** What the model is run with: the group, the faults, and how far it goes. */
import type { ConfigurationChange, NodeChange } from '../../configuration.js';
import { nodeId } from '../../identifiers.js';
import type { Message } from '../../messages.js';
import type { MachineOptions } from './machine.js';

export interface Bounds {
  /** Terms up to this one; each is an election. */
  readonly termMax: number;
  /** States with a longer log are looked at and not followed. */
  readonly entriesMax: number;
  readonly crashesMax: number;
  readonly heartbeatsMax: number;
  readonly proposalsMax: number;
  readonly changesMax: number;
  /** Nodes that find the end of their log damaged, after they had acknowledged it. */
  readonly lossesMax: number;
}

/** The first step of this kind that a node can take; `gets` names the type of a message to it. */
export interface Direction {
  readonly node: number;
  readonly does?: 'campaign' | 'propose' | 'sync' | 'change';
  readonly gets?: Message['type'];
  readonly from?: number;
}

export interface Variant extends MachineOptions {
  readonly name: string;
  readonly nodes: readonly number[];
  /** Nodes that start alike and that no change treats differently: their names may be swapped. */
  readonly alike: readonly (readonly number[])[];
  readonly changes: readonly ConfigurationChange[];
  /** What has happened already: from there on everything is tried. */
  readonly start: readonly Direction[];
  readonly bounds: Bounds;
}

const SETTINGS = { preVote: false, checkQuorum: false } as const;

/**
 * One append carries one entry, so that a peer can hold a part of what a leader sent it.
 */
const BYTE_BY_BYTE = { ...SETTINGS, appendBytesMax: 1 } as const;

const BOUNDS: Bounds = {
  termMax: 3,
  entriesMax: 3,
  crashesMax: 1,
  heartbeatsMax: 0,
  proposalsMax: 1,
  changesMax: 0,
  lossesMax: 0,
};

/** Every write by itself: what is lost in a crash, and what was promised before it. */
export const LATE_DISK: Variant = {
  name: 'late disk',
  nodes: [1, 2, 3],
  voters: [1, 2, 3],
  alike: [[1, 2, 3]],
  settings: SETTINGS,
  disk: 'late',
  changes: [],
  start: [],
  bounds: BOUNDS,
};

/** Writes are quick: leaders that come and go, logs that differ. */
export const PROMPT_DISK: Variant = {
  ...LATE_DISK,
  name: 'prompt disk',
  settings: BYTE_BY_BYTE,
  disk: 'prompt',
  bounds: { ...BOUNDS, crashesMax: 0, heartbeatsMax: 1 },
};

export const PRE_VOTE: Variant = {
  ...PROMPT_DISK,
  name: 'pre-vote',
  settings: { ...BYTE_BY_BYTE, preVote: true, checkQuorum: true },
};

/** Two logs that differ: node 1 led and kept its entries for itself, then node 2 was elected. */
const TWO_LEADERS: readonly Direction[] = [
  ...elected(1, 2),
  { node: 1, does: 'propose' },
  ...elected(2, 3),
];

export const PROMPT_DISK_LATER: Variant = {
  ...PROMPT_DISK,
  name: 'prompt disk, two leaders',
  start: TWO_LEADERS,
  alike: [],
  bounds: { ...PROMPT_DISK.bounds, termMax: 4 },
};

const LATE_TWO_LEADERS: readonly Direction[] = [
  { node: 1, does: 'campaign' },
  { node: 1, does: 'sync' },
  { node: 2, gets: 'vote-request', from: 1 },
  { node: 2, does: 'sync' },
  { node: 1, gets: 'vote-response', from: 2 },
  { node: 2, does: 'campaign' },
  { node: 2, does: 'sync' },
  { node: 3, gets: 'vote-request', from: 2 },
  { node: 3, does: 'sync' },
  { node: 2, gets: 'vote-response', from: 3 },
];

export const LATE_DISK_LATER: Variant = {
  ...LATE_DISK,
  name: 'late disk, two leaders',
  start: LATE_TWO_LEADERS,
  alike: [],
};

const LEADS: readonly Direction[] = [
  ...elected(1, 2),
  { node: 2, gets: 'append', from: 1 },
  { node: 1, gets: 'append-response', from: 2 },
];

/** One voter leaves at a time: two of three, then one of two, are a quorum. */
export const CHANGES: Variant = {
  ...PROMPT_DISK,
  name: 'changes',
  alike: [],
  changes: [
    change('auto', { type: 'remove', node: nodeId(3) }),
    change('auto', { type: 'remove', node: nodeId(2) }),
  ],
  start: LEADS,
  bounds: { ...BOUNDS, entriesMax: 5, heartbeatsMax: 0, changesMax: 2, proposalsMax: 1 },
};

/** A new node takes the place of a voter in one step; it has heard from the leader already. */
export const JOINT: Variant = {
  ...CHANGES,
  name: 'joint change',
  nodes: [1, 2, 3, 4],
  changes: [
    change('joint', { type: 'add-voter', node: nodeId(4) }, { type: 'remove', node: nodeId(3) }),
  ],
  start: [
    ...LEADS,
    { node: 1, does: 'change' },
    { node: 2, gets: 'append', from: 1 },
    { node: 2, gets: 'append', from: 1 },
    { node: 1, gets: 'append-response', from: 2 },
    { node: 4, gets: 'append', from: 1 },
    { node: 1, gets: 'append-rejection', from: 4 },
    { node: 4, gets: 'append', from: 1 },
    { node: 1, gets: 'append-response', from: 4 },
    { node: 4, gets: 'append', from: 1 },
  ],
  bounds: { ...CHANGES.bounds, changesMax: 1 },
};

/** A node that had acknowledged entries loses them and comes back without a vote. */
export const LOSS: Variant = {
  ...PROMPT_DISK,
  name: 'lost entries',
  alike: [],
  start: LEADS,
  bounds: { ...BOUNDS, entriesMax: 4, crashesMax: 0, lossesMax: 1 },
};

function elected(node: number, voter: number): readonly Direction[] {
  return [
    { node, does: 'campaign' },
    { node: voter, gets: 'vote-request', from: node },
    { node, gets: 'vote-response', from: voter },
  ];
}

function change(
  transition: ConfigurationChange['transition'],
  ...changes: readonly NodeChange[]
): ConfigurationChange {
  return { changes, transition, context: new Uint8Array(0) };
}

/** All of them, those that find most first. */
export const VARIANTS: readonly Variant[] = [
  PROMPT_DISK,
  LATE_DISK,
  LOSS,
  PROMPT_DISK_LATER,
  LATE_DISK_LATER,
  CHANGES,
  JOINT,
  PRE_VOTE,
];
