// Goal: the native build is loaded, and where there is none the front says so instead of serving
// with something else. Method: the build of this platform, and platforms that have none.
import { expect, test } from 'vitest';
import { loadUws, NativeBuildMissingError } from './uws.js';

test('this platform has its build', () => {
  expect(loadUws().LIBUS_LISTEN_EXCLUSIVE_PORT).toBe(1);
});

test.each([
  { platform: 'plan9', arch: 'x64', modules: process.versions.modules },
  { platform: process.platform, arch: 'pdp11', modules: process.versions.modules },
  { platform: process.platform, arch: process.arch, modules: '1' },
])('%j has none', (wanted) => {
  expect(() => loadUws(wanted)).toThrow(NativeBuildMissingError);
  expect(() => loadUws(wanted)).toThrow(
    `no usable native build for ${wanted.platform} ${wanted.arch}`,
  );
  expect(() => loadUws(wanted)).toThrow(`(module version ${wanted.modules})`);
});
