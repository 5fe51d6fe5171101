/** The import table: which folder may know which. */
import { dirname, join } from 'node:path/posix';
import { lineAt, type Source } from './source.js';
import type { Violation } from './violation.js';

export interface Import {
  readonly specifier: string;
  readonly line: number;
  /** `import type` or `export type`: nothing is loaded at run time. */
  readonly typeOnly: boolean;
}

interface Row {
  readonly folder: string;
  readonly values: readonly string[];
  readonly types: readonly string[];
}

const NODE = 'node:*';
const LAYERS = [
  '@svc/wire',
  '@svc/engine',
  '@svc/ephemeral',
  '@svc/raft',
  '@svc/standby',
  '@svc/storage',
  '@svc/http',
  '@svc/gateway',
  '@svc/broker',
];

/** Longer folders first; what stands in no row is not restricted. */
const TABLE: readonly Row[] = [
  { folder: 'raft', values: [], types: [] },
  { folder: 'packages/schema', values: [], types: [] },
  { folder: 'packages/wire', values: ['@svc/schema'], types: [] },
  { folder: 'packages/engine', values: ['@svc/wire'], types: [] },
  { folder: 'packages/ephemeral', values: ['@svc/wire'], types: [] },
  { folder: 'packages/standby', values: [], types: [] },
  { folder: 'storage', values: [NODE, 'lmdb'], types: ['@svc/raft', '@svc/engine'] },
  {
    folder: 'http',
    values: [NODE, '@svc/schema', '@svc/wire', 'fzstd', 'prom-client'],
    types: ['@svc/engine'],
  },
  {
    folder: 'packages/gateway',
    values: [
      NODE,
      '@svc/http',
      '@svc/schema',
      '@svc/wire',
      'jose',
      '@node-rs/bcrypt',
      'ipaddr.js',
      'oauth4webapi',
    ],
    types: [],
  },
  { folder: 'packages/broker', values: [NODE, 'jose', 'pino', ...LAYERS], types: [] },
  // Runs in browsers: it takes what it needs of Node by name. Tests compare its types with http's.
  { folder: 'packages/client', values: [], types: ['@svc/http'] },
  { folder: 'packages/cli', values: [NODE, '@svc/client', 'commander', 'yaml'], types: [] },
  { folder: 'packages', values: [NODE, '@svc/wire', '@svc/client'], types: [] },
  {
    folder: 'dashboard',
    values: ['preact', 'uplot'],
    types: ['@svc/http', '@svc/gateway', '@svc/wire'],
  },
  {
    folder: 'bench',
    values: [
      NODE,
      '@svc/wire',
      '@svc/engine',
      '@svc/storage',
      '@svc/test',
      '@svc/client',
      '@svc/gateway',
      '@svc/http',
      'bullmq',
    ],
    types: [],
  },
  {
    folder: 'test',
    values: [NODE, 'rolldown', '@svc/cli', '@svc/client', ...LAYERS],
    types: [],
  },
  { folder: 'scripts', values: [NODE, 'rolldown'], types: [] },
];

/** A test may run what its folder knows by type alone, and needs its runner. */
const TEST_VALUES = [
  NODE,
  'vitest',
  'fast-check',
  'ajv',
  '@seriousme/openapi-schema-validator',
  'oauth2-mock-server',
];

export function importTable(source: Source): Violation[] {
  const row = TABLE.find(({ folder }) => source.path.startsWith(`${folder}/`));
  if (row === undefined) return [];
  const isTest = isTestFile(source.path);
  return importsOf(source).flatMap((found) => {
    const text = found.specifier.startsWith('.')
      ? wrongRelative(source.path, found.specifier)
      : wrongPackage(row, found, isTest);
    return text === null ? [] : [{ file: source.path, line: found.line, rule: 'import', text }];
  });
}

/** Tests, and what only tests use: fakes and the folders that hold shared parts of tests. */
export function isTestFile(path: string): boolean {
  return /\.(test|fake)\.ts$/.test(path) || /(^|\/)(test|testing)\//.test(path);
}

export function importsOf(source: Source): Import[] {
  const found: Import[] = [];
  const pattern = /(?<![.\w])(?:from|import|(?:import|require\w*)\s*\()\s*(['"`])/g;
  for (const match of source.code.matchAll(pattern)) {
    const quote = match[1] ?? '';
    const start = match.index + match[0].length;
    const specifier = source.text.slice(start, source.text.indexOf(quote, start));
    const line = lineAt(source, match.index);
    found.push({ specifier, line, typeOnly: isTypeOnly(source.code, match.index) });
  }
  return found;
}

/**
 * Whether the statement that ends with the `from` at `at` begins with `import type` or `export
 * type`.
 */
function isTypeOnly(code: string, at: number): boolean {
  const before = code.slice(0, at);
  const start = Math.max(before.lastIndexOf('import'), before.lastIndexOf('export'));
  return /^(import|export)\s+type\s/.test(before.slice(start));
}

function wrongRelative(path: string, specifier: string): string | null {
  if (!/\.m?js$/.test(specifier)) return `'${specifier}' does not end in .js`;
  const target = join(dirname(path), specifier);
  if (workspaceOf(target) === workspaceOf(path)) return null;
  return `'${specifier}' leaves its workspace; import the other by its name`;
}

export function workspaceOf(path: string): string {
  const [first = '', second = ''] = path.split('/');
  return first === 'packages' ? `${first}/${second}` : first;
}

/**
 * Tests, and the workspace `test`, may have the doubles of a workspace: `@svc/storage/testing`; and
 * the types of requests and answers, as clients have them: `@svc/http/api`.
 */
function wrongPackage(row: Row, found: Import, isTest: boolean): string | null {
  const { typeOnly } = found;
  const isClient = isTest || ['dashboard', 'test'].includes(row.folder);
  const doubles = isClient ? /\/(testing|api)$/ : /^$/;
  const specifier = found.specifier.replace(doubles, '');
  if (/^@svc\/[^/]+\//.test(specifier)) return `'${specifier}' is not the index of its workspace`;
  const parts = specifier.split('/').slice(0, specifier.startsWith('@') ? 2 : 1);
  const name = specifier.startsWith('node:') ? NODE : parts.join('/');
  if (row.values.includes(name)) return null;
  if (isTest && TEST_VALUES.includes(name)) return null;
  if (row.types.includes(name)) {
    if (typeOnly || isTest) return null;
    return `${row.folder} may import types alone from '${specifier}': use \`import type\``;
  }
  return `${row.folder} may not import '${specifier}'`;
}
