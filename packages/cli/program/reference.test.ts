/** docs/cli.md against the commands, and the records of the commands against one another. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { commands } from './commands.js';
import { GROUPS } from './groups.js';
import { reference } from './reference.js';

it('docs/cli.md ends with the reference of the commands', () => {
  const page = readFileSync(new URL('../../../docs/cli.md', import.meta.url), 'utf8');
  const [, found] = page.split("a command's.\n\n");
  expect(found).toBe(reference(commands));
});

it('every command has a name of its own, a known group, a help and an example of itself', () => {
  const names = commands.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  for (const { name, help, example } of commands) {
    if (name.includes(' ')) expect(Object.keys(GROUPS)).toContain(name.split(' ')[0]);
    expect(help).toMatch(/\.$/);
    expect(example).toContain(name);
  }
});
