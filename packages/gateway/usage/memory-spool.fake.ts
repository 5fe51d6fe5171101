/**
 * Spool files in memory. They outlive a process that a test kills; a test breaks the disk, or has
 * an append end half-way, as a process that is killed in it would leave it.
 */
import { SpoolError, type SpoolFile, type SpoolFiles, spoolNames } from './spool-files.js';

export class MemorySpool implements SpoolFiles {
  readonly #files = new Map<string, string>();
  /** Every call fails while it is set. */
  broken = false;
  /** The next append writes only so many characters and fails; null: it does not. */
  tearsAfter: number | null = null;

  async list(): Promise<readonly string[]> {
    this.#works('list');
    return spoolNames([...this.#files.keys()]);
  }

  create(name: string): SpoolFile | null {
    this.#works('create');
    if (this.#files.has(name)) return null;
    this.#files.set(name, '');
    let isOpen = true;
    return {
      append: (text) => {
        if (!isOpen) throw new Error(`${name} is closed`);
        this.#works('append');
        const tearsAfter = this.tearsAfter;
        this.tearsAfter = null;
        const written = tearsAfter === null ? text : text.slice(0, tearsAfter);
        // A file that was removed while it was open takes what is written to it, for nobody.
        const before = this.#files.get(name);
        if (before !== undefined) this.#files.set(name, before + written);
        if (tearsAfter !== null) throw new SpoolError('the disk', 'full');
      },
      close: () => {
        if (!isOpen) throw new Error(`${name} is closed already`);
        isOpen = false;
      },
    };
  }

  async read(name: string): Promise<string | null> {
    this.#works('read');
    return this.#files.get(name) ?? null;
  }

  async remove(name: string): Promise<void> {
    this.#works('remove');
    this.#files.delete(name);
  }

  /** For what a test puts there by hand. */
  put(name: string, text: string): void {
    this.#files.set(name, text);
  }

  texts(): string[] {
    return [...this.#files.values()];
  }

  #works(what: string): void {
    if (this.broken) throw new SpoolError(what, 'the disk is broken');
  }
}
