// Goal: the client stays small, and loads where Node is not. Method: one minified file of all that
// it exports. Its size is counted before compression: what a page has to read and compile.
import { expect, test } from 'vitest';
import { clientBundle } from './client-bundle.js';

const ALL_BYTES_MAX = 104_000;
/** Streams, which are the rest, are left out where they are not imported. */
const CLIENT_BYTES_MAX = 83_000;

test('one file, of a bounded size, that imports nothing', async () => {
  const all = await clientBundle('es');
  expect(all.imports).toEqual([]);
  expect(Buffer.byteLength(all.code)).toBeLessThanOrEqual(ALL_BYTES_MAX);
  const { code } = await clientBundle('es', '{ Client }');
  expect(Buffer.byteLength(code)).toBeLessThanOrEqual(CLIENT_BYTES_MAX);
});
