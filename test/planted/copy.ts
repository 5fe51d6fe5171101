/**
 * A copy of the built program, in which one bug at a time is planted. Nothing of the program knows
 * of it, and no setting of the program can reach it.
 *
 * What must hold: whatever hunt runs in a copy loads the program as it was built, but for the files
 * of the bug that is planted just then; and these are as built again when the bug is removed.
 *
 * Rejected: changing the files while Node loads them. A loader hook runs in a thread of its own,
 * which each of the several hundred modules of a simulated machine passes through, there and back:
 * that took more than the loading itself (1.6 s of processor instead of 1.3 s in addition to it),
 * in every process of a hunt.
 */
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { PlantedBug } from './bug.js';
import { compiledPath, ROOT } from './compiled.js';
import { patched, telling } from './planted-text.js';

/** What the hunts load: the workspaces, in their folders. */
const WORKSPACES: readonly string[] = [
  'packages/schema',
  'packages/wire',
  'packages/engine',
  'packages/ephemeral',
  'packages/standby',
  'packages/broker',
  'raft',
  'storage',
  'http',
  'test',
];
/** The scenarios of raft are read beside its source. */
const SCRIPTS = 'raft/testing/scenarios/scripts';

export class ProgramCopy {
  readonly #folder: string;

  constructor() {
    this.#folder = mkdtempSync(join(tmpdir(), 'svc-planted-'));
    const modules = join(this.#folder, 'node_modules');
    mkdirSync(join(modules, '@svc'), { recursive: true });
    for (const name of readdirSync(join(ROOT, 'node_modules'))) {
      if (name.startsWith('.') || name === '@svc') continue;
      symlinkSync(join(ROOT, 'node_modules', name), join(modules, name));
    }
    for (const workspace of WORKSPACES) this.#copy(workspace, modules);
    mkdirSync(dirname(join(this.#folder, SCRIPTS)), { recursive: true });
    symlinkSync(join(ROOT, SCRIPTS), join(this.#folder, SCRIPTS));
  }

  #copy(workspace: string, modules: string): void {
    const to = join(this.#folder, workspace);
    cpSync(join(ROOT, workspace, 'dist'), join(to, 'dist'), {
      recursive: true,
      filter: (path) => !/\.(d\.ts|map|tsbuildinfo)$/.test(path),
    });
    const manifest = readFileSync(join(ROOT, workspace, 'package.json'), 'utf8');
    writeFileSync(join(to, 'package.json'), manifest);
    const { name } = JSON.parse(manifest) as { readonly name: string };
    symlinkSync(to, join(modules, name));
  }

  /** The program that hunts. */
  get program(): string {
    return join(this.#folder, 'test/dist/planted/hunt.js');
  }

  /** Returns what removes the bug again. */
  plant(bug: PlantedBug): () => void {
    const files = [...new Set(bug.edits.map(({ file }) => file))];
    const texts = files.map((file) => {
      const built = readFileSync(this.#path(file), 'utf8');
      const edits = bug.edits.filter((edit) => edit.file === file);
      return { file, built, planted: telling(edits.reduce(patched, built), file) };
    });
    for (const { file, planted } of texts) writeFileSync(this.#path(file), planted);
    return () => {
      for (const { file, built } of texts) writeFileSync(this.#path(file), built);
    };
  }

  #path(file: string): string {
    return join(this.#folder, compiledPath(file));
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
