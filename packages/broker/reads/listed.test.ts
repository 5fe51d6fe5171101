// Goal: equal lists that are asked for while one is walked are one more walk and one text, however
// many ask; who asks for another page has one of his own. Method: walks that are counted, over a
// clock that the test moves, and the text that each asker is given.
import type { RefusedOutcome } from '@svc/engine';
import { AnswerText, joined, type ListedView, type ListForm, ListText, LoopShare } from '@svc/http';
import { expect, test } from 'vitest';
import { MovedClock } from '../testing/moved-clock.fake.js';
import { sendList } from './listed.js';
import { StateReads } from './state-reads.js';

interface End {
  readonly nextAfter: null;
}

const FORM: ListForm<number, End> = {
  open: '[',
  row: joined(String),
  close: () => ']',
  token: (place) => place,
};

test('thirty who ask for the same list get one text', () => {
  const clock = new MovedClock();
  const source = {
    stateless: false,
    leadsAlone: true,
    isLed: true,
    isMember: () => true,
    read: () => {},
  };
  const reads = new StateReads(source, clock, new LoopShare(clock), 60_000, (error) => {
    throw error;
  });
  let walks = 0;
  const given: string[] = [];
  const texts = new Set<unknown>();
  const ask = (key: string) => {
    const reply = {
      gone: false,
      send: (answer: ListedView | RefusedOutcome) => {
        if (answer.kind !== 'listed') throw new Error(answer.refusal.error);
        texts.add(answer.list.text);
        given.push(Buffer.from(answer.list.text.from(0)).toString());
        return true;
      },
    };
    const walk = function* (take: (row: number) => boolean): Generator<void, End> {
      walks++;
      for (let row = 0; row < 3; row++) {
        clock.move(5);
        yield;
        take(row);
      }
      return { nextAfter: null };
    };
    const newList = () =>
      new ListText(new AnswerText({ reserve: () => true, release: () => {} }), FORM);
    sendList(reads, key, walk, newList, reply);
  };
  for (let i = 0; i < 30; i++) ask('all');
  ask('a page');
  for (let i = 0; i < 100; i++) clock.move(5);
  expect(given).toEqual(new Array(31).fill('[0,1,2]'));
  expect([walks, texts.size]).toEqual([3, 3]);
});
