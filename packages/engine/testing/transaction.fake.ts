/** Transactions as tests write them: parts as short tuples, the rest filled in. */

import { assert } from '../base/assert.js';
import type { AckStatus, PushCommand } from '../base/commands/commands.js';
import type { TimerCall } from '../base/commands/timers.js';
import type {
  Position,
  Rollback,
  TransactedOutcome,
  TransactionAck,
  TransactionCommand,
} from '../base/commands/transaction.js';
import { type EngineRig, pushCommand, TENANT } from './engine.fake.js';

/** A pushed item: where it goes, and its transaction id, which is its payload too. */
export type PushWord = readonly [queue: string, partition: string, id: string | null];

export interface TransactionParts {
  readonly acks?: readonly TransactionAck[];
  readonly pushes?: readonly PushWord[] | undefined;
  readonly traceIds?: readonly (string | null)[];
  readonly positions?: readonly Position[];
  readonly timers?: TimerCall;
  readonly flaw?: Rollback;
}

export function ackOf(
  partition: number | string,
  transactionId: string,
  leaseId: string,
  status: AckStatus = 'completed',
  consumerGroup = 'g',
): TransactionAck {
  const partitionId = String(partition);
  return { transactionId, partitionId, leaseId, status, error: null, consumerGroup };
}

export function positionOf(
  queue: string,
  partition: string,
  offset: number | null,
  rest: Partial<Position> = {},
): Position {
  const defaults = { consumerGroup: 'g', metadata: null, subscription: { mode: 'all' } } as const;
  return { queue, partition, offset, ...defaults, ...rest };
}

export function transactionCommand(parts: TransactionParts): TransactionCommand {
  const { acks = [], pushes = [], traceIds = null, positions = [], flaw = null } = parts;
  return {
    kind: 'transaction',
    tenant: TENANT,
    acks,
    pushes: pushes.length === 0 ? null : pushesOf(pushes),
    traceIds,
    positions,
    kv: null,
    timers: parts.timers ?? null,
    flaw,
  };
}

/** Payloads of items without an id are their places. */
function pushesOf(words: readonly PushWord[]): PushCommand {
  const texts = words.map(([, , id], i) => id ?? `${i}`);
  const base = pushCommand('', '', texts, true);
  assert(base.kind === 'push', 'a push command is no push');
  const groups: { queue: string; partition: string }[] = [];
  const itemGroup = words.map(([queue, partition]) => {
    const known = groups.findIndex((one) => one.queue === queue && one.partition === partition);
    return known < 0 ? groups.push({ queue, partition }) - 1 : known;
  });
  return { ...base, groups, itemGroup, transactionIds: words.map(([, , id]) => id) };
}

export function transact(rig: EngineRig, parts: TransactionParts): TransactedOutcome {
  const { outcome } = rig.call(transactionCommand(parts));
  assert(outcome?.kind === 'transacted', 'the transaction was not answered');
  return outcome;
}
