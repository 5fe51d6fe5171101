/**
 * A consistent hash ring: each server stands on it at many places, and a key belongs to the server
 * of the next place. All clients with the same list of servers send a key to the same one, and
 * when a server is added or lost only the keys of its own places move.
 */

interface Place {
  readonly hash: number;
  readonly server: number;
}

export class HashRing {
  readonly #places: readonly Place[];
  readonly #servers: number;

  constructor(servers: readonly string[], placesPerServer: number) {
    this.#servers = servers.length;
    this.#places = servers
      .flatMap((name, server) =>
        Array.from({ length: placesPerServer }, (_, i) => ({
          hash: hashOf(`${name}#${i}`),
          server,
        })),
      )
      .sort((a, b) => a.hash - b.hash || a.server - b.server);
  }

  /** All servers, in the order in which they take `key`. */
  order(key: string): number[] {
    const found = new Set<number>();
    const from = this.#firstAtOrAfter(hashOf(key));
    for (let i = 0; i < this.#places.length && found.size < this.#servers; i++) {
      found.add((this.#places[(from + i) % this.#places.length] as Place).server);
    }
    return [...found];
  }

  #firstAtOrAfter(hash: number): number {
    let [low, high] = [0, this.#places.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#places[middle] as Place).hash < hash) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** FNV-1a over the code units, with the last mixing step of MurmurHash3: its low bits spread. */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) {
    hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
