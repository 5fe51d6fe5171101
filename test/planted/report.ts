/** The table of a run: what was planted, what hunted it, and how it went. */
import type { PlantedBug } from './bug.js';
import type { HuntAnswer } from './hunt-task.js';

const TEXT_COLUMNS = 90;

export const HEADING = row('bug', 'hunt', 'allowed', 'needed', 'seconds', 'what was seen');

export function rowOf(bug: PlantedBug, { needed, text, tookMs }: HuntAnswer): string {
  const seen = text.replace(/\s+/g, ' ').slice(0, TEXT_COLUMNS);
  const seconds = (tookMs / 1000).toFixed(1);
  return row(bug.name, bug.hunt, `${bug.seeds}`, `${needed ?? 'not found'}`, seconds, seen);
}

/** How many of the allowed seeds find the bug: whether one may rely on any of them. */
export function rateOf(bug: PlantedBug, { found, tookMs }: HuntAnswer): string {
  const share = `${found.length} of ${bug.seeds}`;
  const each = (tookMs / bug.seeds).toFixed(0);
  return `${bug.name.padEnd(40)}${bug.hunt.padEnd(16)}${share.padStart(14)}  ${each} ms a seed`;
}

function row(
  bug: string,
  hunt: string,
  allowed: string,
  needed: string,
  seconds: string,
  seen: string,
): string {
  const numbers = `${allowed.padStart(8)}${needed.padStart(11)}${seconds.padStart(9)}`;
  return `${bug.padEnd(40)}${hunt.padEnd(16)}${numbers}  ${seen}`.trimEnd();
}
