/**
 * What a message id says of its message: `mmmmmmmm-mmmm-7ppp-Pppp-cccccccccccc`, 48 bits of
 * milliseconds, 32 of the partition's number, one that the id serves as transaction id too, and 41
 * of the offset; between them the six bits of a UUIDv7. The node's own reader is
 * `packages/wire/message-id.ts`.
 */

export interface MessagePlace {
  readonly ms: number;
  readonly partition: number;
  /** No transaction id was given: this id is it. */
  readonly isImplicit: boolean;
  readonly offset: number;
}

const UUID_7 = /^([\da-f]{8})-([\da-f]{4})-7([\da-f]{3})-([89ab][\da-f]{3})-([\da-f]{12})$/i;
const OFFSET_BITS = 41n;

/** null: it is none. */
export function placeOfMessage(id: string): MessagePlace | null {
  const found = UUID_7.exec(id.trim());
  if (found === null) return null;
  const [, high = '', low = '', top = '', variant = '', rest = ''] = found;
  const tail = BigInt(`0x${rest}`);
  const middle = (BigInt(`0x${top}`) << 14n) | (BigInt(`0x${variant}`) & 0x3fffn);
  return {
    ms: Number.parseInt(high + low, 16),
    partition: Number((middle << 6n) | (tail >> (OFFSET_BITS + 1n))),
    isImplicit: ((tail >> OFFSET_BITS) & 1n) === 1n,
    offset: Number(tail & ((1n << OFFSET_BITS) - 1n)),
  };
}
