/**
 * Nodes that hold ephemeral queues, joined by a network in memory that delays, and loses whatever
 * is on its way when a link breaks. Declarations are applied everywhere at once. The clock moves by
 * hand.
 */
import {
  applyEphemeralEffect,
  type EphemeralCommand,
  type EphemeralQueueEffect,
  grants,
  MapState,
  type Outcome,
  planEphemeral,
} from '@svc/engine';
import { ringLimits } from '@svc/ephemeral';
import {
  type EphemeralAcked,
  type EphemeralMessage,
  type EphemeralPop,
  type EphemeralRefused,
  LoopShare,
  type Reply,
} from '@svc/http';
import { newMeters } from '@svc/wire';
import { Ephemeral } from '../ephemeral/ephemeral.js';
import { PeerCalls } from '../peers/calls.js';
import type { PeerChannel, PeerPort } from '../peers/port.js';
import { MovedClock } from './moved-clock.fake.js';

export const TENANT = '00000000-0000-0000-0000-000000000001';
const CEILINGS = { maxBytes: 4_000_000, maxLength: 10_000, leaseSeconds: 5, retryLimit: 1000 };
const SILENT_MS = 4000;

class GroupPort implements PeerPort {
  onFrame: PeerPort['onFrame'] = () => {};
  onUnreachable: PeerPort['onUnreachable'] = () => {};
  readonly send: PeerPort['send'];

  constructor(send: PeerPort['send']) {
    this.send = send;
  }
}

export interface EphemeralNode {
  readonly number: number;
  readonly ephemeral: Ephemeral;
  readonly port: GroupPort;
  readonly meters: ReturnType<typeof newMeters>['ephemeral'];
}

export type Popped =
  | { readonly kind: 'ephemeral-popped'; readonly messages: readonly EphemeralMessage[] }
  | EphemeralRefused;

export interface Answered<Outcome> {
  outcome: Outcome | null;
  isGone: boolean;
  /** The client goes. */
  leave(): void;
}

export class EphemeralGroup {
  readonly clock = new MovedClock();
  readonly state = new MapState();
  readonly nodes = new Map<number, EphemeralNode>();
  readonly wiped: string[] = [];
  readonly #fraction: () => number;
  readonly #members: readonly number[];
  /** When a node that is gone was there last. */
  readonly #goneMs = new Map<number, number>();
  /** `from to`: what was sent before the break is lost. */
  readonly #breaks = new Map<string, number>();
  bytesMax = 100_000_000;

  constructor(members: readonly number[], fraction: () => number) {
    this.#members = members;
    this.#fraction = fraction;
    for (const number of members) this.start(number);
  }

  node(number: number): EphemeralNode {
    const node = this.nodes.get(number);
    if (node === undefined) throw new Error(`node ${number} is not there`);
    return node;
  }

  start(number: number): EphemeralNode {
    const { clock, state } = this;
    const port = new GroupPort((to, channel, parts) => this.#send(number, to, channel, parts));
    const calls = new PeerCalls({ port, clock, random: this.#fraction });
    const meters = newMeters().ephemeral;
    const ephemeral = new Ephemeral({
      self: number,
      clock,
      loop: new LoopShare(clock),
      fraction: this.#fraction,
      limits: ringLimits(this.bytesMax, 300_000, CEILINGS),
      silentMsMax: SILENT_MS,
      meters,
      state,
      appliedIndex: () => 1,
      members: () => this.#members,
      heardAgoMs: (other) => {
        if (this.nodes.has(other)) return 0;
        const goneMs = this.#goneMs.get(other);
        return goneMs === undefined ? null : clock.nowMs() - goneMs;
      },
      calls,
      submit: (command, onOutcome) => this.#submit(command, onOutcome),
      warn: (text) => this.wiped.push(text),
    });
    const node = { number, ephemeral, port, meters };
    this.nodes.set(number, node);
    ephemeral.open();
    ephemeral.serve();
    return node;
  }

  /** What was on its way to or from it is lost, and so is all it held. */
  kill(number: number): void {
    const node = this.node(number);
    this.nodes.delete(number);
    this.#goneMs.set(number, this.clock.nowMs());
    node.port.onFrame = () => {};
    node.ephemeral.stop();
    for (const other of this.nodes.values()) {
      for (const channel of ['calls', 'answers'] as const) {
        other.port.onUnreachable(number, channel);
      }
    }
  }

  /** Gives away what it holds, as on SIGTERM, and goes. */
  leave(number: number, gone: () => void = () => {}): void {
    const { ephemeral } = this.node(number);
    ephemeral.leave(() => {
      ephemeral.drain();
      this.clock.after(20, () => {
        this.kill(number);
        gone();
      });
    });
  }

  /** Loses all frames on their way between the two, in both directions. */
  breakLink(one: number, other: number): void {
    for (const [from, to] of [
      [one, other],
      [other, one],
    ] as const) {
      this.#breaks.set(`${from} ${to}`, this.clock.nowMs());
      for (const channel of ['calls', 'answers'] as const) {
        this.nodes.get(from)?.port.onUnreachable(to, channel);
      }
    }
  }

  // --- what clients do ---------------------------------------------------------------------------

  push(at: number, queue: string, partition: string, payloads: readonly string[]) {
    const bytes = Buffer.from(payloads.join(''));
    const start: number[] = [];
    const end: number[] = [];
    let from = 0;
    for (const payload of payloads) {
      start.push(from);
      from += payload.length;
      end.push(from);
    }
    const request = { tenant: TENANT, queue, partition, bytes, start, end };
    return answered((reply: Reply<{ readonly kind: string }>) =>
      this.node(at).ephemeral.push(request, reply),
    );
  }

  /** `messages` null: refused. */
  pop(at: number, asked: Partial<EphemeralPop> & { readonly queue: string; waitMs?: number }) {
    const { waitMs, ...rest } = asked;
    const request: EphemeralPop = {
      tenant: TENANT,
      partition: null,
      group: 'g',
      batch: 1,
      autoAck: false,
      deadlineMs: waitMs === undefined ? null : this.clock.nowMs() + waitMs,
      ...rest,
    };
    return answered((reply: Reply<Popped>) => this.node(at).ephemeral.pop(request, reply));
  }

  ack(at: number, queue: string, ids: readonly string[], verdict: 'completed' | 'failed') {
    const verdicts = ids.map(() => verdict);
    const request = { tenant: TENANT, queue, group: 'g', ids, verdicts };
    return answered((reply: Reply<EphemeralAcked | EphemeralRefused>) =>
      this.node(at).ephemeral.ack(request, reply),
    );
  }

  /** Takes the outcome of a command for granted: it is in the state of all nodes at once. */
  #submit(command: EphemeralCommand, onOutcome: (outcome: Outcome) => void): void {
    const effects: EphemeralQueueEffect[] = [];
    const draft = {
      state: this.state,
      emit: (effect: (typeof effects)[0]) => effects.push(effect),
    };
    const outcome = planEphemeral(draft as unknown as Parameters<typeof planEphemeral>[0], command);
    for (const effect of effects) {
      applyEphemeralEffect(this.state, effect);
      for (const { ephemeral } of this.nodes.values()) ephemeral.changed(effect);
    }
    onOutcome(outcome);
  }

  grant(maxBytes: number | null, maxQueues: number | null): void {
    const unlimited = {
      maxRows: null,
      maxTimers: null,
      maxTimerHorizonSeconds: null,
      maxReadsPerSecond: null,
      maxWritesPerSecond: null,
      maxMessagesPerSecond: null,
      maxQueries: null,
    };
    const row = { enabled: true, ...unlimited, maxBytes, maxQueues };
    this.state.put(grants, `${TENANT}ephemeral` as never, row);
  }

  #send(from: number, to: number, channel: PeerChannel, parts: readonly Uint8Array[]): boolean {
    if (!this.nodes.has(to)) return false;
    const frame = Buffer.concat(parts);
    const sentMs = this.clock.nowMs();
    const receiver = this.node(to);
    this.clock.after(1 + this.#fraction() * 4, () => {
      const brokenMs = this.#breaks.get(`${from} ${to}`) ?? Number.NEGATIVE_INFINITY;
      if (brokenMs >= sentMs || this.nodes.get(to) !== receiver) return;
      receiver.port.onFrame(from, channel, frame);
    });
    return true;
  }
}

function answered<Outcome>(ask: (reply: Reply<Outcome>) => void): Answered<Outcome> {
  const reply: Reply<Outcome> = {
    get gone() {
      return answer.isGone;
    },
    onGone: null,
    send: (outcome) => {
      if (answer.isGone) return false;
      if (answer.outcome !== null) throw new Error('a client was answered twice');
      answer.outcome = outcome;
      return true;
    },
  };
  const answer: Answered<Outcome> = {
    outcome: null,
    isGone: false,
    leave: () => {
      answer.isGone = true;
      reply.onGone?.();
    },
  };
  ask(reply);
  return answer;
}
