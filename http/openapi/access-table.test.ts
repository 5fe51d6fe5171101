// Goal: docs/api.md lists every endpoint with its level. Method: that section of it, and the
// table that is made of the records; what must stand there is in the message of a failure.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { ROUTES } from '../server/routes.js';
import { accessTable } from './document.js';

test('docs/api.md has the table of all endpoints', () => {
  const manual = readFileSync(new URL('../../docs/api.md', import.meta.url), 'utf8');
  const [, section = ''] = manual.split('\n## All endpoints\n');
  const rows = section.split(/\n##+ /)[0]?.split('\n') ?? [];
  expect(rows.filter((line) => line.startsWith('|'))).toEqual(accessTable(ROUTES).split('\n'));
});
