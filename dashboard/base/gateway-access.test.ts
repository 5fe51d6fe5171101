// Goal: what people read of plans, keys, members and users is true of them: why pushes are blocked,
// who is the last administrator, which line tries a key, what is wrong with a form.
import { newPasswordOf } from '@svc/wire';
import { expect, test } from 'vitest';
import {
  adminCounts,
  type CellUser,
  clustersWithout,
  emailFault,
  nameFault,
  passwordFault,
  tenantCounts,
  usersHolding,
} from './cell-users.js';
import { firstCall } from './first-call.js';
import { LIMIT_WORDS, limitText, whyBlocked } from './gateway-words.js';
import { isLastAdmin } from './last-admin.js';

test.each([
  ['active', null, null],
  ['active', 'storage', /stored/],
  ['active', 'monthly_quota', /month/],
  ['push_blocked', 'storage', /Whoever runs this service/],
  ['suspended', null, /suspended/],
  ['deleting', 'monthly_quota', /deleted/],
] as const)('%s and %s', (status, push_block, says) => {
  const why = whyBlocked({ status, push_block });
  if (says === null) expect(why).toBeNull();
  else expect(why).toMatch(says);
});

test('limits in their units', () => {
  expect(Object.keys(LIMIT_WORDS)).toHaveLength(11);
  expect(limitText('max_msgs_per_sec', 200)).toBe('200 per second');
  expect(limitText('max_payload_bytes', 1_048_576)).toBe('1 MiB');
  expect(limitText('max_retention_seconds', 604_800)).toBe('7 d');
  expect(limitText('max_queues', null)).toBe('unlimited');
  expect(limitText('max_queues', 0)).toBe('0');
});

test('the last administrator', () => {
  const of = (...roles: string[]) => roles.map((role, i) => ({ user_id: String(i), role }));
  expect(isLastAdmin(of('admin', 'viewer'), '0')).toBe(true);
  expect(isLastAdmin(of('admin', 'viewer'), '1')).toBe(false);
  expect(isLastAdmin(of('admin', 'admin'), '0')).toBe(false);
  expect(isLastAdmin([], '0')).toBe(false);
});

test('a line for a shell, by what the key may do', () => {
  const line = (...scopes: Parameters<typeof firstCall>[2]) =>
    firstCall('https://a.example', "qk_'x", scopes);
  expect(line('produce', 'consume')).toBe(
    `curl 'https://a.example/api/v1/push' -H 'Authorization: Bearer qk_'\\''x' ` +
      `-H 'Content-Type: application/json' ` +
      `-d '{"items":[{"queue":"orders","payload":{"hello":"world"}}]}'`,
  );
  expect(line('consume')).toContain('/api/v1/pop/queue/orders?');
  expect(line('read')).toContain('/api/v1/resources/queues');
  expect(line('admin')).toContain('/api/v1/resources/queues');
});

const user = (email: string, tenant: string, roles: CellUser['roles'] = []): CellUser => ({
  id: email,
  email,
  name: email.startsWith('ada') ? 'Ada Lovelace' : null,
  tenant_id: tenant,
  tenant_slug: tenant,
  is_operator: false,
  has_local_password: true,
  created_at: '',
  last_login_at: null,
  roles,
});
const role = (cluster: string, has: 'admin' | 'viewer') => {
  return { cluster_id: cluster, cluster_slug: cluster, role: has };
};
const USERS = [
  user('ada@a.example', 'acme', [role('one', 'admin'), role('two', 'viewer')]),
  user('bob@b.example', 'beta', [role('one', 'admin')]),
];

test('users are found by address, name and tenant', () => {
  const found = (text: string) => usersHolding(USERS, text).map(({ email }) => email[0]);
  expect(found(' LOVE')).toEqual(['a']);
  expect(found('beta')).toEqual(['b']);
  expect(found('.example')).toEqual(['a', 'b']);
  expect(found('')).toEqual(['a', 'b']);
  expect(found('nobody')).toEqual([]);
});

test('clusters that may still be given, and counts', () => {
  const cluster = (id: string, tenant_id: string) => {
    return { id, slug: id, tenant_id, status: 'active' as const };
  };
  const all = [cluster('one', 'acme'), cluster('three', 'acme'), cluster('four', 'beta')];
  const [ada] = USERS;
  expect(ada && clustersWithout(ada, all).map(({ id }) => id)).toEqual(['three']);
  expect([...adminCounts(USERS)]).toEqual([['one', 2]]);
  expect([...tenantCounts(all)]).toEqual([
    ['acme', 2],
    ['beta', 1],
  ]);
});

test('what is wrong with a form', () => {
  expect(emailFault(' ada@a ')).toBeNull();
  for (const email of ['', 'ada', 'a@', '@a', 'a b@c', 'a@b@c']) {
    expect(emailFault(email)).not.toBeNull();
  }
  expect(nameFault(' Ada ')).toBeNull();
  expect([nameFault(' '), nameFault('x'.repeat(161))]).not.toContain(null);
  for (const password of [11, 12, 128, 129].map((length) => 'x'.repeat(length))) {
    const isTaken = newPasswordOf(password) !== null;
    expect([password, passwordFault('local', password) === null]).toEqual([password, isTaken]);
  }
  expect(passwordFault('google', '')).toBeNull();
});
