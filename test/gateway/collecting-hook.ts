/**
 * Loaded into a node before its program: at SIGUSR2 its main thread collects all garbage and writes
 * what is left, in bytes as `process.memoryUsage` has it, to the file `SVC_TEST_COLLECTED`.
 */
import { renameSync, writeFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { isMainThread } from 'node:worker_threads';

const { SVC_TEST_COLLECTED: file = '' } = process.env;

if (isMainThread) {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  process.on('SIGUSR2', () => {
    // The second finds free what the first frees in other places.
    collect();
    collect();
    writeFileSync(`${file}.new`, JSON.stringify(process.memoryUsage()));
    renameSync(`${file}.new`, file);
  });
}
