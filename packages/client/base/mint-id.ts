/** Ids that the client mints: UUIDs of version 7, which sort by their time. */

/** Chance is asked for once in 256 ids: each question costs more than an id. */
const CHANCE = new Uint8Array(4096);
let used = CHANCE.length;

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

export function mintId(nowMs: number): string {
  if (used === CHANCE.length) {
    crypto.getRandomValues(CHANCE);
    used = 0;
  }
  const time = Math.floor(nowMs).toString(16).padStart(12, '0');
  const hex = (at: number) => HEX[CHANCE[used + at] as number] as string;
  const version = HEX[0x70 | ((CHANCE[used] as number) & 0x0f)] as string;
  const variant = HEX[0x80 | ((CHANCE[used + 2] as number) & 0x3f)] as string;
  const head = `${time.slice(0, 8)}-${time.slice(8)}-${version}${hex(1)}-${variant}${hex(3)}-`;
  const id = head + hex(4) + hex(5) + hex(6) + hex(7) + hex(8) + hex(9);
  used += 16;
  return id;
}
