/** Commands for messages under way: what arrives, what is lost, repeated or late. */
import type { Commands } from './command.js';
import { forged } from './forgery.js';
import { selectionOf } from './mail.js';
import type { Stage } from './stage.js';
import { ScriptError } from './words.js';

export const MAIL_COMMANDS: Commands = {
  deliver: (stage, words) => {
    if (stage.deliver(selectionOf(words)) === 0) stage.print('nothing to deliver');
  },
  drop: (stage, words) => {
    printCount(stage, stage.mail.take(selectionOf(words)).length, 'dropped');
  },
  duplicate: (stage, words) => {
    printCount(stage, stage.mail.duplicate(selectionOf(words)).length, 'repeated');
  },
  delay: (stage, words) => {
    printCount(stage, stage.mail.delay(selectionOf(words)).length, 'delayed');
  },
  resume: (stage, words) => {
    printCount(stage, stage.mail.resume(selectionOf(words)).length, 'on their way again');
  },
  reorder: (stage, words) => {
    stage.mail.reverse(selectionOf(words));
  },
  settle: (stage, words) => {
    const aloud = words.taken('aloud');
    const ids = words.numbers();
    const rounds = words.taken('rounds') ? words.number() : undefined;
    if (aloud) stage.settle(ids, rounds);
    else stage.quietly(() => stage.settle(ids, rounds));
  },
  cut: (stage, words) => {
    while (!words.ended) {
      const way = /^(\d+)([>-])(\d+)$/.exec(words.take());
      if (way === null) throw new ScriptError('a way is written 1>2 or 1-2');
      const [, one, between, other] = way;
      stage.mail.cut(Number(one), Number(other));
      if (between === '-') stage.mail.cut(Number(other), Number(one));
    }
  },
  isolate: (stage, words) => {
    for (const id of words.numbers()) {
      for (const other of stage.nodes.keys()) {
        stage.mail.cut(id, other);
        stage.mail.cut(other, id);
      }
    }
  },
  heal: (stage) => stage.mail.heal(),
  forge: (stage, words) => {
    const message = forged(words);
    stage.node(message.to).running.step(message);
  },
  pending: (stage) => {
    for (const message of stage.mail.waiting) stage.print(stage.lineOf(message));
    for (const message of stage.mail.delayed) stage.print(`${stage.lineOf(message)} (delayed)`);
    const nothing = stage.mail.waiting.length + stage.mail.delayed.length === 0;
    if (nothing) stage.print('no messages');
  },
};

function printCount(stage: Stage, count: number, what: string): void {
  stage.print(`${count} ${what}`);
}
