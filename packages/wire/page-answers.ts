/** What answers that come in pages have in common. */
import { describedAs, nullable, optional, text } from '@svc/schema';

export const nextAfter = optional(
  describedAs(
    'Of a page: what to send as `after` for the next one; `null` behind the last row. A page may ' +
      'hold fewer rows than its limit, also none, and not be the last.',
    nullable(text),
  ),
);
