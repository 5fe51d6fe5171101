/** Commands that ask a node for something, as clients, operators and transports do. */
import type { ConfigurationChange, NodeChange } from '../../configuration.js';
import { logIndex, nodeId } from '../../identifiers.js';
import type { Commands } from './command.js';
import { bytesOf } from './group-commands.js';
import type { Stage } from './stage.js';
import { ScriptError, type Words } from './words.js';

const NO_BYTES = new Uint8Array(0);

export const REQUEST_COMMANDS: Commands = {
  propose: (stage, words) => {
    const node = stage.node(words.number());
    const answer = node.running.proposeAll(words.rest().map(dataOf));
    printAnswer(stage, node.id, answer);
  },
  change: (stage, words) => {
    const node = stage.node(words.number());
    const { configurationIndex } = node.running.status();
    const { change, expected, force } = changeOf(words);
    const index = logIndex(expected ?? configurationIndex);
    const answer = node.running.proposeConfiguration(change, index, { force });
    printAnswer(stage, node.id, answer);
  },
  transfer: (stage, words) => {
    const node = stage.node(words.number());
    if (!words.taken('to')) throw new ScriptError('transfer FROM to TARGET');
    const answer = node.running.transferLeader(nodeId(words.number()));
    if (!answer.accepted) stage.print(`${node.id}: refuses, ${answer.reason}`);
  },
  'forget-leader': (stage, words) => {
    const node = stage.node(words.number());
    const answer = node.running.forgetLeader();
    if (!answer.accepted) stage.print(`${node.id}: refuses, ${answer.reason}`);
  },
  electable: (stage, words) => {
    stage.node(words.number()).running.setElectable(words.take() === 'on');
  },
  read: (stage, words) => {
    const node = stage.node(words.number());
    const ticket = node.running.readIndex(node.nowMs);
    if (ticket.accepted) stage.print(`${node.id}: ${stage.readBegins(ticket.id)} begins`);
    else stage.print(`${node.id}: refuses, ${ticket.reason}`);
  },
  unreachable: (stage, words) => {
    stage.node(words.number()).running.reportUnreachable(nodeId(words.number()));
  },
  'snapshot-report': (stage, words) => {
    const { running } = stage.node(words.number());
    const peer = nodeId(words.number());
    running.reportSnapshot(peer, words.take() === 'sent' ? 'sent' : 'failed');
  },
};

type Answer =
  | { readonly accepted: true; readonly index: number; readonly term: number }
  | { readonly accepted: false; readonly reason: string };

function printAnswer(stage: Stage, id: number, answer: Answer): void {
  const text = answer.accepted
    ? `takes ${answer.index}/t${answer.term}`
    : `refuses, ${answer.reason}`;
  stage.print(`${id}: ${text}`);
}

/** `word` is its letters; `word*20` is 20 times its letters. */
function dataOf(word: string): Uint8Array {
  const [text = '', times = '1'] = word.split('*');
  return bytesOf(text.repeat(Number(times)));
}

interface WantedChange {
  readonly change: ConfigurationChange;
  readonly expected: number | undefined;
  readonly force: boolean;
}

/** `[vote N | learn N | promote N | remove N]... [joint | joint-manual] [expect I] [force]` */
function changeOf(words: Words): WantedChange {
  const changes: NodeChange[] = [];
  let transition: ConfigurationChange['transition'] = 'auto';
  let expected: number | undefined;
  let force = false;
  while (!words.ended) {
    const word = words.take();
    if (word === 'joint' || word === 'joint-manual') transition = word;
    else if (word === 'leave') continue;
    else if (word === 'expect') expected = words.number();
    else if (word === 'force') force = true;
    else for (const id of words.numbers()) changes.push(nodeChange(word, id));
  }
  return { change: { changes, transition, context: NO_BYTES }, expected, force };
}

function nodeChange(word: string, id: number): NodeChange {
  const node = nodeId(id);
  switch (word) {
    case 'vote':
      return { type: 'add-voter', node };
    case 'learn':
      return { type: 'add-learner', node };
    case 'promote':
      return { type: 'add-learner', node, promote: true };
    case 'remove':
      return { type: 'remove', node };
    default:
      throw new ScriptError(`"${word}" is no change`);
  }
}
