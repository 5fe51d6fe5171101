/**
 * The part of a request's head that the broker gets (gateway 4, step 8). Names of tenants, nodes,
 * subjects and roles come from the gateway alone: every header of this service's own is dropped,
 * and so are credentials and what belongs to one connection.
 */
const OWN_PREFIX = 'x-svc-';

const NOT_RELAYED: ReadonlySet<string> = new Set([
  'authorization',
  'proxy-authorization',
  'proxy-authenticate',
  'cookie',
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** `name`: lower case. `connection`: the value of that header, which may name more. */
export function isRelayed(name: string, connection: string | undefined): boolean {
  if (name.startsWith(OWN_PREFIX) || NOT_RELAYED.has(name)) return false;
  if (connection === undefined || connection === '') return true;
  return !connection
    .toLowerCase()
    .split(',')
    .some((one) => one.trim() === name);
}
