/**
 * The leaderships of this node. While this node leads, its own leader takes commands: of clients
 * here (`held-requests.ts`), and of other nodes that pass theirs on (`forward-server.ts`).
 *
 * The node says when its leadership begins and ends, and what has been applied. Clients notice
 * nothing of a change but time.
 */
import type { Command, Refusal } from '@svc/engine';
import type { PipelineMeters } from '@svc/wire';
import { nodeNumber } from '../config/member-id.js';
import type { Consensus } from '../consensus/consensus.js';
import { Leader, type Office } from '../leader/leader.js';
import type { PeerCalls } from '../peers/calls.js';
import type { StateReads } from '../reads/state-reads.js';
import type { Clock } from '../system/clock.js';
import type { Admission } from './admission.js';
import type { RemoteLeader } from './forward-sender.js';
import { ForwardServer } from './forward-server.js';
import type { Requests } from './held-requests.js';

export interface LeadershipOptions {
  readonly clock: Clock;
  readonly consensus: Pick<Consensus, 'leader'>;
  /** Held reads, which are asked again when another node leads. */
  readonly reads: Pick<StateReads, 'follow'>;
  readonly requests: Requests;
  /** null: there are no other nodes. */
  readonly calls: PeerCalls | null;
  /** Room for what grows the store. */
  readonly admission: Admission;
  /** Why a command is not to be planned at all, if it never was; null: it may be. */
  readonly refusal: (command: Command) => Refusal | null;
  readonly pipeline: PipelineMeters;
}

/** null: none is known, or it is this node. */
export function remoteLeader(consensus: Consensus, nodeId: number): RemoteLeader | null {
  const node = nodeNumber(consensus.leader);
  const status = consensus.status();
  if (node === 0 || node === nodeId || status === null) return null;
  return { node, term: status.term };
}

export class Leadership {
  readonly #requests: Requests;
  readonly #reads: Pick<StateReads, 'follow'>;
  /** null: there are no other nodes. */
  readonly #server: ForwardServer | null;
  #leading: { readonly office: Office; readonly term: number } | null = null;

  constructor({ consensus, reads, requests, calls, ...served }: LeadershipOptions) {
    this.#requests = requests;
    this.#reads = reads;
    this.#server =
      calls === null
        ? null
        : new ForwardServer({
            ...served,
            calls,
            leading: () => this.#leading,
            leaderNode: () => nodeNumber(consensus.leader),
          });
  }

  /** null: this node does not lead. */
  get office(): Office | null {
    return this.#leading?.office ?? null;
  }

  /** null: nothing is planned here: this node does not lead, or its cluster is a standby. */
  get leader(): Leader | null {
    const { office } = this;
    return office instanceof Leader ? office : null;
  }

  /** Also in place of an office of the same term, in which no request waits any more. */
  begin(office: Office, term: number): void {
    this.#leading = { office, term };
    this.#requests.lead(office);
    this.#reads.follow();
  }

  /** What waited for this leadership goes on elsewhere. */
  end(): void {
    const proposed = this.#leading?.office.stop() ?? [];
    this.#leading = null;
    this.#server?.endLeadership();
    this.#requests.endLeadership(proposed);
  }

  /** Another node may lead, or none. */
  roleChanged(): void {
    this.#requests.follow();
    this.#reads.follow();
  }

  /** The entry at (index, term) has been applied to the state. */
  applied(index: number, term: number): void {
    this.#leading?.office.applied(index, term);
    this.#requests.applied(index, term);
  }

  /** No command that this node plans is without its outcome. */
  get idle(): boolean {
    return this.#leading?.office.idle ?? true;
  }

  stop(): void {
    this.end();
    this.#server?.stop();
  }
}
