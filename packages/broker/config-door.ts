/** Environment variables of the door: whose requests are let in. */
import { isIP } from 'node:net';
import { accepted, type Kind, refused } from './config-values.js';
import { variable } from './config-variable.js';

const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:\d{1,5})?$/i;
const HOST_NAME = /^[a-z0-9_]([a-z0-9._-]*[a-z0-9_])?$/i;

function partsOf(given: string | undefined): string[] {
  const parts = (given ?? '').split(',').map((part) => part.trim());
  return parts.filter((part) => part !== '');
}

/** Parts with commas between them; the first that `fault` has something to say of refuses all. */
function list(label: string, fault: (part: string) => string | null): Kind<readonly string[]> {
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

const origins = list('list of origins', (part) =>
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

export const DOOR_VARIABLES = {
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
