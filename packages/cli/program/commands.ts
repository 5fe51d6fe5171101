/** Every command, in the order in which help and reference show them. */
import type { Command } from '../command/command.js';
import { contextCommands } from '../commands/contexts.js';
import { loginCommands } from '../commands/login.js';
import { nodeCommands } from '../commands/node.js';
import { shellCommands } from './shell.js';

export const commands: readonly Command[] = [
  ...nodeCommands,
  ...loginCommands,
  ...contextCommands,
  ...shellCommands(() => commands),
];
