/**
 * The built program with a bug planted in it, loaded into this process. The modules of the
 * workspaces are compiled here, from the files of the build with the edits of the bug made in what
 * was read; packages of others and Node's own are those that Node loads. No file is changed,
 * nothing of the program knows of it, and no setting of the program can reach it.
 *
 * What must hold: a hunt runs the program as it was built but for the edits of its bug, each of
 * which is in a module that the hunt loaded. A module is there once, however many import it.
 *
 * Rejected: Node's own loader, on a copy of the program in which the files of the bug are written.
 * A simulated machine has 720 modules, which it takes 0.5 s of processor time to load, twice as
 * long as this, in every process of a hunt. Rejected as well: hooks of Node's loader. They run in a
 * thread of their own, which each module passes through, there and back: that took more than the
 * loading itself.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { type Module, SourceTextModule, SyntheticModule } from 'node:vm';
import type { Edit, PlantedBug } from './bug.js';
import { compiledPath, ROOT } from './compiled.js';
import { patched } from './planted-text.js';

/** Needs Node's flag `--experimental-vm-modules`. */
export class PlantedProgram {
  /** By the address of the built file. */
  readonly #edits: ReadonlyMap<string, readonly Edit[]>;
  /** By address; packages of others by name. */
  readonly #modules = new Map<string, Module | Promise<Module>>();

  /** Null: the program as it is. */
  constructor(bug: PlantedBug | null) {
    const edits = new Map<string, Edit[]>();
    for (const edit of bug?.edits ?? []) {
      const url = pathToFileURL(join(ROOT, compiledPath(edit.file))).href;
      edits.set(url, [...(edits.get(url) ?? []), edit]);
    }
    this.#edits = edits;
  }

  /** The exports of a built file. */
  async load(url: string): Promise<object> {
    return (await this.#ready(this.#own(url))).namespace;
  }

  /** The files of the bug that were not loaded so far: a hunt without them hunts no bug. */
  get notLoaded(): readonly string[] {
    const missing = [...this.#edits].filter(([url]) => !this.#modules.has(url));
    return missing.flatMap(([, edits]) => edits.map(({ file }) => file));
  }

  async #ready(module: Module): Promise<Module> {
    if (module.status === 'unlinked') {
      await module.link((specifier, { identifier }) => this.#find(specifier, identifier));
    }
    await module.evaluate();
    return module;
  }

  #find(specifier: string, importer: string): Module | Promise<Module> {
    if (specifier.startsWith('.')) return this.#own(new URL(specifier, importer).href);
    if (specifier.startsWith('@svc/')) return this.#own(import.meta.resolve(specifier));
    const known = this.#modules.get(specifier);
    if (known !== undefined) return known;
    const made = ofOthers(specifier);
    this.#modules.set(specifier, made);
    return made;
  }

  #own(url: string): Module {
    const known = this.#modules.get(url);
    if (known instanceof SourceTextModule) return known;
    const built = readFileSync(fileURLToPath(url), 'utf8');
    const module = new SourceTextModule((this.#edits.get(url) ?? []).reduce(patched, built), {
      identifier: url,
      initializeImportMeta: (meta) => {
        meta.url = url;
      },
      importModuleDynamically: async (specifier) => this.#ready(await this.#find(specifier, url)),
    });
    this.#modules.set(url, module);
    return module;
  }
}

async function ofOthers(specifier: string): Promise<Module> {
  const exported = Object.entries((await import(specifier)) as object);
  const names = exported.map(([name]) => name);
  return new SyntheticModule(
    names,
    function (this: SyntheticModule) {
      for (const [name, value] of exported) this.setExport(name, value);
    },
    { identifier: specifier },
  );
}
