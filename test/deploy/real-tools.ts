/** The programs that read what stands in deploy/, where this machine has them. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** From `test/dist/deploy`. */
export const DEPLOY = fileURLToPath(new URL('../../../deploy/', import.meta.url));

export interface Ran {
  readonly status: number | null;
  readonly output: string;
}

export function run(command: string, args: readonly string[], environment = {}): Ran {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    encoding: 'utf8',
    env: { ...process.env, ...environment },
  });
  return { status, output: `${stdout ?? ''}${stderr ?? ''}${error?.message ?? ''}` };
}

/** Debian keeps daemons where the path of ordinary users does not lead. */
export function toolPath(name: string): string {
  const places = [`/usr/sbin/${name}`, `/usr/local/sbin/${name}`];
  return places.find((path) => existsSync(path)) ?? name;
}

/** Why the tool cannot be used here; null when it can. */
export function missing(name: string, probe: readonly string[]): string | null {
  const { status, output } = run(toolPath(name), probe);
  if (status === 0) return null;
  return `skipped: \`${[name, ...probe].join(' ')}\` does not run here (${output.trim()})`;
}
