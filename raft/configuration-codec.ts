/**
 * The data of a configuration entry:
 * format (1 byte), flags (1 byte, bit 0 = leave by itself), then the node lists, each a count
 * (uint16) and its ids (uint32 high, uint32 low), then the host's context up to the end. Integers
 * are big-endian. Format 1 has four lists: voters, outgoing, learners, learnersNext. Format 2 adds
 * a fifth, promoting, and is written only when that is not empty, so that a group which promotes
 * nobody by itself stays readable for a version that cannot.
 */
import { assert } from './assert.js';
import { type Configuration, isPossible } from './configuration.js';
import { type NodeId, nodeId } from './identifiers.js';

const PLAIN = 1;
const PROMOTING = 2;
const AUTO_LEAVE = 1;
const LIST_NODES_MAX = 65_535;
const TWO_POW_32 = 4_294_967_296;

export interface ConfigurationRecord {
  readonly configuration: Configuration;
  readonly context: Uint8Array;
}

export function encodeConfiguration(config: Configuration, context: Uint8Array): Uint8Array {
  const lists = [config.voters, config.outgoing, config.learners, config.learnersNext];
  const format = config.promoting.length > 0 ? PROMOTING : PLAIN;
  if (format === PROMOTING) lists.push(config.promoting);
  const nodes = lists.reduce((sum, list) => sum + list.length, 0);
  const bytes = new Uint8Array(2 + lists.length * 2 + nodes * 8 + context.length);
  const view = new DataView(bytes.buffer);
  view.setUint8(0, format);
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
  const record = readConfiguration(bytes);
  assert(
    record !== undefined,
    `a configuration entry of ${bytes.length} bytes, format ${bytes[0]}, cannot be read`,
  );
  return record;
}

/** Undefined for bytes that are no configuration which this version could follow. */
export function readConfiguration(bytes: Uint8Array): ConfigurationRecord | undefined {
  const format = bytes[0];
  if (bytes.length < 2 || (format !== PLAIN && format !== PROMOTING)) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let position = 2;
  const lists: (readonly NodeId[])[] = [];
  for (let left = format === PLAIN ? 4 : 5; left > 0; left--) {
    if (position + 2 > bytes.length) return undefined;
    const count = view.getUint16(position);
    position += 2;
    if (position + count * 8 > bytes.length) return undefined;
    const ids: NodeId[] = [];
    for (let i = 0; i < count; i++) {
      ids.push(nodeId(view.getUint32(position) * TWO_POW_32 + view.getUint32(position + 4)));
      position += 8;
    }
    lists.push(ids);
  }
  const [voters = [], outgoing = [], learners = [], learnersNext = [], promoting = []] = lists;
  const autoLeave = (view.getUint8(1) & AUTO_LEAVE) !== 0;
  const configuration = { voters, outgoing, learners, learnersNext, promoting, autoLeave };
  if (!isPossible(configuration)) return undefined;
  return { configuration, context: bytes.subarray(position) };
}
