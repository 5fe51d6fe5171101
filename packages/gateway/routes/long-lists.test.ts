// Goal: the text is that of JSON.stringify, however long its lists are, and is made in parts.
// Method: lists at the border of a part, and rows that note when they are shown.
import { expect, test } from 'vitest';
import { longAnswer, shown } from './long-lists.js';

test.each([0, 1, 199, 200, 201, 1_000])('%d rows', async (count) => {
  const rows = Array.from({ length: count }, (_, i) => ({ i, name: `"é ${i}` }));
  let pauses = 0;
  const shownAt: number[] = [];
  const pause = async () => void pauses++;
  const { status, headers, body } = await longAnswer(
    { pause },
    {
      cell: { slug: 'local' },
      none: [],
      rows: shown(rows, (row) => {
        shownAt.push(pauses);
        return row;
      }),
      more: [1],
      nextAfter: null,
    },
  );
  expect(Buffer.from(body).toString()).toBe(
    JSON.stringify({ cell: { slug: 'local' }, none: [], rows, more: [1], nextAfter: null }),
  );
  expect([status, headers[0]]).toEqual([200, ['Content-Type', 'application/json']]);
  // So many rows in a turn of the event loop, and no more.
  expect(shownAt).toEqual(rows.map((_, i) => Math.floor(i / 200)));
});
