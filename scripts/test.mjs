/**
 * `npm test [filters]`: sets up, then formatting and lint, the types of the tests, the house rules,
 * and the tests; filters choose test files. Every step runs even when an earlier one failed. The
 * last line is `N passed, M failed` over all of it, and the exit code is 1 unless M is 0.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root, runNode, SetupError, setup } from './setup.mjs';

const filters = process.argv.slice(2);
let passed = 0;
let failed = 0;

function count(ok) {
  if (ok) passed++;
  else failed++;
}

async function step(heading, program, args) {
  console.log(`\n== ${heading}`);
  const code = await runNode([join(root, program), ...args]);
  count(code === 0);
}

async function runTests() {
  console.log('\n== tests');
  const scratch = mkdtempSync(join(tmpdir(), 'svc-test-'));
  const report = join(scratch, 'report.json');
  try {
    const code = await runNode([
      join(root, 'node_modules/vitest/vitest.mjs'),
      'run',
      '--reporter=default',
      '--reporter=json',
      `--outputFile.json=${report}`,
      ...filters,
    ]);
    const failedBefore = failed;
    if (existsSync(report)) countTests(JSON.parse(readFileSync(report, 'utf8')));
    // An error outside any test, or no report at all.
    if (code !== 0 && failed === failedBefore) count(false);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

function countTests({ testResults }) {
  for (const { status, assertionResults } of testResults) {
    const failedTests = assertionResults.filter((test) => test.status === 'failed').length;
    passed += assertionResults.filter((test) => test.status === 'passed').length;
    failed += failedTests;
    // A file that could not be loaded has no tests to fail.
    if (status === 'failed' && failedTests === 0) failed++;
  }
}

async function main() {
  try {
    await setup();
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    console.error(`setup: ${error.message}`);
    count(false);
    return;
  }
  await step('format and lint', 'node_modules/@biomejs/biome/bin/biome', ['check', '.']);
  await step('types', 'node_modules/typescript/bin/tsc', ['--noEmit', '-p', 'tsconfig.tests.json']);
  await step('house rules', 'scripts/dist/tidy.js', []);
  await runTests();
}

await main();
console.log(`\n${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
