/** Where the node listens and what it is called. */
import { isIPv6 } from 'node:net';
import { accepted, integerOf, type Kind, quoted, refused } from './values.js';

const PORT_MAX = 65_535;

export interface HostAndPort {
  /** Without the brackets of an IPv6 literal. */
  readonly host: string;
  readonly port: number;
}

/** null when the text is not `host:port`, with an IPv6 literal in brackets and a port from 1. */
export function hostAndPortOf(text: string): HostAndPort | null {
  const [, literal, name, digits] =
    /^(?:\[([^\]]*)\]|([^:[\]]+)):(\d{1,5})$/.exec(text.trim()) ?? [];
  const value = Number(digits);
  if (digits === undefined || value < 1 || value > PORT_MAX) return null;
  if (literal !== undefined) return isIPv6(literal) ? { host: literal, port: value } : null;
  return name === undefined ? null : { host: name, port: value };
}

/** As it is written: an IPv6 literal stands in brackets. */
export function hostAndPortText({ host, port }: HostAndPort): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Null when unset. */
export const listenKind: Kind<HostAndPort | null> = {
  label: 'host:port',
  defaultText: '0.0.0.0 and the port of the own raft address',
  minimum: null,
  parse: (given, name) => {
    if (given === undefined || given.trim() === '') return accepted(null);
    const address = hostAndPortOf(given);
    return address === null ? refused(`${name}=${given} is not host:port`) : accepted(address);
  },
  show: (value) => (value === null ? '<unset>' : hostAndPortText(value)),
};

/** 0 lets the system choose a free port. */
export function port(standard: number): Kind<number> {
  return {
    label: 'port',
    defaultText: String(standard),
    minimum: null,
    parse: (given, name) => {
      if (given === undefined) return accepted(standard);
      const value = integerOf(given);
      return value === null || value < 0 || value > PORT_MAX
        ? refused(`${name}=${given} is not a port (expected a number from 0 to ${PORT_MAX})`)
        : accepted(value);
    },
    show: String,
  };
}

/** A host or an IP; the value is without the brackets that an IPv6 literal may come in. */
export function host(standard: string, portName = 'PORT'): Kind<string> {
  return {
    label: 'host',
    defaultText: standard,
    minimum: null,
    parse: (given, name) => {
      const value = (given ?? standard).trim();
      if (value === '') {
        return refused(
          `${name} is set to the empty string — give it a host or IP, or unset it for ${standard}`,
        );
      }
      const bare = /^\[(.*)\]$/.exec(value)?.[1] ?? value;
      if (isIPv6(bare)) return accepted(bare);
      return value.includes(':')
        ? refused(
            `${name}=${value} carries a port — set the host or IP only, ` +
              `the port comes from ${portName}`,
          )
        : accepted(value);
    },
    show: quoted,
  };
}

/** Unset: the host's name where the environment holds it, otherwise null. */
export const serverIdKind: Kind<string | null> = {
  label: 'string',
  defaultText: '`HOSTNAME`, else `svc-` and 8 random hex digits',
  minimum: null,
  parse: (given, _name, environment) => accepted(given ?? (environment.HOSTNAME || null)),
  show: (value) => quoted(value ?? ''),
};

/**
 * Not the empty string, which would be the directory that the process happened to be started in.
 */
export function directory(standard: string): Kind<string> {
  return {
    label: 'directory',
    defaultText: standard,
    minimum: null,
    parse: (given, name) =>
      given !== undefined && given.trim() === ''
        ? refused(
            `${name} is set to the empty string — give it a directory, or unset it for ${standard}`,
          )
        : accepted(given ?? standard),
    show: quoted,
  };
}
