/**
 * Partitions as the seeds of a sunflower: the deepest in the middle, each next one a golden angle
 * further, so that any number of them fills a disc evenly and none covers another.
 */

export interface Seed {
  readonly x: number;
  readonly y: number;
  readonly radius: number;
  /** 0: empty; 1 to 5 by the logarithm of its depth. */
  readonly level: number;
}

export const LEVELS = 5;
const GOLDEN_ANGLE = Math.PI * (3 - Math.sqrt(5));
/** Few seeds are not drawn larger than this. */
const STEP_PX_MAX = 20;
/** The radius of an empty seed and of the deepest, in steps. Neighbours are 1.7 steps apart. */
const RADIUS_MIN = 0.4;
const RADIUS_MAX = 0.8;

export function levelOf(depth: number, deepest: number): number {
  if (depth <= 0) return 0;
  if (deepest <= 1) return LEVELS;
  return 1 + Math.round(((LEVELS - 1) * Math.log(depth)) / Math.log(deepest));
}

/** The depths from which on each level is drawn; levels that no depth has are left out. */
export function levelDepths(deepest: number): readonly { level: number; from: number }[] {
  const depths = Array.from({ length: LEVELS }, (_, i) =>
    Math.round(deepest ** (i / (LEVELS - 1))),
  );
  const steps = depths
    .filter((from) => from > 0 && from <= deepest)
    .map((from) => ({ level: levelOf(from, deepest), from }));
  return steps.filter(({ level }, i) => level !== steps[i - 1]?.level);
}

/** `depths`: descending. The disc fills a square with this side. */
export function seedsOf(depths: readonly number[], sidePx: number): Seed[] {
  const step = stepOf(depths.length, sidePx);
  const deepest = depths[0] ?? 0;
  return depths.map((depth, i) => {
    const level = levelOf(depth, deepest);
    const radius = step * (RADIUS_MIN + ((RADIUS_MAX - RADIUS_MIN) * level) / LEVELS);
    return { ...placeOf(i, step, sidePx), radius, level };
  });
}

/** Which seed is at a point; null: none is near. */
export function seedAt(count: number, sidePx: number, x: number, y: number): number | null {
  const step = stepOf(count, sidePx);
  let nearest: number | null = null;
  let distance = step;
  for (let i = 0; i < count; i++) {
    const place = placeOf(i, step, sidePx);
    const away = Math.hypot(place.x - x, place.y - y);
    if (away < distance) [nearest, distance] = [i, away];
  }
  return nearest;
}

/** The side of the square that so many seeds fill; few leave room. */
export function sideOf(count: number, sidePxMax: number): number {
  return Math.min(2 * STEP_PX_MAX * (Math.sqrt(count) + RADIUS_MAX), sidePxMax);
}

function stepOf(count: number, sidePx: number): number {
  return Math.min(sidePx / 2 / (Math.sqrt(count) + RADIUS_MAX), STEP_PX_MAX);
}

function placeOf(
  i: number,
  step: number,
  sidePx: number,
): { readonly x: number; readonly y: number } {
  const away = step * Math.sqrt(i + 0.5);
  const angle = i * GOLDEN_ANGLE;
  return { x: sidePx / 2 + away * Math.cos(angle), y: sidePx / 2 + away * Math.sin(angle) };
}
