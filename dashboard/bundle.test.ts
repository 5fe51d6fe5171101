// Goal: what a browser loads first stays small, comes from this node alone, and has nothing inline.
// Method: the built files, as a node reads them.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const SITE = new URL('dist/site', import.meta.url).pathname;
const BYTES_MAX = 150_000;

const names = readdirSync(join(SITE, 'assets'));
const page = readFileSync(join(SITE, 'index.html'), 'utf8');

test('the first load is under 150 kB, also for a browser that knows gzip alone', () => {
  for (const extension of ['.br', '.gz']) {
    const sizes = names
      .filter((name) => name.endsWith(extension))
      .map((name) => statSync(join(SITE, 'assets', name)).size);
    expect(sizes).toHaveLength(3);
    expect(sizes.reduce((a, b) => a + b) + page.length).toBeLessThan(BYTES_MAX);
  }
});

test('the page names its files, relative to its base, by their digests', () => {
  const named = [...page.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, name = '']) => name);
  expect(named[0]).toBe('/');
  expect(page).toContain('<base href="/">');
  const assets = named.slice(1);
  expect(assets).toHaveLength(3);
  for (const asset of assets) {
    expect(asset).toMatch(/^assets\/\w+-[0-9a-f]{12}\.(js|css|svg)$/);
    expect(names).toContain(asset.replace('assets/', ''));
  }
  expect(page).not.toMatch(/<style|<script>|\son\w+=|style=/);
});

test('no other host is named but the one of the XML namespace', () => {
  for (const name of names.filter((one) => /\.(js|css)$/.test(one))) {
    const text = readFileSync(join(SITE, 'assets', name), 'utf8');
    const hosts = [...text.matchAll(/https?:\/\/[\w.]+/g)].map(([host]) => host);
    expect(hosts.filter((host) => host !== 'http://www.w3.org')).toEqual([]);
  }
});
