/**
 * Query strings and segments of paths, percent-decoded once and strictly. Queries are form-encoded:
 * `+` is a space, the last of several equal names wins, unknown names are ignored. Message-plane
 * parameters are typed and exact (message-plane 1.4, 3.1); management parameters are lenient
 * (inspection 0.2).
 */

export type Query = ReadonlyMap<string, string>;

const EMPTY: Query = new Map();

export function parseQuery(text: string): Query | DecodeFault {
  if (text === '') return EMPTY;
  const query = new Map<string, string>();
  for (const pair of text.split('&')) {
    if (pair === '') continue;
    const equals = pair.indexOf('=');
    const name = decodeForm(equals < 0 ? pair : pair.slice(0, equals));
    if (isFault(name)) return name;
    const value = equals < 0 ? '' : decodeForm(pair.slice(equals + 1));
    if (isFault(value)) return value;
    query.set(name, value);
  }
  return query;
}

function decodeForm(text: string): string | DecodeFault {
  return decodePercent(text.includes('+') ? text.replaceAll('+', ' ') : text, 'query string');
}

/** A value, or "" where it is absent: an empty value means absent. */
export function textOf(query: Query, name: string): string {
  return query.get(name) ?? '';
}

const INTEGER = /^[+-]?\d+$/;

/** null: absent. */
export function typedInteger(
  query: Query,
  name: string,
  min: number,
  max: number,
): number | null | DecodeFault {
  const text = query.get(name);
  if (text === undefined) return null;
  if (text === '') return typeFault(name, 'cannot parse integer from empty string');
  if (!INTEGER.test(text)) return typeFault(name, 'invalid digit found in string');
  const value = Number(text);
  if (value < min) {
    return typeFault(
      name,
      min === 0 ? 'invalid digit found in string' : 'number too small to fit in target type',
    );
  }
  if (value > max) return typeFault(name, 'number too large to fit in target type');
  return value === 0 ? 0 : value;
}

/**
 * An unsigned 64-bit integer. Above 2^53 neighbours cannot be told apart here, which no caller
 * needs: every such parameter is capped far below.
 */
export function typedUint64(query: Query, name: string): number | null | DecodeFault {
  const text = query.get(name);
  if (
    text !== undefined &&
    INTEGER.test(text) &&
    BigInt.asUintN(64, BigInt(text)) !== BigInt(text)
  ) {
    return typedInteger(query, name, 0, Number.MAX_SAFE_INTEGER);
  }
  return typedInteger(query, name, 0, Number.POSITIVE_INFINITY);
}

/** null: absent. Only `true` and `false`. */
export function typedBoolean(query: Query, name: string): boolean | null | DecodeFault {
  const text = query.get(name);
  if (text === undefined) return null;
  if (text === 'true') return true;
  if (text === 'false') return false;
  return typeFault(name, 'provided string was not `true` or `false`');
}

/** An integer of a management read; null where it is absent or no integer. */
export function lenientInteger(query: Query, name: string): number | null {
  const text = textOf(query, name);
  return INTEGER.test(text) ? Number(text) : null;
}

function typeFault(name: string, why: string): DecodeFault {
  return { fault: `Failed to deserialize query string: ${name}: ${why}` };
}

/** Percent-decoding of path segments and query strings, once, strictly. */

/** Why a text does not decode. */
export interface DecodeFault {
  readonly fault: string;
}

const MALFORMED_ESCAPE = /%(?![0-9a-fA-F]{2})/;

/** `where` begins the fault's text. */
export function decodePercent(text: string, where: string): string | DecodeFault {
  let decoded = text;
  if (text.includes('%')) {
    if (MALFORMED_ESCAPE.test(text)) return { fault: `${where}: malformed percent escape` };
    try {
      decoded = decodeURIComponent(text);
    } catch (error) {
      if (!(error instanceof URIError)) throw error;
      return { fault: `${where}: invalid UTF-8` };
    }
  }
  // The native layer puts U+FFFD where bytes that were not escaped are not UTF-8.
  if (text.includes('\ufffd')) return { fault: `${where}: invalid UTF-8` };
  if (decoded.includes('\0')) return { fault: `${where}: NUL is not allowed` };
  return decoded;
}

export function isFault<Value>(value: Value | DecodeFault): value is DecodeFault {
  return typeof value === 'object' && value !== null && 'fault' in value;
}
