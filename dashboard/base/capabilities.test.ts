// Goal: a role gives what it stands for and nothing else, and the cluster that is acted on is one
// of the reader's.
import { expect, test } from 'vitest';
import { clusterToActOn } from './acting.js';
import { capabilitiesOf } from './capabilities.js';

const held = (role: string, isMember: boolean, isOperator = false): string =>
  Object.entries(capabilitiesOf({ role, isMember, isOperator }))
    .flatMap(([name, has]) => (has ? [name] : []))
    .join(' ');

test.each([
  ['viewer', 'read'],
  ['producer', 'read produce write'],
  ['consumer', 'read consume write positions'],
  ['admin', 'read produce consume write positions queueAdmin clusterAdmin'],
  ['read-write', ''],
  ['constructor', ''],
])('a member who is %s', (role, has) => {
  expect(held(role, true)).toBe(`${has} session`.trim());
});

test.each([
  ['read-only', 'read positions'],
  ['write-only', 'produce'],
  ['read-write', 'read produce consume write positions queueAdmin nodes'],
  ['viewer', ''],
  ['none', ''],
  ['constructor', ''],
])('a token that is %s', (role, has) => {
  expect(held(role, false)).toBe(has);
});

test('an operator of a gateway sees the nodes, that of a node changes them too', () => {
  const full = 'read produce consume write positions queueAdmin clusterAdmin operator nodes';
  expect(held('admin', true, true)).toBe(full.replace('nodes', 'session nodes'));
  expect(held('admin', false, true)).toBe(`${full} nodeAdmin`);
});

test('the cluster that is acted on', () => {
  const clusters = [
    { id: 'a', status: 'suspended' },
    { id: 'b', status: 'push_blocked' },
    { id: 'c', status: 'active' },
  ];
  const of = (chosen: string | null, address: string | null, only: string | null = null) => {
    const acting_cluster = address === null ? null : { id: address };
    return clusterToActOn({ clusters, acting_cluster, cluster: only }, chosen)?.id;
  };
  expect(of('a', 'c')).toBe('a');
  expect(of('gone', 'c')).toBe('c');
  expect(of(null, 'gone')).toBe('b');
  expect(of('a', 'b', 'c')).toBe('c');
  expect(of('a', 'b', 'gone')).toBeUndefined();
});
