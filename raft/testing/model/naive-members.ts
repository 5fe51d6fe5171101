/**
 * Members and majorities, written from the protocol's description and not from the core's code: the
 * model judges the core by them, so they must not share its mistakes. Slow on purpose.
 */

/** The four lists of a configuration, in the order of their bytes in an entry. */
export interface Members {
  readonly voters: readonly number[];
  readonly outgoing: readonly number[];
  readonly learners: readonly number[];
  readonly learnersNext: readonly number[];
}

/** Reads a configuration entry: two bytes, then four lists of a 16-bit count and 64-bit ids. */
export function membersIn(data: Uint8Array): Members {
  let at = 2;
  const number = (bytes: number): number => {
    let value = 0;
    for (let i = 0; i < bytes; i++) value = value * 256 + (data[at++] ?? 0);
    return value;
  };
  const list = (): number[] => Array.from({ length: number(2) }, () => number(8));
  return { voters: list(), outgoing: list(), learners: list(), learnersNext: list() };
}

/** Whether those who agree contain a quorum: every set of nodes that is one is tried. */
export function quorumAgrees(members: Members, agrees: (id: number) => boolean): boolean {
  const groups = [members.voters, members.outgoing].filter((group) => group.length > 0);
  return groups.every((group) => majoritiesOf(group).some((some) => some.every(agrees)));
}

const known: Map<string, number[][]> = new Map();

/** All sets of more than half of the group. */
function majoritiesOf(group: readonly number[]): number[][] {
  const key = group.join();
  const found = known.get(key);
  if (found !== undefined) return found;
  const sets: number[][] = [];
  for (let mask = 0; mask < 2 ** group.length; mask++) {
    const some = group.filter((_, place) => Math.floor(mask / 2 ** place) % 2 === 1);
    if (some.length > group.length - some.length) sets.push(some);
  }
  known.set(key, sets);
  return sets;
}
