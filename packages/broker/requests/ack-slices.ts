/**
 * Cuts a batch of acknowledgements that costs more than a slice into batches that do not
 * (work-prices.ts), and joins their outcomes.
 *
 * The job: items of one partition and lease are a target, and a bad target does not affect others.
 * So a batch may be cut between its targets. A target itself is never cut: its items decide
 * together what becomes of the cursor.
 *
 * What must hold:
 * - The joined outcome is that of the uncut batch.
 * - A target whose dead letters find no room in an entry: the leader carries out what fits,
 *   keeps the lease, and says UNFILED of the rest. That rest is sent again at once, until all of
 *   it has its answer; each time at least one dead letter is filed. `leaseReleased` of the target
 *   is what its last answer says.
 * - A dead letter without an error text of its own has the first text of its target, also when the
 *   item with that text was answered before.
 */
import {
  type AckCommand,
  type AckedOutcome,
  type AckItem,
  type AckItemOutcome,
  ackTargetKey,
  PRICES,
  SLICE_UNITS,
  UNFILED,
} from '@svc/engine';
import type { CallSlices } from './sliced-call.js';

/** It may cost more than a slice: every item may be a target, or file a dead letter. O(1). */
export function mayNeedAckSlices({ items }: AckCommand): boolean {
  return items.length * (PRICES.ackTarget + PRICES.ackItem + PRICES.deadLetter) > SLICE_UNITS;
}

/** A part of it was not carried out. */
export function isUnfinished({ items }: AckedOutcome): boolean {
  for (const { error } of items) if (error === UNFILED) return true;
  return false;
}

interface Target {
  /** Places of its items in the command. */
  readonly all: number[];
  /** Those without an answer. */
  open: readonly number[];
  /** The text of its dead letters without one; asked for when a part of it is sent again. */
  text: string | null;
}

const NO_ANSWER: AckItemOutcome = {
  success: false,
  error: UNFILED,
  leaseReleased: false,
  dlq: false,
  noop: false,
};

/** Items that are put to their targets at a stretch: a millisecond of it. */
const PREPARED_ITEMS = 1000;

export class AckSlices implements CallSlices<AckCommand, AckedOutcome> {
  readonly #command: AckCommand;
  readonly #unitsMax: number;
  readonly #targets: Target[] = [];
  readonly #byKey = new Map<string, Target>();
  /** Items that belong to a target already. */
  #prepared = 0;
  readonly #outcomes: AckItemOutcome[];
  /** The next target that was not sent. */
  #next = 0;
  /** Targets of which the leader has left a part open. */
  #again: Target[] = [];
  #sent: readonly Target[] = [];

  constructor(command: AckCommand, unitsMax = SLICE_UNITS) {
    this.#command = command;
    this.#unitsMax = unitsMax;
    this.#outcomes = new Array<AckItemOutcome>(command.items.length).fill(NO_ANSWER);
  }

  prepare(): boolean {
    const { items } = this.#command;
    const end = Math.min(items.length, this.#prepared + PREPARED_ITEMS);
    for (; this.#prepared < end; this.#prepared++) {
      const key = ackTargetKey(items[this.#prepared] as AckItem);
      const known = this.#byKey.get(key);
      if (known !== undefined) {
        known.all.push(this.#prepared);
        continue;
      }
      const all = [this.#prepared];
      const target: Target = { all, open: all, text: null };
      this.#byKey.set(key, target);
      this.#targets.push(target);
    }
    if (end < items.length) return false;
    this.#byKey.clear();
    return true;
  }

  /** As if the whole command had been the first slice. */
  resume(outcome: AckedOutcome): void {
    while (!this.prepare());
    this.#next = this.#targets.length;
    this.#settle(this.#targets, (at) => outcome.items[at]);
  }

  next(): AckCommand | null {
    this.#sent = this.#take();
    if (this.#sent.length === 0) return null;
    const { tenant, consumerGroup } = this.#command;
    const items = this.#sent.flatMap((target) => target.open.map((at) => this.#item(target, at)));
    return { kind: 'ack', tenant, consumerGroup, items };
  }

  add({ items }: AckedOutcome): void {
    let place = 0;
    const byPlace = new Map<number, AckItemOutcome | undefined>();
    for (const { open } of this.#sent) {
      for (const at of open) byPlace.set(at, items[place++]);
    }
    this.#settle(this.#sent, (at) => byPlace.get(at));
  }

  outcome(): AckedOutcome {
    return { kind: 'acked', items: this.#outcomes };
  }

  #take(): readonly Target[] {
    const taken: Target[] = [];
    let units = this.#unitsMax - PRICES.command;
    for (;;) {
      const target = this.#again[0] ?? this.#targets[this.#next];
      if (target === undefined) return taken;
      units -= this.#priceOf(target);
      if (units < 0 && taken.length > 0) return taken;
      if (this.#again.length > 0) this.#again.shift();
      else this.#next++;
      taken.push(target);
    }
  }

  #priceOf({ open }: Target): number {
    let units = PRICES.ackTarget + open.length * PRICES.ackItem;
    for (const at of open) {
      const status = this.#command.items[at]?.status;
      if (status === 'dlq' || status === 'failed') units += PRICES.deadLetter;
    }
    return units;
  }

  #item({ text }: Target, at: number): AckItem {
    const item = this.#command.items[at] as AckItem;
    const isFiled = item.status === 'dlq' || item.status === 'failed';
    return isFiled && item.error === null && text !== null ? { ...item, error: text } : item;
  }

  /** Chosen as the leader does, among all items of the target. */
  #textOf({ all }: Target): string | null {
    for (const at of all) {
      const { status, error } = this.#command.items[at] as AckItem;
      if (status !== 'completed' && error !== null) return error;
    }
    return null;
  }

  #settle(targets: readonly Target[], outcomeOf: (at: number) => AckItemOutcome | undefined): void {
    for (const target of targets) {
      const open: number[] = [];
      let leaseReleased = false;
      for (const at of target.open) {
        const outcome = outcomeOf(at) ?? NO_ANSWER;
        this.#outcomes[at] = outcome;
        if (outcome.error === UNFILED) open.push(at);
        else leaseReleased = outcome.leaseReleased;
      }
      target.open = open;
      if (open.length === 0) this.#release(target, leaseReleased);
      else {
        target.text ??= this.#textOf(target);
        this.#again.push(target);
      }
    }
  }

  /** All of the target has its answer. */
  #release({ all }: Target, leaseReleased: boolean): void {
    for (const at of all) {
      const outcome = this.#outcomes[at] ?? NO_ANSWER;
      if (outcome.leaseReleased !== leaseReleased) {
        this.#outcomes[at] = { ...outcome, leaseReleased };
      }
    }
  }
}
