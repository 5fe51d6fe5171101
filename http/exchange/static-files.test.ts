// Goal: exactly the directory's files are served, and no path leads out of it.
// Method: a temporary directory with a file beside it that must stay unreachable.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { formFor, isHeld, StaticFiles } from './static-files.js';

let root = '';
let directory = '';

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'static-files-'));
  directory = join(root, 'dist');
  mkdirSync(join(directory, 'assets'), { recursive: true });
  writeFileSync(join(directory, 'index.html'), '<base href="/"><page>');
  writeFileSync(join(directory, 'assets', 'app-1a2b.js'), 'script');
  writeFileSync(join(directory, 'assets', 'app-1a2b.js.br'), 'brotli');
  writeFileSync(join(directory, 'assets', 'app-1a2b.js.gz'), 'gzip');
  writeFileSync(join(directory, 'favicon.SVG'), '<svg>');
  writeFileSync(join(directory, 'a b.txt'), 'spaced');
  writeFileSync(join(root, 'secret.txt'), 'secret');
});

afterEach(() => rmSync(root, { recursive: true }));

const textOf = (files: StaticFiles, path: string): string | null => {
  const file = files.find(path);
  return file === null ? null : Buffer.from(formFor(file, '').bytes).toString();
};

test('files, the page for every other path, and nothing in place of a missing asset', () => {
  const files = new StaticFiles(directory);
  const page = (base: string) => `<base href="${base}"><page>`;
  expect(textOf(files, '/')).toBe(page('./'));
  expect(textOf(files, '/index.html')).toBe(page('./'));
  expect(textOf(files, '/a%20b.txt')).toBe('spaced');
  expect(textOf(files, '/assets/app-1a2b.js')).toBe('script');
  expect(textOf(files, '/assets/app-0000.js')).toBeNull();
  expect(files.find('/assets/app-1a2b.js')).toMatchObject({
    contentType: 'text/javascript; charset=utf-8',
    cacheControl: 'public, max-age=31536000, immutable',
  });
  expect(files.find('/favicon.SVG')).toMatchObject({
    contentType: 'image/svg+xml',
    cacheControl: 'no-cache',
  });
  expect(files.find('/')?.contentType).toBe('text/html; charset=utf-8');
});

test('the base of the page is the way up from the path, whatever stands in front of it', () => {
  const files = new StaticFiles(directory);
  for (const path of ['/', '/queues', '/queues/', '/queues/a%2Fb', '/queues/a/b', '/a/b/c/d/']) {
    const base = /href="([^"]*)"/.exec(textOf(files, path) ?? '')?.[1] ?? '';
    for (const prefix of ['', '/broker', '/a/b']) {
      const { pathname } = new URL(base, `http://node${prefix}${path}`);
      expect(pathname, prefix + path).toBe(`${prefix}/`);
    }
  }
  expect(textOf(files, '/x'.repeat(40))).toBe('<base href="/"><page>');
});

test.each([
  ['', 'script'],
  ['identity', 'script'],
  ['gzip, deflate', 'gzip'],
  ['gzip, deflate, br, zstd', 'brotli'],
  ['GZIP;q=1.0, BR;q=0', 'gzip'],
  ['br; q=0.5', 'brotli'],
  ['abr', 'script'],
])('accepting %j', (accepted, text) => {
  const file = new StaticFiles(directory).find('/assets/app-1a2b.js');
  expect(file?.forms).toHaveLength(3);
  expect(file && Buffer.from(formFor(file, accepted).bytes).toString()).toBe(text);
});

test('a form is known again by its tag, another form or content is not', () => {
  const [page, again] = [1, 2].map(() => new StaticFiles(directory).find('/'));
  const script = new StaticFiles(directory).find('/assets/app-1a2b.js');
  const tags = script?.forms.map(({ entityTag }) => entityTag);
  expect(new Set(tags).size).toBe(3);
  const [form] = page?.forms ?? [];
  const [same] = again?.forms ?? [];
  expect(form?.entityTag).toMatch(/^"[0-9a-f]{32}"$/);
  expect(form && isHeld(form, `"other", W/${same?.entityTag}`)).toBe(true);
  expect(form && isHeld(form, '*')).toBe(true);
  expect(form && isHeld(form, tags?.join(', ') ?? '')).toBe(false);
  expect(form && isHeld(form, '')).toBe(false);
});

test('no path leads out of the directory', () => {
  const files = new StaticFiles(directory);
  for (const path of [
    '/../secret.txt',
    '/%2e%2e/secret.txt',
    '/..%2fsecret.txt',
    '/assets/../../secret.txt',
    '//secret.txt',
    '/..\\secret.txt',
    `/${root}/secret.txt`,
    '/%zz',
    '/%00',
  ]) {
    expect(textOf(files, path), path).not.toBe('secret');
  }
});

test('a directory that is none, or has no page, is refused by name', () => {
  expect(() => new StaticFiles(join(root, 'absent'))).toThrow(
    /dashboard files: .*absent cannot be/,
  );
  expect(() => new StaticFiles(join(directory, 'assets'))).toThrow(/assets has no index\.html/);
});

test('without a directory there is nothing', () => {
  expect(new StaticFiles(null).find('/')).toBeNull();
});
