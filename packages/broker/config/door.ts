/** Environment variables of the door: whose requests are let in, and how many connections. */
import { isIP } from 'node:net';
import { accepted, exactInteger, type Kind, orUnset, refused } from './values.js';
import { variable } from './variable.js';

const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:\d{1,5})?$/i;
const HOST_NAME = /^[a-z0-9_]([a-z0-9._-]*[a-z0-9_])?$/i;

function partsOf(given: string | undefined): string[] {
  const parts = (given ?? '').split(',').map((part) => part.trim());
  return parts.filter((part) => part !== '');
}

/** Parts with commas between them; the first that `fault` has something to say of refuses all. */
export function list(
  label: string,
  fault: (part: string) => string | null,
): Kind<readonly string[]> {
  return {
    label,
    defaultText: '',
    minimum: null,
    parse: (given, name) => {
      const parts = partsOf(given);
      const faults = parts.map(fault).filter((text) => text !== null);
      return faults.length > 0 ? refused(`${name}=${given}: ${faults[0]}`) : accepted(parts);
    },
    show: (parts) => (parts.length === 0 ? '<none>' : parts.join(',')),
  };
}

export const origins = list('list of origins', (part) =>
  part === '*' || ORIGIN.test(part)
    ? null
    : `\`${part}\` is not an origin: write scheme and host, and the port where it is not the ` +
      'standard one, such as https://tools.example or http://localhost:3000',
);

const hostNames = list('list of hosts', (part) =>
  HOST_NAME.test(part) || isIP(part) !== 0
    ? null
    : `\`${part}\` is not a host: write names or IP addresses without scheme and port, such as ` +
      'svc.example',
);

/** Words stand for the networks that everybody has. */
function isNetwork(part: string): boolean {
  if (part === 'loopback' || part === 'private') return true;
  const [address = '', prefix, ...more] = part.split('/');
  const bits = isIP(address) === 6 ? 128 : 32;
  const isPrefix = prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= bits);
  return isIP(address) !== 0 && isPrefix && more.length === 0;
}

const networks = list('list of networks', (part) =>
  isNetwork(part)
    ? null
    : `\`${part}\` is not a network: write IP addresses or networks such as 10.1.0.0/16, ` +
      '`loopback` or `private`',
);

export const DOOR_VARIABLES = {
  connectionsMax: variable(
    'server',
    'SVC_MAX_CONNECTIONS',
    orUnset(exactInteger(1, { min: 1 }), 'open files less those of the node'),
    'connections of clients at a port; at the bound the longest idle one ends, and if none is, 503',
  ),
  connectionsPerAddressMax: variable(
    'server',
    'SVC_MAX_CONNECTIONS_PER_ADDRESS',
    orUnset(exactInteger(1, { min: 1 }), 'none'),
    'connections of one client address; never counted for trusted proxies',
  ),
  trustedProxies: variable(
    'server',
    'SVC_EDGE_TRUSTED_PROXIES',
    networks,
    'proxies whose address stands for many clients: IP addresses, networks, `loopback`, `private`',
  ),
  allowedOrigins: variable(
    'server',
    'SVC_ALLOWED_ORIGINS',
    origins,
    'origins whose pages may call this node from a browser, separated by commas; `*` for all',
  ),
  allowedHosts: variable(
    'server',
    'SVC_ALLOWED_HOSTS',
    hostNames,
    'the only `Host` names that are served; without it a node on loopback serves its own machine',
  ),
};
