/**
 * A client that moves a group of its own about in the queue that all use: seeks over all
 * partitions and over one, deletions, and, all the while, pops. Changes take several entries here,
 * so processes end and leaders change in the midst of them.
 *
 * What must be so: nobody else uses the group, so each partition is read offset by offset, and
 * goes to where a change puts it once: at some moment between the question and its answer. A
 * cursor that was left out, or was moved once more by a leader that went on where it should not
 * have, shows as an offset that comes too late or twice.
 *
 * A change without an answer is asked for again under its id, as the nodes do for their clients.
 * That is only right where it takes more than one turn, and so leaves a row: after others without
 * an answer, and after pops without one, nothing is known of the group. It is left to itself, and
 * another one takes its place.
 */
import type { DeleteGroupCommand, PopCommand, SeekCommand } from '@svc/engine';
import type { DeliveredOutcome, GroupDeletedView, SubmittedOutcome } from '@svc/http';
import { uuidV7 } from '@svc/wire';
import type { SeededRandom } from '../seeded-random.js';
import { TENANT } from './client-messages.js';
import type { Caller, ClientNetwork, NoAnswer } from './client-network.js';
import type { Pace } from './pace.js';
import type { SimulatedLoop } from './simulated-loop.js';

const QUIET_MS = 30;
const AGAIN_MS = 20;
/** Partitions that no turn changes together. */
const MANY_PARTITIONS = 3;

export interface MovingGroupsOptions {
  readonly loop: SimulatedLoop;
  readonly random: SeededRandom;
  readonly network: ClientNetwork;
  readonly pace: Pace;
  readonly queue: string;
  readonly partitions: readonly string[];
  readonly note: (text: string) => void;
}

/** The known state of the group on one partition. */
interface Place {
  /** The offset that is read next; null: not known. */
  next: number | null;
  /** Where a change that is under way puts it, as far as it was not seen to have done so. */
  move: 'front' | 'end' | null;
  /** It may have been moved already: what was read does not tell. */
  unsure: boolean;
}

interface Change {
  readonly command: SeekCommand | DeleteGroupCommand;
  readonly move: 'front' | 'end';
  readonly partitions: readonly string[];
}

type Refused = { readonly kind: 'refused' };

export class MovingGroups {
  /** What the client saw that is wrong. */
  readonly wrong: string[] = [];
  readonly #options: MovingGroupsOptions;
  readonly #changer: Caller;
  readonly #reader: Caller;
  readonly #places = new Map<string, Place>();
  #group = 'mover-0';
  #groups = 1;
  /** Partitions of the queue, at least. */
  #partitionCount = 0;
  /** The partition that is being read. */
  #reading: string | null = null;
  /** Partitions whose change was answered while they were being read. */
  readonly #resolveLater = new Set<string>();
  #ended = false;

  constructor(options: MovingGroupsOptions) {
    this.#options = options;
    this.#changer = options.network.caller();
    this.#reader = options.network.caller();
  }

  start(): void {
    this.#forgetPlaces();
    this.#soon(() => this.#change());
    this.#soon(() => this.#read());
  }

  /** Nothing more is asked for. */
  end(): void {
    this.#ended = true;
  }

  #soon(work: () => void): void {
    const { loop, pace, random } = this.#options;
    loop.schedule(pace.stretch(random.between(1, QUIET_MS)), null, () => {
      if (!this.#ended) work();
    });
  }

  #place(partition: string): Place {
    const known = this.#places.get(partition);
    if (known !== undefined) return known;
    const place: Place = { next: null, move: null, unsure: false };
    this.#places.set(partition, place);
    return place;
  }

  #forgetPlaces(): void {
    this.#places.clear();
    this.#resolveLater.clear();
  }

  /** Nothing is known of this group from here on. */
  #leave(group: string): void {
    if (group !== this.#group) return;
    this.#group = `mover-${this.#groups++}`;
    this.#forgetPlaces();
  }

  // --- changes
  // -------------------------------------------------------------------------------------

  #change(): void {
    const { queue, partitions, random } = this.#options;
    if (this.#resolveLater.size > 0) {
      this.#soon(() => this.#change());
      return;
    }
    const base = { tenant: TENANT, changeId: this.#newId(), consumerGroup: this.#group, queue };
    if (random.chance(0.15)) {
      const command = { kind: 'delete-group', ...base, deleteMetadata: true } as const;
      // Plain pops begin at the front.
      this.#begin({ command, move: 'front', partitions });
      return;
    }
    const partition = random.chance(0.2) ? random.pick(partitions) : null;
    const move = random.chance(0.3) ? 'end' : 'front';
    const targetUs = move === 'end' ? null : 0;
    const command = { kind: 'seek', ...base, partition, targetUs } as const;
    this.#begin({ command, move, partitions: partition === null ? partitions : [partition] });
  }

  #begin(change: Change): void {
    for (const name of change.partitions) this.#place(name).move = change.move;
    this.#ask(change);
  }

  #ask(change: Change): void {
    const { command } = change;
    const answered = (answer: GroupDeletedView | SubmittedOutcome | Refused | NoAnswer) =>
      this.#answered(change, answer);
    if (command.kind === 'seek') {
      this.#changer.call<SubmittedOutcome>((broker, reply) => {
        broker.submit(command, reply);
      }, answered);
    } else {
      this.#changer.call<GroupDeletedView | Refused>((broker, reply) => {
        broker.groups.delete(command, reply);
      }, answered);
    }
  }

  #answered(
    change: Change,
    answer: GroupDeletedView | SubmittedOutcome | Refused | NoAnswer,
  ): void {
    const { command, partitions } = change;
    const { consumerGroup } = command;
    const end = typeof answer === 'string' ? answer : answer.kind;
    this.#options.note(`${command.kind} of ${consumerGroup} to the ${change.move}: ${end}`);
    const isDone =
      answer !== 'refused' &&
      answer !== 'unknown' &&
      (answer.kind === 'group-changed' || answer.kind === 'group-deleted');
    if (isDone) {
      if (answer.kind === 'group-changed' && partitions.length > 1) {
        this.#partitionCount = answer.changed;
      }
      if (consumerGroup === this.#group) for (const name of partitions) this.#resolve(name);
      this.#soon(() => this.#change());
      return;
    }
    const isRow = partitions.length > 1 && this.#partitionCount >= MANY_PARTITIONS;
    if (answer === 'refused' || (isRow && consumerGroup === this.#group)) {
      const { loop, pace } = this.#options;
      loop.schedule(pace.stretch(AGAIN_MS), null, () => {
        if (!this.#ended) this.#ask(change);
      });
      return;
    }
    this.#leave(consumerGroup);
    this.#soon(() => this.#change());
  }

  /** The change is over: what was not seen to have moved has moved all the same. */
  #resolve(partition: string): void {
    if (this.#reading === partition) {
      this.#resolveLater.add(partition);
      return;
    }
    const place = this.#place(partition);
    if (place.move === null) return;
    place.next = place.move === 'front' && !place.unsure ? 0 : null;
    place.move = null;
    place.unsure = false;
  }

  // --- reading
  // -------------------------------------------------------------------------------------

  #read(): void {
    const { queue, partitions, random } = this.#options;
    const partition = random.pick(partitions);
    const group = this.#group;
    const command: Omit<PopCommand, 'deadlineMs'> = {
      kind: 'pop',
      tenant: TENANT,
      scope: { kind: 'partition', queue, partition },
      consumerGroup: group,
      batch: random.between(1, 4),
      partitions: 1,
      autoAck: true,
      wait: false,
      leaseSeconds: null,
      subscription: { mode: 'all' },
      conflation: null,
      autopilot: null,
    };
    this.#reading = partition;
    this.#reader.call<DeliveredOutcome | Refused>(
      (broker, reply) => broker.pop({ ...command, deadlineMs: broker.monotonicMs() + 500 }, reply),
      (answer) => {
        this.#reading = null;
        const isRead = answer !== 'refused' && answer !== 'unknown' && answer.kind !== 'refused';
        if (isRead && group === this.#group) this.#look(partition, answer as DeliveredOutcome);
        else if (!isRead && answer !== 'refused') this.#leave(group);
        for (const name of this.#resolveLater) this.#resolve(name);
        this.#resolveLater.clear();
        this.#soon(() => this.#read());
      },
    );
  }

  #look(partition: string, { claims }: DeliveredOutcome): void {
    for (const { batches } of claims) {
      for (const { baseOffset, first, last } of batches) {
        this.#see(partition, baseOffset + first);
        this.#place(partition).next = baseOffset + last + 1;
      }
    }
  }

  #see(partition: string, offset: number): void {
    const place = this.#place(partition);
    const { next, move } = place;
    this.#options.note(`${this.#group} reads ${partition}@${offset}, was to read ${next}, ${move}`);
    if (next === null || (move !== null && offset === next && (move === 'end' || next === 0))) {
      place.unsure = true;
    } else if (offset !== next) {
      const hasMoved = move === 'front' ? offset === 0 : move === 'end' && offset > next;
      if (hasMoved) {
        place.move = null;
        place.unsure = false;
      } else {
        const group = `${this.#group} on ${partition}`;
        this.wrong.push(`moved: ${group} reads ${offset}, and should read ${next}`);
      }
    }
  }

  #newId(): string {
    const { loop, random } = this.#options;
    const words = [0, 1, 2].map(() => Math.floor(random.next() * 2 ** 32));
    return uuidV7(Math.floor(loop.nowMs), words[0] ?? 0, words[1] ?? 0, words[2] ?? 0);
  }
}
