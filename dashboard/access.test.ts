// Goal: the token and the tenant are kept in the storage that is given, go out as headers and are
// forgotten when they are emptied. Method: a storage in memory.
import { expect, test } from 'vitest';
import { accessOf, headersOf, keepAccess } from './public/access.js';

class MemoryStorage {
  readonly items = new Map<string, string>();
  getItem = (name: string) => this.items.get(name) ?? null;
  setItem = (name: string, value: string) => void this.items.set(name, value);
  removeItem = (name: string) => void this.items.delete(name);
}

test('without anything no header is sent', () => {
  expect(headersOf(accessOf(new MemoryStorage()))).toEqual({});
});

test.each([' Bearer a.b.c ', 'a.b.c', 'bearer  a.b.c'])('the token %j', (given) => {
  const storage = new MemoryStorage();
  keepAccess(storage, { token: given, tenant: ' t-1 ' });
  expect(headersOf(accessOf(storage))).toEqual({
    authorization: 'Bearer a.b.c',
    'x-svc-tenant': 't-1',
  });
  keepAccess(storage, { token: '', tenant: '' });
  expect(storage.items.size).toBe(0);
});
