/**
 * The nodes of one scenario and the mail between them. Nothing moves unless a command moves it;
 * after each command every host does what it can. A judge from outside watches throughout, so that
 * a script cannot describe a broken promise as if it were right.
 */
import { RaftBug } from '../../assert.js';
import type { Entry } from '../../entry.js';
import { type LogIndex, type NodeId, nodeId } from '../../identifiers.js';
import type { Message } from '../../messages.js';
import type { RaftSettings } from '../../options.js';
import { Judge } from '../judge.js';
import { ALL, Mail, type Selection } from './mail.js';
import { type Beginning, StagedNode, type Surroundings } from './staged-node.js';
import { messageLine } from './telling.js';
import { ScriptError } from './words.js';

export const ELECTION_MS = 100;
export const HEARTBEAT_MS = 10;
/** Begins a line that no script may contain. */
export const BROKEN_PROMISE = 'BROKEN PROMISE';
/** A group of five comes to rest within a few exchanges; more means that it talks in circles. */
const ROUNDS_MAX = 40;

interface Question {
  readonly name: string;
  readonly visible: LogIndex;
}

export class Stage implements Surroundings {
  readonly mail = new Mail();
  readonly nodes: Map<NodeId, StagedNode> = new Map();
  settings: Partial<RaftSettings> = {
    electionTimeoutMs: ELECTION_MS,
    heartbeatMs: HEARTBEAT_MS,
  };
  readonly #judge = new Judge();
  readonly #questions: Map<number, Question> = new Map();
  #asked = 0;
  #printed: string[] = [];
  #quiet = false;

  /** Everything that was printed since the last call. */
  takePrinted(): readonly string[] {
    const printed = this.#printed;
    this.#printed = [];
    return printed;
  }

  node(id: number): StagedNode {
    const node = this.nodes.get(nodeId(id));
    if (node === undefined) throw new ScriptError(`there is no node ${id}`);
    return node;
  }

  /** The named nodes, or all; ascending. */
  some(ids: readonly number[]): readonly StagedNode[] {
    return ids.length === 0 ? [...this.nodes.values()] : ids.map((id) => this.node(id));
  }

  add(beginning: Beginning): void {
    const { id } = beginning;
    if (this.nodes.has(id)) throw new ScriptError(`node ${id} exists`);
    const others = [...this.nodes].filter(([other]) => other > id);
    for (const [other] of others) this.nodes.delete(other);
    this.nodes.set(id, new StagedNode(beginning, this));
    for (const [other, node] of others) this.nodes.set(other, node);
  }

  /** Messages are not printed while `action` runs. */
  quietly(action: () => void): void {
    const before = this.#quiet;
    this.#quiet = true;
    action();
    this.#quiet = before;
  }

  /** Every host does what it can. */
  work(): void {
    for (let worked = true; worked; ) {
      worked = false;
      for (const node of this.nodes.values()) worked = node.work() || worked;
    }
  }

  /** What fits arrives, oldest first; its consequences wait for a next delivery. */
  deliver(selection: Selection): number {
    const messages = this.mail.take(selection);
    for (const message of messages) {
      const { raft } = this.node(message.to);
      if (raft === undefined) {
        if (!this.#quiet) this.print(`${message.to} is down: ${message.type} is lost`);
        continue;
      }
      raft.step(message);
      this.work();
    }
    return messages.length;
  }

  /** Delivers among `ids` (or all) until nothing is under way, or for so many rounds. */
  settle(ids: readonly number[], rounds?: number): void {
    this.work();
    for (let round = 0; round < (rounds ?? ROUNDS_MAX); round++) {
      let delivered = 0;
      if (ids.length === 0) delivered = this.deliver(ALL);
      for (const from of ids) {
        for (const to of ids) {
          delivered += this.deliver({ ...ALL, from: nodeId(from), to: nodeId(to) });
        }
      }
      if (delivered === 0) return;
    }
    if (rounds === undefined) this.print(`not at rest after ${ROUNDS_MAX} rounds`);
  }

  print(line: string): void {
    this.#printed.push(line);
  }

  send(message: Message): void {
    const arrives = this.mail.send(message);
    if (this.#quiet) return;
    this.print(`${this.lineOf(message)}${arrives ? '' : ' (cut off)'}`);
  }

  lineOf(message: Message): string {
    return messageLine(message, (id) => this.#questions.get(id)?.name ?? 'unknown read');
  }

  /** Returns the name under which the script knows the read. */
  readBegins(id: number): string {
    const name = `read ${++this.#asked}`;
    this.#questions.set(id, { name, visible: this.#judge.settledIndex });
    return name;
  }

  readEnds(node: StagedNode, id: number, index: LogIndex | undefined): void {
    const question = this.#questions.get(id);
    const end = index === undefined ? 'is given up' : `is good at ${index}`;
    this.print(`${node.id}: ${question?.name ?? 'unknown read'} ${end}`);
    if (index === undefined || question === undefined) return;
    this.#watch(() => this.#judge.reads(node.id, question.visible, index));
  }

  applies(node: StagedNode, entry: Entry): void {
    const disks = [...this.nodes.values()].map((one) => one.disk);
    const { applied } = node.state;
    const status = node.running.status();
    this.#watch(() => this.#judge.applies(status, entry, applied, disks));
  }

  observes(node: StagedNode): void {
    const status = node.raft?.status();
    if (status?.role !== 'leader') return;
    this.#watch(() => this.#judge.leads(node.id, status.term));
  }

  #watch(judgement: () => void): void {
    try {
      judgement();
    } catch (error) {
      if (!(error instanceof RaftBug)) throw error;
      this.print(`${BROKEN_PROMISE}: ${error.message}`);
    }
  }
}
