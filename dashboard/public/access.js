/**
 * What a request says of who asks: a bearer token, and a tenant where the node reads one. Both are
 * kept for this tab alone and leave with it; neither ever stands in an address.
 */

const TOKEN = 'svc.token';
const TENANT = 'svc.tenant';

export function accessOf(storage) {
  return { token: storage.getItem(TOKEN) ?? '', tenant: storage.getItem(TENANT) ?? '' };
}

/** What is empty is forgotten. `Bearer ` in front of a pasted token is not part of it. */
export function keepAccess(storage, { token, tenant }) {
  keep(storage, TOKEN, token.trim().replace(/^bearer\s+/i, ''));
  keep(storage, TENANT, tenant.trim());
}

function keep(storage, name, value) {
  if (value === '') storage.removeItem(name);
  else storage.setItem(name, value);
}

export function headersOf({ token, tenant }) {
  return {
    ...(token !== '' && { authorization: `Bearer ${token}` }),
    ...(tenant !== '' && { 'x-svc-tenant': tenant }),
  };
}
