/**
 * What can go wrong below the engine, as classes with a stable `code`. None of them is handled
 * here: a refused open ends the boot with the message, a failed write ends the process.
 */

/**
 * Stored bytes are not what was written. The files are left as they are; `advice` says what the
 * operator can do. Never thrown for a torn tail, which recovery repairs.
 */
export class DamageError extends Error {
  readonly code: string;
  readonly file: string;
  /** Byte position in `file`; 0 when the whole file is meant. */
  readonly offset: number;
  readonly advice: string;

  constructor(code: string, file: string, offset: number, what: string, advice: string) {
    super(`${file} at byte ${offset}: ${what}. ${advice}`);
    this.name = 'DamageError';
    this.code = code;
    this.file = file;
    this.offset = offset;
    this.advice = advice;
  }
}

/**
 * The operating system refused a file operation. `code` is its name for the reason: ENOSPC, EIO,
 * EMFILE, ...
 */
export class DiskError extends Error {
  readonly code: string;
  readonly operation: string;
  readonly file: string;

  constructor(code: string, operation: string, file: string, what: string) {
    super(`${operation} ${file}: ${what} (${code})`);
    this.name = 'DiskError';
    this.code = code;
    this.operation = operation;
    this.file = file;
  }
}

/** The state has outgrown the size that its store may have. Nothing of it was lost or changed. */
export class StateFullError extends Error {
  readonly code = 'state_full';
  readonly file: string;
  readonly bytesMax: number;

  constructor(file: string, bytesMax: number) {
    super(
      `${file}: the state needs more than the ${bytesMax} bytes of SVC_RAFT_MAP_BYTES. ` +
        `Start the node again with a larger SVC_RAFT_MAP_BYTES, such as ${bytesMax * 2}; the ` +
        'state continues where it is, and nothing that was acknowledged is lost',
    );
    this.name = 'StateFullError';
    this.file = file;
    this.bytesMax = bytesMax;
  }
}

/** Another process holds the directory. */
export class LockedError extends Error {
  readonly code = 'directory_locked';
  readonly directory: string;

  constructor(directory: string) {
    super(`${directory} is in use by another running process; stop it or choose another directory`);
    this.name = 'LockedError';
    this.directory = directory;
  }
}

/** A broken invariant of this folder: the process must not go on. */
export class StorageBug extends Error {
  readonly code = 'storage_bug';
}

/** On in production. The message carries the numbers that contradict each other. */
export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new StorageBug(message);
}

/** For checks that stand on the path of every entry: an `assert` makes its message each time. */
export function bug(message: string): never {
  throw new StorageBug(message);
}
