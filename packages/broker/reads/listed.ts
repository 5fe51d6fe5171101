/**
 * Lists for clients: a walk that gives its rows away one by one, into the text of the answer. What
 * a list holds is that text, which counts in the budget of answers as it grows; equal lists that
 * are asked for meanwhile are one walk and one text (`state-walks.ts`).
 */
import type { NextAfter, RefusedOutcome, TakeRow } from '@svc/engine';
import type { ListEnd, ListedView, ListText, NewList } from '@svc/http';
import type { StateReads } from './state-reads.js';
import type { WalkReply } from './state-walks.js';

interface ListReply extends WalkReply {
  send(answer: ListedView | RefusedOutcome): boolean;
}

const NO_ROOM: RefusedOutcome = {
  kind: 'refused',
  refusal: {
    reason: 'overloaded',
    error: 'there is no room for this list now; retry, or ask for it in pages with limit and after',
  },
};

/** `key` as in `StateWalks.walk`: it says what the list is of, and which page. */
export function sendList<Row, End extends ListEnd>(
  reads: Pick<StateReads, 'confirmedOnce'>,
  key: string,
  walk: (take: TakeRow<Row>) => Generator<void, End>,
  newList: NewList<Row, End>,
  reply: ListReply,
): void {
  reads.confirmedOnce(
    key,
    () => listed(walk, newList),
    reply,
    (list) => void reply.send(list === null ? NO_ROOM : { kind: 'listed', list }),
    (list) => list?.drop(),
  );
}

/** A list whose end says nothing but where the next page begins. */
export function sendPage<Row>(
  reads: Pick<StateReads, 'confirmedOnce'>,
  key: string,
  walk: (take: TakeRow<Row>) => Generator<void, NextAfter>,
  newList: NewList<Row>,
  reply: ListReply,
): void {
  const paged = function* (take: TakeRow<Row>): Generator<void, ListEnd> {
    return { nextAfter: yield* walk(take) };
  };
  sendList(reads, key, paged, newList, reply);
}

/** null: there is no room for the list, and nothing is held. Given up: likewise. */
function* listed<Row, End extends ListEnd>(
  walk: (take: TakeRow<Row>) => Generator<void, End>,
  newList: NewList<Row, End>,
): Generator<void, ListText<Row, End> | null> {
  const list = newList();
  let hasRoom = true;
  let isComplete = false;
  const take = (row: Row): boolean => {
    hasRoom = list.take(row);
    return hasRoom;
  };
  try {
    const end = yield* walk(take);
    isComplete = hasRoom && list.end(end);
    return isComplete ? list : null;
  } finally {
    if (!isComplete) list.drop();
  }
}
