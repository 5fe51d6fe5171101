// What a system looks like to the runner, ours and the peers alike: started, spoken to by the load
// program, emptied after each window, stopped.

import type { LoadProgram, LoadTarget } from '../../native/load-program.js';
import type { Scratch } from '../../scratch.js';
import type { Contender, Setting } from '../result.js';

export interface SystemPlan {
  readonly scratch: Scratch;
  readonly load: LoadProgram;
  readonly setting: Setting;
  readonly nodes: number;
}

export interface RunningSystem {
  readonly contender: Contender;
  readonly target: LoadTarget;
  /** Of its servers; their children count as well. */
  readonly pids: readonly number[];
  /** The queue is there, and empty. */
  readonly create: () => Promise<void>;
  /** The queue is gone, with all its messages. */
  readonly remove: () => Promise<void>;
  /** Its processes and directories are gone. */
  readonly stop: () => Promise<void>;
}

/** What a peer needs of the machine: a program, and the Debian package that has it. */
export interface Requirement {
  readonly program: string;
  readonly debianPackage: string;
}

export const QUEUE = 'bench';
