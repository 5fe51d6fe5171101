/**
 * The interpreter: runs the commands of a scenario one after the other and returns what each of
 * them printed. README.md lists the language.
 */
import { RaftBug } from '../../assert.js';
import type { Commands } from './command.js';
import { FAULT_COMMANDS } from './fault-commands.js';
import { GROUP_COMMANDS } from './group-commands.js';
import { MAIL_COMMANDS } from './mail-commands.js';
import { REQUEST_COMMANDS } from './request-commands.js';
import type { Step } from './script.js';
import { SHOW_COMMANDS } from './show-commands.js';
import { Stage } from './stage.js';
import { ScriptError, Words } from './words.js';

const NEW_SCENE = 'new-scene';

const COMMANDS: Commands = {
  ...GROUP_COMMANDS,
  ...MAIL_COMMANDS,
  ...REQUEST_COMMANDS,
  ...FAULT_COMMANDS,
  ...SHOW_COMMANDS,
};

export function play(steps: readonly Step[]): readonly (readonly string[])[] {
  let stage = new Stage();
  return steps.map((step) => {
    // Another group in the same script: nothing of the one before is left.
    if (step.command === NEW_SCENE) stage = new Stage();
    else perform(stage, step);
    return stage.takePrinted();
  });
}

function perform(stage: Stage, { line, command }: Step): void {
  const words = new Words(command);
  try {
    const quiet = words.taken('quiet');
    const action = COMMANDS[words.take()];
    if (action === undefined) throw new ScriptError('there is no such command');
    const act = () => {
      action(stage, words);
      words.end();
      stage.work();
    };
    if (quiet) stage.quietly(act);
    else act();
  } catch (error) {
    if (error instanceof RaftBug) stage.print(`BUG: ${error.message}`);
    else if (error instanceof ScriptError) {
      throw new ScriptError(`line ${line}: ${command}: ${error.message}`);
    } else throw error;
  }
}
