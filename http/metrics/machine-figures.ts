/**
 * What the machine says of this process. A figure never fails: on Linux each is a file that has to
 * be opened, and a process at its limit of open files opens none. Then the last value that was read
 * is given again, which for a figure of a second ago is nearly right.
 */
import { readFileSync } from 'node:fs';
import { memoryUsage } from 'node:process';

/**
 * A system call was refused: no file descriptor, no memory, a full volume. Everything else that is
 * thrown is a bug.
 */
export function isMachineRefusal(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'syscall' in error;
}

/** Gives what `read` gave last when the machine refuses to answer; `first` before it ever did. */
export function lastingFigure<Value>(first: Value, read: () => Value): () => Value {
  let last = first;
  return () => {
    try {
      last = read();
    } catch (error) {
      if (!isMachineRefusal(error)) throw error;
    }
    return last;
  };
}

/** Memory of the process that is in RAM; 0 before it was ever read. */
export const residentBytes: () => number = lastingFigure(0, () => memoryUsage.rss());

/** The part of it that no file backs; null where the platform does not tell. */
export const anonymousBytes: () => number | null = lastingFigure<number | null>(null, () => {
  if (process.platform !== 'linux') return null;
  const line = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'latin1'));
  return line?.[1] === undefined ? null : Number(line[1]) * 1024;
});

const PAGE_BYTES = 4096;

/** Address space; null where the platform does not tell. */
export const virtualBytes: () => number | null = lastingFigure<number | null>(null, () => {
  if (process.platform !== 'linux') return null;
  const [pages = ''] = readFileSync('/proc/self/statm', 'latin1').split(' ');
  return Number(pages) * PAGE_BYTES;
});
