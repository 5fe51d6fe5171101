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

interface Loaded {
  plantedFiles?: string[];
}

/** A planted file tells that it was loaded: a hunt that never loads it hunts no bug. */
export function telling(text: string, file: string): string {
  return `${text}\n(globalThis.plantedFiles ??= []).push(${JSON.stringify(file)});\n`;
}

/** The planted files that this process has loaded. */
export function loadedFiles(): readonly string[] {
  return (globalThis as Loaded).plantedFiles ?? [];
}
