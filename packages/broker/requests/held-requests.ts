/**
 * The requests of this node's own clients: whoever leads, they are brought to it, held while nobody
 * does, and followed until their outcome is known.
 *
 * The job: a client may ask any node. What this node prepared goes to the leader's planner, in this
 * process or over the wire, and its outcome comes back; leaders die, hand over, lose their quorum
 * or their connections in any of these moments, and the client should notice nothing but time.
 *
 * What must hold:
 * - **A request takes effect at most once,** however often it is sent. What was sent to another
 *   node carries an id of this node's life, and whoever leads next finds it beside its effects
 *   (`request-record.ts`). What this node planned into one entry while it led carries none: such a
 *   request stays where it is (`in doubt`) until this node, a follower by then, sees what was
 *   applied at (index, term). If it is its entry, its outcome holds; if another's, the entry will
 *   never be, and the request is held again.
 * - That argument needs one entry that holds all the request does. What takes several turns has
 *   effects before the entry that answers it, and to begin it anew would do other things than were
 *   asked for and tell less than was done. So it carries an id from the first leader on, this node
 *   too, wherever there are other nodes; the next leader goes on where its record says. (Changes of
 *   groups need none: their rows carry an id of the change itself, see `group-changes.ts`.)
 * - **Nothing accepted is refused because leadership moved.** It is held, and goes on with the time
 *   that it has left; a parked pop is parked again at the next leader. Its deadline ends it. (A
 *   large one ends after two leaders, see `LARGE_BYTES`.)
 * - **Order.** One line for each rank, in order of arrival; what comes back stands where it stood,
 *   and a new request never overtakes a held one of its rank. A leader that comes up gets what
 *   drains first. Of requests that did not wait for each other's answers no order is promised.
 * - **A claim that reaches nobody is given back.** A pop whose client has gone, or was told of a
 *   time-out, is sent once more with no time left: that never claims, and tells what it claimed.
 * - **Who has written sees it.** A push or a change that another node has planned is answered once
 *   it is applied here too, for reads by position show this node's state.
 * - **Payloads come from this node's own log.** Messages are read once the entries that hold them
 *   are applied here; a node that lags behind its clients' deadlines gives them back.
 * - **Bounds.** HELD_MAX requests; their bodies were admitted by bytes before they came here. Of
 *   what is under way see `forward-sender.ts`.
 * - Stopped, it answers everything, and nothing that it started calls it any more.
 *
 * Rejected: proxying whole HTTP requests (the leader would parse and render for everybody, and a
 * broken connection leaves a write of unknown fate); answering `retry` during an election (every
 * client needs the same loop, and all of them come back at once); ids for all that this node leads
 * itself (a record in each entry of every node alone, for what (index, term) says for nothing); a
 * table at the leader of who waits where, handed on at a change (it dies with the leader, and what
 * its followers know suffices).
 */
import {
  type Command,
  type ForwardedAnswer,
  growingBytes,
  type Outcome,
  type PopCommand,
  type Refusal,
  takesSeveralTurns,
} from '@svc/engine';
import type { Reply } from '@svc/http';
import { nothingPopped, type Office, type ProposedEntry } from '../leader/leader.js';
import { DRAIN_NO_LEADER_MS, NO_LEADER, TIMED_OUT, UNCONFIRMED } from '../reads/held-reads.js';
import type { Cancel, Clock } from '../system/clock.js';
import type { Admission } from './admission.js';
import { OVERLOADED } from './admission.js';
import type { ForwardSender, RemoteLeader, SendEnd } from './forward-sender.js';
import { HeldQueue } from './held-queue.js';
import {
  ClientRequest,
  isSeenHere,
  lastIndexOf,
  type OnOutcome,
  type RequestTable,
} from './held-request.js';
import { OpenRequests } from './open-requests.js';

/** The part of this node's own leader that is used here. */
export type OwnLeader = Pick<Office, 'submit' | 'hurry' | 'withdraw' | 'stopped'>;

export interface RequestsOptions {
  readonly clock: Clock;
  /** null: there are no other nodes. */
  readonly sender: ForwardSender | null;
  /** The last entry applied here. */
  readonly appliedIndex: () => number;
  /** null: none is known, or it is this node. */
  readonly remoteLeader: () => RemoteLeader | null;
  /** False: no configuration that this node knows names it; it does not wait for a leader then. */
  readonly isMember: () => boolean;
  /** Room for what grows the store; null: no bound. */
  readonly admission: Admission | null;
  /** Why a command is not to be planned at all, if it never was; null: it may be. */
  readonly refusal: (command: Command) => Refusal | null;
}

/** Requests of which no outcome is known; some 1 KiB each beside their bodies. */
const HELD_MAX = 65_536;
/** How late a deadline may be noticed. */
const CHECK_MS = 250;
/** A parked pop is answered by the planner before its deadline; this is only the net below it. */
const POP_SLACK_MS = 2000;
/** How long a pop that nobody waits for is asked after; then its lease ends by itself. */
const ABANDONED_MS = 60_000;
/** A leader that could not be reached is tried again after this, then twice that, and so on. */
const PAUSE_MS = 5;
const PAUSE_MS_MAX = 100;

const TOO_MANY: Refusal = {
  reason: 'overloaded',
  error: 'too many requests wait for the leader; retry',
};
const IN_DOUBT: Refusal = {
  reason: 'outcome_unknown',
  error:
    'the leader changed while this change was being made durable: it may or may not have applied',
};
const TOO_LARGE: Refusal = {
  reason: 'outcome_unknown',
  error: 'two leaders lost office with this large change: it may or may not have applied',
};

export class Requests implements RequestTable {
  readonly #options: RequestsOptions;
  readonly #clock: Clock;
  #leader: OwnLeader | null = null;
  #target: RemoteLeader | null = null;
  /** The node that was sent what is under way. */
  #sentTo: RemoteLeader | null = null;
  /** All whose end is not known; ended ones are let go at the next check at the latest. */
  readonly #open = new OpenRequests();
  #arrivals = 0;
  readonly #held = new HeldQueue();
  /** Entries of former leaderships of this node, oldest first. */
  #inDoubt: ProposedEntry[] = [];
  #applying: { readonly index: number; readonly request: ClientRequest; outcome: Outcome }[] = [];
  #releasing = false;
  #hasMore = false;
  #pauseMs = PAUSE_MS;
  #cancelPause: Cancel | null = null;
  #draining = false;
  #leaderlessSinceMs: number;
  #stopped = false;
  readonly #stopChecking: Cancel;
  readonly #onSendEnd = (request: ClientRequest, end: SendEnd) => this.#sendEnded(request, end);

  constructor(options: RequestsOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.#leaderlessSinceMs = this.#clock.nowMs();
    this.#stopChecking = this.#clock.every(CHECK_MS, () => this.#check());
  }

  /** No request is without its end. */
  get idle(): boolean {
    return this.#open.idle;
  }

  /** Clients' pops that have been waiting for some time. */
  eachParked(visit: (command: PopCommand) => void): void {
    for (const { command, isSeen, place, answered } of this.#open.all) {
      if (!isSeen || answered || place === 'ended') continue;
      if (command.kind === 'pop' && command.wait) visit(command);
    }
  }

  // --- from the clients ------------------------------------------------------------------------

  /** `isOwed`: the command is taken however many wait (a claim to be given back). */
  submit(
    command: Command,
    deadlineMs: number,
    onOutcome: OnOutcome,
    reply: Reply<never> | null = null,
    isOwed = false,
  ): ClientRequest {
    const request = new ClientRequest(this, command, deadlineMs, onOutcome, reply);
    request.arrival = this.#arrivals++;
    if (this.#stopped) this.end(request, refused(NO_LEADER));
    else if (!isOwed && this.#isFull) this.end(request, refused(this.#whyHeld(TOO_MANY)));
    else {
      this.#open.add(request);
      this.#enter(request);
    }
    return request;
  }

  /** The client has gone, or has been answered otherwise: only a claim is of interest. */
  abandon(request: ClientRequest): void {
    request.answered = true;
    this.#hurry(request);
  }

  get #isFull(): boolean {
    if (this.#held.size < HELD_MAX) return false;
    this.#held.purge();
    return this.#held.size >= HELD_MAX;
  }

  get #isLeaderless(): boolean {
    return this.#leader === null && this.#target === null;
  }

  #whyHeld(otherwise: Refusal): Refusal {
    return this.#isLeaderless ? NO_LEADER : otherwise;
  }

  #enter(request: ClientRequest): void {
    const { admission, refusal } = this.#options;
    const { command } = request;
    const why = refusal(command);
    const bytes = admission === null ? 0 : growingBytes(command);
    if (why !== null) this.end(request, refused(why));
    else if (admission === null || bytes === 0) this.#route(request);
    else if (admission.tryEnter(bytes)) {
      request.admittedBytes = bytes;
      this.#route(request);
    } else this.#awaitRoom(request, bytes, admission);
  }

  #awaitRoom(request: ClientRequest, bytes: number, admission: Admission): void {
    request.place = 'entering';
    const { deadlineMs, command } = request;
    request.cancelAdmission = admission.wait(bytes, 'client', deadlineMs, (admitted) => {
      request.cancelAdmission = null;
      if (admitted) request.admittedBytes = bytes;
      const why = admitted ? this.#options.refusal(command) : OVERLOADED;
      if (why === null) this.#route(request);
      else this.end(request, refused(why));
    });
  }

  #route(request: ClientRequest): void {
    const leader = this.#leader;
    if (leader !== null && !leader.stopped && request.handTo(null)) this.#lead(request, leader);
    else this.#hold(request);
    if (this.#draining && request.command.kind === 'pop') this.#hurry(request);
  }

  // --- the leader of the moment ------------------------------------------------------------------

  /** This node leads. What was sent elsewhere is planned here, under the id it had. */
  lead(leader: OwnLeader): void {
    this.#leader = leader;
    this.#target = null;
    this.#sentTo = null;
    this.#recall();
    this.#release();
  }

  /** What was not proposed is held; what was stays until it is known whether it was applied. */
  endLeadership(proposed: readonly ProposedEntry[]): void {
    this.#leader = null;
    this.#leaderlessSinceMs = this.#clock.nowMs();
    for (const entry of proposed) this.#doubt(entry);
    for (const request of this.#open.all) {
      if (request.place !== 'leader') continue;
      if (request.sequence !== 0) request.isDoubtful = true;
      this.#goOn(request);
    }
    this.follow();
  }

  /** Those that have an id ask for their outcome by it; the others wait for the entry. */
  #doubt({ index, term, answers }: ProposedEntry): void {
    const own = answers.filter(
      ({ ticket }) => ticket instanceof ClientRequest && ticket.sequence === 0,
    );
    for (const { ticket } of own) (ticket as ClientRequest).place = 'in-doubt';
    if (own.length > 0) this.#inDoubt.push({ index, term, answers: own });
  }

  /** Another node may lead now. */
  follow(): void {
    if (this.#stopped || this.#leader !== null) return;
    const target = this.#options.remoteLeader();
    if (target === null) {
      // Calls under way are left alone: who led may answer them yet.
      if (this.#target !== null) this.#leaderlessSinceMs = this.#clock.nowMs();
      this.#target = null;
      return;
    }
    const wasLeaderless = this.#target === null;
    this.#target = target;
    const { node, term } = this.#sentTo ?? {};
    const isAnother = target.node !== node || target.term !== term;
    if (isAnother) this.#recall();
    this.#sentTo = target;
    if (!isAnother && !wasLeaderless) return;
    this.#endPause();
    this.#release();
  }

  #lead(request: ClientRequest, leader: OwnLeader): void {
    request.place = 'leader';
    const { sender } = this.#options;
    const isKnownById = request.sequence !== 0 || takesSeveralTurns(request.command);
    if (isKnownById && sender !== null) request.origin = sender.identify(request);
    leader.submit(request);
    if (request.hasty) leader.hurry(request);
  }

  #hold(request: ClientRequest): void {
    if (request.hasty && request.sequence === 0) {
      // It was never given to anybody who could have claimed for it.
      this.end(request, emptyOutcome(request));
      return;
    }
    if (this.#isLeaderless && !this.#options.isMember()) {
      this.#giveUpOne(request);
      return;
    }
    request.place = 'held';
    // It may have claimed with a leader whose entry is lost: what it claims next is counted anew.
    request.room?.reserve(0);
    this.#held.add(request);
    this.#release();
  }

  /** Its leader is gone: it is held, or closed if its client is gone and it cannot have claimed. */
  #goOn(request: ClientRequest): void {
    const mayHaveClaimed = request.sequence !== 0 && request.command.kind === 'pop';
    if (request.answered && !mayHaveClaimed) this.#close(request);
    else this.#hold(request);
  }

  /** Takes back what was sent: it goes to the next leader under the same id. */
  #recall(): void {
    const { sender } = this.#options;
    if (sender === null) return;
    for (const request of this.#open.all) {
      if (request.place !== 'sent') continue;
      sender.recall(request);
      request.isDoubtful = true;
      request.attempts = 0;
      request.place = 'held';
      this.#held.add(request);
    }
  }

  #release(): void {
    this.#hasMore = true;
    if (this.#releasing) return;
    this.#releasing = true;
    // An answer on the way may bring new requests, and those come here again.
    while (this.#hasMore) {
      this.#hasMore = false;
      if (this.#leader !== null) this.#releaseHere(this.#leader);
      else if (this.#cancelPause === null) this.#releaseTo(this.#target, this.#options.sender);
    }
    this.#releasing = false;
  }

  #releaseHere(leader: OwnLeader): void {
    if (leader.stopped) return;
    this.#held.release((request) => {
      if (request.handTo(null)) this.#lead(request, leader);
      else this.end(request, refused(TOO_LARGE));
      return true;
    });
  }

  #releaseTo(target: RemoteLeader | null, sender: ForwardSender | null): void {
    if (target === null || sender === null) return;
    this.#held.release((request) => {
      if (endMs(request) <= this.#clock.nowMs()) this.#expire(request);
      if (request.place !== 'held') return true;
      if (!sender.hasRoom(request)) return false;
      if (!request.handTo(target.term)) this.end(request, refused(TOO_LARGE));
      else {
        request.place = 'sent';
        sender.send(request, target, endMs(request), this.#onSendEnd);
      }
      return true;
    });
  }

  #sendEnded(request: ClientRequest, end: SendEnd): void {
    if (end.kind === 'failed') this.#sendFailed(request, end.failure === 'timeout');
    else if (end.answer === null) this.end(request, refused(IN_DOUBT));
    else if (isRetry(end.answer.outcome)) this.#sendFailed(request, false);
    else {
      this.#pauseMs = PAUSE_MS;
      this.#receive(request, end.answer);
    }
    this.#release();
  }

  #sendFailed(request: ClientRequest, isSilent: boolean): void {
    request.attempts++;
    request.isDoubtful = true;
    if (!isSilent) this.#pause();
    request.place = 'held';
    this.#held.add(request);
  }

  #pause(): void {
    if (this.#cancelPause !== null) return;
    this.#cancelPause = this.#clock.after(this.#pauseMs, () => {
      this.#cancelPause = null;
      // The same node may lead on in another term.
      this.follow();
      this.#release();
    });
    this.#pauseMs = Math.min(2 * this.#pauseMs, PAUSE_MS_MAX);
  }

  #endPause(): void {
    this.#cancelPause?.();
    this.#cancelPause = null;
    this.#pauseMs = PAUSE_MS;
  }

  // --- outcomes ----------------------------------------------------------------------------------

  /** The entry at (index, term) has been applied here. */
  applied(index: number, term: number): void {
    if (this.#inDoubt.length > 0) this.#resolve(index, term);
    if (this.#applying.length > 0) this.#deliver(index);
  }

  /**
   * Terms never fall along the log. So an entry of a later term, at an index where one in doubt
   * stands or before it, says that the one in doubt will never be.
   */
  #resolve(index: number, term: number): void {
    const isDue = (entry: ProposedEntry) => entry.index <= index || entry.term < term;
    const due = this.#inDoubt.filter(isDue);
    if (due.length === 0) return;
    this.#inDoubt = this.#inDoubt.filter((entry) => !isDue(entry));
    for (const entry of due) {
      const isIts = entry.index === index && entry.term === term;
      for (const { ticket, outcome } of entry.answers) {
        const request = ticket as ClientRequest;
        if (request.place !== 'in-doubt') continue;
        if (isIts) this.end(request, outcome);
        else if (entry.index < index) this.end(request, refused(IN_DOUBT));
        else this.#goOn(request);
      }
    }
  }

  /** What a pop names is read here, so it has to be here; what was written is to be seen here. */
  #receive(request: ClientRequest, { outcome, index: restsOn }: ForwardedAnswer): void {
    this.#options.sender?.settle(request);
    const index = isSeenHere(request.command) ? restsOn : lastIndexOf(outcome);
    if (index <= this.#options.appliedIndex() || request.answered) {
      this.end(request, outcome);
      return;
    }
    request.place = 'applying';
    this.#applying.push({ index, request, outcome });
  }

  #deliver(index: number): void {
    if (!this.#applying.some((one) => one.index <= index)) return;
    const ready = this.#applying.filter((one) => one.index <= index);
    this.#applying = this.#applying.filter((one) => one.index > index);
    for (const { request, outcome } of ready) this.end(request, outcome);
  }

  /** From the leader of this node, too. */
  end(request: ClientRequest, outcome: Outcome): void {
    if (request.place === 'ended') return;
    this.#close(request);
    request.answer(outcome);
  }

  /** Nothing can come of the request any more. */
  #close(request: ClientRequest): void {
    if (request.place === 'ended') return;
    request.place = 'ended';
    const { sender, admission } = this.#options;
    sender?.recall(request);
    sender?.settle(request);
    request.cancelAdmission?.();
    if (request.admittedBytes > 0) admission?.leave(request.admittedBytes);
    this.#open.ended();
  }

  // --- deadlines and endings ---------------------------------------------------------------------

  /** The pop waits no longer: it gets what there is for it now. */
  #hurry(request: ClientRequest): void {
    if (request.command.kind !== 'pop' || request.hasty) return;
    request.hasten();
    if (request.place === 'leader') this.#leader?.hurry(request);
    else if (request.place === 'held' && request.sequence === 0) {
      this.end(request, emptyOutcome(request));
    } else if (request.place === 'sent') {
      this.#options.sender?.recall(request);
      request.attempts = 0;
      this.#hold(request);
    }
  }

  #check(): void {
    const nowMs = this.#clock.nowMs();
    for (const request of this.#open.all) {
      request.isSeen = true;
      if (request.place !== 'ended' && limitMs(request) <= nowMs) this.#expire(request);
    }
    if (this.#isLeaderless) {
      const hasWaited = nowMs - this.#leaderlessSinceMs >= DRAIN_NO_LEADER_MS;
      if ((this.#draining && hasWaited) || !this.#options.isMember()) this.#giveUp();
    }
    this.#open.letGo();
    this.#held.purge();
  }

  #expire(request: ClientRequest): void {
    const { place, answered } = request;
    const wasSent = request.sequence !== 0;
    if (answered) {
      // Its outcome is still to come, or nobody is asked any longer what it claimed.
      if (place === 'held' || place === 'sent') this.#close(request);
    } else if (place === 'applying') this.#giveUpApplying(request);
    else if (place === 'leader') {
      if (this.#leader?.withdraw(request)) this.end(request, refused(TIMED_OUT));
      else request.answer(refused(TIMED_OUT));
    } else if (place === 'in-doubt') {
      request.answer(refused(request.command.kind === 'pop' ? TIMED_OUT : IN_DOUBT));
    } else if (!wasSent) this.end(request, refused(this.#whyHeld(TIMED_OUT)));
    else if (request.command.kind === 'pop') {
      request.answer(refused(TIMED_OUT));
      this.#hurry(request);
    } else this.end(request, refused(request.isDoubtful ? IN_DOUBT : TIMED_OUT));
  }

  /**
   * This node is behind: another one can show the client its messages. What was written is written,
   * although this node does not show it yet.
   */
  #giveUpApplying(request: ClientRequest): void {
    const one = this.#applying.find((each) => each.request === request);
    this.#applying = this.#applying.filter((each) => each !== one);
    if (one !== undefined && request.command.kind !== 'pop') {
      this.end(request, one.outcome);
      return;
    }
    const leader = this.#target?.node;
    const refusal: Refusal =
      leader === undefined
        ? UNCONFIRMED
        : { reason: 'retry', error: `not the leader; retry against ${leader}`, leader };
    request.answer(refused(refusal));
    if (one !== undefined) this.end(request, one.outcome);
  }

  /** From here on no pop waits, and nothing waits long for a leader. */
  drain(): void {
    this.#draining = true;
    this.#leaderlessSinceMs = Math.max(this.#leaderlessSinceMs, this.#clock.nowMs());
    for (const request of [...this.#open.all]) this.#hurry(request);
  }

  /** Whatever is not answered is refused; nothing happens any more. */
  stop(): void {
    if (this.#stopped) return;
    this.#stopped = true;
    this.#stopChecking();
    this.#endPause();
    this.#giveUp();
    this.#open.letGo();
    this.#inDoubt = [];
    this.#held.purge();
  }

  #giveUp(): void {
    for (const request of [...this.#open.all]) this.#giveUpOne(request);
  }

  #giveUpOne(request: ClientRequest): void {
    const { place, sequence, command } = request;
    if (place === 'applying') this.#giveUpApplying(request);
    const mayHaveApplied = place === 'in-doubt' || place === 'leader' || sequence !== 0;
    const isKnown = command.kind === 'pop' || !mayHaveApplied;
    this.end(request, refused(isKnown ? NO_LEADER : IN_DOUBT));
  }
}

/** Until when it is followed where it is. */
function endMs({ command, deadlineMs, hasty }: ClientRequest): number {
  if (hasty) return deadlineMs + ABANDONED_MS;
  return command.kind === 'pop' ? deadlineMs + POP_SLACK_MS : deadlineMs;
}

/** When it is to be looked at. */
function limitMs(request: ClientRequest): number {
  const { place, deadlineMs, answered } = request;
  if (answered) return deadlineMs + ABANDONED_MS;
  return place === 'leader' || place === 'sent' ? endMs(request) : deadlineMs;
}

/** It was not done: whoever answers so does not lead, or not any more. */
function isRetry(outcome: Outcome): boolean {
  if (outcome.kind !== 'refused') return false;
  return outcome.refusal.reason === 'retry' || outcome.refusal.reason === 'no_leader';
}

function emptyOutcome({ command }: ClientRequest): Outcome {
  return command.kind === 'pop' ? nothingPopped(command) : { kind: 'none' };
}

function refused(refusal: Refusal): Outcome {
  return { kind: 'refused', refusal };
}
