/** `limit` and `after` of lists that answer in pages when one of them is given. */
import { text } from '@svc/schema';
import { PAGE_LIMIT_DEFAULT, PAGE_LIMIT_MAX } from '../exchange/paging.js';
import { parameter, type QueryParameter } from './endpoint.js';

const WHOLE = 'Without `limit` and `after` the list is whole.';

export const PAGE_QUERY: readonly QueryParameter[] = [
  parameter(
    'limit',
    `Asks for a page of so many rows at most: 1 to ${PAGE_LIMIT_MAX}, ${PAGE_LIMIT_DEFAULT} when ` +
      `it is absent or no integer. ${WHOLE}`,
    text,
  ),
  parameter('after', 'Where an earlier page ended. Opaque; the queue it is of may be gone.', text),
];

/**
 * Description of the header that stands in for `nextAfter` where the answer is a bare array, or an
 * object whose members are names.
 */
export const NEXT_AFTER_HEADER =
  'A page has the header `x-svc-next-after`, unless it is the last: what to send as `after`.';
