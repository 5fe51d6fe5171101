/**
 * The CRC-32 of zlib (reflected polynomial EDB88320), eight bytes at a time by eight tables. A host
 * whose platform has it natively passes that instead: the numbers are the same.
 */

/** As `crc32` of node:zlib: `value` is the CRC of what came before. */
export type Crc32 = (bytes: Uint8Array, value?: number) => number;

const POLYNOMIAL = 0xedb88320;
const SLICES = 8;
/** Table k begins at 256 k: what a byte does to the sum when k more bytes follow it. */
const TABLES = tables();

export const crc32: Crc32 = (bytes, value = 0) => {
  const table = TABLES;
  const { length } = bytes;
  const whole = length - (length % SLICES);
  let crc = ~value;
  let at = 0;
  for (; at < whole; at += SLICES) {
    const low = crc ^ littleEndian(bytes, at);
    const high = littleEndian(bytes, at + 4);
    crc =
      entry(table, 1792 + (low & 0xff)) ^
      entry(table, 1536 + ((low >>> 8) & 0xff)) ^
      entry(table, 1280 + ((low >>> 16) & 0xff)) ^
      entry(table, 1024 + (low >>> 24)) ^
      entry(table, 768 + (high & 0xff)) ^
      entry(table, 512 + ((high >>> 8) & 0xff)) ^
      entry(table, 256 + ((high >>> 16) & 0xff)) ^
      entry(table, high >>> 24);
  }
  for (; at < length; at++) crc = entry(table, (crc ^ byte(bytes, at)) & 0xff) ^ (crc >>> 8);
  return ~crc >>> 0;
};

function tables(): Int32Array {
  const table = new Int32Array(256 * SLICES);
  for (let first = 0; first < 256; first++) {
    let crc = first;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? POLYNOMIAL : 0);
    table[first] = crc;
  }
  for (let place = 256; place < table.length; place++) {
    const before = entry(table, place - 256);
    table[place] = entry(table, before & 0xff) ^ (before >>> 8);
  }
  return table;
}

function littleEndian(bytes: Uint8Array, at: number): number {
  return (
    byte(bytes, at) |
    (byte(bytes, at + 1) << 8) |
    (byte(bytes, at + 2) << 16) |
    (byte(bytes, at + 3) << 24)
  );
}

function byte(bytes: Uint8Array, at: number): number {
  return bytes[at] ?? 0;
}

function entry(table: Int32Array, place: number): number {
  return table[place] ?? 0;
}
