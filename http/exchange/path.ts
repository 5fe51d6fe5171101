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
