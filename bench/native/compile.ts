// C programs of the bench, compiled when they are needed.

import { spawnSync } from 'node:child_process';

const COMPILER = 'cc';

export function compilerIsInstalled(): boolean {
  return spawnSync(COMPILER, ['--version']).error === undefined;
}

/** Throws with what the compiler said. */
export function compile(program: string, sources: readonly string[]): void {
  if (!compilerIsInstalled()) {
    throw new Error(`${program} needs a C compiler: Debian packages gcc and libc6-dev`);
  }
  const { status, stderr } = spawnSync(
    COMPILER,
    ['-O2', '-std=gnu11', '-Wall', '-Wextra', '-D_GNU_SOURCE', '-o', program, ...sources],
    { encoding: 'utf8' },
  );
  if (status !== 0) {
    throw new Error(`${program} does not compile (is libc6-dev installed?):\n${stderr}`);
  }
}
