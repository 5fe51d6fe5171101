// Goal: figures stand under their headings, unknown ones are no numbers, and a line of change comes
// exactly when something changed. Method: made-up views.
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { type NodeView, silentNode } from './node-view.js';
import { Screen } from './screen.js';
import { changes, table } from './table.js';

const LEADER: NodeView = {
  id: 1,
  state: 'leader',
  healthy: true,
  term: 3,
  commit: 1200,
  applied: 1200,
  logBytes: 3 * 1024 * 1024,
  requests: 500,
  messages: 5000,
  memoryBytes: 150 * 1024 * 1024,
};
const FOLLOWER: NodeView = { ...LEADER, id: 2, state: 'follower', commit: 1190, applied: 1180 };

test('the table', () => {
  const before = [
    { ...LEADER, requests: 400, messages: 4000 },
    { ...FOLLOWER, requests: 900 },
  ];
  expect(table('node', [LEADER, FOLLOWER, silentNode(3, 'down')], before, 2)).toEqual([
    'node      role  ready  term  commit  applied  lag  req/s  msg/s      log   memory',
    '   1    leader    yes     3    1200     1200    0     50    500  3.0 MiB  150 MiB',
    '   2  follower    yes     3    1190     1180   20      -      0  3.0 MiB  150 MiB',
    '   3      down     no     -       -        -    -      -      -        -        -',
  ]);
});

test('changes', () => {
  const first = silentNode(1, 'starting');
  expect(changes('node', [first], [first])).toEqual([]);
  expect(changes('node', [LEADER], [first])).toEqual(['node 1: leader, term 3, ready']);
  expect(changes('node', [{ ...LEADER, commit: 9999 }], [LEADER])).toEqual([]);
  expect(changes('node', [{ ...LEADER, healthy: false }], [LEADER])).toEqual([
    'node 1: leader, term 3, not ready',
  ]);
});

function screen(columns: number): { screen: Screen; written: () => string } {
  const output = new PassThrough();
  const terminal = Object.assign(output, { isTTY: true, columns });
  return {
    screen: new Screen(terminal as unknown as NodeJS.WriteStream),
    written: () => String(output.read() ?? ''),
  };
}

test('a block is drawn over the one before, lines that stay go above it', () => {
  const { screen: one, written } = screen(80);
  one.draw(['a', 'b']);
  expect(written()).toBe('a\x1b[K\nb\x1b[K\n');
  one.draw(['c']);
  expect(written()).toBe('\x1b[2A\r\x1b[Jc\x1b[K\n');
  one.say('stays');
  expect(written()).toBe('\x1b[1A\r\x1b[Jstays\nc\x1b[K\n');
  one.draw([]);
  expect(written()).toBe('\x1b[1A\r\x1b[J');
});

test('a line is never wider than the terminal', () => {
  const { screen: one, written } = screen(5);
  one.draw(['123456789']);
  expect(written()).toBe('1234\x1b[K\n');
  const { screen: unknown, written: whole } = screen(0);
  unknown.draw(['123456789']);
  expect(whole()).toBe('123456789\x1b[K\n');
});
