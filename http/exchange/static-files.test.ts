// Goal: exactly the directory's files are served, and no path leads out of it.
// Method: a temporary directory with a file beside it that must stay unreachable.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { StaticFiles } from './static-files.js';

let root = '';
let directory = '';

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'static-files-'));
  directory = join(root, 'dist');
  mkdirSync(join(directory, 'assets'), { recursive: true });
  writeFileSync(join(directory, 'index.html'), '<page>');
  writeFileSync(join(directory, 'assets', 'app-1a2b.js'), 'script');
  writeFileSync(join(directory, 'favicon.SVG'), '<svg>');
  writeFileSync(join(directory, 'a b.txt'), 'spaced');
  writeFileSync(join(root, 'secret.txt'), 'secret');
});

afterEach(() => rmSync(root, { recursive: true }));

const textOf = (files: StaticFiles, path: string): string | null => {
  const file = files.find(path);
  return file === null ? null : Buffer.from(file.bytes).toString();
};

test('files, the page for every other path, and nothing in place of a missing asset', () => {
  const files = new StaticFiles(directory);
  expect(textOf(files, '/')).toBe('<page>');
  expect(textOf(files, '/index.html')).toBe('<page>');
  expect(textOf(files, '/queues/orders')).toBe('<page>');
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
