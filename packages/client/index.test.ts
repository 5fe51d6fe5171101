// Goal: docs/client.md names all that a program can call. Method: the exports, and the methods of
// what the client gives; nothing is sent.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import * as exported from './index.js';
import { Message } from './messages/message.js';
import { HeldLock } from './surfaces/lock.js';

test('docs/client.md names every export, method and option', () => {
  const manual = readFileSync(new URL('../../docs/client.md', import.meta.url), 'utf8');
  const words = new Set(manual.match(/\w+/g));
  const client = new exported.Client('http://127.0.0.1:1');
  const given: readonly object[] = [
    client,
    client.queue('q'),
    client.queue('q').dlq(),
    client.transaction(),
    client.kv('n'),
    client.kv('n').listAll(),
    client.timer('q'),
    client.lock('l'),
    client.ephemeral('e'),
    exported.Stream.from('q'),
    exported.Stream.from('q').keyBy(() => 'k'),
    exported.Stream.from('q').windowTumbling({ seconds: 1 }),
  ];
  const prototypes = [...given.map(Object.getPrototypeOf), Message.prototype, HeldLock.prototype];
  const methods = prototypes.flatMap((one: object) => Object.getOwnPropertyNames(one));
  const names = new Set([...methods, ...Object.keys(exported)]);
  for (const inner of INNER) names.delete(inner);
  expect([...names].filter((name) => !words.has(name))).toEqual([]);
});

/** For other parts of the client. */
const INNER = [
  'constructor',
  'replaceData',
  'refuseData',
  'takenUnder',
  'guardRefused',
  'operation',
];
