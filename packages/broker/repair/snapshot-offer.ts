/**
 * What a leader offers to a follower whose next entry is not in its log any more: the log before
 * its first entry F, described by (F - 1, term, configuration as of F - 1). The rows that go with
 * it are pulled by the follower. The manifest says of which version of this exchange the offer is,
 * and for messages in a log, which state there was when it was made.
 */
import { membershipAt, type State } from '@svc/engine';
import { decodeConfiguration, logIndex, type Snapshot, term as toTerm } from '@svc/raft';

const FORMAT = 1;
const MANIFEST_BYTES = 9;
const TWO_POW_32 = 0x1_0000_0000;

interface Manifest {
  /** The newest checkpoint of the member that made the offer. */
  readonly appliedIndex: number;
}

export interface OfferSources {
  readonly log: { readonly firstIndex: number; term(index: number): number | undefined };
  readonly state: State;
  /** The index of the newest durable checkpoint. */
  readonly checkpointIndex: number;
}

/**
 * undefined when nothing can be offered: the log reaches back to its beginning, the checkpoint does
 * not reach up to it, or the configuration as of F - 1 is not remembered.
 */
export function snapshotOffer({ log, state, checkpointIndex }: OfferSources): Snapshot | undefined {
  const index = log.firstIndex - 1;
  const term = log.term(index);
  if (index === 0 || term === undefined || checkpointIndex < index) return undefined;
  const membership = membershipAt(state, index);
  if (membership === undefined) return undefined;
  return {
    index: logIndex(index),
    term: toTerm(term),
    configuration: decodeConfiguration(membership.data).configuration,
    configurationIndex: logIndex(membership.index),
    manifest: encodeManifest({ appliedIndex: checkpointIndex }),
  };
}

export function encodeManifest({ appliedIndex }: Manifest): Uint8Array {
  const bytes = new Uint8Array(MANIFEST_BYTES);
  const view = new DataView(bytes.buffer);
  view.setUint8(0, FORMAT);
  view.setUint32(1, Math.floor(appliedIndex / TWO_POW_32));
  view.setUint32(5, appliedIndex % TWO_POW_32);
  return bytes;
}

/** null for what is no manifest of this version. */
export function decodeManifest(bytes: Uint8Array): Manifest | null {
  if (bytes.length !== MANIFEST_BYTES || bytes[0] !== FORMAT) return null;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const appliedIndex = view.getUint32(1) * TWO_POW_32 + view.getUint32(5);
  return Number.isSafeInteger(appliedIndex) ? { appliedIndex } : null;
}
