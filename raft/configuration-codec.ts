/**
 * The data of a configuration entry:
 * format (1 byte, 1), flags (1 byte, bit 0 = leave by itself), then the four node lists, each a
 * count (uint16) and its ids (uint32 high, uint32 low), then the host's context up to the end.
 * Integers are big-endian.
 */
import { assert } from './assert.js';
import type { Configuration } from './configuration.js';
import { type NodeId, nodeId } from './identifiers.js';

const FORMAT = 1;
const AUTO_LEAVE = 1;
const LIST_NODES_MAX = 65_535;
const TWO_POW_32 = 4_294_967_296;

export interface ConfigurationRecord {
  readonly configuration: Configuration;
  readonly context: Uint8Array;
}

export function encodeConfiguration(config: Configuration, context: Uint8Array): Uint8Array {
  const lists = [config.voters, config.outgoing, config.learners, config.learnersNext];
  const nodes = lists.reduce((sum, list) => sum + list.length, 0);
  const bytes = new Uint8Array(2 + lists.length * 2 + nodes * 8 + context.length);
  const view = new DataView(bytes.buffer);
  view.setUint8(0, FORMAT);
  view.setUint8(1, config.autoLeave ? AUTO_LEAVE : 0);
  let position = 2;
  for (const list of lists) {
    assert(list.length <= LIST_NODES_MAX, `a configuration of ${list.length} nodes`);
    view.setUint16(position, list.length);
    position += 2;
    for (const id of list) {
      view.setUint32(position, Math.floor(id / TWO_POW_32));
      view.setUint32(position + 4, id % TWO_POW_32);
      position += 8;
    }
  }
  bytes.set(context, position);
  return bytes;
}

/** A record that this version cannot read is a bug or a newer version: both must stop the node. */
export function decodeConfiguration(bytes: Uint8Array): ConfigurationRecord {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  assert(bytes.length >= 10, `a configuration entry of ${bytes.length} bytes`);
  assert(view.getUint8(0) === FORMAT, `configuration entry of format ${view.getUint8(0)}`);
  const autoLeave = (view.getUint8(1) & AUTO_LEAVE) !== 0;
  let position = 2;
  const list = (): readonly NodeId[] => {
    const ids: NodeId[] = [];
    const count = view.getUint16(position);
    position += 2;
    for (let i = 0; i < count; i++) {
      ids.push(nodeId(view.getUint32(position) * TWO_POW_32 + view.getUint32(position + 4)));
      position += 8;
    }
    return ids;
  };
  const voters = list();
  const outgoing = list();
  const learners = list();
  const learnersNext = list();
  return {
    configuration: { voters, outgoing, learners, learnersNext, autoLeave },
    context: bytes.subarray(position),
  };
}
