// Goal: the client stays small, and loads where Node is not. Method: one minified file of all that
// it exports. Its size is counted before compression: what a page has to read and compile.
import { expect, test } from 'vitest';
import { clientBundle } from './client-bundle.js';

const BYTES_MAX = 99_000;

test('one file, of a bounded size, that imports nothing', async () => {
  const { code, imports } = await clientBundle('es');
  expect(imports).toEqual([]);
  expect(Buffer.byteLength(code)).toBeLessThanOrEqual(BYTES_MAX);
});
