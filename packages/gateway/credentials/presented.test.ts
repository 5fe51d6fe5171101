// Goal: which credential a request brings (specification, Gateway credentials 2 and 6). Method: a
// table.
import { expect, test } from 'vitest';
import { type CredentialHead, type Presented, presentedBy } from './presented.js';

const NAMES = ['svc_session', 'svc_session_cell'];
const key = (text: string): Presented => ({ kind: 'key', text });
const header = (token: string): Presented => ({ kind: 'session', token, isCookie: false });
const cookie = (token: string): Presented => ({ kind: 'session', token, isCookie: true });

test.each<[string, Partial<CredentialHead>, Presented | null]>([
  ['nothing', {}, null],
  ['a key', { authorization: 'Bearer qk_live_x' }, key('qk_live_x')],
  ['a key without Bearer', { authorization: ' qk_live_x ' }, key('qk_live_x')],
  ['Bearer in any case', { authorization: 'bEARER   a.b.c' }, header('a.b.c')],
  ['a token without Bearer', { authorization: 'a.b.c' }, header('a.b.c')],
  ['a header before a cookie', { authorization: 'x', cookie: 'svc_session=y' }, header('x')],
  ['an empty header is none', { authorization: 'Bearer ', cookie: 'svc_session=y' }, cookie('y')],
  ['a cookie among others', { cookie: 'a=b; svc_session=y; c=d' }, cookie('y')],
  ['the first of a name', { cookie: 'svc_session=y; svc_session=z' }, cookie('y')],
  ['a name that only ends so', { cookie: 'x_svc_session=y' }, null],
  ['a key in a cookie is ignored', { cookie: 'svc_session=qk_live_x' }, null],
  [
    'the next cookie after one that is ignored',
    { cookie: 'svc_session=qk_x; svc_session_cell=y' },
    cookie('y'),
  ],
  ['a page opened below an API path', { cookie: 'svc_session=y', fetchMode: 'navigate' }, null],
  [
    'a page opened elsewhere',
    { cookie: 'svc_session=y', fetchMode: 'navigate', isApi: false },
    cookie('y'),
  ],
  [
    'a key that is too long stays so',
    { authorization: `qk_${'x'.repeat(999)}` },
    key(`qk_${'x'.repeat(254)}`),
  ],
])('%s', (_name, head, wanted) => {
  const none = { authorization: undefined, cookie: undefined, fetchMode: undefined, isApi: true };
  expect(presentedBy({ ...none, ...head }, NAMES)).toEqual(wanted);
});
