/** Counts key/value operations of clients of this node, by what came of each (inspection 9). */
import type { KvOp, KvOutcome, KvResult } from '@svc/engine';
import type { KvMeters, KvOpName } from '@svc/wire';

const US_PER_MS = 1000;

/** null: the call as a whole was refused. */
export function countKv(
  meters: KvMeters,
  ops: readonly KvOp[],
  outcome: KvOutcome | null,
  tookMs: number,
): void {
  const shareUs = Math.round((tookMs * US_PER_MS) / Math.max(1, ops.length));
  const { bytes } = meters;
  for (let i = 0; i < ops.length; i++) {
    const op = ops[i] as KvOp;
    const name = nameOf(op);
    meters.tookUs[name].record(shareUs);
    if (op.op === 'put' || op.op === 'putIfAbsent') bytes.in += op.value.length;
    const counts = meters.ops[name];
    if (outcome === null) {
      counts.error++;
      continue;
    }
    const result = outcome.results[i];
    if (result === undefined || (result.kind === 'judged' && result.loss !== null)) {
      counts.rejected++;
    } else counts.applied++;
    if (result !== undefined) bytes.out += bytesOf(op, result);
  }
}

function nameOf({ op }: KvOp): KvOpName {
  return op === 'putIfAbsent' ? 'put' : op;
}

/** Bytes of the values that the client is told. */
function bytesOf(op: KvOp, result: KvResult): number {
  switch (result.kind) {
    case 'got':
      return result.row?.value?.length ?? 0;
    case 'many':
    case 'page':
      return result.rows.reduce((sum, { value }) => sum + (value?.length ?? 0), 0);
    case 'put':
      return 'value' in op ? op.value.length : 0;
    case 'judged':
      return result.value?.length ?? 0;
  }
}
