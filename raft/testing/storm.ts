/**
 * One run of a group under everything that may go wrong, chosen by a seed: a phase of faults, in
 * which the judge watches for broken promises, then a phase of calm, in which the group must come
 * to rest with one leader, equal states and a working log. Throws on a violation.
 */
import { assert } from '../assert.js';
import { isJoint, members, type NodeChange } from '../configuration.js';
import { nodeId } from '../identifiers.js';
import { Chance } from './chance.js';
import { ELECTION_MS, FakeGroup, type FakeNode } from './group.fake.js';
import { CALM, type Weather } from './network.fake.js';
import { StormClocks } from './storm-clocks.js';
import { drawPlan, type Focus, type StormPlan } from './storm-plan.js';
import type { Play, Stage, Wait } from './storm-plays.js';
import { StormReflexes } from './storm-reflexes.js';

const NO_BYTES = new Uint8Array(0);

const SLOW: Weather = {
  ...CALM,
  stragglerProbability: 1,
  stragglerMsMax: 4 * ELECTION_MS,
};

export interface StormReport {
  readonly settled: number;
  readonly reads: number;
  readonly snapshots: number;
  readonly configurations: number;
}

export function storm(seed: number, steps: number, focus?: Focus): StormReport {
  const chance = new Chance(seed ^ 0x5eed);
  const plan = drawPlan(seed, chance, focus);
  const { nodes, settings, diskShowsAccepted, keepEntries } = plan;
  const group = new FakeGroup({ nodes, spares: 2, seed, settings, diskShowsAccepted, keepEntries });
  const scene = new Storm(group, chance, plan);
  for (let step = 0; step < steps; step++) scene.step();
  scene.calm();
  return scene.report();
}

class Storm {
  readonly #group: FakeGroup;
  readonly #chance: Chance;
  readonly #plan: StormPlan;
  readonly #clocks: StormClocks;
  readonly #reflexes: StormReflexes;
  readonly #stage: Stage;
  readonly #clockStopped: Map<FakeNode, number> = new Map();
  #slowUntilMs = 0;
  #weatherOfPlay = CALM;
  #play: Play | undefined;
  #wait: (Wait & { readonly endMs: number }) | undefined;
  #proposed = 0;

  constructor(group: FakeGroup, chance: Chance, plan: StormPlan) {
    this.#group = group;
    this.#chance = chance;
    this.#plan = plan;
    this.#clocks = new StormClocks(group, chance, plan.settings.reads === 'lease');
    this.#reflexes = new StormReflexes(group, chance);
    this.#stage = {
      group,
      chance,
      propose: (node) => this.#propose(node),
      read: (node) => this.#read(node),
      remove: (from, member) => {
        this.#proposeChange(from, [{ type: 'remove', node: nodeId(member) }], 'auto', true);
      },
      replaceAll: (from) => this.#replaceAll(from),
      enlarge: (from) => this.#enlarge(from),
      stopClock: (node, ms) => this.#clockStopped.set(node, group.nowMs + ms),
      slowFor: (ms) => {
        this.#slowUntilMs = group.nowMs + ms;
      },
    };
  }

  step(): void {
    const { chance, group } = this.#tools();
    this.#clocks.advance(chance.between(0, 8));
    for (const node of group.nodes.values()) {
      const looks = (this.#clockStopped.get(node) ?? 0) <= group.nowMs && chance.hits(0.8);
      if (!node.paused && looks) node.raft?.tick(this.#clocks.nowMs(node));
    }
    for (let i = chance.between(0, 3); i > 0; i--) this.#useIt();
    if (chance.hits(this.#plan.faultProbability)) this.#breakSomething();
    // Help would spoil most of a play.
    if (chance.hits(this.#play === undefined ? 0.01 : 0.001)) this.#repairAll();
    this.#goOnWithPlay();
    group.network.weather = this.#weatherNow();
    this.#reflexes.tick();
    for (const message of group.network.receive(group.nowMs)) {
      const node = group.node(message.to);
      // Entries to send may have to come from a disk; entries to apply are at hand.
      node.disk.cold = chance.hits(this.#plan.coldProbability);
      group.deliver(message);
      node.disk.cold = false;
      this.#reflexes.watch(node);
    }
    for (const node of group.nodes.values()) {
      if (chance.hits(0.9)) group.handleReady(node);
      this.#reflexes.watch(node);
      while (!node.diskHangs && node.disk.writesUnderWay > 0 && chance.hits(0.7)) {
        group.syncOne(node);
        this.#reflexes.watch(node);
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

  #goOnWithPlay(): void {
    const { chance, group } = this.#tools();
    if (this.#wait !== undefined) {
      if (!this.#wait.until() && group.nowMs < this.#wait.endMs) return;
      this.#wait = undefined;
    }
    if (this.#play === undefined) {
      if (!chance.hits(this.#plan.playProbability)) return;
      group.network.heal();
      this.#play = chance.pick(this.#plan.plays)?.(this.#stage);
      this.#weatherOfPlay = chance.hits(0.7) ? CALM : this.#plan.weather;
    }
    const next = this.#play?.next();
    if (next === undefined || next.done === true) {
      this.#play = undefined;
      group.network.heal();
    } else {
      this.#wait = { ...next.value, endMs: group.nowMs + next.value.msMax };
    }
  }

  #weatherNow(): Weather {
    if (this.#group.nowMs < this.#slowUntilMs) return SLOW;
    return this.#play === undefined ? this.#plan.weather : this.#weatherOfPlay;
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
    else if (what < 4 && this.#plan.changesMembers) this.#changeMembers(node);
    else if (what < 40) this.#read(node);
    else this.#propose(node);
  }

  #propose(node: FakeNode): void {
    if (node.raft === undefined || node.paused) return;
    this.#proposed++;
    this.#group.propose(node.id, `p${this.#proposed}`);
  }

  /** As `group.read`, by the node's own clock. */
  #read(node: FakeNode): void {
    if (node.paused) return;
    const ticket = node.raft?.readIndex(this.#clocks.nowMs(node));
    if (ticket?.accepted === true) node.reads.set(ticket.id, this.#group.judge.settledIndex);
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
    this.#proposeChange(node, changes, chance.pick(['auto', 'auto', 'joint'] as const) ?? 'auto');
  }

  /** Every node votes. */
  #enlarge(node: FakeNode): void {
    const changes = this.#group.ids.map((id) => ({ type: 'add-voter', node: nodeId(id) }) as const);
    this.#proposeChange(node, changes, 'joint', true);
  }

  /** The spares, and all voters but the leader leave, in one joint step. */
  #replaceAll(node: FakeNode): void {
    const voters = node.raft?.status().configuration.voters ?? [];
    const changes: NodeChange[] = this.#group.ids
      .filter((id) => id !== node.id)
      .map((id) => ({
        type: voters.includes(nodeId(id)) ? 'remove' : 'add-voter',
        node: nodeId(id),
      }));
    this.#proposeChange(node, changes, 'joint', true);
  }

  #proposeChange(
    node: FakeNode,
    changes: readonly NodeChange[],
    transition: 'auto' | 'joint',
    force = this.#chance.hits(0.7),
  ): void {
    const status = node.raft?.status();
    if (status === undefined || status.appendFailed) return;
    const proposal = node.raft?.proposeConfiguration(
      { changes, transition, context: NO_BYTES },
      status.configurationIndex,
      { force },
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
        else {
          group.crash(node.id, chance.between(0, node.disk.writesUnderWay));
          if (this.#plan.losesEntries) this.#loseEntries(node);
        }
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

  /** The end of its log is damaged; of the members only one at a time may have that behind it. */
  #loseEntries(node: FakeNode): void {
    const { chance, group } = this.#tools();
    if ([...group.nodes.values()].some((one) => one.recovering)) return;
    if (chance.hits(0.5)) group.lose(node.id, node.disk.lastIndex() - chance.between(0, 10));
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
