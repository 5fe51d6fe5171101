/**
 * The owner of a ring is the live node whose draw for it is the highest (rendezvous hashing). Nodes
 * that see the same members find the same owner. When a node goes, only its own rings find another;
 * when one comes, it takes its share from each of the others.
 */

const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

/** 0: there are no nodes. */
export function ownerOf(
  tenant: string,
  queue: string,
  partition: string,
  nodes: Iterable<number>,
): number {
  // A name holds no control characters, so what stands between them is in none.
  const place = hashText(hashText(hashText(FNV_OFFSET, tenant), `\n${queue}`), `\n${partition}`);
  let owner = 0;
  let highest = -1;
  for (const node of nodes) {
    const draw = mix(place ^ mix(node));
    if (draw < highest || (draw === highest && node > owner)) continue;
    owner = node;
    highest = draw;
  }
  return owner;
}

function hashText(seed: number, text: string): number {
  let hash = seed;
  for (let i = 0; i < text.length; i++) {
    hash = Math.imul(hash ^ text.charCodeAt(i), FNV_PRIME);
  }
  return hash >>> 0;
}

/** Every bit of the argument moves about half of the bits of the result. */
function mix(value: number): number {
  let hash = value | 0;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
