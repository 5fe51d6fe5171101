/**
 * The one who runs the cluster: adds machines, promotes, removes, moves the leadership, and brings
 * back a machine that lost its directory by the procedure for it: the old member is removed, the
 * new one added as a learner, then promoted.
 *
 * It has a wish (which machines shall vote) and looks from time to time at what the leader says.
 * Each look takes at most one step towards the wish, so a change of leader, a refusal or a lost
 * answer costs a look and nothing else.
 *
 * What must hold: it asks for nothing that the faults allowed so far could not survive. It changes
 * its wish only when nothing that was lost is still missing, and as a rule when the last one has
 * come true.
 */
import { memberId, type Node } from '@svc/broker';
import type { NodeChange, NodeId, Status } from '@svc/raft';
import type { SeededRandom } from '../seeded-random.js';
import type { SimulatedLoop } from './simulated-loop.js';
import type { SimulatedMachine } from './simulated-machine.js';

export interface OperatorOptions {
  readonly loop: SimulatedLoop;
  readonly random: SeededRandom;
  readonly machines: readonly SimulatedMachine[];
  readonly founders: readonly number[];
  readonly note: (text: string) => void;
}

const LOOK_MS = 250;
/** The simulated network knows machines by their numbers. */
const NO_ADDRESSES: MemberChange['added'] = [];

type MemberChange = Parameters<Node['parts']['group']['change']>[0];

export class Operator {
  readonly #options: OperatorOptions;
  #wish: Set<number>;
  /** When the change that is under way was asked for; null: none is. */
  #askedMs: number | null = null;
  changes = 0;

  constructor(options: OperatorOptions) {
    this.#options = options;
    this.#wish = new Set(options.founders);
    this.#lookLater();
  }

  /** The machine whose node leads in the newest term; null when none does. */
  get leader(): SimulatedMachine | null {
    let newest: SimulatedMachine | null = null;
    let term = 0;
    for (const machine of this.#options.machines) {
      const status = machine.status;
      if (status === null || !status.leading || machine.paused || status.term <= term) continue;
      newest = machine;
      term = status.term;
    }
    return newest;
  }

  /** Whether the leader of the moment sees exactly the voters that are wished for. */
  get content(): boolean {
    const status = this.leader?.status;
    return status != null && this.#nextStep(status) === null;
  }

  wishes(machine: number): boolean {
    return this.#wish.has(machine);
  }

  get wished(): number {
    return this.#wish.size;
  }

  /**
   * Draws another set of voters; false when that would not be safe now. `halfway`: only while the
   * last wish has not come true, such as while a new member is being caught up.
   */
  changeWish(random: SeededRandom, halfway: boolean): boolean {
    const { machines, note } = this.#options;
    if (this.content === halfway || machines.some((machine) => machine.impaired)) return false;
    const inside = machines.filter(({ number }) => this.#wish.has(number));
    const outside = machines.filter(({ number }) => !this.#wish.has(number));
    const least = Math.max(1, this.#options.founders.length - 1);
    const leaves = inside.length > least && (outside.length === 0 || random.chance(0.5));
    const comes = outside.length > 0 && (!leaves || random.chance(0.5));
    const wish = new Set(this.#wish);
    if (leaves) wish.delete(random.pick(inside).number);
    if (comes) wish.add(random.pick(outside).number);
    if (!leaves && !comes) return false;
    this.#wish = wish;
    note(`wish ${[...wish].sort().join(' ')}`);
    return true;
  }

  /** Hands the leadership to another voter; false when there is none. */
  transfer(random: SeededRandom): boolean {
    const { leader } = this;
    const status = leader?.status;
    if (leader === null || status == null) return false;
    const others = status.configuration.voters.filter((id) => id !== status.id);
    if (others.length === 0) return false;
    const target = random.pick(others);
    this.#options.note(`transfer from ${status.id} to ${target}`);
    leader.enter(() => leader.node?.parts.consensus.transfer(target));
    return true;
  }

  #lookLater(): void {
    const { loop, random } = this.#options;
    loop.schedule(LOOK_MS * (0.5 + random.next()), null, () => {
      this.#look();
      this.#lookLater();
    });
  }

  #look(): void {
    const { loop, note } = this.#options;
    const { leader } = this;
    const status = leader?.status;
    if (leader === null || status == null) return;
    // A change whose leader went away may never be answered.
    if (this.#askedMs !== null && loop.nowMs < this.#askedMs + 5000) return;
    const step = this.#nextStep(status);
    if (step === null || step === NOTHING_YET) return;
    const text = step.changes.map(({ type, node }) => `${type} ${node}`).join(', ');
    this.#askedMs = loop.nowMs;
    leader.enter(() => {
      leader.node?.parts.group.change(step, status.configurationIndex, false, (result) => {
        this.#askedMs = null;
        if (result.accepted) this.changes++;
        note(`members ${text}: ${result.accepted ? result.index : result.reason}`);
      });
    });
  }

  /** null: all is as it shall be. */
  #nextStep({ configuration }: Status): MemberChange | null {
    const { voters, learners, outgoing, promoting } = configuration;
    // A joint configuration is left by itself.
    if (outgoing.length > 0) return NOTHING_YET;
    const wanted = this.#wantedMembers();
    const change = (...changes: NodeChange[]): MemberChange => {
      return { changes, transition: 'auto', added: NO_ADDRESSES };
    };
    const missing = wanted.find((id) => !voters.includes(id) && !learners.includes(id));
    const extra = [...voters, ...learners].find((id) => !wanted.includes(id));
    const learner = learners.find((id) => wanted.includes(id) && !promoting.includes(id));
    // A member that is lost goes first: it counts in every majority and answers nothing.
    if (extra !== undefined && this.#isLost(extra)) return change({ type: 'remove', node: extra });
    if (missing !== undefined) {
      const promote = missing % 2 === 0;
      return change({ type: 'add-learner', node: missing, ...(promote ? { promote } : {}) });
    }
    if (learner !== undefined && extra !== undefined) {
      // One in, one out, in one change.
      return change({ type: 'add-voter', node: learner }, { type: 'remove', node: extra });
    }
    if (learner !== undefined) return change({ type: 'add-voter', node: learner });
    if (extra !== undefined) return change({ type: 'remove', node: extra });
    return learners.length > 0 ? NOTHING_YET : null;
  }

  #wantedMembers(): NodeId[] {
    const wanted: NodeId[] = [];
    for (const { number, incarnation } of this.#options.machines) {
      if (this.#wish.has(number)) wanted.push(memberId(number, incarnation));
    }
    return wanted;
  }

  /** The directory of that member is gone. */
  #isLost(id: NodeId): boolean {
    return !this.#options.machines.some(
      ({ number, incarnation }) => memberId(number, incarnation) === id,
    );
  }
}

/** Learners are on their way to be voters: nothing to ask for, and not done. */
const NOTHING_YET: MemberChange = {
  changes: [],
  transition: 'auto',
  added: NO_ADDRESSES,
};
