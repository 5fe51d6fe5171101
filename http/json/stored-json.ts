/**
 * A stored payload as it stands in an answer of a management read. What was pushed is JSON and is
 * shown byte for byte; what is none (a timer may carry any bytes) comes as a string, and nothing at
 * all as null (inspection 1.1). Byte strings, as all answers with payloads.
 */
import { JsonError } from './json-error.js';
import { JsonReader } from './json-reader.js';
import { quotedBytes } from './json-text.js';

/** null: it is not shown. */
export function storedJsonText(stored: Uint8Array | null): string {
  if (stored === null || stored.length === 0) return 'null';
  const bytes = Buffer.from(stored.buffer, stored.byteOffset, stored.byteLength);
  return isStoredJson(stored) ? bytes.toString('latin1') : quotedBytes(bytes.toString('utf8'));
}

/** It is one JSON text. */
export function isStoredJson(stored: Uint8Array): boolean {
  const bytes = Buffer.from(stored.buffer, stored.byteOffset, stored.byteLength);
  try {
    const reader = new JsonReader(bytes);
    reader.skipValue();
    reader.finish();
    return true;
  } catch (error) {
    if (error instanceof JsonError) return false;
    throw error;
  }
}
