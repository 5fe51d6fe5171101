// Goal: each queue with timers is listed once, with how many it has and when the next is due, in
// pages of any length, and nothing of other tenants or of queues whose names begin alike. Method:
// names in the order of their bytes, more timers than one stretch of rows, every limit.
import { expect, test } from 'vitest';
import type { PageQuery } from '../../base/page.js';
import { WHOLE } from '../../base/page.js';
import { EngineRig, TENANT } from '../../testing/engine.fake.js';
import { walked } from '../../testing/page.fake.js';
import { cancelOf, scheduleOf, timerCall } from '../../testing/timers.fake.js';
import { listTimerQueues, type TimerQueue } from './queues.js';

const OTHER = 'aaaaaaaa-0000-4000-8000-000000000001';

function list(rig: EngineRig, page: PageQuery): { rows: TimerQueue[]; next: string | null } {
  const rows: TimerQueue[] = [];
  const next = walked(listTimerQueues(rig.state, TENANT, page, (row) => rows.push(row) > 0));
  return { rows, next };
}

test('queues with timers, in pages', () => {
  const rig = new EngineRig();
  const startUs = rig.wallUs;
  for (const [queue, count] of [
    ['b', 3],
    ['a', 600],
    ['a.b', 1],
    ['a\u00e9', 257],
  ] as const) {
    for (let at = 0; at < count; at += 200) {
      const ops = Array.from({ length: Math.min(200, count - at) }, (_, i) =>
        scheduleOf(`k${at + i}`, { queue, delayMs: 10_000 + (count - at - i) * 1000 }),
      );
      rig.call(timerCall(ops));
    }
  }
  rig.call(timerCall([scheduleOf('k', { queue: 'a' })], OTHER));
  rig.call(timerCall([cancelOf('k2', 'b')]));
  const { rows: whole, next } = list(rig, WHOLE);
  expect(next).toBeNull();
  const shown = whole.map(({ queue, pending, nextUs }) => [
    queue,
    pending,
    Math.round((nextUs - startUs) / 1_000_000),
  ]);
  expect(shown).toEqual([
    ['a', 600, 11],
    ['a.b', 1, 11],
    ['a\u00e9', 257, 11],
    ['b', 2, 12],
  ]);
  for (const limit of [1, 2, 3, 4, 5]) {
    const found: TimerQueue[] = [];
    let after: string | null = '';
    while (after !== null) {
      const page = list(rig, { after, limit });
      expect(page.rows.length).toBeLessThanOrEqual(limit);
      found.push(...page.rows);
      after = page.next;
    }
    expect(found).toEqual(whole);
  }
});
