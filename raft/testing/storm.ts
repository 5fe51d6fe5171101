/**
 * One run of a group under everything that may go wrong, chosen by a seed: a phase of faults, in
 * which the judge watches for broken promises, then a phase of calm, in which the group must come
 * to rest with one leader, equal states and a working log. Throws on a violation.
 */
import { assert } from '../assert.js';
import { isJoint, members, type NodeChange } from '../configuration.js';
import { nodeId } from '../identifiers.js';
import type { RaftSettings } from '../options.js';
import { Chance } from './chance.js';
import { ELECTION_MS, FakeGroup, type FakeNode } from './group.fake.js';
import { CALM } from './network.fake.js';

const NO_BYTES = new Uint8Array(0);

export interface StormReport {
  readonly settled: number;
  readonly reads: number;
  readonly snapshots: number;
  readonly configurations: number;
}

export function storm(seed: number, steps: number): StormReport {
  const chance = new Chance(seed ^ 0x5eed);
  const safe = chance.hits(0.7);
  const settings: Partial<RaftSettings> = {
    preVote: safe || chance.hits(0.5),
    checkQuorum: safe || chance.hits(0.5),
    reads: safe && chance.hits(0.5) ? 'lease' : 'quorum',
    inFlightMessagesMax: chance.between(1, 8),
    appendBytesMax: chance.between(1, 200),
    uncommittedBytesMax: chance.between(1, 100),
    applyingBytesMax: chance.between(1, 200),
    tailBytesMax: chance.hits(0.5) ? 0 : 1000,
  };
  const group = new FakeGroup({
    nodes: 1 + (seed % 5),
    spares: 2,
    seed,
    settings,
    diskShowsAccepted: chance.hits(0.5),
    keepEntries: chance.hits(0.6) ? chance.between(1, 20) : Infinity,
  });
  const scene = new Storm(group, chance, safe);
  for (let step = 0; step < steps; step++) scene.step();
  scene.calm();
  return scene.report();
}

class Storm {
  readonly #group: FakeGroup;
  readonly #chance: Chance;
  /** Removed members may disturb for ever unless both pre-vote and check-quorum are on. */
  readonly #changesMembers: boolean;
  #proposed = 0;
  readonly #faultProbability: number;

  constructor(group: FakeGroup, chance: Chance, changesMembers: boolean) {
    this.#group = group;
    this.#chance = chance;
    this.#changesMembers = changesMembers;
    this.#faultProbability = chance.pick([0.005, 0.02, 0.05, 0.1]) ?? 0;
    group.network.weather = {
      lossProbability: chance.pick([0, 0, 0.02, 0.1]) ?? 0,
      repeatProbability: chance.pick([0, 0.02, 0.2]) ?? 0,
      delayMsMax: chance.pick([0, 2, 5, 20]) ?? 0,
      stragglerProbability: chance.pick([0, 0.02, 0.1]) ?? 0,
      stragglerMsMax: 5 * ELECTION_MS,
    };
  }

  step(): void {
    const { chance, group } = this.#tools();
    group.nowMs += chance.between(0, 8);
    for (const node of group.nodes.values()) {
      if (!node.paused && chance.hits(0.8)) node.raft?.tick(group.nowMs);
    }
    for (let i = chance.between(0, 3); i > 0; i--) this.#useIt();
    if (chance.hits(this.#faultProbability)) this.#breakSomething();
    if (chance.hits(0.01)) this.#repairAll();
    for (const message of group.network.receive(group.nowMs)) group.deliver(message);
    for (const node of group.nodes.values()) {
      if (chance.hits(0.9)) group.handleReady(node);
      while (!node.diskHangs && node.disk.writesUnderWay > 0 && chance.hits(0.7)) {
        group.syncOne(node);
      }
    }
  }

  calm(): void {
    const { group } = this.#tools();
    group.network.weather = CALM;
    this.#repairAll();
    group.passUntil(() => {
      const leader = group.leader();
      return leader !== undefined && group.propose(leader, 'calm').accepted && this.#atRest(leader);
    }, 100 * ELECTION_MS);
  }

  report(): StormReport {
    const { group } = this.#tools();
    const count = (type: string): number =>
      group.network.sent.filter((message) => message.type === type).length;
    const leader = group.leader() ?? 1;
    return {
      settled: group.judge.settledIndex,
      reads: count('read-response'),
      snapshots: count('snapshot'),
      configurations: group.status(leader).configurationIndex === 0 ? 0 : 1,
    };
  }

  #repairAll(): void {
    const { group } = this.#tools();
    group.network.heal();
    for (const node of group.nodes.values()) {
      node.diskHangs = false;
      node.paused = false;
      if (node.raft?.status().appendFailed === true) group.crash(node.id);
      if (node.raft === undefined) group.start(node.id);
    }
    // A host knows which of its transfers never arrived.
    for (const { raft } of group.nodes.values()) {
      for (const id of group.ids) raft?.reportSnapshot(nodeId(id), 'failed');
    }
  }

  #atRest(leader: number): boolean {
    const { group } = this.#tools();
    group.pass(20);
    const status = group.status(leader);
    if (isJoint(status.configuration)) return false;
    const states = members(status.configuration).map((id) => group.node(id).state);
    return states.every(
      (state) => state.applied === status.lastIndex && state.digest === states[0]?.digest,
    );
  }

  #useIt(): void {
    const { chance, group } = this.#tools();
    const leaders = this.#running().filter((one) => one.lastRole === 'leader');
    const node = chance.pick(leaders.length > 0 && chance.hits(0.7) ? leaders : this.#running());
    if (node === undefined || node.paused || node.raft?.status().appendFailed !== false) return;
    const what = chance.between(0, 99);
    if (what < 2) node.raft.transferLeader(nodeId(chance.between(1, group.ids.length)));
    else if (what < 4 && this.#changesMembers) this.#changeMembers(node);
    else if (what < 40) group.read(node.id);
    else {
      this.#proposed++;
      group.propose(node.id, `p${this.#proposed}`);
    }
  }

  #changeMembers(node: FakeNode): void {
    const { chance, group } = this.#tools();
    const changes: NodeChange[] = [];
    for (let i = chance.between(0, 3); i > 0; i--) {
      changes.push({
        type: chance.pick(['add-voter', 'add-learner', 'remove'] as const) ?? 'remove',
        node: nodeId(chance.between(1, group.ids.length)),
      });
    }
    const status = node.raft?.status();
    if (status === undefined) return;
    const transition = chance.pick(['auto', 'auto', 'joint'] as const) ?? 'auto';
    const proposal = node.raft?.proposeConfiguration(
      { changes, transition, context: NO_BYTES },
      status.configurationIndex,
    );
    assert(
      proposal?.accepted !== true || status.role === 'leader',
      `node ${node.id} changes the members as ${status.role}`,
    );
  }

  /** A leader is the better target half of the time. */
  #breakSomething(): void {
    const { chance, group } = this.#tools();
    const leaders = this.#running().filter((one) => one.lastRole === 'leader');
    const leader = chance.hits(0.5) ? chance.pick(leaders) : undefined;
    const node = leader ?? group.node(chance.between(1, group.ids.length));
    switch (chance.between(0, 9)) {
      case 0:
      case 1:
        if (node.raft === undefined) group.start(node.id);
        else group.crash(node.id, chance.between(0, node.disk.writesUnderWay));
        return;
      case 2:
        node.raft?.appendFailed();
        group.handleReady(node);
        return;
      case 3:
        node.diskHangs = !node.diskHangs;
        return;
      case 4:
        node.paused = !node.paused;
        return;
      case 5:
        group.cutOff(node.id);
        return;
      case 6:
        group.network.cut(node.id, nodeId(chance.between(1, group.ids.length)));
        return;
      case 7:
        this.#split();
        return;
      case 8:
        node.raft?.reportSnapshot(nodeId(chance.between(1, group.ids.length)), 'failed');
        node.raft?.reportUnreachable(nodeId(chance.between(1, group.ids.length)));
        return;
      default:
        group.network.heal();
    }
  }

  #split(): void {
    const { chance, group } = this.#tools();
    const side = new Map(group.ids.map((id) => [id, chance.hits(0.5)]));
    for (const one of group.ids) {
      for (const other of group.ids) {
        if (side.get(one) !== side.get(other)) group.network.cut(nodeId(one), nodeId(other));
      }
    }
  }

  #running(): readonly FakeNode[] {
    return [...this.#group.nodes.values()].filter((node) => node.raft !== undefined);
  }

  #tools(): { readonly chance: Chance; readonly group: FakeGroup } {
    return { chance: this.#chance, group: this.#group };
  }
}
