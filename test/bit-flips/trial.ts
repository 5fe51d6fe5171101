/**
 * One flip, from the start of the machine that it happened to until that one serves as before, or
 * says why it will not; and the judgement over it. Nothing that comes out of it is a matter of
 * taste: `violations` is empty or a promise was broken.
 */
import { identityBytes, Log, readIdentity } from '@svc/storage';
import { DIRECTORY } from '../simulation/machine-settings.js';
import { entryText } from './entry-text.js';
import type { History, Read, Withheld } from './history.js';
import { applyFlip, type Flip, firstChange, isFlipped, type MachineImage } from './image.js';
import type { Loaded } from './load.js';
import type { Machine } from './machine.js';
import { replayed, stateOf } from './replayed.js';
import { SEGMENT_BYTES, World } from './world.js';

/**
 * | Outcome | What the node did |
 * | --- | --- |
 * | ignored | nothing: the flip is still there, and nothing rests on these bytes |
 * | repaired | put the bytes right, or took what they said from elsewhere, and went on as before |
 * | rebuilt | made anew what the log says: an index file, the state |
 * | rejoined | gave something up, and got it from the others without a vote, or as a snapshot |
 * | withheld | serves all but the damaged messages; a read of them is refused, and says why |
 * | refused | does not start, says why, and changes nothing |
 * | stuck | none of these in good time |
 */
export type Outcome =
  | 'ignored'
  | 'repaired'
  | 'rebuilt'
  | 'rejoined'
  | 'withheld'
  | 'refused'
  | 'stuck';

export interface Trial {
  readonly outcome: Outcome;
  /** What the node said first. */
  readonly said: string;
  readonly violations: readonly string[];
  readonly indexesRebuilt: number;
}

const DOWN_US = 1_000_000;
const ELECTION_MS_MAX = 10_000;
const LOOK_MS = 250;
/** Within this the node serves as before, or it is stuck. */
const TRIAL_MS_MAX = 30_000;
/** The log is verified at least at a segment a second while the node runs. */
const SCRUB_SEGMENT_MS = 1000;
const SCRUB_SLACK_MS = 2500;
const QUIET_MS = 3000;
const SINGLE_START_MS_MAX = 5000;
const SINGLE_RUN_MS = 1500;
const DRAIN_BATCH = 100;

export function tryFlip(loaded: Loaded, flip: Flip | null, seed: number): Trial {
  return new FlipTrial(loaded, flip, seed).run();
}

class FlipTrial {
  readonly #loaded: Loaded;
  readonly #flip: Flip | null;
  readonly #world: World;
  readonly #victim: Machine;
  readonly #image: MachineImage;
  readonly #history: History;
  readonly #violations: string[] = [];
  #withheld: Withheld[] = [];
  #everWithheld = false;

  constructor(loaded: Loaded, flip: Flip | null, seed: number) {
    const { setting, images, victim, wallUs, history } = loaded;
    this.#loaded = loaded;
    this.#flip = flip;
    this.#world = new World(setting, seed, wallUs + DOWN_US, images);
    this.#victim = this.#world.machine(victim);
    this.#image = images[victim - 1] as MachineImage;
    this.#history = history.copy();
  }

  run(): Trial {
    let outcome: Outcome = 'stuck';
    try {
      const isAlone = this.#loaded.setting.machines === 1;
      outcome = isAlone ? this.#runAlone() : this.#runAmongOthers();
    } catch (error) {
      this.#violations.push(error instanceof Error ? `${error.stack}` : `${error}`);
    }
    if (outcome === 'stuck') this.#violations.push(this.#world.picture());
    const { refusal, lines, ends } = this.#victim;
    const said = refusal?.message ?? lines[0] ?? ends[0] ?? this.#withheld[0]?.error ?? '';
    const { indexesRebuilt } = this.#victim;
    return { outcome, said, violations: this.#violations, indexesRebuilt };
  }

  get #flipped(): boolean {
    return this.#flip !== null && isFlipped(this.#victim, this.#image, this.#flip);
  }

  #start(): void {
    if (this.#flip !== null) applyFlip(this.#victim, this.#flip);
    this.#victim.boot();
  }

  // --- one of three ------------------------------------------------------------------------------

  #runAmongOthers(): Outcome {
    const world = this.#world;
    const others = world.machines.filter((machine) => machine !== this.#victim);
    for (const machine of others) machine.boot();
    if (!world.until(() => world.leader !== null, ELECTION_MS_MAX)) return 'stuck';
    this.#start();
    const isBack = this.#serveUntilBack();
    this.#history.push(world, this.#history.compose(2, 40));
    if (this.#victim.refusal !== null) this.#judgeRefusal();
    else if (!isBack) return 'stuck';
    while (this.#history.consume(world, DRAIN_BATCH, 'completed') > 0);
    const machines = world.machines.filter(({ refusal }) => refusal === null);
    const isQuiet = world.until(() => machines.every((each) => this.#agrees(each)), QUIET_MS);
    if (!isQuiet) return 'stuck';
    // A reader of a follower may be a heartbeat behind.
    world.run(LOOK_MS);
    this.#judgeServing(machines);
    this.#judgeStates(machines);
    const outcome = this.#outcome();
    this.#judgeLogs(machines);
    return outcome;
  }

  /** Clients go on meanwhile. False when the victim takes too long. */
  #serveUntilBack(): boolean {
    const world = this.#world;
    const beganMs = world.loop.nowMs;
    const segments = [...this.#image.files.keys()].filter((path) => path.endsWith('.log')).length;
    const scrubbedMs = beganMs + segments * SCRUB_SEGMENT_MS + SCRUB_SLACK_MS;
    for (let look = 0; world.loop.nowMs - beganMs < TRIAL_MS_MAX; look++) {
      if (look % 4 === 0) {
        this.#history.push(world, this.#history.compose(1, 40));
        this.#readSome();
      }
      world.run(LOOK_MS);
      if (this.#victim.refusal !== null) return true;
      const isDue = !this.#flipped || world.loop.nowMs > scrubbedMs;
      if (isDue && this.#isVoter(this.#victim)) return true;
    }
    return false;
  }

  /** What a node answers while something is being mended must be right; it may answer nothing. */
  #readSome(): void {
    for (const { number, serving } of this.#world.machines) {
      if (serving) this.#history.readAll(this.#world, number);
    }
  }

  #isVoter({ status, node, serving, parts }: Machine): boolean {
    if (status === null || parts === null || !serving) return false;
    if (status.recovering || node?.repairing === true) return false;
    return status.configuration.voters.includes(parts.self);
  }

  #agrees(machine: Machine): boolean {
    const last = this.#world.leader?.status?.lastIndex;
    const { status } = machine;
    return this.#isVoter(machine) && status?.applied === last && status?.commit === last;
  }

  #judgeServing(machines: readonly Machine[]): void {
    let first: string | null = null;
    for (const { number } of machines) {
      const found = this.#history.readAll(this.#world, number);
      if (found === null) {
        this.#violations.push(`machine ${number} does not answer`);
        continue;
      }
      const { reads, withheld } = found;
      for (const { error } of withheld) this.#violations.push(`machine ${number}: ${error}`);
      this.#judgeReads(number, reads);
      const text = JSON.stringify(reads);
      first ??= text;
      if (text !== first) this.#violations.push(`machine ${number} serves something else`);
    }
  }

  #judgeReads(number: number, reads: readonly Read[]): void {
    const withheld = new Set(this.#withheld.map((each) => `${each.partition}@${each.offset}`));
    for (const message of this.#history.missing(reads)) {
      if (withheld.size === 0) this.#violations.push(`machine ${number} lacks ${message}`);
    }
    const next = new Map<string, number>();
    for (const { partition, offset } of reads) {
      let expected = next.get(partition) ?? 0;
      while (withheld.has(`${partition}@${expected}`)) expected++;
      if (offset !== expected) this.#violations.push(`gap at ${partition}@${expected}`);
      next.set(partition, offset + 1);
    }
  }

  #judgeStates(machines: readonly Machine[]): void {
    const digests = machines.map((machine) => stateOf(machine));
    if (new Set(digests).size > 1) this.#violations.push(`states differ: ${digests.join(' ')}`);
    for (const machine of machines) {
      const made = replayed(machine);
      if (made !== null && made !== stateOf(machine)) {
        this.#violations.push(`machine ${machine.number}: log and state differ`);
      }
      const view = machine.view();
      if (view !== null) this.#world.judge.sweep(machine.number, view);
    }
  }

  /** As the next process reads them from the disk. */
  #judgeLogs(machines: readonly Machine[]): void {
    const logs = machines.map((machine) => this.#readLog(machine));
    for (const [at, entries] of logs.entries()) {
      for (const [index, text] of entries) {
        const golden = this.#loaded.entries.get(index);
        const other = logs[0]?.get(index);
        const number = machines[at]?.number;
        if (golden !== undefined && golden !== text) {
          this.#violations.push(`machine ${number}: entry ${index} is ${text}, not ${golden}`);
        }
        if (other !== undefined && other !== text) {
          this.#violations.push(`machine ${number}: entry ${index} differs from another's`);
        }
      }
    }
  }

  #readLog(machine: Machine): Map<number, string> {
    const { disk } = machine;
    machine.end('process');
    const identity = readIdentity(disk, DIRECTORY);
    if (identity === null) throw new Error('the identity is gone');
    const log = Log.open({
      disk,
      directory: `${DIRECTORY}/log`,
      identity: identityBytes(identity),
      segmentBytes: SEGMENT_BYTES,
      damage: 'refuse',
      onFailure: (error) => {
        throw error;
      },
    });
    const entries = new Map<number, string>();
    for (let index = log.firstIndex; index <= log.lastIndex; index++) {
      const [entry] = log.entries(index, index + 1, 0);
      if (entry !== undefined) entries.set(index, entryText(entry));
    }
    return entries;
  }

  // --- alone -------------------------------------------------------------------------------------

  #runAlone(): Outcome {
    this.#start();
    for (let life = 1; life <= 2; life++) {
      const isUp = this.#world.until(
        () => this.#victim.serving || this.#victim.refusal !== null,
        SINGLE_START_MS_MAX,
      );
      if (!isUp) return 'stuck';
      if (this.#victim.refusal !== null) {
        this.#judgeRefusal();
        return 'refused';
      }
      this.#serveAlone();
      if (life === 1) {
        this.#victim.end('process');
        this.#victim.boot();
      }
    }
    const outcome = this.#everWithheld ? 'withheld' : this.#outcome();
    if (outcome !== 'withheld' && !this.#isRecordStillFlipped()) this.#judgeLogs([this.#victim]);
    return outcome;
  }

  /** A record that nobody has read yet is not readable in a log that is read as a whole. */
  #isRecordStillFlipped(): boolean {
    const target = this.#flip?.target ?? { key: '' };
    return 'path' in target && target.path.endsWith('.log') && this.#flipped;
  }

  #serveAlone(): void {
    const world = this.#world;
    this.#history.push(world, this.#history.compose(2, 40));
    world.run(SINGLE_RUN_MS);
    const found = this.#history.readAll(world, this.#victim.number);
    if (found === null) {
      this.#violations.push(`it does not answer: ${world.picture()}`);
      return;
    }
    this.#withheld = found.withheld;
    this.#everWithheld ||= found.withheld.length > 0;
    for (const { error } of found.withheld) this.#judgeMessage(error);
    if (this.#withheld.length > 0 && !this.#flipped) this.#violations.push('withheld, not flipped');
    this.#judgeReads(this.#victim.number, found.reads);
    if (this.#withheld.length > 0) return;
    while (this.#history.consume(world, DRAIN_BATCH, 'completed') > 0);
    if (!this.#isRecordStillFlipped()) this.#judgeStates([this.#victim]);
  }

  // --- judgement ---------------------------------------------------------------------------------

  #judgeRefusal(): void {
    const { refusal, ends } = this.#victim;
    if (ends.length > 1) this.#violations.push(`it ended ${ends.length} times: ${ends.join('; ')}`);
    this.#judgeMessage(refusal?.message ?? '');
    const changed = this.#flip && firstChange(this.#victim, this.#image, this.#flip);
    if (changed !== null) this.#violations.push(`refused, but changed ${changed}`);
  }

  /** File, offset, and what is wrong there. */
  #judgeMessage(message: string): void {
    const target = this.#flip?.target ?? { key: '' };
    const names = 'path' in target ? target.path : 'state';
    if (!message.includes(names) || !/ at byte \d+: /.test(message)) {
      this.#violations.push(`it does not say where ${names} is damaged: ${message}`);
    }
  }

  #outcome(): Outcome {
    const { refusal, snapshots, sawRecovering, place, indexesRebuilt } = this.#victim;
    if (refusal !== null) return 'refused';
    if (snapshots > 0 || sawRecovering) return 'rejoined';
    const movedAside = place.names().some((name) => name.startsWith('state.damaged-'));
    if (movedAside || indexesRebuilt > this.#loaded.indexesRebuilt) return 'rebuilt';
    return this.#flipped ? 'ignored' : 'repaired';
  }
}
