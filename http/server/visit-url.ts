/** The address at which a browser of this machine finds what listens on a host and a port. */
import { isIPv6 } from 'node:net';

/** `host`: an address or a name, without the brackets of an IPv6 literal. */
export function visitUrl(scheme: 'http' | 'https', host: string, port: number): string {
  const isEverywhere = host === '0.0.0.0' || host === '::';
  const name = isEverywhere ? 'localhost' : isIPv6(host) ? `[${host}]` : host;
  return `${scheme}://${name}:${port}/`;
}
