import { defineConfig } from 'vitest/config';

// Workspaces are tested from their sources (the "svc-source" export condition), so a unit test
// never needs a build. Tests that start real nodes use the built output; `npm test` builds first.
const shared = {
  resolve: { conditions: ['svc-source'] },
  ssr: { resolve: { conditions: ['svc-source'] } },
};
const limits = { pool: 'forks', testTimeout: 60_000, hookTimeout: 60_000 } as const;
const NOT_OURS = ['**/node_modules/**', '**/dist/**'];

// What runs several processes or whole hunts takes every core by itself: one file at a time, after
// all others.
const WHOLE = ['test/**/*.test.ts', 'scripts/**/*.test.ts', 'bench/**/*.test.ts'];

export default defineConfig({
  test: {
    projects: [
      {
        ...shared,
        test: {
          ...limits,
          name: 'unit',
          include: ['**/*.test.ts'],
          exclude: [...NOT_OURS, ...WHOLE],
          maxWorkers: 2,
          sequence: { groupOrder: 0 },
        },
      },
      {
        ...shared,
        test: {
          ...limits,
          name: 'whole',
          include: WHOLE,
          exclude: NOT_OURS,
          maxWorkers: 1,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
