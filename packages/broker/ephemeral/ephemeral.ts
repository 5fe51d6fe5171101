/**
 * Ephemeral queues as the HTTP front sees them, on a group of nodes.
 *
 * A ring is held by one node, which every node finds for itself (ephemeral/placement.ts); a client
 * may ask any of them (ephemeral/errand.ts). When a ring's place changes it is taken out at once
 * and travels (ephemeral/hand-over.ts); whoever waited for it is sent after it. What is declared of
 * a queue is replicated, and each node goes by it from the entry on that says so.
 *
 * Status reads tell of the node that is asked.
 */
import {
  ANSWERS_FULL,
  declaredOptions,
  type EphemeralCommand,
  type EphemeralQueueEffect,
  grantOf,
  type Outcome,
  type RefusedOutcome,
  type State,
} from '@svc/engine';
import type { CarriedRing, RingLimits, RingPlace } from '@svc/ephemeral';
import type {
  EphemeralAcked,
  EphemeralAcks,
  EphemeralMessage,
  EphemeralPop,
  EphemeralPopped,
  EphemeralPush,
  EphemeralPushed,
  EphemeralQueuesPage,
  EphemeralRefused,
  EphemeralReset,
  EphemeralService,
  LoopShare,
  Reply,
} from '@svc/http';
import { DEFAULT_PARTITION, type EphemeralDepthAnswer, type EphemeralMeters } from '@svc/wire';
import type { PeerCalls } from '../peers/calls.js';
import { StateWalks } from '../reads/state-walks.js';
import type { Cancel, Clock } from '../system/clock.js';
import { EphemeralAdoption } from './adoption.js';
import { EphemeralDeparture } from './departure.js';
import { depthAnswer } from './depth.js';
import { type Errand, Errands, type HereOutcome } from './errand.js';
import { ackParts, popParts, poppedOf, pushParts, questionParts } from './frames.js';
import { EphemeralHandOver } from './hand-over.js';
import { type QueuesAsked, queuesPage } from './list.js';
import { LocalRings, messageOf, placeOfAcks } from './local.js';
import { EphemeralPlacement } from './placement.js';
import { EphemeralServer } from './server.js';

export interface EphemeralOptions {
  /** The operator's number of this node. */
  readonly self: number;
  readonly clock: Clock;
  readonly loop: LoopShare;
  readonly fraction: () => number;
  readonly limits: RingLimits;
  /** SVC_EPHEMERAL_MEMBER_TTL_MS. */
  readonly silentMsMax: number;
  readonly meters: EphemeralMeters;
  /** Applied here. */
  readonly state: State;
  readonly appliedIndex: () => number;
  /** Numbers of all members. */
  readonly members: () => readonly number[];
  readonly heardAgoMs: (node: number) => number | null;
  /** null: there are no other nodes. */
  readonly calls: PeerCalls | null;
  readonly submit: (command: EphemeralCommand, onOutcome: (outcome: Outcome) => void) => void;
  readonly warn: (text: string) => void;
}

/** A relayed call is waited for so long, and a pop that waits for this much more than it does. */
const RELAY_MS = 30_000;
const RELAYED_POP_MS = 5000;
/** How long an answer of another node is awaited when all are told something. */
const TELL_MS = 1000;
const GIVE_BACK_MS = 5000;
/** A call and its names, beside its payloads. */
const CALL_BYTES = 256;
const ACK_BYTES = 64;
/** What a message adds to an answer. */
const MESSAGE_BYTES = 256;
const EPOCHS = 2 ** 48;
const NOTHING_WAITS: Cancel = () => {};

type PopReply = Reply<EphemeralPopped | EphemeralRefused | RefusedOutcome>;

interface AppliedWaiter {
  readonly index: number;
  readonly work: () => void;
}

export class Ephemeral implements EphemeralService {
  readonly #options: EphemeralOptions;
  readonly #rings: LocalRings;
  readonly #placement: EphemeralPlacement;
  readonly #errands: Errands;
  readonly #departure: EphemeralDeparture;
  readonly #handOver: EphemeralHandOver;
  readonly #walks: StateWalks;
  /** null: there are no other nodes. */
  readonly #server: EphemeralServer | null;
  /** Calls that are told when an entry is applied here. */
  #waitingForIndex: AppliedWaiter[] = [];
  #draining = false;

  constructor(options: EphemeralOptions) {
    const { self, clock, loop, fraction, limits, meters, calls, state } = options;
    this.#options = options;
    this.#walks = new StateWalks(clock, loop, ({ message }) => options.warn(message));
    const epoch = 1 + Math.floor(fraction() * (EPOCHS - 1));
    const rings = new LocalRings({
      clock,
      fraction,
      limits,
      meters,
      declared: (tenant, queue) => declaredOptions(state, tenant, queue),
      allowance: (tenant) => {
        const { maxBytes = null, maxQueues = null } = grantOf(state, tenant, 'ephemeral') ?? {};
        return { bytesMax: maxBytes, queuesMax: maxQueues };
      },
    });
    const placement = new EphemeralPlacement({
      ...options,
      epoch,
      onChange: () => this.#ownersChanged(),
    });
    this.#rings = rings;
    this.#placement = placement;
    this.#errands = new Errands({
      self,
      clock,
      calls,
      placement,
      onForward: () => meters.forwarded++,
    });
    this.#handOver = new EphemeralHandOver({
      self,
      epoch,
      clock,
      calls,
      placement,
      onLanded: (ring) => rings.landed(ring),
      onReturned: (ring) => this.#returned(ring),
      onLost: (ring) => this.#lost(ring),
    });
    this.#departure = new EphemeralDeparture({
      clock,
      detach: () => rings.detach((place) => this.#staysHere(place)),
      take: (moved) => this.#handOver.take(moved),
    });
    const adoption = new EphemeralAdoption({ clock, placement, rings, bytesMax: limits.bytesMax });
    const whenApplied = (index: number, work: () => void) => this.#whenApplied(index, work);
    const reset = (tenant: string, queue: string) => this.#reset(tenant, queue);
    const parts = { clock, epoch, rings, placement, adoption, reset, whenApplied };
    this.#server = calls === null ? null : new EphemeralServer({ calls, ...parts });
  }

  // --- life --------------------------------------------------------------------------------------

  /** Other nodes are answered from here on. */
  open(): void {
    this.#server?.start();
  }

  /** This node has caught up, and holds rings from here on. */
  serve(): void {
    if (!this.#placement.serves) this.#placement.start();
  }

  /** Nothing that a client asked for is without its answer. */
  get idle(): boolean {
    return this.#errands.idle && this.#walks.idle;
  }

  /** Pops that wait are answered, and none waits from here on. */
  drain(): void {
    this.#draining = true;
    this.#rings.endWaiting();
  }

  /** Hands everything to the others; `done` when it is there, or after 15 s. */
  leave(done: () => void): void {
    if (!this.#placement.serves || this.#placement.isLeaving) {
      done();
      return;
    }
    this.#placement.leave();
    if (this.#placement.live.length === 0) {
      this.#departure.stop();
      this.#handOver.stop();
    }
    this.#departure.whenDone(() => this.#handOver.leave(done));
  }

  /** Rings that are left are lost. */
  stop(): void {
    this.#walks.stop();
    this.#server?.stop();
    this.#placement.stop();
    this.#departure.stop();
    this.#handOver.stop();
    this.#errands.stop();
    this.#rings.stop();
    this.#waitingForIndex = [];
  }

  /** Bytes of payloads in the memory of this node. */
  get bytes(): number {
    return this.#rings.bytes;
  }

  // --- what is declared --------------------------------------------------------------------------

  /** An entry that was applied here has changed it. */
  changed({ tenant, queue, options }: EphemeralQueueEffect): void {
    this.#rings.declarationChanged(tenant, queue, options ?? undefined);
    if (options !== null) return;
    this.#handOver.forget((p) => p.tenant === tenant && (queue === '' || p.queue === queue));
  }

  applied(index: number): void {
    if (this.#waitingForIndex.length === 0) return;
    const due = this.#waitingForIndex.filter((waiter) => waiter.index <= index);
    if (due.length === 0) return;
    this.#waitingForIndex = this.#waitingForIndex.filter((waiter) => waiter.index > index);
    for (const { work } of due) work();
  }

  configure: EphemeralService['configure'] = (command, reply) =>
    this.#submit(command, reply as Reply<Outcome>);

  delete: EphemeralService['delete'] = (command, reply) =>
    this.#submit(command, reply as Reply<Outcome>);

  /** A client that asks another node afterwards finds it so: the answer waits for all others. */
  #submit(command: EphemeralCommand, reply: Reply<Outcome>): void {
    this.#options.submit(command, (outcome) => {
      const answer = () => void reply.send(outcome);
      if (outcome.kind === 'refused') answer();
      else {
        const index = this.#options.appliedIndex();
        this.#tellAll(questionParts({ ask: 'applied', index }), answer);
      }
    });
  }

  #whenApplied(index: number, work: () => void): void {
    if (this.#options.appliedIndex() >= index) work();
    else this.#waitingForIndex.push({ index, work });
  }

  /** Asks each of the others that counts; `done` when all have answered, or did not in time. */
  #tellAll(parts: readonly Uint8Array[], done: () => void): void {
    const { self, calls } = this.#options;
    const others = this.#placement.live.filter((node) => node !== self);
    let left = others.length;
    if (left === 0 || calls === null) {
      done();
      return;
    }
    for (const node of others) {
      calls.call(node, 'ephemeral', parts, TELL_MS, () => {
        left--;
        if (left === 0) done();
      });
    }
  }

  reset(tenant: string, queue: string, reply: Reply<EphemeralReset>): void {
    const dropped = this.#reset(tenant, queue);
    this.#tellAll(questionParts({ ask: 'reset', tenant, queue }), () =>
      reply.send({ kind: 'ephemeral-reset', dropped }),
    );
  }

  /** Rings on their way elsewhere are reset, too. */
  #reset(tenant: string, queue: string): number {
    this.#handOver.forget((place) => place.tenant === tenant && place.queue === queue);
    return this.#rings.reset(tenant, queue);
  }

  queues(
    tenant: string,
    after: string,
    limit: number,
    reply: Reply<EphemeralQueuesPage | RefusedOutcome>,
  ): void {
    const asked: QueuesAsked = { tenant, after, limit };
    const { self: nodeId, state } = this.#options;
    const begin = () => queuesPage(this.#rings, state, asked);
    const send = (page: Omit<EphemeralQueuesPage, 'nodeId'>) => reply.send({ ...page, nodeId });
    this.#walks.walk(JSON.stringify(asked), begin, reply, send);
  }

  depth(tenant: string, queue: string, group: string | null): EphemeralDepthAnswer | null {
    const isDeclared = declaredOptions(this.#options.state, tenant, queue) !== undefined;
    return depthAnswer(this.#rings.find(tenant, queue), queue, group, isDeclared);
  }

  // --- messages ----------------------------------------------------------------------------------

  push(request: EphemeralPush, reply: Reply<EphemeralPushed | EphemeralRefused>): void {
    const { start, end } = request;
    const stored = () => {
      this.#options.meters.messages.pushed += start.length;
      reply.send({ kind: 'ephemeral-pushed' });
    };
    this.#errands.run({
      place: request,
      bytes: CALL_BYTES + (end[end.length - 1] ?? 0) - (start[0] ?? 0),
      timeoutMs: () => RELAY_MS,
      parts: () => pushParts(request),
      here: (done) => {
        const refusal = this.#rings.push(request, request);
        if (refusal === null) stored();
        done(refusal ?? 'done');
        return NOTHING_WAITS;
      },
      there: ({ said }) => {
        if (said.kind === 'done') stored();
        return said.kind === 'done';
      },
      refuse: (code) => reply.send({ kind: 'ephemeral-refused', code }),
    });
  }

  pop(request: EphemeralPop, reply: PopReply): void {
    const { clock } = this.#options;
    const { tenant, queue, partition } = request;
    const asked = this.#draining ? { ...request, deadlineMs: null } : request;
    const errand: Errand = {
      place: { tenant, queue, partition: partition ?? DEFAULT_PARTITION },
      bytes: CALL_BYTES,
      timeoutMs: () => {
        const leftMs = asked.deadlineMs === null ? 0 : asked.deadlineMs - clock.nowMs();
        return leftMs > 0 ? leftMs + RELAYED_POP_MS : RELAY_MS;
      },
      parts: () => popParts(asked, clock.nowMs()),
      here: (done) => this.#popHere(asked, reply, done),
      there: (answer, owner) => {
        const popped = poppedOf(answer);
        if (popped === null) return false;
        this.#deliverFrom(owner, asked, popped.map(messageOf), reply);
        return true;
      },
      refuse: (code) => reply.send({ kind: 'ephemeral-refused', code }),
    };
    // A pop that names no partition gets what this node has of the queue, if it has any.
    const hasShare = partition === null && (this.#rings.find(tenant, queue)?.rings.size ?? 0) > 0;
    reply.onGone = this.#errands.run(errand, hasShare);
  }

  #popHere(request: EphemeralPop, reply: PopReply, done: (outcome: HereOutcome) => void): Cancel {
    const outcome = this.#rings.pop(request, reply, (end) => {
      if (end === 'moved') {
        done('moved');
        return;
      }
      if (end === 'no-room') reply.send(ANSWERS_FULL);
      else this.#deliver(request, end.map(messageOf), this.#options.self, reply);
      done('done');
    });
    if (typeof outcome !== 'string') return outcome;
    done(outcome);
    return () => {};
  }

  /**
   * What another node has taken, without knowing of room here. Without room it goes back at once,
   * so that nothing is held; what nobody would get again is delivered in any case.
   */
  #deliverFrom(
    owner: number,
    request: EphemeralPop,
    messages: readonly EphemeralMessage[],
    reply: PopReply,
  ): void {
    let bytes = 0;
    for (const { start, end } of messages) bytes += end - start + MESSAGE_BYTES;
    const hasRoom = reply.room?.reserve(2 * bytes) ?? true;
    if (hasRoom || request.autoAck) {
      this.#deliver(request, messages, owner, reply);
      return;
    }
    this.#giveBack(request, messages, owner);
    reply.send(ANSWERS_FULL);
  }

  /** Messages that reach no client go back to where they came from. */
  #deliver(
    request: EphemeralPop,
    messages: readonly EphemeralMessage[],
    owner: number,
    reply: PopReply,
  ): void {
    if (reply.send({ kind: 'ephemeral-popped', messages })) {
      this.#options.meters.messages.popped += messages.length;
    } else if (!request.autoAck && messages.length > 0) this.#giveBack(request, messages, owner);
  }

  #giveBack(request: EphemeralPop, messages: readonly EphemeralMessage[], owner: number): void {
    const { self, calls } = this.#options;
    const { tenant, queue, group } = request;
    const back = { tenant, queue, group, ids: messages.map(({ id }) => id) };
    if (owner === self) this.#rings.giveBack(back);
    else {
      const question = questionParts({ ask: 'give-back', ...back });
      calls?.call(owner, 'ephemeral', question, GIVE_BACK_MS, () => {});
    }
  }

  ack(request: EphemeralAcks, reply: Reply<EphemeralAcked | EphemeralRefused>): void {
    const settled = (outcomes: EphemeralAcked['outcomes']) => {
      const acked = outcomes.filter((outcome) => outcome === 'acked').length;
      this.#options.meters.messages.acked += acked;
      reply.send({ kind: 'ephemeral-acked', outcomes });
    };
    this.#errands.run({
      place: placeOfAcks(request),
      bytes: CALL_BYTES + ACK_BYTES * request.ids.length,
      timeoutMs: () => RELAY_MS,
      parts: () => ackParts(request),
      here: (done) => {
        settled(this.#rings.ack(request));
        done('done');
        return NOTHING_WAITS;
      },
      there: ({ said }) => {
        if (said.kind !== 'acked' || said.outcomes.length !== request.ids.length) return false;
        settled(said.outcomes);
        return true;
      },
      refuse: (code) => reply.send({ kind: 'ephemeral-refused', code }),
    });
  }

  // --- rings that move ---------------------------------------------------------------------------

  /** What belongs elsewhere begins to leave, and what waited to know goes on. */
  #ownersChanged(): void {
    if (this.#placement.settled || this.#placement.isLeaving) this.#departure.begin();
    this.#handOver.ownersChanged();
    this.#errands.ownersChanged();
  }

  /** Without anybody to take it, a ring stays, unless this node leaves. */
  #staysHere(place: RingPlace): boolean {
    const owner = this.#placement.owner(place);
    return owner === this.#options.self || (owner === 0 && !this.#placement.isLeaving);
  }

  #returned(ring: CarriedRing): void {
    this.#rings.landed(ring);
    if (!this.#rings.adopt(ring)) this.#countLost(ring);
  }

  #lost(ring: CarriedRing): void {
    this.#rings.landed(ring);
    this.#countLost(ring);
  }

  #countLost({ tenant, queue, partition, messages }: CarriedRing): void {
    if (messages.length === 0) return;
    this.#options.meters.wipes++;
    this.#options.warn(
      `ephemeral ring lost on its way: ${messages.length} messages of ` +
        `${tenant}/${queue}/${partition}`,
    );
  }
}
