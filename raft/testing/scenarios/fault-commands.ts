/** Commands for hosts and disks: held up, failed, crashed, restarted, compacted. */
import { logIndex } from '../../identifiers.js';
import type { Command, Commands } from './command.js';
import { changeSettings } from './group-commands.js';
import { HOLDS, type Hold, type StagedNode } from './staged-node.js';
import { ScriptError, type Words } from './words.js';

export const FAULT_COMMANDS: Commands = {
  hold: (stage, words) => {
    const what = holdOf(words);
    for (const node of stage.some(words.numbers())) node.held.add(what);
  },
  'go-on': (stage, words) => {
    const what = holdOf(words);
    for (const node of stage.some(words.numbers())) node.held.delete(what);
  },
  sync: counted((node) => {
    if (!node.writing) throw new ScriptError('no write is under way');
    node.finishWrite();
  }),
  apply: counted((node) => node.finishApply()),
  'fail-disk': (stage, words) => {
    const node = stage.node(words.number());
    node.running.appendFailed();
  },
  crash: (stage, words) => {
    const node = stage.node(words.number());
    const lost = node.crash(words.taken('keeping') ? words.number() : 0);
    if (lost > 0) stage.print(`${node.id}: ${lost} writes lost`);
  },
  restart: (stage, words) => {
    const node = stage.node(words.number());
    if (node.raft !== undefined) throw new ScriptError(`node ${node.id} runs`);
    const recovering = words.taken('recovering');
    if (words.taken('chance')) node.random = words.number();
    changeSettings(node, words);
    node.start(recovering);
  },
  'lose-log': (stage, words) => {
    const node = stage.node(words.number());
    if (!words.taken('after')) throw new ScriptError('lose-log NODE after INDEX');
    node.loseLogAfter(words.number());
  },
  checkpoint: (stage, words) => {
    for (const node of stage.some(words.numbers())) {
      node.takeCheckpoint();
      stage.print(`${node.id}: checkpoint at ${node.checkpoint.applied}`);
    }
  },
  compact: (stage, words) => {
    const node = stage.node(words.number());
    if (!words.taken('to')) throw new ScriptError('compact NODE to INDEX');
    const to = logIndex(words.number());
    if ((node.disk.snapshot()?.index ?? 0) < to) node.takeCheckpoint();
    node.disk.compact(to);
    stage.print(`${node.id}: log begins at ${node.disk.firstIndex()}`);
  },
  cold: (stage, words) => {
    stage.node(words.number()).disk.cold = true;
  },
  warm: (stage, words) => {
    stage.node(words.number()).disk.cold = false;
  },
};

function holdOf(words: Words): Hold {
  const word = words.take();
  const found = HOLDS.find((hold) => hold === word);
  if (found === undefined) throw new ScriptError(`"${word}" cannot be held`);
  return found;
}

/** `NODE [COUNT]`: once, or so many times. */
function counted(action: (node: StagedNode) => void): Command {
  return (stage, words) => {
    const node = stage.node(words.number());
    for (let left = words.ended ? 1 : words.number(); left > 0; left--) {
      action(node);
      stage.work();
    }
  };
}
