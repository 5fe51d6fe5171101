/**
 * The states that single nodes can be in, each known by a number, and their steps, each done once
 * by the real class. The group has millions of states, but they are made of a few thousand states
 * of nodes.
 *
 * A Raft cannot be copied, so a state is kept as the way to it: the plate of its last restart and
 * the inputs since. To take a step from it, that way is walked again with a new object.
 */
import type { Message } from '../../messages.js';
import { EMPTY_PLATE, type Plate } from './disk.js';
import { asItIs, machineText, messageText, type Rename } from './fingerprint.js';
import { type Halves, halvesOf, stirred } from './hashing.js';
import { type Input, Machine, type Restart } from './machine.js';
import type { Members } from './naive-members.js';
import { checkAlone, type View, viewOf } from './rules.js';
import type { Variant } from './variants.js';

export interface LocalState {
  readonly number: number;
  readonly view: View;
  readonly halves: Halves;
  readonly writesUnderWay: number;
  /** How it was reached first; null after a restart. */
  readonly from: LocalState | null;
  readonly input: Exclude<Input, Restart> | null;
  /** What was on the plate at the last restart. */
  readonly plate: Plate;
  /** Steps that are known, by the number of the message delivered, and all others. */
  readonly deliveries: Map<number, LocalStep>;
  others: readonly LocalStep[] | undefined;
}

export interface KnownMessage {
  readonly number: number;
  readonly message: Message;
  readonly halves: Halves;
}

export interface LocalStep {
  readonly input: Input;
  readonly to: LocalState;
  readonly said: readonly KnownMessage[];
  /** Nothing that the rules of the group look at has changed. */
  readonly quiet: boolean;
  /** By the number of a history: the one after this step, as far as the step alone decides it. */
  readonly histories: Map<number, number>;
}

export class LocalStates {
  readonly #variant: Variant;
  readonly #founding: Members;
  readonly #renames: readonly Rename[];
  readonly #byText: Map<string, LocalState> = new Map();
  readonly #messages: Map<string, KnownMessage> = new Map();
  /** Steps done by the real class. */
  steps = 0;

  constructor(variant: Variant, renames: readonly Rename[]) {
    this.#variant = variant;
    this.#renames = renames;
    this.#founding = { voters: variant.voters, outgoing: [], learners: [], learnersNext: [] };
  }

  get count(): number {
    return this.#byText.size;
  }

  get messageCount(): number {
    return this.#messages.size;
  }

  initial(id: number): LocalState {
    return this.#restarted(id, EMPTY_PLATE);
  }

  delivered(local: LocalState, message: KnownMessage): LocalStep {
    const known = local.deliveries.get(message.number);
    if (known !== undefined) return known;
    const step = this.#step(local, { type: 'deliver', message: message.message });
    local.deliveries.set(message.number, step);
    return step;
  }

  /** What can happen to the node without a message. */
  others(local: LocalState): readonly LocalStep[] {
    local.others ??= inputsOf(local, this.#variant).map((input) => this.#step(local, input));
    return local.others;
  }

  #step(local: LocalState, input: Input): LocalStep {
    this.steps++;
    const machine = this.#revived(local);
    let said: readonly Message[] = [];
    let to: LocalState;
    if (input.type === 'crash' || input.type === 'lose') {
      to = this.#restarted(local.view.id, machine.plateAfter(input));
    } else {
      said = machine.take(input);
      to = this.#known(machine, local.plate, local, input);
    }
    checkAlone(local.view, to.view, said);
    const known = said.map((message) => this.#knownMessage(message));
    const quiet = isQuiet(local.view, to.view, said);
    return { input, to, said: known, quiet, histories: new Map() };
  }

  #restarted(id: number, plate: Plate): LocalState {
    return this.#known(new Machine(id, plate, this.#variant), plate, null, null);
  }

  /** What a machine in this state is. */
  textOf(local: LocalState): string {
    return machineText(this.#revived(local), asItIs);
  }

  /** A machine in this state. */
  #revived(local: LocalState): Machine {
    const inputs: NonNullable<LocalState['input']>[] = [];
    for (let at = local; at.input !== null && at.from !== null; at = at.from) inputs.push(at.input);
    const machine = new Machine(local.view.id, local.plate, this.#variant);
    for (const input of inputs.reverse()) machine.take(input);
    return machine;
  }

  #known(
    machine: Machine,
    plate: Plate,
    from: LocalState | null,
    input: LocalState['input'],
  ): LocalState {
    const text = machineText(machine, asItIs);
    const found = this.#byText.get(text);
    if (found !== undefined) return found;
    const local: LocalState = {
      number: this.#byText.size,
      view: viewOf(machine, this.#founding),
      halves: halvesOf(this.#renames.map((rename) => machineText(machine, rename))),
      writesUnderWay: machine.disk.writes.length,
      from,
      input,
      plate,
      deliveries: new Map(),
      others: undefined,
    };
    this.#byText.set(text, local);
    return local;
  }

  #knownMessage(message: Message): KnownMessage {
    const text = messageText(message, asItIs);
    const found = this.#messages.get(text);
    if (found !== undefined) return found;
    const texts = this.#renames.map((rename) => messageText(message, rename));
    const halves = stirred(halvesOf(texts));
    const known: KnownMessage = { number: this.#messages.size, message, halves };
    this.#messages.set(text, known);
    return known;
  }
}

function inputsOf({ view, writesUnderWay }: LocalState, { bounds, changes }: Variant): Input[] {
  const inputs: Input[] = [];
  if (writesUnderWay > 0) inputs.push({ type: 'sync' });
  if (view.role === 'leader') {
    if (bounds.heartbeatsMax > 0) inputs.push({ type: 'heartbeat' });
    if (view.log.length < bounds.entriesMax) {
      if (bounds.proposalsMax > 0) inputs.push({ type: 'propose' });
      for (const change of changes) inputs.push({ type: 'change', change });
    }
  } else if (view.term < bounds.termMax) inputs.push({ type: 'campaign' });
  if (bounds.crashesMax > 0) {
    for (let surviving = 0; surviving <= writesUnderWay; surviving++) {
      inputs.push({ type: 'crash', surviving });
    }
  }
  if (bounds.lossesMax > 0) {
    for (let keep = 0; keep < view.plate.length; keep++) inputs.push({ type: 'lose', keep });
  }
  return inputs;
}

function isQuiet(one: View, other: View, said: readonly Message[]): boolean {
  if (one.role !== other.role || one.commit !== other.commit) return false;
  if (one.plateTerm !== other.plateTerm) return false;
  if (one.role === 'leader' && one.term !== other.term) return false;
  if (!sameSlots(one.log, other.log) || !sameSlots(one.plate, other.plate)) return false;
  return !said.some(({ type }) => type === 'vote-request' || type === 'vote-response');
}

function sameSlots(one: View['log'], other: View['log']): boolean {
  return one.length === other.length && one.every(({ text }, i) => text === other[i]?.text);
}
