/**
 * `docs/dependencies.md` lists every package of others, and no other: each is somebody's code in
 * this program or on the machines that build it, and stands there with the reason for it.
 */
import type { Violation } from './violation.js';

const LIST = 'docs/dependencies.md';

const RUNS_WITH = ['dependencies', 'optionalDependencies', 'peerDependencies'];
const COMMAND_LINE = /^packages\/cli\//;
const DASHBOARD = /^dashboard\//;

interface Heading {
  readonly members: readonly string[];
  /** Whether the manifest at this path counts. */
  readonly has: (path: string) => boolean;
}

/** Members of package.json files, by the heading of the list that has their packages. */
const HEADINGS: Readonly<Record<string, Heading>> = {
  'What a node runs with': { members: RUNS_WITH, has: (path) => !COMMAND_LINE.test(path) },
  'What the command line runs with': {
    members: RUNS_WITH,
    has: (path) => COMMAND_LINE.test(path),
  },
  'What the dashboard is built of': {
    members: ['devDependencies'],
    has: (path) => DASHBOARD.test(path),
  },
  'What tests and builds run with': {
    members: ['devDependencies'],
    has: (path) => !DASHBOARD.test(path),
  },
};

interface Text {
  readonly path: string;
  readonly text: string;
}

interface Place {
  readonly file: string;
  readonly line: number;
}

export function dependencyRule(texts: readonly Text[]): Violation[] {
  const manifests = texts.filter(({ path }) => /(^|\/)package\.json$/.test(path));
  const list = texts.find(({ path }) => path === LIST)?.text ?? '';
  return Object.entries(HEADINGS).flatMap(([heading, { members, has }]) => {
    const counted = manifests.filter(({ path }) => has(path));
    const used = usedIn(counted, members);
    const listed = listedUnder(list, heading);
    const missing = (name: string) => `${name} is not in ${LIST} under "${heading}"`;
    return [
      ...without(used, listed, missing),
      ...without(listed, used, (name) => `${name} is in no package.json as one of ${members[0]}`),
    ];
  });
}

/** Places of names that the others lack. */
function without(
  names: ReadonlyMap<string, Place>,
  others: ReadonlyMap<string, Place>,
  text: (name: string) => string,
): Violation[] {
  return [...names]
    .filter(([name]) => !others.has(name))
    .map(([name, place]) => ({ ...place, rule: 'dependency', text: text(name) }));
}

function usedIn(
  manifests: readonly Text[],
  members: readonly string[],
): ReadonlyMap<string, Place> {
  const used = new Map<string, Place>();
  for (const { path: file, text } of manifests) {
    const manifest = JSON.parse(text) as Readonly<Record<string, object | undefined>>;
    for (const name of members.flatMap((member) => Object.keys(manifest[member] ?? {}))) {
      const line = text.slice(0, text.indexOf(`"${name}"`)).split('\n').length;
      if (!name.startsWith('@svc/')) used.set(name, { file, line });
    }
  }
  return used;
}

/** The names in the first column of the table below a heading. */
function listedUnder(list: string, heading: string): ReadonlyMap<string, Place> {
  const listed = new Map<string, Place>();
  let isBelow = false;
  for (const [i, row] of list.split('\n').entries()) {
    if (row.startsWith('#')) isBelow = row.replace(/^#+ /, '') === heading;
    const [, first = ''] = isBelow && row.startsWith('|') ? row.split('|') : [];
    for (const [, name = ''] of first.matchAll(/`([^`]+)`/g)) {
      listed.set(name, { file: LIST, line: i + 1 });
    }
  }
  return listed;
}
