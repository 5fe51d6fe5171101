/**
 * Faults that strike at the worst moment: right after a node has promised, asked, appended, led or
 * committed something. A storm draws a few pairs of a moment and a blow; what a random fault would
 * hit once in millions of runs is hit every other run.
 */
import { nodeId } from '../identifiers.js';
import type { Message } from '../messages.js';
import type { Chance } from './chance.js';
import { ELECTION_MS, type FakeGroup, type FakeNode } from './group.fake.js';

const MOMENTS = [
  'voted',
  'asked for votes',
  'acknowledged',
  'promised',
  'handed over',
  'appended',
  'elected',
  'committed',
  'reconfigured',
  'started',
] as const;
type Moment = (typeof MOMENTS)[number];

const BLOWS = [
  'restart',
  'restart',
  'cut off',
  'cut off',
  'pair',
  'hang',
  'stop',
  'rival',
] as const;
type Blow = (typeof BLOWS)[number];

interface Reflex {
  readonly moment: Moment;
  readonly blow: Blow;
  readonly probability: number;
}

/** What was last seen of a node. */
interface Seen {
  readonly raft: object;
  readonly role: string;
  readonly commit: number;
  readonly lastIndex: number;
  readonly configurationIndex: number;
}

const REFLEXES_MAX = 4;

export class StormReflexes {
  readonly #group: FakeGroup;
  readonly #chance: Chance;
  readonly #reflexes: readonly Reflex[];
  readonly #seen: Map<FakeNode, Seen> = new Map();
  readonly #later: { readonly atMs: number; readonly run: () => void }[] = [];
  #heard = 0;

  constructor(group: FakeGroup, chance: Chance) {
    this.#group = group;
    this.#chance = chance;
    const count = chance.hits(0.3) ? 0 : chance.between(1, REFLEXES_MAX);
    this.#reflexes = Array.from({ length: count }, () => ({
      moment: chance.pick(MOMENTS) ?? 'elected',
      blow: chance.pick(BLOWS) ?? 'restart',
      probability: chance.pick([0.02, 0.1, 0.4, 0.8]) ?? 0,
    }));
  }

  /** Blows that were put off, such as the end of another. */
  tick(): void {
    for (let place = this.#later.length - 1; place >= 0; place--) {
      const due = this.#later[place];
      if (due === undefined || due.atMs > this.#group.nowMs) continue;
      this.#later.splice(place, 1);
      due.run();
    }
  }

  /** Called after everything that a node does. */
  watch(node: FakeNode): void {
    if (this.#reflexes.length === 0) return;
    const moments = [...this.#momentsSaid(node), ...this.#momentsSeen(node)];
    for (const { moment, blow, probability } of this.#reflexes) {
      if (moments.includes(moment) && this.#chance.hits(probability)) this.#strike(node, blow);
    }
  }

  #momentsSaid(node: FakeNode): readonly Moment[] {
    const { sent } = this.#group.network;
    const moments: Moment[] = [];
    for (; this.#heard < sent.length; this.#heard++) {
      const message = sent[this.#heard];
      if (message?.from !== node.id) continue;
      const moment = momentOf(message);
      if (moment !== undefined) moments.push(moment);
    }
    return moments;
  }

  #momentsSeen(node: FakeNode): readonly Moment[] {
    const { raft } = node;
    if (raft === undefined) return [];
    const { role, commit, lastIndex, configurationIndex } = raft.status();
    const before = this.#seen.get(node);
    this.#seen.set(node, { raft, role, commit, lastIndex, configurationIndex });
    if (before?.raft !== raft) return ['started'];
    const moments: Moment[] = [];
    if (role === 'leader') {
      if (before.role !== 'leader') moments.push('elected');
      if (lastIndex > before.lastIndex) moments.push('appended');
      if (commit > before.commit) moments.push('committed');
    }
    if (configurationIndex !== before.configurationIndex) moments.push('reconfigured');
    return moments;
  }

  #strike(node: FakeNode, blow: Blow): void {
    const { network, ids } = this.#group;
    const chance = this.#chance;
    switch (blow) {
      case 'restart': {
        if (node.raft === undefined) return;
        this.#group.crash(node.id, 0);
        this.#after(chance.pick([0, 0, 5, 50]) ?? 0, () => {
          if (node.raft === undefined) this.#group.start(node.id);
        });
        return;
      }
      case 'cut off':
        // The others find together, whatever kept them apart.
        if (chance.hits(0.7)) network.heal();
        this.#group.cutOff(node.id);
        this.#after(chance.between(0, 4 * ELECTION_MS), () => network.heal());
        return;
      case 'pair': {
        const friend = chance.pick(ids);
        if (chance.hits(0.7)) network.heal();
        for (const other of ids) {
          if (other !== node.id && other !== friend) network.cutBoth(node.id, nodeId(other));
        }
        this.#after(chance.between(0, 3 * ELECTION_MS), () => network.heal());
        return;
      }
      case 'hang':
        node.diskHangs = true;
        this.#after(chance.between(0, ELECTION_MS), () => {
          node.diskHangs = false;
        });
        return;
      case 'stop':
        node.paused = true;
        this.#after(chance.between(0, 2 * ELECTION_MS), () => {
          node.paused = false;
        });
        return;
      case 'rival':
        for (const rival of this.#group.nodes.values()) {
          if (chance.hits(0.5) && !rival.paused) rival.raft?.campaign();
        }
    }
  }

  #after(ms: number, run: () => void): void {
    this.#later.push({ atMs: this.#group.nowMs + ms, run });
  }
}

function momentOf(message: Message): Moment | undefined {
  switch (message.type) {
    case 'vote-response':
      return message.granted ? 'voted' : undefined;
    case 'vote-request':
      return 'asked for votes';
    case 'append-response':
      return message.index > 0 ? 'acknowledged' : undefined;
    case 'heartbeat-response':
      return 'promised';
    case 'timeout-now':
      return 'handed over';
    default:
      return undefined;
  }
}
