/**
 * Which client a request comes from (gateway 3): the address that rates, throttles and the log know
 * it by.
 *
 * The peer of the socket is the one address that nobody can invent. A forwarding header is a claim
 * of whoever wrote it, so it is read only when the peer is a trusted proxy, and then from its end:
 * the last entry was added by the peer itself, the one before it by whom the peer saw, and so on.
 * The client is the first address from the end that is no trusted proxy; what stands before it may
 * be anything. With trusted proxies alone in the header, the client is its first entry.
 *
 * Rejected: the first entry whatever follows, for a client writes its own entry and its proxy adds
 * behind it.
 *
 * An IPv6 client has a network of its own, so what is counted is the network of
 * `SVC_EDGE_IPV6_PREFIX` bits, not the address.
 */
import { type Address, addressOf, type Networks } from './networks.js';

export interface Client {
  /** For the log. */
  readonly text: string;
  /** The unit that is counted: an IPv4 address or a network of IPv6. */
  readonly key: string;
  /** The peer's word on the connection before it, such as `X-Forwarded-Proto`, is believed. */
  readonly isPeerTrusted: boolean;
}

/** Entries of a forwarding header that are looked at; longer chains end at a proxy. */
const HOPS_MAX = 32;
/** Peers whose reading is kept. Most requests come on connections that had one before. */
const PEERS_KEPT_MAX = 4096;

export class ClientAddresses {
  readonly #trusted: Networks;
  readonly #ipv6Prefix: number;
  readonly #peers = new Map<string, Client>();

  constructor(trusted: Networks, ipv6Prefix: number) {
    this.#trusted = trusted;
    this.#ipv6Prefix = ipv6Prefix;
  }

  /**
   * `peer`: the address of the socket. `forwarded`: the value of `SVC_EDGE_REAL_IP_HEADER`, of
   * several such headers joined with commas in their order; "" for none.
   */
  of(peer: string, forwarded: string): Client {
    const known = this.#peers.get(peer) ?? this.#peer(peer);
    if (!known.isPeerTrusted || forwarded === '') return known;
    return this.#forwarded(known, forwarded);
  }

  #peer(text: string): Client {
    const address = addressOf(text);
    const client =
      address === null
        ? { text, key: text, isPeerTrusted: false }
        : this.#clientAt(address, this.#trusted.has(address));
    if (this.#peers.size >= PEERS_KEPT_MAX) this.#peers.clear();
    this.#peers.set(text, client);
    return client;
  }

  #forwarded(peer: Client, forwarded: string): Client {
    let client = peer;
    let end = forwarded.length;
    for (let hop = 0; hop < HOPS_MAX && end >= 0; hop++) {
      const comma = end === 0 ? -1 : forwarded.lastIndexOf(',', end - 1);
      const address = addressOf(withoutPort(forwarded.slice(comma + 1, end).trim()));
      // A text that is no address was not written by a proxy that knows what it does: the nearest
      // one that did answers for the request.
      if (address === null) return client;
      const isTrusted = this.#trusted.has(address);
      client = this.#clientAt(address, true);
      if (!isTrusted) return client;
      end = comma;
    }
    return client;
  }

  #clientAt(address: Address, isPeerTrusted: boolean): Client {
    const text = address.toString();
    return { text, key: keyOf(address, text, this.#ipv6Prefix), isPeerTrusted };
  }
}

function keyOf(address: Address, text: string, prefix: number): string {
  if (!('parts' in address) || prefix >= 128) return text;
  const parts = address.parts.map((part, i) => {
    const bits = Math.min(16, Math.max(0, prefix - 16 * i));
    return (part & (0xffff << (16 - bits)) & 0xffff).toString(16);
  });
  return `${parts.join(':')}/${prefix}`;
}

/** `[2001:db8::1]:443`, `192.0.2.1:443` and plain addresses. */
function withoutPort(entry: string): string {
  const bracketed = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(entry)?.[1];
  if (bracketed !== undefined) return bracketed;
  return /^([^:]*):\d{1,5}$/.exec(entry)?.[1] ?? entry;
}
