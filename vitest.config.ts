import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig, type Plugin } from 'vitest/config';
import {
  BaseSequencer,
  type TestSequencer,
  type TestSpecification,
  type Vitest,
} from 'vitest/node';

/**
 * The longest first, those that mostly compute and those that mostly wait in turns. A file is one
 * task of one worker: one that takes minutes and begins last leaves the other workers idle. Without
 * the durations of an earlier run, which a fresh clone does not have, vitest goes by the sizes of
 * the files, and some of these are small.
 */
const LONGEST: readonly string[] = [
  'test/planted/planted.test.ts',
  'test/cluster/cluster.test.ts',
  'test/cluster/standby.test.ts',
  'test/simulation/simulation.test.ts',
  'test/process/crash-campaign.test.ts',
  'test/bit-flips/bit-flips.test.ts',
  'test/contract/contract.test.ts',
  'raft/testing/model/model.test.ts',
  'test/process/boot-refusals.test.ts',
  'raft/storm.test.ts',
  'test/contract/cluster-routes.test.ts',
  'test/process/cluster-boot.test.ts',
];

const NOT_OURS = ['**/node_modules/**', '**/dist/**'];
/**
 * Folders whose tests leave nothing of a module or of the process changed. Their files share the
 * process of a worker, and with it the modules that Node has loaded: to start a process and to load
 * several hundred modules takes longer than most of these tests. Elsewhere, where tests use
 * databases and processes, each file has a process of its own.
 */
const TOGETHER = [
  'bench/report/**/*.test.ts',
  'bench/rig/**/*.test.ts',
  'dashboard/**/*.test.ts',
  'http/**/*.test.ts',
  'packages/**/*.test.ts',
  'raft/**/*.test.ts',
  'scripts/cluster/**/*.test.ts',
  'storage/disk/**/*.test.ts',
  'storage/log/**/*.test.ts',
  'test/chaos/**/*.test.ts',
  'test/checkers/**/*.test.ts',
];

class LongestFirst implements TestSequencer {
  readonly #standard: BaseSequencer;

  constructor(context: Vitest) {
    this.#standard = new BaseSequencer(context);
  }

  shard(files: TestSpecification[]): Promise<TestSpecification[]> {
    return this.#standard.shard(files);
  }

  async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await this.#standard.sort(files);
    const placed = sorted.map((file) => ({ file, place: placeOf(file) }));
    return placed.sort(compared).map(({ file }) => file);
  }
}

interface Placed {
  readonly file: TestSpecification;
  readonly place: number;
}

/** A worker goes on with the next file if both share processes: these come one after the other. */
function compared(a: Placed, b: Placed): number {
  return a.place - b.place || a.file.project.name.localeCompare(b.file.project.name);
}

function placeOf({ moduleId, project }: TestSpecification): number {
  const place = LONGEST.indexOf(relative(project.config.root, moduleId));
  return place === -1 ? LONGEST.length : place;
}

const ROOT = dirname(fileURLToPath(import.meta.url));
const WORKSPACE = /^((?:packages\/)?[^/]+)\//;

/** `storage/dist/log/log.js` for `storage/log/log.ts`. */
function builtPath(source: string): string {
  const inDist = relative(ROOT, source).replace(WORKSPACE, '$1/dist/');
  return join(ROOT, inDist.replace(/\.ts$/, '.js'));
}

/**
 * A test is transformed from its source; what it imports is the built output, which Node loads
 * itself (`server.deps.external` below). Rejected: sources for all. The module runner of vite asks
 * the main process for each module of a graph of several hundred, and what it transforms reaches
 * its imports through objects. Source that the build does not write (the fakes of the engine) is
 * transformed like the test.
 */
const builtImports: Plugin = {
  name: 'built-imports',
  enforce: 'pre',
  resolveId(id, importer) {
    if (importer === undefined || !/^\.\.?\/.*\.js$/.test(id)) return null;
    const source = resolve(dirname(importer), id.replace(/\.js$/, '.ts'));
    if (!existsSync(source)) return null;
    const built = builtPath(source);
    return existsSync(built) ? built : null;
  },
};

export default defineConfig({
  plugins: [builtImports],
  test: {
    // Builds what changed since the last build, so that a test never meets old output.
    globalSetup: 'scripts/setup-tests.mjs',
    server: { deps: { external: [/\/dist\//] } },
    pool: 'forks',
    // Random tests make objects of short life: a large young generation takes a tenth of their time
    // off.
    execArgv: ['--min-semi-space-size=32', '--max-semi-space-size=64'],
    // One more than processors: many files wait, for nodes, leases or timeouts that nothing
    // hastens, and with as many workers as processors a quarter of their time was idle.
    maxWorkers: availableParallelism() + 1,
    // Twice what the slowest takes alone, and more workers than processors make each slower.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // A second unless given, in which a busy machine may not even have run the process asked.
    expect: { poll: { timeout: 20_000 } },
    // Only rows of contract tables run side by side, most of which wait for an answer.
    maxConcurrency: 16,
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        extends: true,
        test: { name: 'apart', include: ['**/*.test.ts'], exclude: [...NOT_OURS, ...TOGETHER] },
      },
      {
        extends: true,
        test: { name: 'together', include: TOGETHER, exclude: NOT_OURS, isolate: false },
      },
    ],
  },
});
