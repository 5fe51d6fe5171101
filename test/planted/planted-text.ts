/**
 * The text of a compiled file with a bug planted in it. A text that does not occur exactly once is
 * an error: the bug would not be planted.
 */
import type { Edit } from './bug.js';

/** Lines are compared without their indentation, which the compiler chooses. */
export function patched(text: string, { file, find, replace }: Edit): string {
  const pattern = find
    .split('\n')
    .map((line) => line.trim().replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
    .join('\\s*\\n\\s*');
  const found = [...text.matchAll(new RegExp(pattern, 'g'))];
  const [only] = found;
  if (only === undefined || found.length > 1) {
    throw new Error(`${file}: the text occurs ${found.length} times:\n${find}`);
  }
  return text.slice(0, only.index) + replace + text.slice(only.index + only[0].length);
}
