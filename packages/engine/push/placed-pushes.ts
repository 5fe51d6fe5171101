/**
 * The pushes of a turn until they are written: by partition, and by command. The columns
 * of both grow as items are placed (`push.ts`).
 */
import { ZERO_UUID } from '@svc/wire';
import {
  ITEM_DUPLICATE,
  type PushCommand,
  type PushedOutcome,
  type PushGroup,
} from '../base/commands/commands.js';
import type { PartitionRow, QueueRow } from '../base/rows.js';
import type { PlannedPlaces } from '../draft/planned-transaction-ids.js';
import type { TransactionMatch } from '../state/transaction-ids/id-index.js';

/** Everything of this turn that goes to one partition; the item columns grow in step. */
export interface Target {
  readonly group: PushGroup;
  readonly command: PushCommand;
  queue: QueueRow | undefined;
  partition: PartitionRow | undefined;
  bytes: number;
  calls: Call[];
  items: number[];
  /** Place of the first item of this turn with the id; null while no item has one. */
  placeOfId: Map<string, number> | null;
  hasIds: boolean;
  /** One of its ids is that of several items. */
  repeatsIds: boolean;
  hasMessageIds: boolean;
  /** Its payloads are encrypted when they are written. */
  readonly isEncrypting: boolean;
  /** The turn knows it; a target that is only judged is forgotten. */
  isPlaced: boolean;
}

/** A command that was placed in the turn. */
export interface PlacedPush {
  /** To be asked for when the plan is finished. */
  outcome(): PushedOutcome;
}

/** An item that is answered like the one at `place` of its target. */
interface Follower {
  readonly item: number;
  readonly target: Target;
  readonly place: number;
}

/** A command with the verdicts found so far. */
export class Call implements PlacedPush {
  readonly command: PushCommand;
  /** null: no item has a trace id. */
  readonly traceIds: readonly (string | null)[] | null;
  readonly targets: Target[];
  /** Log bytes of what was placed, at most. */
  bytes = 0;
  readonly status: Uint8Array;
  readonly messageIds: string[];
  /** null: no item follows another one of this turn. */
  #followers: Follower[] | null = null;
  /** Ids of the items answered `error`, by partition; null: none, as nearly always. */
  #refusedIds: Map<Target, Set<string>> | null = null;

  constructor(
    command: PushCommand,
    traceIds: readonly (string | null)[] | null,
    targets: Target[],
  ) {
    const items = command.itemGroup.length;
    this.command = command;
    this.traceIds = traceIds;
    this.targets = targets;
    this.status = new Uint8Array(items);
    this.messageIds = new Array<string>(items);
  }

  follow(item: number, target: Target, place: number): void {
    this.status[item] = ITEM_DUPLICATE;
    this.#followers ??= [];
    this.#followers.push({ item, target, place });
  }

  refuse(target: Target, id: string): void {
    this.#refusedIds ??= new Map();
    const ids = this.#refusedIds.get(target);
    if (ids === undefined) this.#refusedIds.set(target, new Set([id]));
    else ids.add(id);
  }

  hasRefused(target: Target, id: string): boolean {
    return this.#refusedIds !== null && this.#refusedIds.get(target)?.has(id) === true;
  }

  outcome(): PushedOutcome {
    if (this.#followers !== null) {
      for (const { item, target, place } of this.#followers) {
        this.messageIds[item] = idAtPlace(target, place);
      }
    }
    return { kind: 'pushed', status: this.status, messageIds: this.messageIds };
  }
}

function idAtPlace(target: Target, place: number): string {
  return target.calls[place]?.messageIds[target.items[place] ?? 0] ?? ZERO_UUID;
}

/** Where the messages of each id will be, for a target whose places do not say it all. */
export function matchesOf(target: Target, nextOffset: number, stampUs: number): PlannedPlaces {
  const matches = new Map<string, TransactionMatch[]>();
  for (let place = 0; place < target.items.length; place++) {
    const { command } = target.calls[place] as Call;
    const item = target.items[place] ?? 0;
    const id = command.transactionIds[item] ?? null;
    if (id === null) continue;
    const offset = nextOffset + place;
    const promised = command.messageIds?.[item] ?? undefined;
    const match =
      promised === undefined ? { offset, stampUs } : { offset, stampUs, messageId: promised };
    const known = matches.get(id);
    if (known === undefined) matches.set(id, [match]);
    else known.push(match);
  }
  return matches;
}
