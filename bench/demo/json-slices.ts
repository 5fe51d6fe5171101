// Walks JSON text without building values, so that a value can be taken as the exact bytes it was
// written in. Both sides of the demo's promise rest on it: a payload must come back unchanged to
// the byte, which a parsed and printed value cannot show.
//
// The text is trusted to be well-formed JSON where it is skipped; what is malformed in the
// structure that is walked throws a JsonShapeError.

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

export class JsonShapeError extends Error {
  readonly code = 'json_shape';
}

/** Calls `visit` with each key and the bytes of its value; returns the index after the object. */
export function readObject(
  bytes: Buffer,
  at: number,
  visit: (key: string, value: Buffer) => void,
): number {
  let index = expectByte(bytes, at, OPEN_BRACE);
  if (bytes[skipSpace(bytes, index)] === CLOSE_BRACE) {
    return skipSpace(bytes, index) + 1;
  }
  for (;;) {
    const keyAt = skipSpace(bytes, index);
    const keyEnd = skipString(bytes, keyAt);
    const valueAt = skipSpace(bytes, expectByte(bytes, keyEnd, COLON));
    const valueEnd = skipValue(bytes, valueAt);
    visit(readKey(bytes, keyAt, keyEnd), bytes.subarray(valueAt, valueEnd));
    index = skipSpace(bytes, valueEnd);
    if (bytes[index] === CLOSE_BRACE) {
      return index + 1;
    }
    index = expectByte(bytes, index, COMMA);
  }
}

/** Calls `visit` with the bytes of each element; returns the index after the array. */
export function readArray(bytes: Buffer, at: number, visit: (value: Buffer) => void): number {
  let index = expectByte(bytes, at, OPEN_BRACKET);
  if (bytes[skipSpace(bytes, index)] === CLOSE_BRACKET) {
    return skipSpace(bytes, index) + 1;
  }
  for (;;) {
    const valueAt = skipSpace(bytes, index);
    const valueEnd = skipValue(bytes, valueAt);
    visit(bytes.subarray(valueAt, valueEnd));
    index = skipSpace(bytes, valueEnd);
    if (bytes[index] === CLOSE_BRACKET) {
      return index + 1;
    }
    index = expectByte(bytes, index, COMMA);
  }
}

/** The text of a JSON string given as its bytes, quotes included. */
export function readString(value: Buffer): string {
  if (value[0] !== QUOTE) {
    throw new JsonShapeError(`a string was expected, not ${excerpt(value, 0)}`);
  }
  const text = value.toString('utf8', 1, value.length - 1);
  return text.includes('\\') ? String(JSON.parse(value.toString())) : text;
}

export function readInteger(value: Buffer): number {
  const number = Number(value.toString('latin1'));
  if (!Number.isSafeInteger(number)) {
    throw new JsonShapeError(`an integer was expected, not ${excerpt(value, 0)}`);
  }
  return number;
}

function readKey(bytes: Buffer, keyAt: number, keyEnd: number): string {
  return readString(bytes.subarray(keyAt, keyEnd));
}

function skipValue(bytes: Buffer, at: number): number {
  const first = bytes[at];
  if (first === QUOTE) {
    return skipString(bytes, at);
  }
  if (first !== OPEN_BRACE && first !== OPEN_BRACKET) {
    return skipScalar(bytes, at);
  }
  let depth = 0;
  let index = at;
  while (index < bytes.length) {
    const byte = bytes[index];
    if (byte === QUOTE) {
      index = skipString(bytes, index);
      continue;
    }
    index += 1;
    if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      depth += 1;
    } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      depth -= 1;
      if (depth === 0) {
        return index;
      }
    }
  }
  throw new JsonShapeError('the text ends inside a value');
}

function skipScalar(bytes: Buffer, at: number): number {
  let index = at;
  while (index < bytes.length && isScalarByte(bytes[index] ?? 0)) {
    index += 1;
  }
  if (index === at) {
    throw new JsonShapeError(`a value was expected at ${at}, not ${excerpt(bytes, at)}`);
  }
  return index;
}

/** Letters, digits, sign and point: whatever numbers and the three literals consist of. */
function isScalarByte(byte: number): boolean {
  return byte > 0x20 && byte !== COMMA && byte !== CLOSE_BRACE && byte !== CLOSE_BRACKET;
}

function skipString(bytes: Buffer, at: number): number {
  if (bytes[at] !== QUOTE) {
    throw new JsonShapeError(`a string was expected at ${at}, not ${excerpt(bytes, at)}`);
  }
  let quoteAt = bytes.indexOf(QUOTE, at + 1);
  while (quoteAt >= 0) {
    let backslashes = 0;
    while (bytes[quoteAt - 1 - backslashes] === BACKSLASH) {
      backslashes += 1;
    }
    if (backslashes % 2 === 0) {
      return quoteAt + 1;
    }
    quoteAt = bytes.indexOf(QUOTE, quoteAt + 1);
  }
  throw new JsonShapeError('the text ends inside a string');
}

function skipSpace(bytes: Buffer, at: number): number {
  let index = at;
  for (;;) {
    const byte = bytes[index];
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) {
      return index;
    }
    index += 1;
  }
}

/** Skips space and the given byte; returns the index after it. */
function expectByte(bytes: Buffer, at: number, byte: number): number {
  const index = skipSpace(bytes, at);
  if (bytes[index] !== byte) {
    const wanted = String.fromCharCode(byte);
    throw new JsonShapeError(`${wanted} was expected at ${index}, not ${excerpt(bytes, index)}`);
  }
  return index + 1;
}

function excerpt(bytes: Buffer, at: number): string {
  return JSON.stringify(bytes.toString('utf8', at, Math.min(bytes.length, at + 20)));
}
