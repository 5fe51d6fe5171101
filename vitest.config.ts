import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

// Workspaces are tested from their sources (the "svc-source" export condition), so a unit test
// never needs a build. Tests that start real nodes use the built output; `npm test` builds first.
export default defineConfig({
  resolve: { conditions: ['svc-source'] },
  ssr: { resolve: { conditions: ['svc-source'] } },
  test: {
    include: ['**/*.test.ts'],
    exclude: ['**/node_modules/**', '**/dist/**'],
    pool: 'forks',
    // Never one alone: half of the long files wait for nodes, which leaves processors idle.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Only rows of contract tables run side by side, most of which wait for an answer.
    maxConcurrency: 16,
  },
});
