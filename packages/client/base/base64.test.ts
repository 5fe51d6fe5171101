// Goal: base64 of any text is that of Node. Method: texts by hand.
import { expect, test } from 'vitest';
import { base64, textOfBase64 } from './base64.js';

test('base64 of any text', () => {
  for (const text of ['', 'a', 'ä€😀\0', '😀'.repeat(100_000)]) {
    expect(base64(text)).toBe(Buffer.from(text).toString('base64'));
    expect(textOfBase64(base64(text))).toBe(text);
  }
});
