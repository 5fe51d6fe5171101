/** Commands that only look. Without node numbers they show every running node. */
import { logIndex } from '../../identifiers.js';
import type { Command, Commands } from './command.js';
import type { Stage } from './stage.js';
import type { StagedNode } from './staged-node.js';
import { configurationText, entriesText, progressText, stateText } from './telling.js';
import type { Words } from './words.js';

export const SHOW_COMMANDS: Commands = {
  state: each((node) => [stateText(node.running.status())]),
  members: each((node) => {
    const { configuration: config, configurationIndex } = node.running.status();
    const since = configurationIndex === 0 ? 'founded' : `since entry ${configurationIndex}`;
    return [`${configurationText(config)}, ${since}`];
  }),
  /** What stands on the node's own disk. */
  disk: each(({ disk }) => {
    const first = disk.firstIndex();
    const end = logIndex(disk.lastIndex() + 1);
    const entries = first < end ? disk.entries(first, end, Number.MAX_SAFE_INTEGER) : [];
    const { term, vote } = disk.hardState;
    const before = first > 1 ? `begins at ${first}: ` : '';
    const text = entries.length === 0 ? 'no entries' : entriesText(entries);
    return [`term ${term}, vote ${vote === 0 ? 'none' : vote}; ${before}${text}`];
  }),
  progress: (stage, words) => {
    const node = stage.node(words.number());
    for (const peer of node.running.status().peers) {
      stage.print(`${peer.id}: ${progressText(peer)}`);
    }
  },
  counters: each((node) =>
    Object.entries(node.running.counters())
      .filter(([, count]) => count > 0)
      .map(([reason, count]) => `${count} ${reason}`),
  ),
};

function each(lines: (node: StagedNode) => readonly string[]): Command {
  return (stage: Stage, words: Words) => {
    for (const node of stage.some(words.numbers())) {
      if (node.raft === undefined) stage.print(`${node.id}: down`);
      else for (const line of lines(node)) stage.print(`${node.id}: ${line}`);
    }
  };
}
