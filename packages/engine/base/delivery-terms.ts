/**
 * What a pop may say about the way in which it is served, and what its answer says of it
 * (message-plane 3.1, 3.2). The ordinary pop says nothing and is told nothing: both are null, and
 * nothing of this is looked at for it.
 */
import type { ByteReader, ByteWriter } from './bytes.js';
import type { GroupRow } from './rows.js';

/** What an autopilot chooses: whatever the request left out, so at least one of the two. */
export interface AutopilotWish {
  readonly partitions: boolean;
  readonly batch: boolean;
}

/** The sizes that the pop was served with; chosen ones, and those that the request gave. */
export interface AutopilotSizes {
  readonly partitions: number;
  readonly batch: number;
}

/** At least one of the three says something. */
export interface DeliveryTerms {
  /** The group is delivered last values only; of a discovery, one of its groups. */
  readonly conflation: boolean;
  /** The request named a policy that its group, or one of its groups, does not have. */
  readonly conflationConflict: boolean;
  readonly autopilot: AutopilotSizes | null;
}

/**
 * What the answer to a pop says, whoever it was that took the messages; null for the ordinary pop
 * of groups that deliver everything. A policy of null: the group is not registered.
 */
export function termsOf(
  wanted: boolean | null,
  groups: Iterable<{ readonly policy: GroupRow | null }>,
  autopilot: AutopilotSizes | null,
): DeliveryTerms | null {
  let conflation = false;
  let conflationConflict = false;
  for (const { policy } of groups) {
    const conflates = policy?.conflation === true;
    if (conflates) conflation = true;
    if (wanted !== null && wanted !== conflates) conflationConflict = true;
  }
  if (!conflation && !conflationConflict && autopilot === null) return null;
  return { conflation, conflationConflict, autopilot };
}

const HAS_CONFLATION = 1;
const HAS_CONFLICT = 2;
const HAS_AUTOPILOT = 4;

export function writeTerms(w: ByteWriter, terms: DeliveryTerms | null): void {
  if (terms === null) {
    w.u8(0);
    return;
  }
  const { conflation, conflationConflict, autopilot } = terms;
  const said = (conflation ? HAS_CONFLATION : 0) | (conflationConflict ? HAS_CONFLICT : 0);
  w.u8(said | (autopilot === null ? 0 : HAS_AUTOPILOT));
  if (autopilot === null) return;
  w.varint(autopilot.partitions);
  w.varint(autopilot.batch);
}

/** `refuse`: of a reader of bytes that another node has sent. */
export function readTerms(
  r: Pick<ByteReader, 'u8' | 'varint'> & { refuse?(): void },
): DeliveryTerms | null {
  const said = r.u8();
  if (said === 0) return null;
  if (said > HAS_CONFLATION + HAS_CONFLICT + HAS_AUTOPILOT) r.refuse?.();
  const has = (bit: number) => (said & bit) !== 0;
  return {
    conflation: has(HAS_CONFLATION),
    conflationConflict: has(HAS_CONFLICT),
    autopilot: has(HAS_AUTOPILOT) ? { partitions: r.varint(), batch: r.varint() } : null,
  };
}
