/**
 * The rooms of a workspace. A room is a folder; the table under "Rooms" in the README of the
 * workspace names each with what it holds and the file to begin with, lowest first. A file may
 * import its own room and the rooms above it in the table, by type too, so there is no cycle.
 *
 * Files beside the README (the index, a program) may import every room, and no room imports them.
 * Tests may import any room: they are moved with what they test, and some drive a room through the
 * ones above it.
 */
import { dirname, join } from 'node:path/posix';
import { importsOf, isTestFile } from './imports.js';
import type { Source } from './source.js';
import type { Violation } from './violation.js';

export interface Room {
  /** Below the workspace, with a slash at its end: `state/kv/`. */
  readonly folder: string;
  /** In the folder. */
  readonly begin: string;
  /** The line of the row in the README. */
  readonly line: number;
}

interface Text {
  readonly path: string;
  readonly text: string;
}

const README = /(^|\/)README\.md$/;
const ROW = /^\| `([a-z][a-z0-9/-]*\/)` \|.*\| `([^`|]+)` \|$/;
const HEADING = '## Rooms';

export function roomRules(texts: readonly Text[], sources: readonly Source[]): Violation[] {
  return texts
    .filter(({ path }) => README.test(path))
    .flatMap((readme) => rulesOf(readme, roomsOf(readme.text), sources));
}

/** Empty: the README has no table of rooms. */
export function roomsOf(readme: string): Room[] {
  const lines = readme.split('\n');
  const from = lines.indexOf(HEADING);
  if (from === -1) return [];
  const next = lines.findIndex((line, at) => at > from && line.startsWith('## '));
  const to = next === -1 ? lines.length : next;
  return lines.slice(from, to).flatMap((line, at) => {
    const [, folder, begin] = ROW.exec(line) ?? [];
    if (folder === undefined || begin === undefined) return [];
    return [{ folder, begin, line: from + at + 1 }];
  });
}

function rulesOf(readme: Text, rooms: readonly Room[], sources: readonly Source[]): Violation[] {
  if (rooms.length === 0) return [];
  const root = `${dirname(readme.path)}/`;
  const own = sources.filter(({ path }) => path.startsWith(root) && /\.tsx?$/.test(path));
  const paths = new Set(own.map(({ path }) => path));
  const missing = rooms
    .filter(({ folder, begin }) => !paths.has(root + folder + begin))
    .map(({ folder, begin, line }) => {
      return { file: readme.path, line, rule: 'room', text: `there is no ${folder}${begin}` };
    });
  return [...missing, ...own.flatMap((source) => importsUpward(source, root, rooms))];
}

function importsUpward(source: Source, root: string, rooms: readonly Room[]): Violation[] {
  const inside = source.path.slice(root.length);
  if (!inside.includes('/')) return [];
  const room = rankOf(inside, rooms);
  if (room === -1) {
    return [{ file: source.path, line: 1, rule: 'room', text: 'its folder is in no row of Rooms' }];
  }
  if (isTestFile(source.path)) return [];
  return importsOf(source).flatMap(({ specifier, line }) => {
    const target = join(dirname(inside), specifier);
    if (!specifier.startsWith('.')) return [];
    const isBeside = !target.includes('/');
    const other = rankOf(target, rooms);
    if (!isBeside && other <= room) return [];
    const [folder, later] = [rooms[room]?.folder, isBeside ? target : rooms[other]?.folder];
    const text = `${folder} comes before ${later} and may not import it`;
    return [{ file: source.path, line, rule: 'room', text }];
  });
}

/** The row of the longest folder that the path is in; -1: there is none. */
function rankOf(path: string, rooms: readonly Room[]): number {
  let found = -1;
  let length = 0;
  rooms.forEach(({ folder }, rank) => {
    if (!path.startsWith(folder) || folder.length <= length) return;
    found = rank;
    length = folder.length;
  });
  return found;
}
