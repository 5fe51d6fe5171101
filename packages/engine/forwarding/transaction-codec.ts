/**
 * Transactions as bytes between nodes:
 *
 *     acks     := count, each: group | ack
 *     command  := acks | parts (a list of fields) | push or none
 *
 * Acks are by hand as those of an ack are, and the push, whose body is last.
 */
import { POSITIONS_MAX } from '@svc/wire';
import type { ByteWriter } from '../base/bytes.js';
import type { Tenant } from '../base/commands/commands.js';
import { kvOps } from '../base/commands/kv.js';
import { checkNames, name } from '../base/commands/names.js';
import { timerCallFields } from '../base/commands/timers.js';
import {
  position,
  rollback,
  type TransactionAck,
  type TransactionCommand,
} from '../base/commands/transaction.js';
import { list, nullable, uuid } from '../base/fields/field.js';
import { maybe, record } from '../base/fields/record.js';
import type { GuardedReader } from '../base/guarded-reader.js';
import {
  ACK_BYTES_MIN,
  COMMAND_ITEMS_MAX,
  readAckItem,
  readPush,
  writeAckItem,
  writePush,
} from './push-ack-codec.js';

const parts = record({
  positions: list(position, POSITIONS_MAX),
  kv: maybe(record({ ops: kvOps })),
  timers: maybe(record(timerCallFields)),
  flaw: rollback,
  traceIds: nullable(list(nullable(uuid), COMMAND_ITEMS_MAX)),
});

export function writeTransaction(w: ByteWriter, command: TransactionCommand): void {
  const { acks, pushes } = command;
  w.varint(acks.length);
  for (const ack of acks) {
    w.text(ack.consumerGroup);
    writeAckItem(w, ack);
  }
  parts.write(w, command);
  w.flag(pushes !== null);
  if (pushes !== null) writePush(w, pushes);
}

export function readTransaction(r: GuardedReader, tenant: Tenant): TransactionCommand | null {
  const acks: TransactionAck[] = [];
  for (let left = r.count(ACK_BYTES_MIN + 1, COMMAND_ITEMS_MAX); left > 0 && !r.refused; left--) {
    const consumerGroup = name.read(r);
    checkNames(r, '', consumerGroup, '');
    acks.push({ consumerGroup, ...readAckItem(r) });
  }
  const { kv, timers, ...others } = parts.read(r);
  const pushes = r.flag() ? readPush(r, tenant) : null;
  if (r.refused) return null;
  const { traceIds } = others;
  if (traceIds !== null && traceIds.length !== pushes?.itemGroup.length) r.refuse();
  return {
    kind: 'transaction',
    tenant,
    acks,
    pushes,
    ...others,
    kv: kv === null ? null : { kind: 'kv', tenant, ...kv },
    timers: timers === null ? null : { kind: 'timers', tenant, ...timers },
  };
}
