/**
 * Shows every member as it sees itself (`GET /api/v1/raft/members`): each is asked for its own
 * block, and the leader's tells how far the others are.
 *
 * What must hold: the answer is there in `ASK_MS`, whoever does not answer; and a block counts only
 * if it comes from the member that was added. A node that lost its directory answers as another
 * one, and its row says so.
 */
import type { RefusedOutcome } from '@svc/engine';
import type { RaftMembersView, Reply } from '@svc/http';
import { isVoter, members, type NodeId, type Status } from '@svc/raft';
import type {
  Meters,
  RaftMemberHost,
  RaftMemberProgress,
  RaftMemberRates,
  RaftMembersAnswer,
  RaftNodeBlock,
  RaftPeerFigures,
  RaftReachableMember,
  RaftUnreachableMember,
} from '@svc/wire';
import { incarnationOf, nodeNumber } from '../config/member-id.js';
import type { MemberAddresses } from '../consensus/group-addresses.js';
import type { CallFailure, PeerCalls } from '../peers/calls.js';
import type { Cancel } from '../system/clock.js';
import type { MachineFigures } from '../system/machine-figures.js';
import type { NodeStatus } from './node-status.js';

const ASK_MS = 1500;
/** A block takes 1 KiB, the figures of 64 members 6 KiB. */
const BYTES_MAX = 256 * 1024;

/** What one member says to another. */
interface MemberReport {
  readonly member: NodeId;
  readonly block: RaftNodeBlock;
  /** Figures of the leader; null on other nodes. */
  readonly replication: readonly RaftPeerFigures[] | null;
  readonly host: RaftMemberHost;
  /** Left out by earlier builds. */
  readonly rates?: RaftMemberRates;
}

export interface MemberBlocksParts {
  readonly self: NodeId;
  readonly status: NodeStatus;
  readonly consensus: { status(): Status | null };
  readonly addresses: MemberAddresses;
  /** null: there are no other nodes. */
  readonly calls: PeerCalls | null;
  readonly machine: MachineFigures;
  readonly meters: Meters;
}

type Row = MemberReport | { readonly error: string };
type Reader = Reply<RaftMembersView | RefusedOutcome>;

export class MemberBlocks {
  readonly #parts: MemberBlocksParts;
  /** Readers that wait for the round of questions under way: all of them share one round. */
  #readers: Reader[] = [];
  #stopServing: Cancel = () => {};

  constructor(parts: MemberBlocksParts) {
    this.#parts = parts;
  }

  /** Answers other nodes from here on. */
  open(): void {
    const { calls } = this.#parts;
    const stop = calls?.serve('block', (call) => call.answer([encode(this.#own())]));
    this.#stopServing = stop ?? (() => {});
  }

  close(): void {
    this.#stopServing();
  }

  read(reply: Reader): void {
    this.#readers.push(reply);
    if (this.#readers.length > 1) return;
    const { self, consensus, calls } = this.#parts;
    const status = consensus.status();
    const all = status === null ? [] : members(status.configuration);
    const rows = new Map<NodeId, Row>([[self, this.#own()]]);
    let left = 1;
    const settle = () => {
      left--;
      if (left === 0) this.#answer(rows);
    };
    for (const member of all) {
      if (member === self || calls === null) continue;
      left++;
      calls.call(nodeNumber(member), 'block', [], ASK_MS, (answer) => {
        rows.set(member, rowOf(member, answer));
        settle();
      });
    }
    settle();
  }

  #own(): MemberReport {
    const { self, status, machine, meters } = this.#parts;
    return {
      member: self,
      block: status.block(),
      replication: status.replication(),
      host: machine.now(),
      rates: meters.queues.closedRates(),
    };
  }

  #answer(rows: ReadonlyMap<NodeId, Row>): void {
    const readers = this.#readers;
    this.#readers = [];
    const answer = this.#assembled(rows);
    for (const reader of readers) reader.send({ kind: 'raft-members', answer });
  }

  #assembled(rows: ReadonlyMap<NodeId, Row>): RaftMembersAnswer {
    const { status } = this.#parts;
    const consensus = this.#parts.consensus.status();
    const leader = [...rows.values()].find(isLeading) ?? null;
    const shown = [...rows].map(([member, row]) => this.#rowOf(member, row, leader, consensus));
    const leaderId = consensus === null ? 0 : nodeNumber(consensus.leader);
    return {
      engine: 'raft',
      clusterId: status.clusterId,
      leaderId: leaderId === 0 ? null : leaderId,
      term: consensus?.term ?? 0,
      self: status.nodeId,
      voters: consensus?.configuration.voters.length ?? 0,
      members: shown.sort((one, other) => one.nodeId - other.nodeId),
    };
  }

  #rowOf(
    member: NodeId,
    row: Row,
    leader: MemberReport | null,
    consensus: Status | null,
  ): RaftReachableMember | RaftUnreachableMember {
    const progress = progressOf(nodeNumber(member), leader);
    if (!('error' in row)) {
      const local = member === this.#parts.self;
      const { rates } = row;
      const shown = rates === undefined ? {} : { rates };
      return { ...row.block, local, reachable: true, ...progress, host: row.host, ...shown };
    }
    const nodeId = nodeNumber(member);
    const address = this.#parts.addresses.get().find((peer) => peer.id === nodeId);
    return {
      nodeId,
      role: consensus !== null && isVoter(consensus.configuration, member) ? 'voter' : 'learner',
      state: 'unreachable',
      local: false,
      reachable: false,
      raftAddr: address?.raftAddress ?? null,
      httpAddr: address?.httpAddress ?? null,
      hostname: null,
      error: row.error,
      ...progress,
    };
  }
}

function isLeading(row: Row): row is MemberReport {
  return 'block' in row && row.replication !== null;
}

function progressOf(nodeId: number, leader: MemberReport | null): RaftMemberProgress {
  const unknown = { matchIndex: null, heartbeatAgeMs: null, lagEntries: null };
  if (leader === null) return unknown;
  const last = leader.block.lastLogIndex;
  if (leader.block.nodeId === nodeId) {
    return { matchIndex: last, heartbeatAgeMs: null, lagEntries: 0 };
  }
  const figures = leader.replication?.find((one) => one.nodeId === nodeId);
  if (figures === undefined) return unknown;
  const { matchIndex, heartbeatAgeMs } = figures;
  const lagEntries = last === null || matchIndex === null ? null : last - matchIndex;
  return { matchIndex, heartbeatAgeMs, lagEntries };
}

function rowOf(member: NodeId, answer: Uint8Array | CallFailure): Row {
  const node = nodeNumber(member);
  if (typeof answer === 'string') return { error: textOf(node, answer) };
  const report = decode(answer);
  if (report === null || report.block.nodeId !== node) {
    return { error: `what node ${node} answers is no report of a member` };
  }
  if (report.member === member) return report;
  const found = incarnationOf(report.member).toString(16);
  return {
    error:
      `node ${node} runs on another data directory (${found}) than the member that was added: ` +
      'remove the member and add the node again',
  };
}

function textOf(node: number, failure: CallFailure): string {
  switch (failure) {
    case 'unreachable':
      return `node ${node} cannot be reached`;
    case 'timeout':
      return `node ${node} did not answer within ${ASK_MS} ms`;
    case 'busy':
      return `node ${node} answers too many questions already`;
    case 'unserved':
      return `node ${node} is not ready to answer`;
  }
}

function encode(report: MemberReport): Uint8Array {
  return Buffer.from(JSON.stringify(report));
}

/** A report of a newer build may hold more, which is shown as it is. null: it is none. */
function decode(bytes: Uint8Array): MemberReport | null {
  if (bytes.length > BYTES_MAX) return null;
  try {
    const report: unknown = JSON.parse(Buffer.from(bytes).toString());
    return isReport(report) ? report : null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

function isReport(value: unknown): value is MemberReport {
  if (!isObject(value) || !Number.isSafeInteger(value.member)) return false;
  const { block, replication, host } = value;
  if (!isObject(block) || !isObject(host)) return false;
  const { nodeId, log, store, lastLogIndex: last } = block;
  if (!Number.isSafeInteger(nodeId) || !isObject(log) || !isObject(store)) return false;
  if (last !== null && !Number.isSafeInteger(last)) return false;
  return replication === null || (Array.isArray(replication) && replication.every(isObject));
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
