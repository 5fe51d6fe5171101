/**
 * Brings a directory into a cluster before it is opened: asks the other nodes of the peer list who
 * they are until `decideForming` has an answer, and makes each step durable before it is said.
 *
 *     incarnation drawn -> asks, pledges -> outcome durable -> the directory is opened
 *
 * A directory that has an outcome, or an identity from before there were outcomes, asks nothing.
 */
import { randomUUID } from 'node:crypto';
import type { NodeId } from '@svc/raft';
import { type Disk, type Identity, readIdentity } from '@svc/storage';
import type { Config } from '../config/config.js';
import { drawIncarnation, memberId, nodeNumber } from '../config/member-id.js';
import type { Peer } from '../config/peers.js';
import {
  type FormingOutcome,
  type FormingRecord,
  restoreForming,
  writeForming,
} from '../consensus/forming-record.js';
import { refuseLostIdentity } from '../directory/node-identity.js';
import type { PeerCalls } from '../peers/calls.js';
import type { Cancel, Clock } from '../system/clock.js';
import type { Logger } from '../system/logging.js';
import type { RandomSource } from '../system/random.js';
import { type Card, decodeCard, digestOfList, encodeCard } from './card.js';
import {
  decideForming,
  type FormingDecision,
  type FormingObstacle,
  type FormingSituation,
  pledgeAfter,
} from './decision.js';

const ASK_EVERY_MS = 200;
const ANSWER_MS_MAX = 1000;
const FIRST_REPORT_MS = 1500;
/** The pause before each next report is half as long again as the one before. */
const REPORT_PAUSE_MS_MAX = 60_000;

export interface FormingOptions {
  readonly config: Config;
  readonly disk: Disk;
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly logger: Logger;
  /** null: there is no way to others, and none are named. */
  readonly calls: PeerCalls | null;
  /** The highest cluster version that this build reads. */
  readonly readableVersion: number;
}

export class Forming {
  readonly #options: FormingOptions;
  readonly #list: readonly number[];
  readonly #listDigest: string;
  readonly #identity: Identity | null;
  #record: FormingRecord | null;
  readonly #cards = new Map<number, Card>();
  /** Nodes that have not answered yet: none is asked again before, see `forming/decision.ts`. */
  readonly #asking = new Set<number>();
  #done: (() => void) | null = null;
  #cancelAsking: Cancel = () => {};
  #cancelReport: Cancel = () => {};

  /** The numbers drawn for a fresh directory are durable when this returns. */
  constructor(options: FormingOptions) {
    const { config, disk, random } = options;
    const directory = config.dataDirectory;
    this.#options = options;
    const named = config.peers.length === 0 ? [config.nodeId] : config.peers.map(({ id }) => id);
    this.#list = [...named].sort((one, other) => one - other);
    this.#listDigest = digestOfList(config.peers);
    this.#identity = readIdentity(disk, directory);
    this.#record = restoreForming(disk, directory);
    if (this.#identity !== null) return;
    refuseLostIdentity(disk, directory);
    const known = this.#record;
    // A directory that was never told to anybody under this number is nobody's.
    if (known !== null && (known.node === config.nodeId || known.outcome !== null)) return;
    const incarnation = drawIncarnation(() => random.fraction());
    this.#write({ node: config.nodeId, incarnation, pledge: null, outcome: null });
  }

  /** What the directory became; null while that is open. */
  get outcome(): FormingOutcome | null {
    return this.#record?.outcome ?? null;
  }

  /** "" while there is none. */
  get clusterId(): string {
    return this.#identity?.clusterId ?? this.outcome?.clusterId ?? '';
  }

  /** `members`: of the newest configuration applied here; empty while none is known. */
  card(members: readonly NodeId[], addresses: readonly Peer[]): Card {
    const { config, readableVersion } = this.#options;
    const { incarnation = 0, pledge = null, outcome = null } = this.#record ?? {};
    const life = this.#identity?.incarnation ?? incarnation;
    const own = memberId(config.nodeId, life);
    const known = members.length > 0 ? members : (outcome?.founding?.founders ?? []);
    const isOpen = this.clusterId === '' && !config.raftJoin;
    return {
      node: config.nodeId,
      incarnation: life,
      state: known.includes(own) ? 'member' : isOpen ? 'fresh' : 'joining',
      clusterId: this.clusterId,
      pledge,
      founding: outcome?.founding ?? null,
      members: known,
      addresses,
      readableVersion,
      listDigest: this.#listDigest,
    };
  }

  /** An operator has to name this node to a member, and nobody has yet. */
  get waitsToBeAdded(): boolean {
    return this.#done !== null && this.#options.config.raftJoin;
  }

  /** `done` runs once, at once when nothing has to be found out; never after `stop`. */
  start(done: () => void): void {
    const { clock, calls } = this.#options;
    if (this.#identity !== null || this.outcome !== null) {
      done();
      return;
    }
    this.#done = done;
    if (calls !== null) {
      this.#cancelAsking = clock.every(ASK_EVERY_MS, () => this.#askAll(calls));
      this.#reportAfter(FIRST_REPORT_MS);
      this.#askAll(calls);
    }
    this.#step();
  }

  stop(): void {
    this.#done = null;
    this.#cancelAsking();
    this.#cancelReport();
  }

  /**
   * Somebody asks this node. A member that does so tells a waiting node which cluster wants it,
   * also one that is in no list here. For all else only answers count: they cannot be older than
   * their question.
   */
  heard(card: Card): void {
    if (!this.#options.config.raftJoin || card.state !== 'member' || this.#done === null) return;
    if (!this.#cards.has(card.node)) this.#cards.set(card.node, card);
    this.#step();
  }

  #askAll(calls: PeerCalls): void {
    for (const node of this.#list) if (node !== this.#options.config.nodeId) this.#ask(calls, node);
  }

  #ask(calls: PeerCalls, node: number): void {
    if (this.#asking.has(node)) return;
    this.#asking.add(node);
    calls.call(node, 'ask', [encodeCard(this.card([], []))], ANSWER_MS_MAX, (answer) => {
      this.#asking.delete(node);
      if (this.#done === null) return;
      const card = typeof answer === 'string' ? null : decodeCard(answer);
      if (card === null || card.node !== node) this.#cards.delete(node);
      else this.#take(card);
      this.#step();
    });
  }

  #take(card: Card): void {
    this.#cards.set(card.node, card);
    const situation = this.#situation();
    const pledge = situation === null ? null : pledgeAfter(situation, card);
    if (pledge !== null && this.#record !== null) this.#write({ ...this.#record, pledge });
  }

  #situation(): FormingSituation | null {
    const { config } = this.#options;
    if (this.#record === null) return null;
    return {
      node: config.nodeId,
      incarnation: this.#record.incarnation,
      pledge: this.#record.pledge,
      listDigest: this.#listDigest,
      joins: config.raftJoin,
      list: this.#list,
      cards: this.#cards,
    };
  }

  #step(): void {
    const situation = this.#done === null ? null : this.#situation();
    if (situation === null) return;
    const decision = decideForming(situation);
    if (decision.kind === 'wait') return;
    this.#decide(decision);
    const done = this.#done;
    this.stop();
    done?.();
  }

  #decide(decision: Exclude<FormingDecision, { readonly kind: 'wait' }>): void {
    const { config, logger } = this.#options;
    switch (decision.kind) {
      case 'found': {
        const { founders } = decision;
        this.#become({ clusterId: randomUUID(), founding: { founders, peers: config.peers } });
        logger.info('boot', `this node founds a cluster of voters: ${founders.map(nodeNumber)}`);
        return;
      }
      case 'adopt':
        this.#become(decision);
        logger.info('boot', 'this node is a founder of the cluster that the others speak of');
        return;
      case 'join':
        this.#become({ clusterId: decision.clusterId, founding: null });
        logger.info('boot', 'this fresh node joins an existing cluster');
        if (decision.formerLife !== null) this.#warnOfFormerLife();
    }
  }

  #warnOfFormerLife(): void {
    const id = this.#options.config.nodeId;
    this.#options.logger.warn(
      'boot',
      `the cluster has a member ${id} on another directory, which this one cannot stand in for: ` +
        `it waits until that member is replaced (DELETE .../raft/membership/members/${id}, then ` +
        'POST .../learners and .../promote)',
    );
  }

  #become({ clusterId, founding }: FormingOutcome): void {
    if (this.#record === null) return;
    this.#write({ ...this.#record, outcome: { clusterId, founding } });
  }

  #write(record: FormingRecord): void {
    const { disk, config } = this.#options;
    writeForming(disk, config.dataDirectory, record);
    this.#record = record;
  }

  #reportAfter(ms: number): void {
    this.#cancelReport = this.#options.clock.after(ms, () => {
      this.#report();
      this.#reportAfter(Math.min(ms * 1.5, REPORT_PAUSE_MS_MAX));
    });
  }

  #report(): void {
    const situation = this.#situation();
    if (situation === null) return;
    const decision = decideForming(situation);
    if (decision.kind !== 'wait') return;
    const { logger, config } = this.#options;
    const join = 'this fresh node waits to be added to a cluster (SVC_RAFT_JOIN)';
    const found = 'this fresh node waits for the others before a cluster is founded';
    const what = [
      config.raftJoin ? join : found,
      ...decision.for.map((one) => describe(one, config)),
    ];
    logger.info('boot', what.join('; '));
  }
}

function describe({ node, why }: FormingObstacle, { peers }: Config): string {
  const address = peers.find(({ id }) => id === node)?.raftAddress;
  const name = address === undefined ? `node ${node}` : `node ${node} (${address})`;
  switch (why) {
    case 'silent':
      return `${name} does not answer`;
    case 'not_pledged':
      return `${name} has not answered for good`;
    case 'list_differs':
      return `${name} has another SVC_RAFT_PEERS`;
    case 'joining':
      return (
        `${name} waits to be added to a cluster of which no member answers ` +
        '(if that cluster is gone for good, empty its directory)'
      );
    case 'lowest':
      return `${name} founds, as it has the lowest id, and has not yet`;
    case 'other_cluster':
      return `${name} belongs to another cluster than the others: only one of them can be right`;
  }
}
