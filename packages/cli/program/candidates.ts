/** Completion: what the last of some words may become. */
import type { Command, Flag } from '../command/command.js';
import { GLOBAL_FLAGS, GROUPS } from './groups.js';

const FORMS = ['table', 'wide', 'json', 'ndjson', 'jsonl', 'yaml', 'raw', 'jsonpath='];
const SHELLS = ['bash', 'zsh', 'fish'];

/** `words` are those after `svcctl`; the last is incomplete, often empty. */
export function candidates(
  commands: readonly Command[],
  words: readonly string[],
  contexts: () => readonly string[],
): readonly string[] {
  const last = words.at(-1) ?? '';
  const before = words.slice(0, -1);
  const shown = commands.filter(({ help }) => !help.startsWith('hidden: '));
  const { path, waiting } = placeIn(shown, before);
  const command = commandAt(shown, path);
  const all =
    waiting === null ? following(shown, command, path, last) : valuesOf(waiting, contexts);
  return [...new Set(all)].filter((word) => word.startsWith(last));
}

function following(
  commands: readonly Command[],
  command: Command | undefined,
  path: readonly string[],
  last: string,
): readonly string[] {
  if (last.startsWith('-')) {
    return [...(command?.flags ?? []), ...GLOBAL_FLAGS].flatMap(([spelling]) => namesOf(spelling));
  }
  const [first] = path;
  if (command?.name === 'completion' && path.length === 1) return SHELLS;
  if (command !== undefined) return [];
  if (first === undefined) return ['help', ...commands.map(({ name }) => name.split(' ')[0] ?? '')];
  return commands.flatMap(({ name }) => {
    const [group, word] = name.split(' ');
    return group === first && word !== undefined ? [word] : [];
  });
}

interface Place {
  /** The words that are neither flags nor their values; a group by its full name. */
  readonly path: readonly string[];
  /** The flag whose value comes next. */
  readonly waiting: string | null;
}

function placeIn(commands: readonly Command[], before: readonly string[]): Place {
  const path: string[] = [];
  let waiting: string | null = null;
  for (const word of before) {
    if (waiting !== null) waiting = null;
    else if (word.startsWith('-')) {
      const flags = [...(commandAt(commands, path)?.flags ?? []), ...GLOBAL_FLAGS];
      if (flags.some(([spelling]) => takesValue(spelling) && namesOf(spelling).includes(word))) {
        waiting = word;
      }
    } else path.push(path.length === 0 ? groupNamed(word) : word);
  }
  return { path, waiting };
}

function groupNamed(word: string): string {
  return Object.entries(GROUPS).find(([, { alias }]) => alias === word)?.[0] ?? word;
}

function commandAt(commands: readonly Command[], path: readonly string[]): Command | undefined {
  const [first, second] = path;
  return commands.find(({ name }) => name === first || name === `${first} ${second}`);
}

function valuesOf(flag: string, contexts: () => readonly string[]): readonly string[] {
  if (flag === '-o' || flag === '--output') return FORMS;
  return flag === '--context' ? contexts() : [];
}

function takesValue(spelling: Flag[0]): boolean {
  return spelling.includes('<');
}

/** `-o` and `--output` of `-o, --output <form>`. */
export function namesOf(spelling: Flag[0]): readonly string[] {
  return spelling.match(/--?[\w-]+(?=[ ,]|$)/g) ?? [];
}
