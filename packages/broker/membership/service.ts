/**
 * Shows and changes the members, on any node: the node that is asked passes the question on to the
 * leader, and the answer back.
 *
 * What must hold: a change may be asked of several leaders one after the other, when leadership
 * moves while it is under way. That is sound because a change that has happened comes to nothing
 * when it is asked again. A leader answers for itself and never passes a question on, so none goes
 * round.
 */
import type { MembershipChange, MembershipRefused, MembershipView, Reply } from '@svc/http';
import { NO_NODE, type NodeId } from '@svc/raft';
import type { Membership } from '@svc/wire';
import { nodeNumber } from '../config/member-id.js';
import type { Consensus } from '../consensus/consensus.js';
import { agedView } from '../consensus/group-membership.js';
import type { PeerCalls } from '../peers/calls.js';
import type { ServedCall } from '../peers/served-calls.js';
import type { Cancel } from '../system/clock.js';
import {
  decodeQuestion,
  decodeReply,
  encodeQuestion,
  encodeReply,
  type MembershipReply,
} from './call.js';
import { type ChangeParts, MembershipChanges } from './change.js';
import { malformedChange, refusedChange } from './plan.js';

export interface MembershipServiceParts extends ChangeParts {
  readonly self: NodeId;
  readonly consensus: Pick<Consensus, 'leader'>;
  /** null: there are no others. */
  readonly calls: PeerCalls | null;
}

/** The caller's own deadline comes with the call: the answer needs some of it. */
const ANSWER_MARGIN_MS = 50;
/** How long a leader has for showing the members before this node shows what it knows itself. */
const VIEW_MS_MAX = 1500;
/** A new leader is there within 4 s of a crash; after this long without one, who asked is told. */
const LEADERLESS_MS_MAX = 5000;
const POLL_MS = 50;
/** Changes that wait here for a leader or for its answer; one at a time can run. */
const WAITING_MAX = 16;

interface Errand {
  readonly change: MembershipChange;
  readonly deadlineMs: number;
  readonly reply: Reply<MembershipView | MembershipRefused>;
  /** Since when no leader could be asked; null while one is. */
  leaderlessSinceMs: number | null;
  /** The leader that did not answer, if that is why. */
  silent: number | null;
  /** A leader may have begun with it. */
  maybeDone: boolean;
  /** Ends what it waits for outside this node: a moment to pass, a leader to answer. */
  stopWaiting: () => void;
}

export class MembershipService {
  readonly #parts: MembershipServiceParts;
  readonly #changes: MembershipChanges;
  readonly #errands = new Set<Errand>();
  /** What a leader showed last, for the time when none can be asked. */
  #seen: { readonly view: Membership; readonly atMs: number } | null = null;
  #stopServing: Cancel = () => {};
  #closed = false;

  constructor(parts: MembershipServiceParts) {
    this.#parts = parts;
    this.#changes = new MembershipChanges(parts);
  }

  /** Answers other nodes from here on. */
  open(): void {
    const stop = this.#parts.calls?.serve('membership', (call) => this.#serve(call));
    this.#stopServing = stop ?? (() => {});
  }

  /** This node stops: who waits for a leader here is told to ask elsewhere. */
  close(): void {
    this.#closed = true;
    this.#stopServing();
    for (const errand of this.#errands) {
      errand.stopWaiting();
      this.#hold(errand);
    }
  }

  view(reply: Reply<MembershipView | MembershipRefused>): void {
    const { group, consensus, self, calls } = this.#parts;
    if (group.leading() !== null || calls === null) {
      this.#show(group.view(), reply);
      return;
    }
    const to = consensus.leader;
    if (to === NO_NODE || to === self) {
      this.#show(null, reply);
      return;
    }
    const question = encodeQuestion({ ask: 'view' });
    calls.call(nodeNumber(to), 'membership', question, VIEW_MS_MAX, (answer) => {
      const shown = typeof answer === 'string' ? null : decodeReply(answer);
      this.#show(shown?.kind === 'membership' ? shown.membership : null, reply);
    });
  }

  /** `view` is a leader's; null: none was to be had. */
  #show(view: Membership | null, reply: Reply<MembershipView | MembershipRefused>): void {
    const { clock, group } = this.#parts;
    if (view?.source === 'leader') {
      this.#seen = { view, atMs: clock.nowMs() };
      reply.send({ kind: 'membership', membership: view });
      return;
    }
    const own = group.view();
    if (own === null) {
      reply.send(refusedChange('retry', 'this node does not know the members yet; retry'));
      return;
    }
    const seen = this.#seen;
    // What a leader said of these very members is worth more than what only names them.
    const isSame = seen !== null && seen.view.membershipIndex === own.membershipIndex;
    const membership = isSame
      ? { ...own, members: agedView(seen.view, clock.nowMs() - seen.atMs).members }
      : own;
    reply.send({ kind: 'membership', membership });
  }

  change(
    change: MembershipChange,
    timeoutMs: number,
    reply: Reply<MembershipView | MembershipRefused>,
  ): void {
    const malformed = malformedChange(change);
    if (malformed !== null) {
      reply.send(malformed);
      return;
    }
    if (this.#errands.size >= WAITING_MAX) {
      reply.send(refusedChange('retry', `${WAITING_MAX} membership changes wait here; retry`));
      return;
    }
    const errand: Errand = {
      change,
      deadlineMs: this.#parts.clock.nowMs() + timeoutMs,
      reply,
      leaderlessSinceMs: null,
      silent: null,
      maybeDone: false,
      stopWaiting: () => {},
    };
    this.#errands.add(errand);
    this.#go(errand);
  }

  #go(errand: Errand): void {
    const { clock, group, consensus, self } = this.#parts;
    if (errand.reply.gone) {
      this.#errands.delete(errand);
      return;
    }
    const to = consensus.leader;
    if (group.leading() !== null) {
      errand.stopWaiting = () => {
        errand.maybeDone = true;
      };
      this.#changes.run(errand.change, errand.deadlineMs, (reply) => this.#take(errand, reply));
    } else if (to === NO_NODE || to === self) this.#hold(errand);
    else if (clock.nowMs() >= errand.deadlineMs) this.#give(errand);
    else this.#relay(errand, to);
  }

  #relay(errand: Errand, to: NodeId): void {
    const { calls, clock } = this.#parts;
    if (calls === null) {
      this.#hold(errand);
      return;
    }
    const leftMs = errand.deadlineMs - clock.nowMs();
    const question = encodeQuestion({ ask: 'change', change: errand.change });
    const call = calls.call(nodeNumber(to), 'membership', question, leftMs, (answer) => {
      unwatch();
      if (typeof answer !== 'string') {
        errand.silent = null;
        const reply = decodeReply(answer);
        this.#take(errand, reply ?? refusedChange('retry', 'the leader cannot be understood'));
        return;
      }
      errand.silent = nodeNumber(to);
      if (answer === 'unreachable' || answer === 'timeout') errand.maybeDone = true;
      this.#hold(errand);
    });
    // A leader that has gone, but still holds the connection, would be waited for in vain.
    const unwatch = clock.every(POLL_MS, () => {
      if (this.#parts.consensus.leader === to && !errand.reply.gone) return;
      errand.stopWaiting();
      this.#hold(errand);
    });
    errand.stopWaiting = () => {
      unwatch();
      call.cancel();
      errand.maybeDone = true;
    };
  }

  #take(errand: Errand, reply: MembershipReply): void {
    if (reply.kind === 'elsewhere') {
      if (reply.changed === 'maybe') errand.maybeDone = true;
      this.#hold(errand);
      return;
    }
    this.#end(errand, reply);
  }

  /** Asks again in a moment, unless no leader could be asked for too long. */
  #hold(errand: Errand): void {
    const { clock } = this.#parts;
    const nowMs = clock.nowMs();
    errand.leaderlessSinceMs ??= nowMs;
    const untilMs = Math.min(errand.deadlineMs, errand.leaderlessSinceMs + LEADERLESS_MS_MAX);
    if (this.#closed || nowMs >= untilMs) this.#give(errand);
    else errand.stopWaiting = clock.after(POLL_MS, () => this.#go(errand));
  }

  #give(errand: Errand): void {
    const { silent, maybeDone, deadlineMs } = errand;
    const isOver = this.#parts.clock.nowMs() >= deadlineMs;
    if (silent !== null) {
      const text = `the leader (node ${silent}) does not answer`;
      const maybe = `${text}; the change may still complete`;
      const timedOut = isOver && maybeDone;
      this.#end(
        errand,
        timedOut ? refusedChange('timeout', maybe) : refusedChange('leader_unreachable', text),
      );
    } else if (maybeDone) {
      const text = 'the leader changed; the change may still complete';
      this.#end(errand, refusedChange('leader_changed', text));
    } else this.#end(errand, refusedChange('retry', 'no leader is known; retry after'));
  }

  #end(errand: Errand, reply: MembershipView | MembershipRefused): void {
    if (this.#errands.delete(errand)) errand.reply.send(reply);
  }

  #serve(call: ServedCall): void {
    const { group } = this.#parts;
    const question = decodeQuestion(call.body);
    const answer = (reply: MembershipReply) => void call.answer(encodeReply(reply));
    if (question === null) answer(refusedChange('bad_request', 'not a question about members'));
    else if (question.ask === 'view') {
      const membership = group.leading() === null ? null : group.view();
      answer(
        membership === null
          ? { kind: 'elsewhere', changed: 'no' }
          : { kind: 'membership', membership },
      );
    } else {
      const malformed = malformedChange(question.change);
      if (malformed !== null) answer(malformed);
      else this.#changes.run(question.change, call.deadlineMs - ANSWER_MARGIN_MS, answer);
    }
  }
}
