/**
 * The promises of consensus, each checked from what can be seen from outside: what stands on which
 * plate, what a node says, leads, commits and applies. They are looked at after every step of every
 * run that the model tries.
 *
 * `History` is what a checker must remember because the nodes may forget it: who led which term,
 * who voted for whom, what was committed.
 */
import type { Entry } from '../../entry.js';
import type { Message } from '../../messages.js';
import { asItIs, entryText, type Rename } from './fingerprint.js';
import type { Machine } from './machine.js';
import { type Members, membersIn, quorumAgrees } from './naive-members.js';

export class Violation extends Error {
  override readonly name = 'Violation';
}

/** One place of a log: its term, and its whole content as a text. */
export interface Slot {
  readonly term: number;
  readonly text: string;
  readonly members: Members | null;
  readonly entry: Entry;
}

/** What the rules see of one node. */
export interface View {
  readonly id: number;
  readonly role: string;
  readonly term: number;
  readonly commit: number;
  readonly applied: number;
  /** The log as the node uses it. */
  readonly log: readonly Slot[];
  /** The log as a crash would leave it. */
  readonly plate: readonly Slot[];
  /** What it acknowledged and lost; as long as it does not vote, that counts as held. */
  readonly ghosts: readonly Entry[];
  readonly plateTerm: number;
  /** The configuration that the applied entries make, newest last; the founding one is first. */
  readonly inForce: readonly Members[];
}

interface Committed extends Slot {
  /** The term of the leader that committed it. */
  readonly by: number;
}

export interface History {
  /** `leaders[term]`, 0 for nobody. */
  readonly leaders: readonly number[];
  /** By voter and term: the node that got the vote. */
  readonly votes: ReadonlyMap<number, number>;
  readonly committed: readonly Committed[];
}

export const NO_HISTORY: History = { leaders: [], votes: new Map(), committed: [] };

export function viewOf(machine: Machine, founding: Members): View {
  const { core, disk, raft } = machine;
  const slots = (entries: readonly Entry[]): Slot[] =>
    entries.map((entry) => ({
      term: entry.term,
      text: entryText(entry, asItIs),
      members: entry.type === 'configuration' ? membersIn(entry.data) : null,
      entry,
    }));
  const log = slots(disk.accepted());
  const { role, term, commit, applied, configuration } = raft.status();
  const inForce = [founding];
  for (const { members } of log.slice(0, applied)) if (members !== null) inForce.push(members);
  const newest = inForce.at(-1) ?? founding;
  must(
    `${newest.voters}|${newest.outgoing}|${newest.learners}` ===
      `${configuration.voters}|${configuration.outgoing}|${configuration.learners}`,
    `node ${machine.id} uses the voters ${configuration.voters}, its log says ${newest.voters}`,
  );
  const plate = slots(disk.plate.entries);
  const { ghosts, hardState } = disk.plate;
  const plateTerm = hardState.term;
  must(core.log.last === log.length, `node ${machine.id} wrote ${log.length} of ${core.log.last}`);
  const { id } = machine;
  return { id, role, term, commit, applied, log, plate, ghosts, plateTerm, inForce };
}

/** Promises that one node keeps or breaks by itself. */
export function checkAlone(before: View, after: View, said: readonly Message[]): void {
  const { id, plate, plateTerm } = after;
  must(
    plateTerm >= before.plateTerm,
    `node ${id}: the term on its plate falls to ${plateTerm} from ${before.plateTerm}`,
  );
  must(
    after.applied <= after.commit && after.applied <= plate.length,
    `node ${id} applies ${after.applied}, committed ${after.commit}, on its plate ${plate.length}`,
  );
  must(after.commit <= after.log.length, `node ${id} commits ${after.commit} beyond its log`);
  for (const message of said) {
    switch (message.type) {
      case 'append-response':
        must(
          message.index <= plate.length && message.term <= plateTerm,
          `node ${id} acknowledges ${message.index}, its plate holds ${plate.length}`,
        );
        break;
      case 'vote-request':
      case 'vote-response':
        must(
          message.term <= plateTerm,
          `node ${id} says ${message.type} of term ${message.term}, on its plate is ${plateTerm}`,
        );
        break;
      default:
    }
  }
}

/** The memory of a step in which nothing new was committed. */
export function withStep(history: History, after: View, said: readonly Message[]): History {
  return withLeader(withVotes(history, said), after);
}

/**
 * No node votes or leads in a term that every plate has left behind, so the history forgets it.
 */
export function withoutTermsBefore(oldest: number, history: History): History {
  const isOld = (key: number): boolean => termOf(key) < oldest;
  const oldLeader = history.leaders.some((id, ofTerm) => id > 0 && ofTerm < oldest);
  if (!oldLeader && ![...history.votes.keys()].some(isOld)) return history;
  return {
    leaders: history.leaders.map((id, ofTerm) => (ofTerm < oldest ? 0 : id)),
    votes: new Map([...history.votes].filter(([key]) => !isOld(key))),
    committed: history.committed,
  };
}

/** Promises that show in the logs of all nodes, after the one with the view `after` has moved. */
export function checkLogs(history: History, views: readonly View[], after: View): void {
  for (const view of views) {
    if (view.role === 'leader') checkComplete(history, view);
    if (view.id !== after.id) checkMatching(after, view);
  }
}

/** One vote a term for each disk, its own candidacy included. */
function withVotes(history: History, said: readonly Message[]): History {
  let votes: Map<number, number> | undefined;
  for (const message of said) {
    const granted = message.type === 'vote-response' && message.granted;
    if (!granted && message.type !== 'vote-request') continue;
    const voted = granted ? message.to : message.from;
    const key = voteKey(message.from, message.term);
    const known = history.votes.get(key) ?? votes?.get(key);
    must(
      known === undefined || known === voted,
      `node ${message.from} votes for ${known} and ${voted} in term ${message.term}`,
    );
    if (known !== undefined) continue;
    votes ??= new Map(history.votes);
    votes.set(key, voted);
  }
  return votes === undefined ? history : { ...history, votes };
}

/** Election safety: one leader a term. */
function withLeader(history: History, view: View): History {
  if (view.role !== 'leader') return history;
  const known = history.leaders[view.term] ?? 0;
  must(
    known === 0 || known === view.id,
    `nodes ${known} and ${view.id} both lead term ${view.term}`,
  );
  if (known === view.id) return history;
  const leaders = [...history.leaders];
  while (leaders.length <= view.term) leaders.push(0);
  leaders[view.term] = view.id;
  return { ...history, leaders };
}

/**
 * Committed entries never change; only a leader commits, an entry of its own term, which the
 * plates of a quorum hold, and with it everything before.
 */
export function withCommitted(
  history: History,
  before: View,
  views: readonly View[],
  after: View,
): History {
  const { id, commit, log } = after;
  const known = Math.min(commit, history.committed.length);
  for (let index = 1; index <= known; index++) {
    const [own, settled] = [log[index - 1], history.committed[index - 1]];
    must(
      own?.text === settled?.text,
      `node ${id} holds ${own?.text} committed at ${index}, where ${settled?.text} was`,
    );
  }
  if (commit <= history.committed.length) return history;
  const leads = before.role === 'leader' || after.role === 'leader';
  must(leads, `node ${id} commits ${commit}, no leader did`);
  const by = before.role === 'leader' ? before.term : after.term;
  const newest = log[commit - 1];
  must(newest?.term === by, `node ${id} of term ${by} commits ${newest?.text} at ${commit} alone`);
  const held = (members: Members): boolean =>
    quorumAgrees(members, (node) =>
      views.some((view) => view.id === node && holds(view, commit, newest)),
    );
  // Configurations that it applied in this very step may have followed.
  const inForce = after.inForce.slice(before.inForce.length - 1);
  must(
    inForce.some(held),
    `node ${id} commits ${commit} of term ${by}, and no quorum holds it on its plates`,
  );
  const more = log.slice(history.committed.length, commit).map((slot) => ({ ...slot, by }));
  return { ...history, committed: [...history.committed, ...more] };
}

function holds(view: View, index: number, slot: Slot | undefined): boolean {
  if (slot === undefined || view.plate[index - 1]?.text === slot.text) return true;
  return view.ghosts.some((entry) => entry.index === index && entry.term === slot.term);
}

/** Leader completeness: it holds all that leaders before it committed. */
function checkComplete(history: History, leader: View): void {
  history.committed.forEach((settled, place) => {
    const own = leader.log[place];
    if (settled.by >= leader.term || own?.text === settled.text) return;
    must(
      false,
      `leader ${leader.id} of term ${leader.term} has ${own?.text} at ${place + 1}, ` +
        `committed was ${settled.text}`,
    );
  });
}

/** Log matching: one term at one index, and everything up to there is the same. */
function checkMatching(one: View, other: View): void {
  const known = matching.get(one);
  if (known?.has(other) === true) return;
  checkPrefix(one.id, one.log, other.id, other.log);
  checkPrefix(one.id, one.plate, other.id, other.plate);
  if (known === undefined) matching.set(one, new Set([other]));
  else known.add(other);
}

/** Pairs that were found right. */
const matching: WeakMap<View, Set<View>> = new WeakMap();

function checkPrefix(id: number, log: readonly Slot[], otherId: number, other: readonly Slot[]) {
  let place = Math.min(log.length, other.length) - 1;
  while (place >= 0 && log[place]?.term !== other[place]?.term) place--;
  for (; place >= 0; place--) {
    const [one, another] = [log[place]?.text, other[place]?.text];
    if (one === another) continue;
    must(
      false,
      `nodes ${id} and ${otherId} have ${one} and ${another} at ${place + 1}, ` +
        'below a place where their terms are equal',
    );
  }
}

export function historyText(history: History, rename: Rename): string {
  const leaders = history.leaders.map(rename).join();
  const votes = [...history.votes].map(([key, voted]) => {
    return `${rename(voterOf(key))}:${termOf(key)}:${rename(voted)}`;
  });
  const committed = history.committed.map(({ entry, by }) => `${entryText(entry, rename)}@${by}`);
  return `${leaders}/${votes.sort().join()}/${committed.join()}`;
}

const VOTERS_MAX = 16;
const voteKey = (voter: number, ofTerm: number): number => ofTerm * VOTERS_MAX + voter;
const voterOf = (key: number): number => key % VOTERS_MAX;
const termOf = (key: number): number => Math.floor(key / VOTERS_MAX);

function must(condition: boolean, text: string): void {
  if (!condition) throw new Violation(text);
}
