/**
 * The payloads of timers as they are to be stored: decompressed, and known to be JSON or not
 * (state-surfaces 3.4).
 */
import type { TimerOp } from '@svc/engine';
import type { Decompressed, Zstd } from '../../exchange/zstd.js';
import { isStoredJson } from '../../json/stored-json.js';
import type { AnyCall } from '../../routing/route.js';
import { type SoundTimerOp, TimerFault } from './ops.js';

/** Bound of one payload: sixteen times the bytes that may be sent of it. */
const PAYLOAD_BYTES_MAX = 16 * 1_048_576;
/** Bound of one call: as much as a body may hold, and less than an entry takes. */
const CALL_BYTES_MAX = 67_108_864;
const EMPTY = new Uint8Array(0);

export type PlainTimers = readonly TimerOp[] | TimerFault | 'overloaded';

/**
 * `payloadBytesMax`: of one that comes compressed; null: the endpoint's own bound. `done` runs
 * once; in this call when nothing is compressed.
 */
export function plainTimers(
  zstd: Zstd,
  { tenant, payloadBytesMax }: Pick<AnyCall, 'tenant' | 'payloadBytesMax'>,
  ops: readonly SoundTimerOp[],
  done: (plain: PlainTimers) => void,
): void {
  const plain: TimerOp[] = [];
  let bytesLeft = CALL_BYTES_MAX;
  /** Goes on until something has to be waited for. */
  const go = (): void => {
    while (plain.length < ops.length) {
      const index = plain.length;
      const { op, isCompressed } = ops[index] as SoundTimerOp;
      if (op.op === 'cancel' || !isCompressed) {
        plain.push(op.op === 'cancel' ? op : { ...op, isJson: isStoredJson(op.payload) });
        continue;
      }
      let isWaiting = false;
      let isOver = false;
      const bytesMax = Math.min(payloadBytesMax ?? PAYLOAD_BYTES_MAX, PAYLOAD_BYTES_MAX, bytesLeft);
      zstd.decompress(tenant, op.payload, bytesMax, (result) => {
        const payload = payloadOf(result, index);
        if (payload === 'overloaded' || payload instanceof TimerFault) {
          isOver = true;
          done(payload);
          return;
        }
        bytesLeft -= payload.length;
        plain.push({ ...op, payload, isJson: isStoredJson(payload) });
        if (isWaiting) go();
      });
      isWaiting = plain.length === index;
      if (isOver || isWaiting) return;
    }
    done(plain);
  };
  go();
}

/** A payload that cannot be decompressed is an empty one. */
function payloadOf(result: Decompressed, index: number): Uint8Array | TimerFault | 'overloaded' {
  switch (result) {
    case 'corrupt':
      return EMPTY;
    case 'overloaded':
      return result;
    case 'too-large':
      return tooLarge(`op at index ${index}: the payload is too large when it is decompressed`);
    case 'too-slow':
      return tooLarge(`op at index ${index}: the payload takes too long to decompress`);
    default:
      return result;
  }
}

function tooLarge(detail: string): TimerFault {
  return new TimerFault('too-large', 'timers_payload_too_large', detail);
}
