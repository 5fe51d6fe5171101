/**
 * The way of every command to the planner. While this node leads, its own leader takes commands: of
 * clients here, and of other nodes that pass theirs on. While another node leads, commands are sent
 * there, and while none does they are held (`held-requests.ts` has the argument).
 *
 * The node says when its leadership begins and ends, and what has been applied. Clients notice
 * nothing of a change but time.
 */
import type { Command, PopCommand, Refusal, RequestSession } from '@svc/engine';
import type { PipelineMeters } from '@svc/wire';
import { nodeNumber } from '../config/member-id.js';
import type { Consensus } from '../consensus/consensus.js';
import type { Leader } from '../leader/leader.js';
import type { PeerCalls } from '../peers/calls.js';
import type { StateReads } from '../reads/state-reads.js';
import type { Clock } from '../system/clock.js';
import type { Admission } from './admission.js';
import { ForwardSender, type RemoteLeader } from './forward-sender.js';
import { ForwardServer } from './forward-server.js';
import type { ClientRequest, OnOutcome, SubmitOptions } from './held-request.js';
import { Requests } from './held-requests.js';

/** The way of commands to the node that leads, and from the others when this one does. */
export interface Forwarding {
  readonly calls: PeerCalls;
  readonly session: RequestSession;
  /** SVC_RAFT_FWD_INFLIGHT. */
  readonly inFlightMax: number;
}

export interface LeadershipOptions {
  readonly clock: Clock;
  readonly nodeId: number;
  readonly consensus: Pick<Consensus, 'leader' | 'status'>;
  /** Held reads, which are asked again when another node leads. */
  readonly reads: Pick<StateReads, 'follow'>;
  /** null: there are no other nodes. */
  readonly forwarding: Forwarding | null;
  /** Room for what grows the store; null: no bound. */
  readonly admission: Admission | null;
  /** The last entry applied here. */
  readonly appliedIndex: () => number;
  /** False: no configuration that this node knows names it; it does not wait for a leader then. */
  readonly isMember: () => boolean;
  /** Why a command is not to be planned at all, if it never was; null: it may be. */
  readonly refusal: (command: Command) => Refusal | null;
  readonly pipeline: PipelineMeters;
}

export class Leadership {
  readonly #options: LeadershipOptions;
  readonly #requests: Requests;
  /** null: there are no other nodes. */
  readonly #server: ForwardServer | null;
  #leading: { readonly leader: Leader; readonly term: number } | null = null;

  constructor(options: LeadershipOptions) {
    const { clock, forwarding, pipeline, consensus, admission, refusal } = options;
    this.#options = options;
    const sender =
      forwarding === null ? null : new ForwardSender({ ...forwarding, clock, pipeline });
    this.#requests = new Requests({
      ...options,
      sender,
      remoteLeader: () => this.#remoteLeader(),
    });
    this.#server =
      forwarding === null
        ? null
        : new ForwardServer({
            calls: forwarding.calls,
            pipeline,
            clock,
            leading: () => this.#leading,
            leaderNode: () => nodeNumber(consensus.leader),
            admission,
            refusal,
          });
  }

  /** null: this node does not lead. */
  get leader(): Leader | null {
    return this.#leading?.leader ?? null;
  }

  /** `onOutcome` runs once, at the deadline at the latest. */
  submit(
    command: Command,
    deadlineMs: number,
    onOutcome: OnOutcome,
    options?: SubmitOptions,
  ): ClientRequest {
    return this.#requests.submit(command, deadlineMs, onOutcome, options);
  }

  /** The request's client has gone. */
  abandon(request: ClientRequest): void {
    this.#requests.abandon(request);
  }

  /** Clients' pops that have been waiting for some time. */
  eachParked(visit: (command: PopCommand) => void): void {
    this.#requests.eachParked(visit);
  }

  begin(leader: Leader, term: number): void {
    this.#leading = { leader, term };
    this.#requests.lead(leader);
    this.#options.reads.follow();
  }

  /** What waited for this leadership goes on elsewhere. */
  end(): void {
    const proposed = this.#leading?.leader.stop() ?? [];
    this.#leading = null;
    this.#server?.endLeadership();
    this.#requests.endLeadership(proposed);
  }

  /** Another node may lead, or none. */
  roleChanged(): void {
    this.#requests.follow();
    this.#options.reads.follow();
  }

  /** The entry at (index, term) has been applied to the state. */
  applied(index: number, term: number): void {
    this.#leading?.leader.applied(index, term);
    this.#requests.applied(index, term);
  }

  /** No command is without its outcome. */
  get idle(): boolean {
    return (this.#leading?.leader.idle ?? true) && this.#requests.idle;
  }

  /** Pops that wait are answered; what waits for a leader does not wait long. */
  drain(): void {
    this.#requests.drain();
  }

  /** Answers whatever is left. Nothing is called and nothing is kept from here on. */
  stop(): void {
    this.end();
    this.#server?.stop();
    this.#requests.stop();
  }

  #remoteLeader(): RemoteLeader | null {
    const { consensus, nodeId } = this.#options;
    const node = nodeNumber(consensus.leader);
    const status = consensus.status();
    if (node === 0 || node === nodeId || status === null) return null;
    return { node, term: status.term };
  }
}
