/**
 * The parts of the fake service that answer calls: each call is remembered, and answered as a test
 * says. Lists are made in the text that the route makes of their rows.
 */
import type { RefusedOutcome } from '@svc/engine';
import type { ListEnd, NewList } from '../exchange/list-text.js';
import type { Reply } from '../ports/service.js';

/** What a test says that a list holds. */
export type FakeList<Row, End extends ListEnd = ListEnd> =
  | { readonly rows: readonly Row[]; readonly end: End }
  | RefusedOutcome;

export const REFUSED: RefusedOutcome = {
  kind: 'refused',
  refusal: { reason: 'internal', error: 'the test expected no such call' },
};

type AnswerTo<Call> = Call extends (...args: infer Args) => void
  ? Args extends readonly [...unknown[], NewList<infer Row, infer End>, unknown]
    ? FakeList<Row, End>
    : Args extends readonly [...unknown[], Reply<infer Answer>]
      ? Answer
      : never
  : never;

type AnswersOf<Part> = { [Name in keyof Part]?: AnswerTo<Part[Name]> };

/** `asked`: the arguments of each call, without its reply. */
export type FakePart<Part> = Part & { answers: AnswersOf<Part>; readonly asked: unknown[][] };

/** `own`: members that do something else. What no answer is given to is refused. */
export function fakePart<Part extends object>(
  answers: AnswersOf<Part>,
  own: Partial<Part> = {},
): FakePart<Part> {
  const asked: unknown[][] = [];
  const members: Record<string | symbol, unknown> = { ...own, answers, asked };
  const answered =
    (name: string) =>
    (...args: unknown[]): void => {
      const reply = args.pop() as Reply<unknown>;
      const isList = typeof args.at(-1) === 'function';
      const newList = isList ? (args.pop() as NewList<unknown>) : null;
      asked.push(args);
      const given = (members.answers as Record<string, unknown>)[name] ?? REFUSED;
      if (newList === null) reply.send(given);
      else sendList(given as FakeList<unknown>, newList, reply);
    };
  return new Proxy(members, {
    get: (_, name) => (name in members ? members[name] : answered(String(name))),
  }) as FakePart<Part>;
}

export function sendList<Row, End extends ListEnd>(
  given: FakeList<Row, End>,
  newList: NewList<Row, End>,
  reply: Reply<never>,
): void {
  const send = (answer: object) => reply.send(answer as never);
  if ('kind' in given) {
    send(given);
    return;
  }
  const list = newList();
  for (const row of given.rows) list.take(row);
  list.end(given.end);
  send({ kind: 'listed', list });
  list.drop();
}
