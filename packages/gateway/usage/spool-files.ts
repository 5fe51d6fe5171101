/**
 * Files that hold usage until it is in the store (gateway 10), as a port. All are in one directory
 * and are named `meter-<epoch ms>-<number>.buf`. What was appended outlives the process; it need
 * not outlive the machine.
 */

export interface SpoolFiles {
  /** Names of the files that are there, the oldest first. */
  list(): Promise<readonly string[]>;
  /** Makes a file; null: the name is taken. */
  create(name: string): SpoolFile | null;
  /** The whole text; null: there is no such file. */
  read(name: string): Promise<string | null>;
  /** Also of a file that is gone already. */
  remove(name: string): Promise<void>;
}

export interface SpoolFile {
  /**
   * When it returns, the text outlives the process. When it throws, any part of it may be there:
   * the file is of no more use than to be read.
   */
  append(text: string): void;
  close(): void;
}

/** The disk or the directory refuses. */
export class SpoolError extends Error {
  readonly code = 'spool';

  constructor(what: string, cause: unknown) {
    super(`${what}: ${cause instanceof Error ? cause.message : String(cause)}`);
    this.name = 'SpoolError';
  }
}

/** At which a file is followed by another one. */
export const SPOOL_FILE_BYTES_MAX = 5_000_000;

const NAME = /^meter-(\d{1,16})-(\d{1,9})\.buf$/;

export function spoolName(wallMs: number, number: number): string {
  return `meter-${wallMs}-${number}.buf`;
}

/** Names of spool files among others, the oldest first. */
export function spoolNames(names: readonly string[]): string[] {
  const found = names.flatMap((name) => {
    const [, wallMs, number] = NAME.exec(name) ?? [];
    return number === undefined ? [] : [{ name, wallMs: Number(wallMs), number: Number(number) }];
  });
  found.sort((one, other) => one.wallMs - other.wallMs || one.number - other.number);
  return found.map(({ name }) => name);
}
