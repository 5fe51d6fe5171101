/**
 * IP addresses and networks, read strictly: `127.1`, `0x7f.0.0.1` and numbers with leading zeros
 * are addresses to some readers and names to others, so here they are neither. An IPv4 address
 * that is mapped into IPv6 is the IPv4 address.
 */
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

export type Address = ReturnType<typeof ipaddr.process>;

/** Words for the networks that everybody has. */
const NETWORKS_OF_WORDS: ReadonlyMap<string, readonly string[]> = new Map([
  ['loopback', ['127.0.0.0/8', '::1/128']],
  ['private', ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7']],
]);

/** Null: the text is no address. */
export function addressOf(text: string): Address | null {
  if (isIP(text) === 0) return null;
  // The zone names an interface of the machine that wrote it, which means nothing here.
  const zone = text.indexOf('%');
  return ipaddr.process(zone === -1 ? text : text.slice(0, zone));
}

/** A list of networks, such as `SVC_EDGE_TRUSTED_PROXIES` names it. */
export class Networks {
  readonly #networks: (readonly [Address, number])[] = [];

  /**
   * Each entry is an address, a network such as `10.1.0.0/16`, `loopback` or `private`. Throws
   * `NetworkError` for any other.
   */
  constructor(entries: readonly string[]) {
    for (const entry of entries.flatMap((one) => NETWORKS_OF_WORDS.get(one) ?? [one])) {
      const network = networkOf(entry);
      if (network === null) throw new NetworkError(entry);
      this.#networks.push(network);
    }
  }

  get isEmpty(): boolean {
    return this.#networks.length === 0;
  }

  has(address: Address): boolean {
    return this.#networks.some(
      ([network, bits]) => network.kind() === address.kind() && address.match(network, bits),
    );
  }
}

export class NetworkError extends Error {
  readonly code = 'not-a-network';

  constructor(entry: string) {
    super(
      `\`${entry}\` is not a network: write an address, 10.1.0.0/16, \`loopback\`, \`private\``,
    );
    this.name = 'NetworkError';
  }
}

function networkOf(entry: string): readonly [Address, number] | null {
  const [text = '', prefix, ...more] = entry.split('/');
  const written = isIP(text) === 6 ? 128 : 32;
  const address = addressOf(text);
  if (address === null || more.length > 0) return null;
  const bitsMax = address.kind() === 'ipv6' ? 128 : 32;
  if (prefix === undefined) return [address, bitsMax];
  if (!/^\d{1,3}$/.test(prefix)) return null;
  // `::ffff:10.0.0.0/104` is 10.0.0.0/8.
  const bits = Number(prefix) - (written - bitsMax);
  return bits < 0 || bits > bitsMax ? null : [address, bits];
}
