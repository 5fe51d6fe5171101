/** The command line. */
import { parseArgs } from 'node:util';
import { SECTIONS, type SectionName } from '../contract/sections.js';

export const USAGE = `usage: npm run conformance -- --base URL [options]
  --base     a node, a balancer, or each node of a cluster: scheme, host and port
             (once for each node)
  --token    sent as "authorization: Bearer TOKEN"; an admin's, where tokens are needed
  --section  "message-plane 3.1", or "streams" for all that begin so; all sections without it`;

/** What a user can put right, in one line. */
export class UsageError extends Error {}

export interface Arguments {
  readonly bases: readonly URL[];
  readonly token: string | null;
  readonly sections: ReadonlySet<SectionName>;
}

export function readArguments(args: readonly string[]): Arguments {
  const { base = [], token, section } = parsed(args);
  if (base.length === 0) throw new UsageError(`--base is missing\n${USAGE}`);
  const bases = base.map(readBase);
  if (new Set(bases.map(({ origin }) => origin)).size < bases.length) {
    throw new UsageError('--base: the same address is given twice');
  }
  return { bases, token: token ?? null, sections: readSections(section) };
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        base: { type: 'string', multiple: true },
        token: { type: 'string' },
        section: { type: 'string' },
      },
    }).values;
  } catch (error) {
    throw new UsageError(`${error instanceof Error ? error.message : error}\n${USAGE}`);
  }
}

function readBase(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    throw new UsageError(`--base ${text}: not an address such as http://127.0.0.1:6632`);
  }
  if (url.pathname !== '/' || url.search !== '' || url.hash !== '' || url.username !== '') {
    throw new UsageError(`--base ${text}: only scheme, host and port belong in it`);
  }
  return url;
}

function readSections(wanted: string | undefined): ReadonlySet<SectionName> {
  const all = Object.keys(SECTIONS) as SectionName[];
  if (wanted === undefined) return new Set(all);
  const found = all.filter((name) => name === wanted || /^[ .]/.test(rest(name, wanted)));
  if (found.length > 0) return new Set(found);
  throw new UsageError(`--section ${wanted}: there is none; the sections are ${all.join(', ')}`);
}

/** What follows `beginning` in `name`; "": it does not begin so. */
function rest(name: string, beginning: string): string {
  return name.startsWith(beginning) ? name.slice(beginning.length) : '';
}
