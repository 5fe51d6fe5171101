// Goal: the command line is understood or refused by name, never half of each.
import { expect, test } from 'vitest';
import { HELP, readOptions } from './options.js';

const STANDARD = {
  directory: 'data',
  fresh: false,
  port: null,
  nodePort: null,
  raftPort: null,
  balancer: true,
  standby: false,
};

test.each<[string[], object]>([
  [[], {}],
  [['--port', '7000', '--fresh'], { port: 7000, fresh: true }],
  [['--standby'], { standby: true }],
  [['--port=7000', '--dir=elsewhere'], { port: 7000, directory: 'elsewhere' }],
  [
    ['--node-port', '8001', '--raft-port', '9001', '--no-balancer'],
    { nodePort: 8001, raftPort: 9001, balancer: false },
  ],
])('%j', (args, changed) => {
  const options = { ...STANDARD, ...changed };
  expect(readOptions(args, 'data')).toEqual({ kind: 'run', options });
});

test.each<[string[], string]>([
  [['--nodes', '3'], 'there is no option --nodes; --help lists them'],
  [['--port'], '--port needs a value; --help lists them'],
  [['--port', 'x'], '--port is a number from 1 to 65535, not x'],
  [['--raft-port=0'], '--raft-port is a number from 1 to 65535, not 0'],
  [['--fresh=yes'], 'there is no option --fresh; --help lists them'],
])('%j is refused', (args, error) => {
  expect(readOptions(args, 'data')).toEqual({ kind: 'refused', error });
});

test('help wins, and names every option', () => {
  expect(readOptions(['--fresh', '--help'], 'data')).toEqual({ kind: 'help' });
  const named = [...HELP.matchAll(/^ {2}(--[\w-]+)/gm)].map((match) => match[1] ?? '');
  for (const name of named) {
    expect(readOptions([name], 'data')).not.toMatchObject({
      error: expect.stringContaining('there is no option'),
    });
  }
  expect(named.length).toBe(8);
});
