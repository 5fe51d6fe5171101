/**
 * Short plays against a group: an adversary who knows the roles and cuts, restarts and campaigns in
 * the order that once broke a protocol. Each is a script with chance in its times and choices; the
 * rest of the storm goes on around it. None asks for more than a network, a disk or a host may do.
 */
import type { Chance } from './chance.js';
import { ELECTION_MS, type FakeGroup, type FakeNode } from './group.fake.js';

/** The play goes on when it has come true, or after the time. */
export interface Wait {
  readonly until: () => boolean;
  readonly msMax: number;
}

export type Play = Generator<Wait, void, void>;

/** What the plays need of the storm. */
export interface Stage {
  readonly group: FakeGroup;
  readonly chance: Chance;
  readonly propose: (node: FakeNode) => void;
  readonly read: (node: FakeNode) => void;
  readonly remove: (from: FakeNode, member: number) => void;
  readonly replaceAll: (from: FakeNode) => void;
  readonly enlarge: (from: FakeNode) => void;
  /** The node's host does not look at its clock. */
  readonly stopClock: (node: FakeNode, ms: number) => void;
  /** Messages sent within this time travel for up to `ELECTION_MS` times five. */
  readonly slowFor: (ms: number) => void;
}

/** A few messages there and back. */
const QUICK_MS = 60;
const STEP_MS = 5;
const CAMPAIGN_MS = 60;
/** Two changes of one voter each can part these into halves that agree without each other. */
const MANY = 4;

/**
 * An entry of an old term, counted: a leader keeps its entry for itself, another is elected and
 * does the same, the first comes back, copies its old entry and is cut off again; then the second.
 */
export function* oldEntry(stage: Stage): Play {
  const { group } = stage;
  const first = yield* anyLeader(stage);
  if (first === undefined) return;
  group.cutOff(first.id);
  stage.propose(first);
  yield* until(() => rival(stage, first) !== undefined, 6 * ELECTION_MS);
  const second = rival(stage, first);
  if (second === undefined) return;
  group.network.heal();
  group.cutOff(second.id);
  stage.propose(second);
  yield* campaigning(first, () => leads(first), 4 * ELECTION_MS);
  const commit = first.raft?.status().commit ?? 0;
  yield* until(() => (first.raft?.status().commit ?? 0) > commit, ELECTION_MS);
  group.network.heal();
  group.cutOff(first.id);
  yield* campaigning(second, () => leads(second), 4 * ELECTION_MS);
  yield* pause(20);
}

/**
 * A voter whose disk is slow says yes to one candidate, restarts, and is asked by another in the
 * same term; the first, if it leads by then, cannot tell the voter.
 */
export function* forgetfulVoter(stage: Stage): Play {
  const { group } = stage;
  yield* silence(stage);
  const [one, other, voter] = sameTerm(stage);
  if (one === undefined || other === undefined || voter === undefined) return;
  group.network.join(one.id, voter.id);
  const asked = listen(stage, one, 'vote-request');
  yield* campaigning(one, asked, 2 * QUICK_MS);
  voter.diskHangs = true;
  yield* until(listen(stage, voter, 'vote-response'), QUICK_MS);
  group.network.cut(one.id, voter.id);
  yield* until(() => leads(one), QUICK_MS);
  restart(stage, voter);
  group.network.join(other.id, voter.id);
  yield* campaigning(other, () => leads(other), 2 * QUICK_MS);
}

/**
 * A candidate whose disk stands still may win without its own vote. It forgets all of it, and asks
 * for the same term again.
 */
export function* forgetfulCandidate(stage: Stage): Play {
  const { group, chance } = stage;
  yield* silence(stage);
  const node = chance.pick(running(stage));
  const friend = chance.pick(running(stage).filter((other) => other !== node));
  if (node === undefined || friend === undefined) return;
  group.network.heal();
  node.diskHangs = true;
  yield* campaigning(node, () => leads(node), 3 * QUICK_MS);
  if (leads(node)) {
    group.cutOff(node.id);
    group.network.join(node.id, friend.id);
    for (let i = chance.between(1, 3); i > 0; i--) stage.propose(node);
    yield* pause(chance.between(5, QUICK_MS));
  }
  group.network.heal();
  if (chance.hits(0.5)) group.cutOff(friend.id);
  restart(stage, node);
  yield* campaigning(node, () => leads(node), 4 * QUICK_MS);
  for (let i = chance.between(1, 3); i > 0; i--) stage.propose(node);
  yield* pause(QUICK_MS);
}

/**
 * The end of a lease: a leader is heard by just a quorum, until one of that turns to the others.
 * The leader, cut off, still answers reads.
 */
export function* betrayal(stage: Stage): Play {
  const { group, chance } = stage;
  const king = yield* anyLeader(stage);
  const voters = king?.raft?.status().configuration.voters ?? [];
  const others = running(stage).filter((node) => node !== king && voters.includes(node.id));
  const court = others.slice(0, voters.length >> 1);
  const traitor = chance.pick(court);
  if (king === undefined || traitor === undefined) return;
  for (const node of others) {
    if (!court.includes(node)) group.network.cutBoth(king.id, node.id);
  }
  yield* pause(chance.between(ELECTION_MS, 3 * ELECTION_MS));
  if (!leads(king)) return;
  const how = chance.pick(['restart', 'campaign', 'hand over', 'stopped clock'] as const);
  if (how === 'stopped clock') {
    stage.stopClock(traitor, 90);
    yield* pause(90);
  }
  if (how === 'hand over') {
    king.raft?.transferLeader(traitor.id);
    yield* until(() => traitor.raft?.status().role !== 'follower', QUICK_MS);
  }
  group.cutOff(king.id);
  if (how === 'restart') restart(stage, traitor);
  const endMs = group.nowMs + 2 * ELECTION_MS;
  while (group.nowMs < endMs) {
    if (isIdle(traitor)) urge(traitor);
    const next = rival(stage, king);
    if (next !== undefined) stage.propose(next);
    stage.read(king);
    yield* pause(4);
  }
}

/**
 * The answer to a heartbeat is late. When it arrives, another leads and has committed; a read that
 * began after that must not take it for an answer to itself.
 */
export function* lateAnswer(stage: Stage): Play {
  const { group, chance } = stage;
  const king = yield* anyLeader(stage);
  const others = running(stage).filter((node) => node !== king);
  const friend = chance.pick(others);
  const heir = chance.pick(others.filter((node) => node !== friend));
  if (king === undefined || friend === undefined || heir === undefined) return;
  // Its host is slow to look at the clock: no newer heartbeat leaves, and it does not step down.
  stage.stopClock(king, 4 * ELECTION_MS);
  stage.read(king);
  yield* pause(1);
  stage.slowFor(STEP_MS);
  yield* pause(2 * STEP_MS);
  // Nothing goes out any more; what the friend has said still comes in.
  group.cutOff(king.id);
  group.network.join(friend.id, king.id);
  group.network.cut(king.id, friend.id);
  const endMs = group.nowMs + 4 * ELECTION_MS;
  while (group.nowMs < endMs && leads(king)) {
    if (isIdle(heir) && chance.hits(0.3)) urge(heir);
    if (leads(heir)) stage.propose(heir);
    stage.read(king);
    yield* pause(STEP_MS);
  }
}

/** A leader changes the members faster than the others learn of it, and is cut off. */
export function* hastyChanges(stage: Stage): Play {
  const { group, chance } = stage;
  const king = yield* leaderOfMany(stage);
  const voters = king?.raft?.status().configuration.voters ?? [];
  const [one, other] = voters.filter((id) => id !== king?.id);
  if (king === undefined || one === undefined || other === undefined) return;
  const index = (): number => king.raft?.status().configurationIndex ?? 0;
  const before = index();
  stage.remove(king, one);
  if (chance.hits(0.5)) yield* pause(chance.between(0, 10));
  stage.remove(king, other);
  yield* until(() => index() > before, ELECTION_MS);
  const first = index();
  yield* until(() => index() > first, chance.between(0, 20));
  group.network.heal();
  for (const id of group.ids) {
    if (id === king.id || id === one) continue;
    group.network.cutBoth(king.id, group.node(id).id);
    group.network.cutBoth(one, group.node(id).id);
  }
  const endMs = group.nowMs + 4 * ELECTION_MS;
  while (group.nowMs < endMs) {
    stage.propose(king);
    const heir = chance.pick(running(stage).filter((node) => node !== king && isIdle(node)));
    if (heir !== undefined && chance.hits(0.3)) urge(heir);
    const next = rival(stage, king);
    if (next !== undefined) stage.propose(next);
    yield* pause(10);
  }
}

/** The new members of a joint configuration against the old ones, both after an election. */
export function* oldAgainstNew(stage: Stage): Play {
  const { group, chance } = stage;
  const king = yield* leaderOfMany(stage);
  if (king === undefined) return;
  const old = king.raft?.status().configuration.voters ?? [];
  const before = king.raft?.status().configurationIndex ?? 0;
  stage.replaceAll(king);
  const learned = (): boolean =>
    running(stage).some((node) => {
      const status = node.raft?.status();
      return !old.includes(node.id) && (status?.configurationIndex ?? 0) > before;
    });
  yield* until(learned, 2 * ELECTION_MS);
  group.network.heal();
  for (const one of group.nodes.values()) {
    for (const other of group.nodes.values()) {
      if (old.includes(one.id) !== old.includes(other.id)) group.network.cut(one.id, other.id);
    }
  }
  if (chance.hits(0.5)) group.cutOff(king.id);
  const endMs = group.nowMs + 3 * ELECTION_MS;
  while (group.nowMs < endMs) {
    if (chance.hits(0.2)) for (const node of running(stage).filter(isIdle)) urge(node);
    for (const node of running(stage).filter(leads)) stage.propose(node);
    yield* pause(10);
  }
}

/** No node hears another until every leader has given up and every promise has run out. */
function* silence({ group, chance }: Stage): Play {
  for (const id of group.ids) group.cutOff(id);
  yield* pause(chance.between(2, 3) * ELECTION_MS);
}

/** Two candidates and a voter, all of one term when chance wants it so. */
function sameTerm(stage: Stage): readonly FakeNode[] {
  const nodes = running(stage).filter((node) => !leads(node));
  const pivot = stage.chance.pick(nodes);
  const termOf = (node: FakeNode | undefined): number => node?.raft?.status().term ?? -1;
  const alike = nodes.filter((node) => node !== pivot && termOf(node) === termOf(pivot));
  const [other] = alike;
  const voter = nodes.find((node) => node !== pivot && node !== other);
  return pivot === undefined || other === undefined || voter === undefined
    ? []
    : [pivot, other, voter];
}

function* campaigning(node: FakeNode, done: () => boolean, msMax: number): Play {
  for (let leftMs = msMax; leftMs > 0 && !done(); leftMs -= STEP_MS) {
    if (leftMs % CAMPAIGN_MS === 0 || isIdle(node)) urge(node);
    yield* until(done, STEP_MS);
  }
}

/** A node that is asked again amid a campaign begins it anew, and would never win. */
function isIdle(node: FakeNode): boolean {
  return node.raft?.status().role === 'follower';
}

function urge(node: FakeNode): void {
  if (!node.paused) node.raft?.campaign();
}

function* until(condition: () => boolean, msMax: number): Play {
  yield { until: condition, msMax };
}

function* pause(ms: number): Play {
  yield { until: () => false, msMax: ms };
}

/** Whether the node has said something of this type since now. */
function listen({ group }: Stage, node: FakeNode, type: string): () => boolean {
  let heard = group.network.sent.length;
  let said = false;
  return () => {
    const { sent } = group.network;
    for (; heard < sent.length; heard++) {
      if (sent[heard]?.from === node.id && sent[heard]?.type === type) said = true;
    }
    return said;
  };
}

function restart({ group }: Stage, node: FakeNode): void {
  if (node.raft !== undefined) group.crash(node.id, 0);
  group.start(node.id);
}

function leads(node: FakeNode): boolean {
  return node.raft?.status().role === 'leader';
}

/** A leader that has one to talk to; undefined when none comes. */
function* anyLeader(stage: Stage): Generator<Wait, FakeNode | undefined, void> {
  const leaders = (): readonly FakeNode[] => running(stage).filter(leads);
  yield { until: () => leaders().length > 0, msMax: 5 * ELECTION_MS };
  return stage.chance.pick(leaders());
}

/** The group is enlarged first when it has become small. */
function* leaderOfMany(stage: Stage): Generator<Wait, FakeNode | undefined, void> {
  const king = yield* anyLeader(stage);
  const voters = (): number => king?.raft?.status().configuration.voters.length ?? 0;
  if (king === undefined || voters() >= MANY) return king;
  stage.enlarge(king);
  const settled = (): boolean =>
    voters() >= MANY && king.raft?.status().configuration.outgoing.length === 0;
  yield* until(settled, 2 * ELECTION_MS);
  return settled() && leads(king) ? king : undefined;
}

function rival(stage: Stage, king: FakeNode): FakeNode | undefined {
  return running(stage).find((node) => node !== king && leads(node));
}

function running({ group }: Stage): readonly FakeNode[] {
  return [...group.nodes.values()].filter((node) => node.raft !== undefined && !node.paused);
}
