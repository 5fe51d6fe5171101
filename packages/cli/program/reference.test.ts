/** docs/cli.md against the commands, and the records of the commands against one another. */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { temporaryHome } from '../base/world.fake.js';
import { commands } from './commands.js';
import { GROUPS } from './groups.js';
import { reference } from './reference.js';
import { StubServer } from './stub-server.fake.js';

const stub = new StubServer();
const home = temporaryHome();
beforeAll(() => stub.start());
afterAll(() => {
  stub.stop();
  home.remove();
});

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

it.each(commands.map(({ example }) => example))(
  'the example is understood: %s',
  async (example) => {
    // All that a command can say after its words were right is that it may not.
    stub.answers({ status: 403, body: { error: 'no' } });
    const words = example.match(/'[^']*'|"[^"]*"|\S+/g) ?? [];
    const given = words.map((word) => word.replace(/^(['"])(.*)\1$/, '$2'));
    const { code, err } = await stub.svcctl([...given, '--server', stub.url], {
      env: { SVC_CONFIG: `${home.path}/config` },
    });
    const isOfAFile = /^(tx|apply|logout|config (current|use|delete))/.test(example);
    expect([code, err]).toEqual([isOfAFile ? 1 : expect.toBeOneOf([0, 3]), expect.anything()]);
    if (isOfAFile) expect(err).toMatch(/cannot read|context/);
  },
);
