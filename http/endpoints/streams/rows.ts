/** Rows of streaming state in an answer (streams 3). */
import type { StreamStateEntry } from '@svc/engine';
import { formatStampUs } from '@svc/wire';
import { quotedBytes } from '../../json/json-text.js';

/** The elements of a list, with commas between them; values are copied as they were sent. */
export function streamRowsText(rows: readonly StreamStateEntry[]): Uint8Array {
  let text = '';
  for (const { key, value, updatedAtUs } of rows) {
    const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
    text +=
      `${text === '' ? '' : ','}{"key":${quotedBytes(key)},"value":${bytes.toString('latin1')},` +
      `"updated_at":"${formatStampUs(updatedAtUs)}"}`;
  }
  return Buffer.from(text, 'latin1');
}
