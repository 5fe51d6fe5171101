/** Every command, in the order in which help and reference show them. */
import type { Command } from '../command/command.js';
import { ackCommands } from '../commands/ack.js';
import { analyticsCommands } from '../commands/analytics.js';
import { applyCommands } from '../commands/apply.js';
import { benchCommands } from '../commands/bench.js';
import { clusterCommands } from '../commands/cluster.js';
import { contextCommands } from '../commands/contexts.js';
import { ephemeralCommands } from '../commands/ephemeral.js';
import { groupCommands } from '../commands/groups.js';
import { loginCommands } from '../commands/login.js';
import { nodeCommands } from '../commands/node.js';
import { popCommands } from '../commands/pop.js';
import { pushCommands } from '../commands/push.js';
import { queueCommands } from '../commands/queues.js';
import { recordCommands } from '../commands/records.js';
import { stateCommands } from '../commands/state.js';
import { shellCommands } from './shell.js';

export const commands: readonly Command[] = [
  ...pushCommands,
  ...popCommands,
  ...ackCommands,
  ...groupCommands,
  ...queueCommands,
  ...recordCommands,
  ...ephemeralCommands,
  ...stateCommands,
  ...applyCommands,
  ...clusterCommands,
  ...analyticsCommands,
  ...nodeCommands,
  ...benchCommands,
  ...loginCommands,
  ...contextCommands,
  ...shellCommands(() => commands),
];
