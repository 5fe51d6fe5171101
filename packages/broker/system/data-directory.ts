/**
 * The data directory before anything is opened in it: it is there, this process may use it, and
 * others of the machine may not. What is stored is what clients sent, in clear unless it is
 * encrypted.
 */
import { accessSync, constants, existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Logger } from './logging.js';
import { BootRefusedError } from './node-refusal.js';

/** Files that this process makes are for its user alone: directories 0700, files 0600. */
const UMASK = 0o077;
const { R_OK, W_OK, X_OK } = constants;

/** Throws `BootRefusedError`. */
export function prepareDataDirectory(directory: string, logger: Logger): void {
  process.umask(UMASK);
  try {
    makeDirectory(directory);
    accessSync(directory, R_OK | W_OK | X_OK);
  } catch (error) {
    throw new BootRefusedError('data_directory', refusalText(directory, error));
  }
  const mode = statSync(directory).mode & 0o777;
  if ((mode & UMASK) === 0) return;
  const text = `${directory} is open to others of this machine (mode ${mode.toString(8)})`;
  logger.warn('boot', `${text}, and so may its files be: chmod -R go= ${directory}`);
}

/**
 * Makes what is missing of a path. `mkdirSync` of Node with `recursive` never returns where a
 * directory that is there answers ENOENT to a new one, as `/proc` does.
 */
function makeDirectory(path: string): void {
  if (existsSync(path) && statSync(path).isDirectory()) return;
  const parent = dirname(path);
  if (!existsSync(parent)) makeDirectory(parent);
  mkdirSync(path);
}

function refusalText(directory: string, error: unknown): string {
  const { code = String(error) } = error as NodeJS.ErrnoException;
  switch (code) {
    case 'EEXIST':
    case 'ENOTDIR':
      return (
        `SVC_RAFT_DIR=${directory} is a file, or lies below one (${code}): ` +
        'name a directory, which is made when it is not there'
      );
    case 'EACCES':
    case 'EPERM':
      return (
        `SVC_RAFT_DIR=${directory} may not be written by this process (${code}, user ` +
        `${process.getuid?.() ?? 'unknown'}): give the directory to this user (chown), or name ` +
        'another one'
      );
    case 'EROFS':
      return `SVC_RAFT_DIR=${directory} is on a volume that is read-only (EROFS): name another one`;
    default:
      return `SVC_RAFT_DIR=${directory} cannot be used: ${String(error)}`;
  }
}
