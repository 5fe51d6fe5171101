/**
 * One node of a scenario: the real class with a disk, a clock and a host that a script can hold up
 * at every step. It prints what it does as it does it.
 */
import { assert } from '../../assert.js';
import { type Configuration, configuration } from '../../configuration.js';
import { decodeConfiguration } from '../../configuration-codec.js';
import type { Entry } from '../../entry.js';
import { type LogIndex, logIndex, type NodeId } from '../../identifiers.js';
import type { Message } from '../../messages.js';
import type { RaftSettings } from '../../options.js';
import { Raft } from '../../raft.js';
import type { HardState, Ready } from '../../ready.js';
import type { Snapshot } from '../../storage.js';
import { FakeDisk } from '../disk.fake.js';
import { NOTHING } from '../lone.fake.js';
import { changesText, configurationText, entriesText } from './telling.js';
import { ScriptError } from './words.js';

/** Where a script can make the host of a node wait. */
export const HOLDS = ['turn', 'disk', 'apply'] as const;
export type Hold = (typeof HOLDS)[number];

/** One command makes a node take a few readies; this many mean that it never comes to rest. */
const WORK_STEPS_MAX = 1000;

/** What a node's state machine contains; the newest checkpoint of it survives a crash. */
export interface Contents {
  readonly applied: LogIndex;
  readonly configuration: Configuration;
  readonly configurationIndex: LogIndex;
}

/** How a node begins: what its disk holds, and what it is told. */
export interface Beginning {
  readonly id: NodeId;
  readonly configuration: Configuration;
  readonly entries: readonly Entry[];
  readonly hardState: HardState;
  readonly settings: Partial<RaftSettings>;
  readonly random: number;
}

/** What a node tells the world around it. */
export interface Surroundings {
  print(line: string): void;
  send(message: Message): void;
  applies(node: StagedNode, entry: Entry): void;
  observes(node: StagedNode): void;
  readEnds(node: StagedNode, id: number, index: LogIndex | undefined): void;
}

export class StagedNode {
  readonly id: NodeId;
  readonly held: Set<Hold> = new Set();
  settings: Partial<RaftSettings>;
  random: number;
  nowMs = 0;
  raft: Raft | undefined;
  disk = new FakeDisk(false);
  state: Contents;
  checkpoint: Contents;
  readonly #world: Surroundings;
  #saidHard: HardState;
  readonly #toApply: (readonly Entry[])[] = [];
  /** One flag per write under way: it waits for the plate, or only for the writes before it. */
  #syncs: boolean[] = [];
  /** A commit index that is written together with whatever is written next. */
  #lazy: HardState | undefined;

  constructor(beginning: Beginning, world: Surroundings) {
    const { id, hardState, entries } = beginning;
    this.id = id;
    this.settings = beginning.settings;
    this.random = beginning.random;
    this.#world = world;
    this.disk.accept({ ...NOTHING, hardState, entries });
    this.disk.sync();
    this.state = {
      applied: logIndex(0),
      configuration: beginning.configuration,
      configurationIndex: logIndex(0),
    };
    this.checkpoint = this.state;
    this.#saidHard = hardState;
    this.start(false);
  }

  get running(): Raft {
    if (this.raft === undefined) throw new ScriptError(`node ${this.id} is down`);
    return this.raft;
  }

  start(recovering: boolean): void {
    const { installed } = this.disk;
    if (installed !== undefined && installed.index > this.checkpoint.applied) {
      this.checkpoint = contentsOf(installed);
    }
    this.state = this.checkpoint;
    this.#saidHard = this.disk.hardState;
    this.raft = new Raft({
      id: this.id,
      nowMs: this.nowMs,
      random: () => this.random,
      storage: this.disk,
      hardState: this.disk.hardState,
      configuration: this.state.configuration,
      configurationIndex: this.state.configurationIndex,
      applied: this.state.applied,
      recovering,
      settings: this.settings,
    });
  }

  /** Power is lost; returns how many writes went with it. */
  crash(surviving: number): number {
    const writes = this.#syncs.filter((syncs) => syncs).length;
    let reached = 0;
    for (let left = surviving; left > 0 && reached < this.#syncs.length; reached++) {
      if (this.#syncs[reached] === true) left--;
    }
    this.disk.crash(reached);
    this.raft = undefined;
    this.held.clear();
    this.#toApply.length = 0;
    this.#syncs = [];
    this.#lazy = undefined;
    return Math.max(writes - surviving, 0);
  }

  /** While down: the disk forgets every entry after `kept`; term and vote stay. */
  loseLogAfter(kept: number): void {
    if (this.raft !== undefined) throw new ScriptError(`node ${this.id} runs`);
    const { disk: before } = this;
    const first = before.firstIndex();
    const last = Math.min(kept, before.lastIndex());
    const entries =
      last < first ? [] : before.entries(first, logIndex(last + 1), Number.MAX_SAFE_INTEGER);
    const { hardState, installed: snapshot } = before;
    this.disk = new FakeDisk(false);
    this.disk.accept({ ...NOTHING, hardState, snapshot, entries });
    this.disk.sync();
  }

  /** Time passes on this node's clock, at once. */
  pass(ms: number): void {
    this.nowMs += ms;
    this.raft?.tick(this.nowMs);
  }

  /** Carries out what is ready, as far as nothing is held; false when there was nothing to do. */
  work(): boolean {
    let steps = 0;
    while (this.#workOnce()) {
      steps++;
      assert(steps < WORK_STEPS_MAX, `node ${this.id} always has something ready`);
    }
    return steps > 0;
  }

  get writing(): boolean {
    return this.#syncs.length > 0;
  }

  /** The oldest write becomes durable, and what waited for it leaves. */
  finishWrite(): void {
    do {
      this.#syncs.shift();
      for (const message of this.disk.sync()) this.#send(message);
    } while (this.#syncs[0] === false);
    this.#world.observes(this);
  }

  finishApply(): void {
    const entries = this.#toApply.shift();
    const last = entries?.at(-1);
    if (entries === undefined || last === undefined) return;
    this.#print(`applies ${entriesText(entries)}`);
    for (const entry of entries) {
      this.#world.applies(this, entry);
      const changes = entry.type === 'configuration';
      this.state = {
        applied: entry.index,
        configuration: changes
          ? decodeConfiguration(entry.data).configuration
          : this.state.configuration,
        configurationIndex: changes ? entry.index : this.state.configurationIndex,
      };
    }
    this.raft?.applied(last.index);
  }

  /** The state reaches the disk and is offered to peers as a snapshot. */
  takeCheckpoint(): void {
    this.checkpoint = this.state;
    const { applied: index, configuration: config, configurationIndex } = this.state;
    const term = this.disk.durableTerm(index);
    if (term === undefined) throw new ScriptError(`node ${this.id} has no entry ${index}`);
    const manifest = new Uint8Array(0);
    this.disk.newestSnapshot = { index, term, configuration: config, configurationIndex, manifest };
  }

  #workOnce(): boolean {
    const { raft, held } = this;
    if (raft === undefined) return false;
    if (!held.has('turn') && raft.hasReady()) this.#carryOut(raft.ready());
    else if (!held.has('disk') && this.writing) this.finishWrite();
    else if (!held.has('disk') && this.#lazy !== undefined) this.#write(NOTHING);
    else if (!held.has('apply') && this.#toApply.length > 0) this.finishApply();
    else return false;
    return true;
  }

  #carryOut(ready: Ready): void {
    const { softState, hardState, snapshot, entries, committed } = ready;
    const changes = changesText(softState, hardState, this.#saidHard);
    this.#saidHard = hardState ?? this.#saidHard;
    if (changes !== '') this.#print(changes);
    if (snapshot !== undefined) this.#install(snapshot);
    if (this.held.has('disk') && entries.length > 0) this.#print(`writes ${entriesText(entries)}`);
    for (const message of ready.messages) this.#send(message);
    this.#lazy = hardState ?? this.#lazy;
    if (ready.mustSync) this.#write(ready);
    else this.#sendAfterWrites(ready.afterDurable);
    if (committed.length > 0) {
      if (this.held.has('apply')) this.#print(`is handed ${entriesText(committed)}`);
      this.#toApply.push(committed);
    }
    for (const { id, index } of ready.readStates) this.#world.readEnds(this, id, index);
    this.#world.observes(this);
  }

  #write(ready: Ready): void {
    this.disk.accept({ ...ready, hardState: this.#lazy });
    this.#lazy = undefined;
    this.#syncs.push(true);
  }

  #sendAfterWrites(afterDurable: readonly Message[]): void {
    if (!this.writing) for (const message of afterDurable) this.#send(message);
    else if (afterDurable.length > 0) {
      this.disk.accept({ ...NOTHING, afterDurable });
      this.#syncs.push(false);
    }
  }

  #install(snapshot: Snapshot): void {
    const config = configurationText(snapshot.configuration);
    this.#print(`installs snapshot up to ${snapshot.index}: ${config}`);
    this.#toApply.length = 0;
    this.state = contentsOf(snapshot);
  }

  #send(message: Message): void {
    if (message.to === this.id) this.raft?.step(message);
    else this.#world.send(message);
  }

  #print(text: string): void {
    this.#world.print(`${this.id}: ${text}`);
  }
}

function contentsOf(snapshot: Snapshot): Contents {
  const { index: applied, configuration: config, configurationIndex } = snapshot;
  return { applied, configuration: config, configurationIndex };
}

/** No voters and no learners: the configuration of a node that is not founded or added yet. */
export const NO_MEMBERS: Configuration = configuration([]);
