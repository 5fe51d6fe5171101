/**
 * One node of the model: the real class, a disk, and a clock that only moves for heartbeats. It is
 * a deterministic machine: the plate that it started from and the inputs since then decide what it
 * is and what it says. That makes its steps worth remembering (`local-states.ts`).
 */
import { assert } from '../../assert.js';
import {
  type Configuration,
  type ConfigurationChange,
  configuration,
} from '../../configuration.js';
import { Core } from '../../core.js';
import { logIndex, type NodeId, nodeId } from '../../identifiers.js';
import type { Message } from '../../messages.js';
import type { RaftSettings } from '../../options.js';
import { Raft } from '../../raft.js';
import { afterCrash, afterLoss, ModelDisk, type Plate } from './disk.js';

export type Input =
  | { readonly type: 'deliver'; readonly message: Message }
  | { readonly type: 'campaign' }
  | { readonly type: 'heartbeat' }
  | { readonly type: 'propose' }
  | { readonly type: 'change'; readonly change: ConfigurationChange }
  /** The oldest write becomes durable. */
  | { readonly type: 'sync' }
  /** Power is lost, the oldest `surviving` writes having reached the plate; then a restart. */
  | { readonly type: 'crash'; readonly surviving: number }
  /** So it is, and the log above `keep` turns out to be damaged. */
  | { readonly type: 'lose'; readonly keep: number };

export type Restart = Extract<Input, { readonly type: 'crash' | 'lose' }>;

export interface MachineOptions {
  readonly voters: readonly number[];
  readonly settings: Partial<RaftSettings>;
  /**
   * `late`: every write ends by an input of its own. `prompt`: writes end before the next input, so
   * a crash loses only what a node keeps in memory; far fewer states, hence longer runs.
   */
  readonly disk: 'prompt' | 'late';
}

const NO_BYTES = new Uint8Array(0);
/** No timer runs out by itself: when something does is the model's to say. */
const NEVER_MS = 1_000_000_000;
const HEARTBEAT_MS = 1;
const LIVES_MAX = 16;

export class Machine {
  readonly id: NodeId;
  readonly raft: Raft;
  /** The insides of `raft`, to tell two states apart. */
  readonly core: Core;
  readonly disk: ModelDisk;
  /**
   * What a node that recovers remembers of it is hidden. Remembering what it was told instead tells
   * apart more states than there are, and never fewer.
   */
  readonly heardWhileRecovering: Message[] = [];
  readonly #prompt: boolean;
  #nowMs = 0;

  constructor(id: number, plate: Plate, options: MachineOptions) {
    this.id = nodeId(id);
    this.disk = new ModelDisk(plate);
    this.#prompt = options.disk === 'prompt';
    const [raft, core] = withCore(() => this.#start(options));
    this.raft = raft;
    this.core = core;
    this.#carryOut([]);
  }

  /** Anything but a restart, which makes a new machine. Returns what is said to other nodes. */
  take(input: Exclude<Input, Restart>): readonly Message[] {
    const said: Message[] = [];
    switch (input.type) {
      case 'deliver':
        if (this.core.recovery !== undefined) this.heardWhileRecovering.push(input.message);
        this.raft.step(input.message);
        break;
      case 'campaign':
        this.raft.campaign();
        break;
      case 'heartbeat':
        this.#nowMs += HEARTBEAT_MS;
        this.raft.tick(this.#nowMs);
        break;
      case 'propose':
        this.raft.propose(NO_BYTES);
        break;
      case 'change':
        this.raft.proposeConfiguration(input.change, this.core.configurationIndex, {
          force: true,
        });
        break;
      case 'sync':
        this.#durable(said);
        break;
    }
    this.#carryOut(said);
    return said;
  }

  plateAfter(input: Restart): Plate {
    return input.type === 'lose'
      ? afterLoss(this.disk, input.keep)
      : afterCrash(this.disk, input.surviving);
  }

  #start(options: MachineOptions): Raft {
    const founding: Configuration = configuration(options.voters.map(nodeId));
    return new Raft({
      id: this.id,
      nowMs: 0,
      // Chance decides about timers, which do not run here, and about the name of a life.
      random: () => this.disk.plate.lives / LIVES_MAX,
      storage: this.disk,
      hardState: this.disk.plate.hardState,
      configuration: founding,
      configurationIndex: logIndex(0),
      applied: logIndex(0),
      recovering: this.disk.plate.recovering,
      settings: {
        electionTimeoutMs: NEVER_MS,
        heartbeatMs: HEARTBEAT_MS,
        ...options.settings,
      },
    });
  }

  #carryOut(said: Message[]): void {
    do {
      while (this.raft.hasReady()) {
        const ready = this.raft.ready();
        for (const message of ready.messages) said.push(message);
        if (ready.softState?.recovering === false && this.disk.plate.recovering) {
          this.disk.recovered();
        }
        this.#say(this.disk.accept(ready), said);
        const last = ready.committed.at(-1);
        if (last !== undefined) this.raft.applied(last.index);
      }
      if (this.#prompt) this.#durable(said);
    } while (this.raft.hasReady() || (this.#prompt && this.disk.writes.length > 0));
    if (this.core.recovery === undefined) this.heardWhileRecovering.length = 0;
  }

  #durable(said: Message[]): void {
    this.#say(this.disk.sync(), said);
  }

  #say(messages: readonly Message[], said: Message[]): void {
    for (const message of messages) {
      if (message.to === this.id) this.raft.step(message);
      else said.push(message);
    }
  }
}

/**
 * Every new Raft builds its Core, and that makes its list of members: there it is caught. The core
 * has no door for this, because no caller may decide by what is inside.
 */
function withCore(make: () => Raft): readonly [Raft, Core] {
  const { trackMembers } = Core.prototype;
  let caught: Core | undefined;
  Core.prototype.trackMembers = function (this: Core): void {
    caught = this;
    trackMembers.call(this);
  };
  try {
    const raft = make();
    assert(caught !== undefined, 'a new Raft made no list of members');
    return [raft, caught];
  } finally {
    Core.prototype.trackMembers = trackMembers;
  }
}
