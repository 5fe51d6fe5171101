/**
 * The directories of a simulated disk: which names lead where, as a process sees it and as the
 * medium has it. A change of names is kept or undone by a power loss as a whole, any of several in
 * one directory, until that directory is synced. A directory is made durably, as `Disk` promises;
 * one that is moved takes along what stands in it, synced or not.
 *
 * Errors are those of Linux: the contract table of `disk.test.ts` compares them with the real disk.
 */
import { DiskError } from '../disk/faults.js';
import type { SeededRandom } from './random.js';
import { Inode } from './simulated-inode.js';

const NAME_BYTES_MAX = 255;

class Directory {
  seen = new Map<string, Inode | Directory>();
  readonly stored = new Map<string, Inode | Directory>();
}

/** Where a name stands, whether it leads anywhere or not. */
interface Place {
  readonly directory: Directory;
  readonly name: string;
}

interface Name extends Place {
  /** null: the name goes. */
  readonly node: Inode | Directory | null;
}

type NameChange = readonly Name[];

export class SimulatedNames {
  readonly #absolute = new Directory();
  readonly #relative = new Directory();
  /** Under the directory whose sync stores them. */
  #changes = new Map<Directory, NameChange[]>();

  /** Undefined when the name is free. Its directory has to be there. */
  #find(operation: string, path: string): Inode | Directory | undefined {
    const { directory, name } = this.#place(operation, path);
    return name === '' ? directory : directory.seen.get(name);
  }

  #place(operation: string, path: string): Place {
    const parts = path.split('/').filter((part) => part !== '' && part !== '.');
    const name = parts.pop() ?? '';
    let directory = path.startsWith('/') ? this.#absolute : this.#relative;
    for (const part of parts) {
      const next = directory.seen.get(part);
      if (next === undefined) throw fault('ENOENT', operation, path, 'no such directory');
      if (next instanceof Inode) throw fault('ENOTDIR', operation, path, `${part} is a file`);
      directory = next;
    }
    if (Buffer.byteLength(name) > NAME_BYTES_MAX) {
      throw fault('ENAMETOOLONG', operation, path, 'the name is too long');
    }
    return { directory, name };
  }

  file(operation: string, path: string): Inode {
    const node = this.#find(operation, path);
    if (node === undefined) throw fault('ENOENT', operation, path, 'no such file');
    if (node instanceof Directory) throw fault('EISDIR', operation, path, 'it is a directory');
    return node;
  }

  #directory(operation: string, path: string): Directory {
    const node = this.#find(operation, path);
    if (node === undefined) throw fault('ENOENT', operation, path, 'no such directory');
    if (node instanceof Inode) throw fault('ENOTDIR', operation, path, 'it is a file');
    return node;
  }

  /** What the name leads to; undefined when to nothing, or to a directory. */
  fileAt(path: string): Inode | undefined {
    try {
      return this.file('open', path);
    } catch (error) {
      if (error instanceof DiskError) return undefined;
      throw error;
    }
  }

  exists(path: string): boolean {
    try {
      return this.#find('stat', path) !== undefined;
    } catch (error) {
      if (error instanceof DiskError) return false;
      throw error;
    }
  }

  create(path: string): Inode {
    const place = this.#place('open', path);
    if (place.name === '' || place.directory.seen.has(place.name)) {
      throw fault('EEXIST', 'open', path, 'file exists');
    }
    const node = new Inode();
    this.#change([{ ...place, node }]);
    return node;
  }

  /** On the medium at once, with the directories that lead to it. */
  plant(path: string, inode: Inode): void {
    const end = path.lastIndexOf('/');
    if (end > 0) this.makeDirectory(path.slice(0, end));
    const { directory, name } = this.#place('plant', path);
    directory.seen.set(name, inode);
    directory.stored.set(name, inode);
  }

  makeDirectory(path: string): void {
    let directory = path.startsWith('/') ? this.#absolute : this.#relative;
    for (const part of path.split('/').filter((one) => one !== '' && one !== '.')) {
      let next = directory.seen.get(part);
      if (next === undefined) {
        next = new Directory();
        directory.seen.set(part, next);
        directory.stored.set(part, next);
      }
      if (next instanceof Inode) throw fault('EEXIST', 'mkdir', path, `${part} is a file`);
      directory = next;
    }
  }

  remove(path: string): void {
    this.file('remove', path);
    this.#change([{ ...this.#place('remove', path), node: null }]);
  }

  rename(from: string, to: string): void {
    const source = this.#place('rename', from);
    const target = this.#place('rename', to);
    const node = source.directory.seen.get(source.name);
    if (node === undefined) throw fault('ENOENT', 'rename', from, 'no such file');
    const before = target.directory.seen.get(target.name);
    if (before === node) return;
    if (node instanceof Directory && `${to}/`.startsWith(`${from}/`)) {
      throw fault('EINVAL', 'rename', from, 'a directory cannot be moved into itself');
    }
    if (before instanceof Directory) {
      if (node instanceof Inode) throw fault('EISDIR', 'rename', from, `${to} is a directory`);
      if (before.seen.size > 0) throw fault('ENOTEMPTY', 'rename', from, `${to} is not empty`);
    } else if (before !== undefined && node instanceof Directory) {
      throw fault('ENOTDIR', 'rename', from, `${to} is a file`);
    }
    this.#change([
      { ...target, node },
      { ...source, node: null },
    ]);
  }

  /** The names of the files in it. */
  list(path: string): string[] {
    const { seen } = this.#directory('list', path);
    return [...seen].filter(([, node]) => node instanceof Inode).map(([name]) => name);
  }

  sync(path: string): void {
    const directory = this.#directory('fsync', path);
    for (const change of this.#changes.get(directory) ?? []) store(change);
    this.#changes.delete(directory);
  }

  checkDirectory(operation: string, path: string): void {
    this.#directory(operation, path);
  }

  losePower(random: SeededRandom): void {
    for (const changes of this.#changes.values()) {
      const odds = [0, 0.5, 1][random.below(3)] ?? 0;
      for (const change of changes) if (random.chance(odds)) store(change);
    }
    this.#changes = new Map();
    for (const root of [this.#absolute, this.#relative]) restore(root);
  }

  /** All files, by the names that are seen now; a loss of power may undo these. */
  *files(): Generator<readonly [string, Inode], void, void> {
    yield* filesIn('/', this.#absolute);
    yield* filesIn('', this.#relative);
  }

  #change(change: NameChange): void {
    for (const { directory, name, node } of change) set(directory.seen, name, node);
    const [first] = change;
    if (first === undefined) return;
    const changes = this.#changes.get(first.directory);
    if (changes === undefined) this.#changes.set(first.directory, [change]);
    else changes.push(change);
  }
}

function store(change: NameChange): void {
  for (const { directory, name, node } of change) set(directory.stored, name, node);
}

function set(names: Map<string, Inode | Directory>, name: string, node: Name['node']): void {
  if (node === null) names.delete(name);
  else names.set(name, node);
}

function restore(directory: Directory): void {
  directory.seen = new Map(directory.stored);
  for (const node of directory.seen.values()) if (node instanceof Directory) restore(node);
}

function* filesIn(
  prefix: string,
  directory: Directory,
): Generator<readonly [string, Inode], void, void> {
  for (const [name, node] of directory.seen) {
    if (node instanceof Inode) yield [`${prefix}${name}`, node];
    else yield* filesIn(`${prefix}${name}/`, node);
  }
}

function fault(code: string, operation: string, path: string, what: string): DiskError {
  return new DiskError(code, operation, path, what);
}
