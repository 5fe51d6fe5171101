/**
 * `limit` and `after` of lists that answer in pages when one of them is given (decisions 28).
 * `after` is what an earlier page said, and means nothing to clients: the place in the order of the
 * list, in base64url behind a letter for the list, so that the place of one list is not taken for
 * that of another.
 */
import type { NextAfter, PageQuery } from '@svc/engine';
import { describedAs, nullable, optional, text } from '@svc/schema';
import { badRequestFault } from './errors.js';
import { lenientInteger, type Query, textOf } from './query.js';

export const PAGE_LIMIT_DEFAULT = 100;
export const PAGE_LIMIT_MAX = 1000;
/**
 * Length of a place as clients send it. A key has at most 1,978 bytes, which are 2,638 characters
 * of base64url behind the letter of the list.
 */
const PLACE_CHARS_MAX = 2700;

const NOT_A_PLACE = 'after is not a place that this list has given';

export interface Paging extends PageQuery {
  /** True when the request asks for a page. */
  readonly isPaged: boolean;
}

/** All of a list. */
export const WHOLE_LIST: Paging = { after: '', limit: Number.POSITIVE_INFINITY, isPaged: false };

/** `list`: the letter of the list. Throws `RequestFault`. */
export function listPagingOf(query: Query, list: string): Paging {
  const after = textOf(query, 'after');
  const isPaged = after !== '' || textOf(query, 'limit') !== '';
  if (!isPaged) return WHOLE_LIST;
  const place = after === '' ? '' : placeOf(after, list);
  if (place === null) throw badRequestFault(NOT_A_PLACE);
  const wanted = lenientInteger(query, 'limit') ?? PAGE_LIMIT_DEFAULT;
  const limit = Math.min(Math.max(wanted, 1), PAGE_LIMIT_MAX);
  return { after: place, limit, isPaged };
}

/** The form in which a client gets a place and gives it back as `after`. */
export function placeToken(list: string, place: string): string {
  return list + Buffer.from(place, 'latin1').toString('base64url');
}

function placeOf(token: string, list: string): string | null {
  if (!token.startsWith(list) || token.length > PLACE_CHARS_MAX) return null;
  const place = Buffer.from(token.slice(list.length), 'base64url').toString('latin1');
  return place !== '' && placeToken(list, place) === token ? place : null;
}

export interface Paged {
  readonly page: Paging;
}

export const NEXT_AFTER = optional(
  describedAs(
    'Of a page: what to send as `after` for the next one; `null` behind the last row. A page may ' +
      'hold fewer rows than its limit, also none, and not be the last.',
    nullable(text),
  ),
);

/** The member `nextAfter` of a list that is answered in pages. */
export function nextAfterOf(list: string) {
  const place = ({ nextAfter }: { readonly nextAfter: NextAfter }, { page }: Paged) =>
    page.isPaged ? nextAfter && placeToken(list, nextAfter) : undefined;
  return [NEXT_AFTER, place] as const;
}

/** The member `nextAfter` of a page, with a comma before it; "" for a whole list. */
export function nextAfterText({ isPaged }: Paging, list: string, nextAfter: NextAfter): string {
  if (!isPaged) return '';
  return `,"nextAfter":${nextAfter === null ? 'null' : `"${placeToken(list, nextAfter)}"`}`;
}
