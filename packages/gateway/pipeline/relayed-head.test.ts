// Goal: nobody outside names a tenant, a node, a subject or a role. Method: heads.
import { expect, test } from 'vitest';
import { isRelayed } from './relayed-head.js';

test.each([
  'x-svc-tenant',
  'x-svc-act-cluster',
  'x-svc-cp-token',
  'x-svc-forwarded',
  'x-svc-subject',
  'x-svc-role',
  'x-svc-request-id',
  'authorization',
  'proxy-authorization',
  'cookie',
  'connection',
  'transfer-encoding',
  'upgrade',
  'te',
])('%s is not relayed', (name) => {
  expect(isRelayed(name, undefined)).toBe(false);
});

test('others are, unless they belong to the connection', () => {
  expect(isRelayed('content-type', undefined)).toBe(true);
  expect(isRelayed('content-type', 'close, X-Hop')).toBe(true);
  expect(isRelayed('x-hop', 'close, X-Hop')).toBe(false);
});
