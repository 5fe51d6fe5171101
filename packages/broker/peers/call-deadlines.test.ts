// Goal: each call is handed out once, when it is due and not before, unless it ended by then.
// Method: any history of additions, ends and looks at the clock, beside a list that is searched.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { CallDeadlines, SLOT_MS } from './call-deadlines.js';

type Step =
  | { readonly do: 'add'; readonly inMs: number }
  | { readonly do: 'remove'; readonly which: number }
  | { readonly do: 'look'; readonly afterMs: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constant('add' as const), inMs: fc.nat({ max: 500 }) }),
  fc.record({ do: fc.constant('remove' as const), which: fc.nat({ max: 30 }) }),
  fc.record({ do: fc.constant('look' as const), afterMs: fc.nat({ max: 200 }) }),
);

test('as a list that is searched would do', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
      const deadlines = new CallDeadlines<{ readonly deadlineMs: number }>();
      const all: { readonly deadlineMs: number }[] = [];
      const open = new Set<{ readonly deadlineMs: number }>();
      let nowMs = 12_345.6;
      for (const each of steps) {
        if (each.do === 'add') {
          const call = { deadlineMs: nowMs + each.inMs };
          all.push(call);
          open.add(call);
          deadlines.add(call);
        } else if (each.do === 'remove') {
          const call = all[each.which];
          if (call === undefined) continue;
          open.delete(call);
          deadlines.remove(call);
        } else {
          nowMs += each.afterMs;
          const due = deadlines.takeDue(nowMs);
          expect(new Set(due).size).toBe(due.length);
          for (const call of due) {
            expect(open.delete(call)).toBe(true);
            expect(call.deadlineMs).toBeLessThanOrEqual(nowMs);
          }
          for (const call of open) expect(call.deadlineMs).toBeGreaterThan(nowMs - SLOT_MS);
        }
      }
    }),
    { numRuns: 500 },
  );
});

test('any number of calls may be due at the same moment', () => {
  const deadlines = new CallDeadlines<{ readonly deadlineMs: number }>();
  for (let i = 0; i < 300_000; i++) deadlines.add({ deadlineMs: 100 });
  expect(deadlines.takeDue(200)).toHaveLength(300_000);
});
