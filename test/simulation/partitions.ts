/** Ways to cut a cluster: which paths (from, to) a fault closes. */
import type { SeededRandom } from '../seeded-random.js';

export type Path = readonly [number, number];

export type Cut = 'partition' | 'one-way' | 'deaf' | 'bridge' | 'ring';

/** `leader`: the machine that leads, 0 for none. Empty when so few machines cannot be cut so. */
export function pathsOf(
  cut: Cut,
  machines: readonly number[],
  leader: number,
  random: SeededRandom,
): Path[] {
  if (machines.length < 2) return [];
  const order = random.shuffled(machines);
  switch (cut) {
    case 'partition':
    case 'one-way': {
      const side = order.slice(0, random.between(1, order.length - 1));
      const rest = order.slice(side.length);
      const out = across(side, rest);
      return cut === 'one-way' ? out : [...out, ...across(rest, side)];
    }
    case 'deaf':
      return machines.includes(leader) ? across(without(machines, leader), [leader]) : [];
    case 'bridge': {
      const [, ...others] = order;
      if (others.length < 2) return [];
      const left = others.slice(0, Math.ceil(others.length / 2));
      const right = others.slice(left.length);
      return [...across(left, right), ...across(right, left)];
    }
    case 'ring':
      return ring(order);
  }
}

/** Each machine hears its next neighbours on both sides: with five, every machine hears a majority,
 * and no two hear the same one. */
function ring(order: readonly number[]): Path[] {
  const count = order.length;
  if (count < 4) return [];
  const paths: Path[] = [];
  order.forEach((from, i) => {
    order.forEach((to, j) => {
      const apart = Math.abs(i - j);
      if (apart > 1 && apart < count - 1) paths.push([from, to]);
    });
  });
  return paths;
}

function across(from: readonly number[], to: readonly number[]): Path[] {
  return from.flatMap((a) => to.map((b): Path => [a, b]));
}

/** All paths between the ones and everybody else. */
export function bothWays(ones: readonly number[], all: readonly number[]): Path[] {
  const rest = all.filter((number) => !ones.includes(number));
  return [...across(ones, rest), ...across(rest, ones)];
}

function without(machines: readonly number[], one: number): number[] {
  return machines.filter((machine) => machine !== one);
}
