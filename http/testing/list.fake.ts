/** Lists of fakes: rows as they are given, in the text that the route makes of them. */
import type { RefusedOutcome } from '@svc/engine';
import type { ListEnd, ListedView, NewList } from '../exchange/list-text.js';
import type { Reply } from '../ports/service.js';

/** What a test says that a list holds. */
export type FakeList<Row, End extends ListEnd = ListEnd> =
  | { readonly rows: readonly Row[]; readonly end: End }
  | RefusedOutcome;

export function sendList<Row, End extends ListEnd>(
  given: FakeList<Row, End>,
  newList: NewList<Row, End>,
  reply: Reply<ListedView | RefusedOutcome>,
): void {
  if ('kind' in given) {
    reply.send(given);
    return;
  }
  const list = newList();
  for (const row of given.rows) list.take(row);
  list.end(given.end);
  reply.send({ kind: 'listed', list });
  list.drop();
}
