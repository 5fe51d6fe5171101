/**
 * Cuts a push that costs more than a slice into pushes that do not (work-prices.ts), and joins
 * their outcomes.
 *
 * The job: the contract lets a push be cut between its pairs of queue and partition: "no atomicity
 * across partitions". The parts are ordinary commands, so everything that keeps a push exactly-once
 * holds for each of them, and a leader may change between two.
 *
 * What must hold:
 * - The joined outcome is that of the uncut command. All items of a pair stand in one slice, in
 *   their order, so "the first item of an id wins, later ones follow" is decided there.
 * - A pair that costs more than a slice by itself is cut between its items, in their order. An item
 *   whose id was in an earlier slice is not sent: it follows the first of its id, whatever the
 *   deduplication window says, as it would uncut. (The only difference that can be seen: the parts
 *   are appends of their own, with stamps of their own.)
 * - Nothing is copied that lies together in the body. Payloads that are scattered over more than
 *   twice their bytes are gathered, or each slice would carry the whole body to the leader.
 *
 * What a pair costs is seen in the rows that are applied here: whether its names exist already. A
 * node that is behind prices a little too high.
 */
import {
  bytesPrice,
  findPartition,
  findQueue,
  ITEM_DUPLICATE,
  ITEM_ERROR,
  ITEM_QUEUED,
  PRICES,
  type PushCommand,
  type PushedOutcome,
  type PushGroup,
  pushPrice,
  SLICE_BYTES,
  SLICE_UNITS,
  type State,
} from '@svc/engine';
import type { CallSlices } from './sliced-call.js';

/** It may cost more than a slice: every pair may be new. O(1). */
export function mayNeedSlices(command: PushCommand): boolean {
  const { groups, body } = command;
  const created = groups.length * (PRICES.newPartition + PRICES.newQueue);
  return pushPrice(command) + created > SLICE_UNITS || body.length > SLICE_BYTES;
}

/** What a slice may cost. */
export interface SliceLimits {
  readonly units: number;
  readonly bytes: number;
}

const LIMITS: SliceLimits = { units: SLICE_UNITS, bytes: SLICE_BYTES };

/** Payloads that are spread over so much more than they take are gathered. */
const SPREAD_MAX = 2;

export class PushSlices implements CallSlices<PushCommand, PushedOutcome> {
  readonly #command: PushCommand;
  readonly #state: State;
  readonly #limits: SliceLimits;
  /** The items, pair by pair, each pair in the order of the request. */
  readonly #items: Uint32Array;
  /** Where the items of each pair end among them. */
  readonly #ends: Uint32Array;
  readonly #status: Uint8Array;
  readonly #messageIds: string[];
  /** The next pair, and the next of its items. */
  #pair = 0;
  #next = 0;
  /** Ids of the pair that is being cut, with the first item of each; null: it is whole. */
  #seen: Map<string, number> | null = null;
  readonly #followers: { readonly item: number; readonly first: number }[] = [];
  /** The items of the slice under way. */
  #sent: number[] = [];

  constructor(command: PushCommand, state: State, limits = LIMITS) {
    this.#command = command;
    this.#state = state;
    this.#limits = limits;
    const { groups, itemGroup } = command;
    const counts = new Uint32Array(groups.length);
    for (const group of itemGroup) counts[group] = (counts[group] ?? 0) + 1;
    const places = new Uint32Array(groups.length);
    let sum = 0;
    counts.forEach((count, group) => {
      places[group] = sum;
      sum += count;
    });
    this.#items = new Uint32Array(itemGroup.length);
    itemGroup.forEach((group, item) => {
      const place = places[group] ?? 0;
      places[group] = place + 1;
      this.#items[place] = item;
    });
    this.#ends = places;
    this.#status = new Uint8Array(itemGroup.length).fill(ITEM_ERROR);
    this.#messageIds = new Array<string>(itemGroup.length).fill('');
  }

  /** Putting 100,000 items in order takes a millisecond. */
  prepare(): boolean {
    return true;
  }

  next(): PushCommand | null {
    const items = this.#take();
    const isWhole = items.length === this.#items.length;
    this.#sent = isWhole ? items.sort((a, b) => a - b) : items;
    if (items.length === 0) return null;
    return isWhole ? this.#command : this.#slice(items);
  }

  add({ status, messageIds }: PushedOutcome): void {
    this.#sent.forEach((item, i) => {
      this.#status[item] = status[i] ?? ITEM_ERROR;
      this.#messageIds[item] = messageIds[i] ?? '';
    });
  }

  /** The outcome of the whole push. Items that were not sent are reported as not stored. */
  outcome(): PushedOutcome {
    for (const { item, first } of this.#followers) {
      const status = this.#status[first] ?? ITEM_ERROR;
      this.#status[item] = status === ITEM_QUEUED ? ITEM_DUPLICATE : status;
      this.#messageIds[item] = this.#messageIds[first] ?? '';
    }
    return { kind: 'pushed', status: this.#status, messageIds: this.#messageIds };
  }

  /** The items of the next slice; none when all were taken. */
  #take(): number[] {
    const { units, bytes } = this.#limits;
    const room: Room = { units: units - PRICES.command, bytes };
    const items: number[] = [];
    let lastQueue = '';
    for (; this.#pair < this.#ends.length; this.#pair++) {
      const group = this.#command.groups[this.#pair] as PushGroup;
      const end = this.#ends[this.#pair] ?? 0;
      const target = this.#targetPrice(group, lastQueue);
      lastQueue = group.queue;
      if (this.#seen === null && !this.#fits(end, target, room)) {
        if (items.length > 0) return items;
        // It does not fit into a slice of its own either.
        this.#seen = new Map();
      }
      room.units -= target;
      while (this.#next < end) {
        const item = this.#items[this.#next] ?? 0;
        if (this.#seen !== null && this.#follows(item, this.#seen)) {
          this.#next++;
          continue;
        }
        const bytes = this.#bytesOf(item);
        const units = this.#unitsOf(item, bytes);
        const isFull = units > room.units || bytes > room.bytes;
        if (isFull && items.length > 0) return items;
        if (this.#seen !== null) this.#remember(item, this.#seen);
        room.units -= units;
        room.bytes -= bytes;
        items.push(item);
        this.#next++;
      }
      this.#seen = null;
    }
    return items;
  }

  /** All that is left of the pair has room. */
  #fits(end: number, target: number, room: Room): boolean {
    let { units, bytes } = room;
    units -= target;
    for (let at = this.#next; at < end; at++) {
      const item = this.#items[at] ?? 0;
      const own = this.#bytesOf(item);
      bytes -= own;
      units -= this.#unitsOf(item, own);
      if (units < 0 || bytes < 0) return false;
    }
    return true;
  }

  #targetPrice({ queue: name, partition }: PushGroup, lastQueue: string): number {
    const queue = findQueue(this.#state, this.#command.tenant, name);
    const created = PRICES.append + PRICES.newPartition;
    if (queue === undefined) return name === lastQueue ? created : created + PRICES.newQueue;
    const isKnown = findPartition(this.#state, queue.number, partition) !== undefined;
    return isKnown ? PRICES.append : created;
  }

  #bytesOf(item: number): number {
    const { payloadStart, payloadEnd } = this.#command;
    return (payloadEnd[item] ?? 0) - (payloadStart[item] ?? 0);
  }

  #unitsOf(item: number, bytes: number): number {
    const hasId = (this.#command.transactionIds[item] ?? null) !== null;
    return PRICES.item + (hasId ? PRICES.itemId : 0) + bytesPrice(bytes);
  }

  #follows(item: number, seen: ReadonlyMap<string, number>): boolean {
    const id = this.#command.transactionIds[item] ?? null;
    const first = id === null ? undefined : seen.get(id);
    if (first === undefined) return false;
    this.#followers.push({ item, first });
    return true;
  }

  #remember(item: number, seen: Map<string, number>): void {
    const id = this.#command.transactionIds[item] ?? null;
    if (id !== null) seen.set(id, item);
  }

  #slice(items: readonly number[]): PushCommand {
    const { tenant, producerSub, groups, itemGroup, transactionIds } = this.#command;
    const own: PushGroup[] = [];
    const itemGroups: number[] = [];
    let last = -1;
    for (const item of items) {
      const group = itemGroup[item] ?? 0;
      if (group !== last) own.push(groups[group] as PushGroup);
      last = group;
      itemGroups.push(own.length - 1);
    }
    return {
      kind: 'push',
      tenant,
      producerSub,
      groups: own,
      itemGroup: itemGroups,
      transactionIds: items.map((item) => transactionIds[item] ?? null),
      ...this.#payloads(items),
    };
  }

  #payloads(items: readonly number[]): Pick<PushCommand, 'body' | 'payloadStart' | 'payloadEnd'> {
    const { body, payloadStart, payloadEnd } = this.#command;
    let from = body.length;
    let to = 0;
    let bytes = 0;
    for (const item of items) {
      from = Math.min(from, payloadStart[item] ?? 0);
      to = Math.max(to, payloadEnd[item] ?? 0);
      bytes += this.#bytesOf(item);
    }
    if (to - from <= bytes * SPREAD_MAX) {
      return {
        body: body.subarray(from, to),
        payloadStart: items.map((item) => (payloadStart[item] ?? 0) - from),
        payloadEnd: items.map((item) => (payloadEnd[item] ?? 0) - from),
      };
    }
    const gathered = new Uint8Array(bytes);
    const starts: number[] = [];
    const ends: number[] = [];
    let at = 0;
    for (const item of items) {
      gathered.set(body.subarray(payloadStart[item], payloadEnd[item]), at);
      starts.push(at);
      at += this.#bytesOf(item);
      ends.push(at);
    }
    return { body: gathered, payloadStart: starts, payloadEnd: ends };
  }
}

/** Units of work and bytes that are left in a slice. */
interface Room {
  units: number;
  bytes: number;
}
