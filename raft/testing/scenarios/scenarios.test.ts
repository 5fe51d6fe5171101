/**
 * Goal: the core behaves, command by command, as each script in `scripts/` says; the scripts are
 * its documentation at once. Method: every script is played on the real class with a disk, a clock
 * and a network that move only when told, and what it prints is compared line by line with what
 * stands below each command. `SVC_REWRITE=1` writes what is printed into the scripts instead: read
 * the difference before believing it.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { play } from './commands.js';
import { differences } from './comparison.js';
import { openingComment, rewritten, stepsOf } from './script.js';
import { BROKEN_PROMISE } from './stage.js';

const FOLDER = 'raft/scenarios/scripts';
const folder = fileURLToPath(new URL('scripts/', import.meta.url));
const files = readdirSync(folder).filter((name) => name.endsWith('.txt'));
const REWRITE = process.env.SVC_REWRITE === '1';

describe('scenarios', () => {
  it.each(files)('%s', (file) => {
    const text = readFileSync(folder + file, 'utf8');
    const steps = stepsOf(text);
    const outputs = play(steps);
    if (REWRITE) writeFileSync(folder + file, rewritten(text, outputs));
    else expect(differences(`${FOLDER}/${file}`, steps, outputs)).toBe('');
  });

  it.each(files)('%s says its rule and its reason first', (file) => {
    const text = readFileSync(folder + file, 'utf8');
    expect(openingComment(text).length).toBeGreaterThan(100);
    expect(text).not.toContain(BROKEN_PROMISE);
  });
});
