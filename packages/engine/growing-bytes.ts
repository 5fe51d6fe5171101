/** How much of what a command carries is to be stored. */
import type { Command } from './commands.js';

/** Bytes of messages or of a trace, as they were sent; 0: the command adds none. */
export function growingBytes(command: Command): number {
  return growingBody(command)?.length ?? 0;
}

/** The request body that a command's messages, or its trace, stand in; null: it adds none. */
export function growingBody(command: Command): Uint8Array | null {
  if (command.kind === 'push') return command.body;
  if (command.kind === 'transaction') return command.pushes?.body ?? null;
  if (command.kind === 'trace') return command.data;
  return null;
}
