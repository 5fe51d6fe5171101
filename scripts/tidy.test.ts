// Goal: each house rule finds what breaks it, at the right line, and leaves alone what looks like
// it. Method: a small tree in a temporary folder, one file planted, the whole check run over it.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { check } from './tidy.js';

let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'svc-tidy-'));
});

afterEach(() => {
  rmSync(root, { recursive: true });
});

function plant(path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

/** The violations as `line rule`, of a tree with this file alone. */
function found(path: string, text: string): string[] {
  plant(path, text);
  return check(root, []).map(({ line, rule }) => `${line} ${rule}`);
}

const lines = (count: number) => 'x();\n'.repeat(count);

describe('names', () => {
  test.each(['raft/Log.test.ts', 'raft/log_entry.test.ts', 'raft/a.b.test.ts', 'raft/-a.test.ts'])(
    '%s is not kebab-case',
    (path) => expect(found(path, '')).toEqual(['1 file-name']),
  );

  test.each(['utils', 'helpers', 'common', 'types', 'misc', 'push-utils', 'test-helper'])(
    '%s does not say what it holds',
    (name) => expect(found(`raft/${name}.test.ts`, '')).toEqual(['1 file-name']),
  );

  test.each(['raft/log-entry.test.ts', 'http/content-types.test.ts', 'README.md'])(
    '%s is a name',
    (path) => expect(found(path, '')).toEqual([]),
  );
});

describe('dependencies', () => {
  const list = (node: string, tests: string) =>
    `## What a node runs with\n\n| Package |\n| --- |\n${node}` +
    `\n## What tests and builds run with\n\n| Package |\n| --- |\n${tests}`;

  test('each package is in the list, under what it is for, and no other', () => {
    plant('docs/dependencies.md', list('| `a`, `b` |\n| `old` |\n', '| `d` |\n'));
    const text = JSON.stringify(
      {
        dependencies: { '@svc/wire': '1', a: '1', d: '1' },
        optionalDependencies: { b: '1' },
        devDependencies: { e: '1', d: '1' },
      },
      null,
      2,
    );
    plant('http/package.json', text);
    const told = check(root, []).map(({ file, line, text: what }) => `${file}:${line} ${what}`);
    expect(told).toEqual([
      'docs/dependencies.md:6 old is in no package.json as one of dependencies',
      'http/package.json:5 d is not in docs/dependencies.md under "What a node runs with"',
      expect.stringContaining('e is not in docs/dependencies.md under "What tests and builds'),
    ]);
  });

  test('a list that is whole', () => {
    plant('docs/dependencies.md', list('| `a` |\n', '| `d` |\n'));
    const text = JSON.stringify({ dependencies: { a: '1' }, devDependencies: { d: '1' } });
    expect(found('raft/package.json', text)).toEqual([]);
  });
});

describe('glossary', () => {
  beforeEach(() => {
    plant(
      'docs/glossary.md',
      '| Term | What it is | Not |\n| --- | --- | --- |\n| queue | q | `topic` |\n',
    );
  });

  test('a word of the last column in an exported name or a file name', () => {
    const text = 'export const a = 1;\nexport class NewTopicRow {}\nexport const TOPIC_MAX = 1;\n';
    expect(found('storage/index.ts', text)).toEqual(['2 glossary', '3 glossary']);
    expect(found('storage/topic-row.test.ts', '')).toContain('1 glossary');
  });

  test('other names, and names that are not exported, are left alone', () => {
    expect(found('storage/index.ts', 'const topic = 1;\nexport const topical = topic;\n')).toEqual(
      [],
    );
  });
});

describe('sections of the contract', () => {
  const page = (tables: string): string =>
    `## message-plane\n\n| Section | Tables |\n| --- | --- |\n| 2 | push | ${tables} |\n`;

  test('a section that the page does not list', () => {
    plant('docs/contract.md', page(''));
    const text = '/** Push (message-plane 2). */\n/** Push (message-plane 2, 11.1). */\n';
    expect(found('storage/index.ts', text)).toEqual(['2 contract-section']);
    expect(found('storage/index.ts', "const a = '(message-plane 3)';\n")).toEqual([]);
  });

  test('tables that are not those of the section', () => {
    plant('docs/contract.md', page('`push`'));
    const table = "import './index.js';\nexport const a = { section: 'message-plane 2' };\n";
    plant('test/contract/tables/push.ts', table);
    plant('test/contract/tables/index.ts', "import './push.js';\n");
    expect(found('docs/contract.md', page('`push`'))).toEqual([]);
    expect(found('docs/contract.md', page(''))).toEqual(['5 contract-section']);
  });

  test('a table of a section that the page does not list', () => {
    const table = "import './index.js';\nexport const a = { section: 'message-plane 3' };\n";
    plant('test/contract/tables/index.ts', "import './push.js';\n");
    plant('docs/contract.md', page(''));
    expect(found('test/contract/tables/push.ts', table)).toEqual(['2 contract-section']);
  });
});

describe('sizes', () => {
  test('600 lines are a file, 601 are too many', () => {
    expect(found('storage/index.ts', lines(600))).toEqual([]);
    expect(found('storage/index.ts', lines(601))).toEqual(['601 file-size']);
  });

  test('100 columns are a line, 101 are too many, counted in characters', () => {
    expect(found('storage/index.ts', `\n// ${'é'.repeat(97)}`)).toEqual([]);
    expect(found('storage/index.ts', `\n// ${'é'.repeat(98)}`)).toEqual(['2 line-length']);
    expect(found('storage/index.ts', `// https://a.example/${'a'.repeat(100)}`)).toEqual([]);
    expect(found('storage/index.ts', `/*\n * | ${'a'.repeat(100)} |\n */`)).toEqual([]);
    expect(found('storage/index.ts', `x = 'https://a.example/${'a'.repeat(100)}'`)).toEqual([
      '1 line-length',
    ]);
  });

  const FORMS: readonly [string, string, string][] = [
    ['a function', 'function f(a: number): void {\n', '}'],
    ['a generic function', 'function f<T extends { a: number }>(a: T): Promise<T[]> {\n', '}'],
    ['a function with an object type', 'function f(): { readonly a: number } | null {\n', '}'],
    ['a type guard', 'function f(a: unknown): a is string {\n', '}'],
    ['an arrow function', 'const f = (a: number) => {\n', '};'],
    ['an arrow function with a type', 'const f = (a: number): number => {\n', '};'],
    ['an arrow function without parentheses', 'const f = a => {\n', '};'],
    ['a callback', "test('x', async () => {\n", '});'],
    ['a private method', 'class A {#f(a = () => ({})): void {\n', '}}'],
    ['a getter', 'class A { get f() {\n', '}}'],
    ['a constructor', 'class A { constructor(readonly a = 1) {\n', '}}'],
    ['a function in a template', 'const f = `${() => {\n', '}}`'],
  ];

  test.each(FORMS)('%s of 70 lines, and of 71', (_name, before, after) => {
    expect(found('storage/index.ts', `\n${before}${lines(68)}${after}`)).toEqual([]);
    expect(found('storage/index.ts', `\n${before}${lines(69)}${after}`)).toEqual([
      '2 function-size',
    ]);
  });

  const NO_FUNCTIONS: readonly [string, string, string][] = [
    ['an if', 'if (a) {\n', '}'],
    ['a for', 'for (const a of b) {\n', '}'],
    ['a switch', 'switch (a) {\n', '}'],
    ['a class', 'class A implements B {\n', '}'],
    ['an object', 'const a = f(b) ? (c) : {\n', '};'],
    ['an interface', 'interface A {\n', '}'],
    ['a brace in a string', "const a = '() => {';\n", ''],
    ['a brace in a comment', '/* function f() { */\n', ''],
    ['a brace in a regular expression', 'const a = b.match(/f() {/);\n', ''],
  ];

  test.each(NO_FUNCTIONS)('%s may be longer', (_name, before, after) => {
    expect(found('storage/index.ts', `${before}${lines(100)}${after}`)).toEqual([]);
  });

  test('a suite of a test file is a list of tests', () => {
    const text = `describe.each([\n  [1],\n])('%s', () => {\n${lines(100)}});`;
    expect(found('storage/a.test.ts', text)).toEqual([]);
    expect(found('storage/a.test.ts', text.replace('describe', 'test'))).toEqual([
      '3 function-size',
    ]);
  });
});

describe('imports', () => {
  const ALLOWED: readonly [string, string][] = [
    ['raft/index.ts', "import { a } from './a.js';"],
    ['raft/a.test.ts', "import { test } from 'vitest';\nimport 'node:fs';"],
    ['packages/broker/a.test.ts', "import { SimulatedDisk } from '@svc/storage/testing';"],
    ['test/simulation/a.test.ts', "import { SimulatedDisk } from '@svc/storage/testing';"],
    ['packages/engine/index.ts', "import { a } from '@svc/wire';"],
    ['storage/index.ts', "import fs from 'node:fs';\nimport { open } from 'lmdb';"],
    ['storage/index.ts', "import type { Entry } from '@svc/raft';"],
    ['storage/index.ts', "export type { Entry } from '@svc/raft';"],
    ['http/index.ts', "import { a } from '@svc/wire';\nrequireNative('fzstd');"],
    ['packages/broker/index.ts', "import { Raft } from '@svc/raft';\nimport { pino } from 'pino';"],
    ['raft/index.ts', "const a = Uint8Array.from('abc'); // import x from 'node:fs'"],
  ];

  test.each(ALLOWED)('%s may say %s', (path, text) => {
    plant('raft/a.ts', '');
    plant('raft/b.test.ts', "import './a.js';");
    expect(found(path, text)).toEqual([]);
  });

  const FORBIDDEN: readonly [string, string][] = [
    ['raft/index.ts', "import fs from 'node:fs';"],
    ['raft/index.ts', "import type { Command } from '@svc/engine';"],
    ['packages/wire/index.ts', "const a = await import('node:fs');"],
    ['packages/engine/index.ts', "import { Raft } from '@svc/raft';"],
    ['storage/index.ts', "import { Raft } from '@svc/raft';"],
    ['storage/index.ts', "import { type Entry } from '@svc/raft';"],
    ['storage/index.ts', "import { a } from '@svc/http';"],
    ['http/index.ts', "export { plan } from '@svc/engine';"],
    ['http/index.ts', "import type { Log } from '@svc/storage';"],
    ['packages/broker/index.ts', "import { open } from 'lmdb';"],
    ['packages/broker/index.ts', "import { a } from '@svc/raft/log.js';"],
    ['packages/broker/index.ts', "import { SimulatedDisk } from '@svc/storage/testing';"],
    ['packages/broker/index.ts', "import { a } from '../../raft/log.js';"],
    ['packages/cli/index.ts', "import { a } from '@svc/broker';"],
    ['bench/index.ts', "import { a } from './b';"],
  ];

  test.each(FORBIDDEN)('%s may not say %s', (path, text) => {
    expect(found(path, `\n${text}`)).toEqual(['2 import']);
  });
});

describe('purity', () => {
  const IMPURE = [
    'const a = Date.now();',
    'const a = new Date();',
    'const a = Math.random();',
    'setTimeout(f, 1);',
    'setImmediate(f);',
    'const a = setInterval(f, 1);',
    'queueMicrotask(f);',
    'const a = process.env;',
    'const a = Buffer.alloc(1);',
    'const a = performance.now();',
    'const a = new Promise(f);',
    'const a = async () => 1;',
  ];

  test.each(IMPURE)('%s', (text) => {
    for (const folder of ['raft', 'packages/schema', 'packages/wire', 'packages/engine']) {
      expect(found(`${folder}/index.ts`, `\n${text}`)).toEqual(['2 impure']);
      rmSync(join(root, folder), { recursive: true });
    }
    expect(found('storage/index.ts', text)).toEqual([]);
    expect(found('raft/a.test.ts', text)).toEqual([]);
  });

  const PURE = [
    'const a = new ArrayBuffer(1).slice(0);',
    'const a = row.Date;',
    "const a = 'Date.now()';",
    '// Date.now() is not called here',
    'this.process(entry);',
    'const processed = 1;',
  ];

  test.each(PURE)('%s is pure', (text) => expect(found('raft/index.ts', text)).toEqual([]));
});

describe('lists as arguments', () => {
  test.each([
    'due.push(...calls);',
    'const most = Math.max(0, ...rows.map(({ bytes }) => bytes));',
    'const text = String.fromCharCode(...bytes.subarray(0, 9));',
    'line.splice(0, 1, ...others);',
  ])('%s', (text) => {
    expect(found('storage/index.ts', `\n${text}`)).toEqual(['2 spread-into-arguments']);
  });

  test.each(['rows.push({ ...row, at });', 'found.push([...names]);', 'run(...task);'])(
    '%s is none',
    (text) => expect(found('storage/index.ts', `\n${text}`)).toEqual([]),
  );
});

describe('leftovers', () => {
  const LEFT: readonly [string, string][] = [
    ['// TODO later', 'leftover'],
    ['/* a FIXME */', 'leftover'],
    ['// XXX', 'leftover'],
    ['// a HACK', 'leftover'],
    ['// enough for now', 'leftover'],
    ["test.only('x', f);", 'leftover'],
    ["describe.concurrent.skip('x', f);", 'leftover'],
    ['debugger;', 'leftover'],
    ["console.log('x');", 'leftover'],
    ['const a = b as any;', 'typing'],
    ['const a = b!.c;', 'typing'],
    ['const a = b[0]!;', 'typing'],
    ['enum A { B }', 'typing'],
    ['class A extends B {}', 'inheritance'],
    ['try { f(); } catch {}', 'swallowed-error'],
    ['try { f(); } catch (error) {\n // why\n}', 'swallowed-error'],
  ];

  test.each(LEFT)('%s', (text, rule) => {
    expect(found('storage/index.ts', `\n${text}`)).toEqual([`2 ${rule}`]);
  });

  const NOT_LEFT = [
    "const a = 'TODO';",
    'reader.skip(4);',
    'const a = b !== c && !d;',
    'class DiskError extends Error {}',
    'class TornError extends DiskError {}',
    "const a = /console.log()/.test('debugger');",
    'const a = b / c; const d = "x!.y" / 2;',
    `const a = \`\${b}!\`; const d = \`as any \${c + '\`as any\`'} as any\`;`,
  ];

  test.each(NOT_LEFT)('%s is not a leftover', (text) => {
    expect(found('storage/index.ts', text)).toEqual([]);
  });

  test.each(['scripts', 'bench', 'test', 'examples'])('%s speaks to a person', (folder) => {
    expect(found(`${folder}/index.ts`, "console.log('x');")).toEqual([]);
  });
});

describe('dead files', () => {
  test('nothing imports it', () => {
    expect(found('raft/alone.ts', '')).toEqual(['1 dead-file']);
  });

  test('a file that only imports itself is dead', () => {
    expect(found('raft/alone.ts', "import './alone.js';")).toEqual(['1 dead-file']);
  });

  test.each([
    ['another file', 'raft/index.ts', "export * from './part.js';"],
    ['a test', 'raft/part.test.ts', "import './part.js';"],
    ['a type', 'raft/index.ts', "export type { Part } from './part.js';"],
    ['a manifest', 'package.json', '{"scripts":{"part":"node raft/dist/part.js"}}'],
    ['a started program', 'raft/index.ts', "spawn(new URL('./part.js', import.meta.url));"],
  ])('%s uses it', (_name, path, text) => {
    plant('raft/part.ts', '');
    expect(found(path, text)).toEqual([]);
  });
});

describe('traces of one machine', () => {
  test('paths, outside tests', () => {
    expect(found('docs/a.md', '\nsee /tmp/log')).toEqual(['2 machine']);
    expect(found('docs/a.md', 'GET /api/work/1, a/tmp/b, /template')).toEqual([]);
    expect(found('raft/a.test.ts', "const a = '/tmp/log';")).toEqual([]);
  });

  test('registry hosts', () => {
    const host = ['registry', 'npmjs', 'org'].join('.');
    expect(found('package-lock.json', `{\n"${'resolved'}": "https://a.example/b.tgz"}`)).toEqual([
      '2 machine',
    ]);
    expect(found('package-lock.json', `{\n"a": "${host}"}`)).toEqual(['2 machine']);
    expect(found('package-lock.json', '{"resolved": "packages/wire", "link": true}')).toEqual([]);
  });
});

test('what programs make and take is not looked at', () => {
  for (const path of ['node_modules/a/Utils.ts', 'raft/dist/Utils.ts', 'bench/data/Utils.ts']) {
    plant(path, '// TODO');
  }
  expect(check(root, [])).toEqual([]);
});

test('an exception is for one rule in one file', () => {
  plant('raft/index.ts', '// TODO\nconst a = b!;');
  const exceptions = [{ rule: 'leftover', file: 'raft/index.ts', reason: 'a test' }];
  expect(check(root, exceptions).map(({ rule }) => rule)).toEqual(['typing']);
});

describe('rooms', () => {
  const README =
    '# Storage\n\n## Rooms\n\n| `disk/` | files | `disk.ts` |\n| `log/` | it | `log.ts` |\n';
  /** What a tree of two rooms is found to break when one file more is planted. */
  const broken = (path: string, text: string) => {
    plant('storage/README.md', README);
    plant('storage/index.ts', "export * from './disk/disk.js';\nexport * from './log/log.js';\n");
    plant('storage/disk/disk.ts', '');
    plant('storage/log/log.ts', "import '../disk/disk.js';\n");
    plant(path, text);
    return check(root, []).map(({ file, line, rule }) => `${file}:${line} ${rule}`);
  };

  test.each([
    ['the room itself', 'storage/log/a.test.ts', "import './log.js';"],
    ['a test of a lower room', 'storage/disk/a.test.ts', "import '../log/log.js';"],
    ['a file beside the README', 'storage/b.test.ts', "import './log/log.js';"],
  ])('%s imports what it likes', (_, path, text) => {
    expect(broken(path, text)).toEqual([]);
  });

  test.each([
    ['an import of a later room', 'storage/disk/disk.ts', "\nimport '../log/log.js';", 2],
    ['a type of it too', 'storage/disk/disk.ts', "import type { A } from '../log/log.js';", 1],
    ['an import of the index by a room', 'storage/disk/disk.ts', "import '../index.js';", 1],
    ['a folder without a row', 'storage/state/a.test.ts', '', 1],
  ])('%s', (_, path, text, line) => {
    expect(broken(path, text)).toEqual([`${path}:${line} room`]);
  });

  test('a row whose file is gone', () => {
    expect(broken('storage/README.md', `${README}| \`state/\` | rows | \`state.ts\` |\n`)).toEqual([
      'storage/README.md:7 room',
    ]);
  });
});
