/**
 * The leader's side of a change of the members: one at a time, from the picture it is judged by to
 * the moment it counts.
 *
 *     judge -> (ask the new node who it is) -> (hand leadership on) -> propose -> counts
 *
 * What must hold:
 * - The change names the configuration that it was judged by: if another came in between, it is
 *   refused and nothing is written.
 * - A node is added only after it has said itself who it is: its number, the incarnation of its
 *   directory, its cluster and what it can read.
 * - A leader that is to be removed hands its leadership on first, and the change is then made by
 *   the next one: no write waits for an election. If nobody takes over, it makes the change itself
 *   and steps down once that is committed.
 * - A transfer of leadership runs here too, so that no change of the members runs beside it. Its
 *   answer comes from the leader that follows: asked again there, it is done, or is done there.
 * - Who asked is answered once, at its deadline at the latest; the change goes on.
 */
import type { MembershipChange } from '@svc/http';
import type { NodeId, Status } from '@svc/raft';
import { nodeNumber } from '../config/member-id.js';
import type { Peer } from '../config/peers.js';
import type { MemberChangeRefusal } from '../consensus/consensus.js';
import type { Group } from '../consensus/group.js';
import type { MemberAddresses } from '../consensus/group-addresses.js';
import type { MemberChange } from '../consensus/group-membership.js';
import type { Clock } from '../system/clock.js';
import type { MembershipReply } from './call.js';
import { type MembershipPlan, planAnswered, planChange, refusedChange } from './plan.js';

/** What a node that is to be added says of itself, or why it may not be. */
export type CandidateAnswer =
  | { readonly kind: 'fit'; readonly member: NodeId }
  | {
      readonly kind: 'unfit';
      readonly code: 'bad_request' | 'address_mismatch' | 'learner_behind';
      readonly error: string;
    }
  /** Nothing was heard from it. */
  | { readonly kind: 'silent' };

/** Asks a node at its address who it is. */
export type AskWho = (
  peer: Peer,
  timeoutMs: number,
  done: (answer: CandidateAnswer) => void,
) => void;

type Done = (reply: MembershipReply) => void;

/** One attempt to reach a node that is to be added; it may just be starting. */
const ASK_MS = 1500;
const ASK_AGAIN_MS = 200;
/** How long a node that was just added is waited for. */
const HEARD_MS_MAX = 2000;
const HEARD_POLL_MS = 20;
/** Between two attempts to hand leadership to a voter that did not take it. */
const HAND_OVER_AGAIN_MS = 100;
/** How often it is looked whether a joint membership has been left. */
const LEAVING_POLL_MS = 50;

/** A change from its beginning to its end, which is told once. */
interface Running {
  readonly change: MembershipChange;
  /** The configuration that the change was judged by first. */
  readonly expectedIndex: number;
  readonly begunMs: number;
  readonly deadlineMs: number;
  readonly done: Done;
  handedOver: boolean;
  /** Consensus has it: it may still come about, whatever who asked was told. */
  proposed: boolean;
  answered: boolean;
  /** The event that is awaited, as a sentence. */
  waitsFor: string;
}

export interface ChangeParts {
  readonly group: Group;
  readonly addresses: MemberAddresses;
  readonly askWho: AskWho;
  readonly clock: Clock;
}

export class MembershipChanges {
  readonly #group: Group;
  readonly #addresses: MemberAddresses;
  readonly #askWho: AskWho;
  readonly #clock: Clock;
  #running: Running | null = null;

  constructor({ group, addresses, askWho, clock }: ChangeParts) {
    this.#group = group;
    this.#addresses = addresses;
    this.#askWho = askWho;
    this.#clock = clock;
  }

  run(change: MembershipChange, deadlineMs: number, done: Done): void {
    const status = this.#group.leading();
    if (status === null) {
      done({ kind: 'elsewhere', changed: 'no' });
      return;
    }
    if (this.#running !== null) {
      done(
        refusedChange(
          'in_flight',
          'another membership change is running on this leader; retry once it answers',
        ),
      );
      return;
    }
    const running: Running = {
      change,
      expectedIndex: status.configurationIndex,
      begunMs: this.#clock.nowMs(),
      deadlineMs,
      done,
      handedOver: false,
      proposed: false,
      answered: false,
      waitsFor: 'the change is not done yet',
    };
    this.#running = running;
    this.#clock.after(Math.max(0, deadlineMs - this.#clock.nowMs()), () => this.#expire(running));
    this.#judge(running);
  }

  /** What was not proposed will not be. */
  #expire(running: Running): void {
    if (running.answered) return;
    const { proposed, waitsFor } = running;
    const end = proposed ? 'it may still complete' : 'nothing was changed';
    const reply = refusedChange('timeout', `${waitsFor}; ${end}`);
    if (proposed) this.#answer(running, reply);
    else this.#end(running, reply);
  }

  #answer(running: Running, reply: MembershipReply): void {
    if (running.answered) return;
    running.answered = true;
    running.done(reply);
  }

  /** The change is over: the next may come. */
  #end(running: Running, reply: MembershipReply): void {
    if (this.#running === running) this.#running = null;
    this.#answer(running, reply);
  }

  #judge(running: Running): void {
    if (this.#running !== running) return;
    const status = this.#group.leading();
    if (status === null) {
      this.#end(running, { kind: 'elsewhere', changed: 'no' });
      return;
    }
    const { promoteMaxLag } = this.#group;
    const plan = planChange(running.change, status, this.#addresses.get(), promoteMaxLag);
    if (this.#isEarly(plan, running, status)) {
      this.#clock.after(HEARD_POLL_MS, () => this.#judge(running));
    } else this.#carryOut(plan, running, status);
  }

  /** A leader that was just elected has not heard everybody who lives. */
  #isEarly(plan: MembershipPlan, { begunMs }: Running, { id, peers }: Status): boolean {
    if (plan.kind !== 'membership-refused') return false;
    if (plan.code !== 'no_quorum' && plan.code !== 'learner_behind') return false;
    const unheard = peers.some((peer) => peer.id !== id && peer.lastReplyAgeMs === Infinity);
    return unheard && this.#clock.nowMs() - begunMs < this.#group.liveWithinMs;
  }

  #carryOut(plan: MembershipPlan, running: Running, status: Status): void {
    switch (plan.kind) {
      case 'membership-refused':
        this.#end(running, plan);
        return;
      case 'nothing':
        this.#end(running, this.#view());
        return;
      case 'leaving':
        this.#awaitLeft(running);
        return;
      case 'ask':
        this.#ask(plan, running);
        return;
      case 'hand-over':
        running.waitsFor = `node ${plan.to} has not taken over`;
        // Until its deadline who asked hears nothing; after it the transfer may still come about.
        running.proposed = true;
        this.#group.handOver(plan.others, () => this.#afterHandOver(running));
        return;
      case 'propose':
        if (plan.removed.includes(status.id) && !running.handedOver) {
          running.handedOver = true;
          this.#group.handOver(plan.removed, () => this.#judge(running));
        } else this.#propose(plan.change, running);
    }
  }

  /** Another leads now, or nobody took over in time: it is judged once more. */
  #afterHandOver(running: Running): void {
    if (this.#group.leading() === null) this.#end(running, { kind: 'elsewhere', changed: 'maybe' });
    else if (running.answered) this.#end(running, this.#view());
    else this.#clock.after(HAND_OVER_AGAIN_MS, () => this.#judge(running));
  }

  #propose(change: MemberChange, running: Running): void {
    // What `force` may not overrule was judged above; consensus would skip all of it.
    const force = 'force' in running.change && running.change.force;
    running.proposed = true;
    this.#group.change(change, running.expectedIndex, force, (result) => {
      if (!result.accepted) this.#end(running, replyTo(result.reason));
      else this.#awaitHeard(running, this.#clock.nowMs() + HEARD_MS_MAX);
    });
  }

  /** A node that was added has a moment to answer, so that how far it is behind can be told. */
  #awaitHeard(running: Running, untilMs: number): void {
    const { change, answered } = running;
    const status = this.#group.leading();
    const added = change.kind === 'add-learner' ? change.node : 0;
    const peer = status?.peers.find(({ id }) => nodeNumber(id) === added);
    const waits = peer !== undefined && peer.match === 0 && peer.state !== 'snapshot';
    if (!waits || answered || this.#clock.nowMs() >= untilMs) this.#end(running, this.#view());
    else this.#clock.after(HEARD_POLL_MS, () => this.#awaitHeard(running, untilMs));
  }

  #ask(plan: Extract<MembershipPlan, { kind: 'ask' }>, running: Running): void {
    const { peer, known } = plan;
    running.waitsFor = `node ${peer.id} does not answer at ${peer.raftAddress}`;
    this.#askWho(peer, ASK_MS, (answer) => {
      if (this.#running !== running) return;
      const status = this.#group.leading();
      if (status === null) this.#end(running, { kind: 'elsewhere', changed: 'no' });
      else if (answer.kind === 'unfit') {
        this.#end(running, refusedChange(answer.code, answer.error));
      } else if (answer.kind === 'fit') {
        this.#carryOut(planAnswered(plan, answer.member, status), running, status);
      } else if (known !== null) {
        // It is a learner already, and does not answer its leader either: nothing is to be done.
        this.#end(running, this.#view());
      } else this.#clock.after(ASK_AGAIN_MS, () => this.#askAgain(plan, running));
    });
  }

  #askAgain(plan: Extract<MembershipPlan, { kind: 'ask' }>, running: Running): void {
    if (this.#running === running) this.#ask(plan, running);
  }

  #awaitLeft(running: Running): void {
    if (this.#running !== running) return;
    const status = this.#group.leading();
    if (status === null) this.#end(running, { kind: 'elsewhere', changed: 'maybe' });
    else if (status.configuration.outgoing.length === 0) this.#end(running, this.#view());
    else this.#clock.after(LEAVING_POLL_MS, () => this.#awaitLeft(running));
  }

  #view(): MembershipReply {
    const membership = this.#group.view();
    if (membership === null) return { kind: 'elsewhere', changed: 'maybe' };
    return { kind: 'membership', membership };
  }
}

function replyTo(reason: MemberChangeRefusal): MembershipReply {
  switch (reason) {
    case 'leader_changed':
      return { kind: 'elsewhere', changed: 'maybe' };
    case 'not_leader':
    case 'append_failed':
    case 'transferring':
      return { kind: 'elsewhere', changed: 'no' };
    case 'uncommitted_full':
      return refusedChange('retry', 'too many entries wait to be committed; retry');
    case 'membership_changed':
    case 'nothing_to_leave':
      return refusedChange('membership_changed', 'the members were changed meanwhile; look again');
    case 'in_flight':
      return refusedChange('in_flight', 'another membership change is in flight; retry');
    case 'last_voter':
      return refusedChange('last_voter', 'a cluster needs at least one voter');
    case 'no_quorum':
      return refusedChange('no_quorum', 'the voters would have no majority that lives');
    case 'impossible_node':
      return refusedChange('bad_request', 'a node is named by a whole number from 1');
    case 'not_a_learner':
      return refusedChange('not_a_learner', 'a new voter has to be a learner first');
    case 'learner_behind':
      return refusedChange('learner_behind', 'the learner is too far behind, or does not answer');
  }
}
