// Goal: what the log says of a port can be opened in a browser. Method: a table.
import { expect, test } from 'vitest';
import { visitUrl } from './visit-url.js';

test.each([
  ['0.0.0.0', 'http://localhost:6632/'],
  ['::', 'http://localhost:6632/'],
  ['127.0.0.1', 'http://127.0.0.1:6632/'],
  ['::1', 'http://[::1]:6632/'],
  ['svc-1.example', 'http://svc-1.example:6632/'],
])('%s', (host, url) => {
  expect(visitUrl('http', host, 6632)).toBe(url);
});
