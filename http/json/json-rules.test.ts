// Goal: the rules for JSON that docs/api.md states are true, one test for each of them. Method:
// pushes over a socket; what the broker is handed is the bytes of the payload.
import { readFileSync } from 'node:fs';
import type { PushCommand } from '@svc/engine';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { TestFront } from '../testing/front.fake.js';

let front: TestFront;

beforeEach(async () => {
  front = await TestFront.start();
});
afterEach(() => front.stop());

/** The payload as it was handed over, or the status and text of the refusal. */
async function pushed(body: string | Buffer): Promise<string> {
  front.service.submitted.length = 0;
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  const answer = await front.client().request('/api/v1/push', { body: bytes });
  const command = front.service.submitted[0] as PushCommand | undefined;
  if (command === undefined) return `${answer.status} ${JSON.parse(answer.body).error}`;
  const [start = 0, end = 0] = [command.payloadStart[0], command.payloadEnd[0]];
  return Buffer.from(command.body.subarray(start, end)).toString();
}

const item = (payload: string, more = '') =>
  `{"items":[{"queue":"q","payload":${payload}${more}}]}`;

const RULES: readonly [rule: string, body: string | Buffer, expected: string | RegExp][] = [
  ['A body is UTF-8', Buffer.from(item('"\xff"'), 'latin1'), /^400 .*UTF-8/],
  ['A body is UTF-8', item('"ü✓😀"'), '"ü✓😀"'],
  ['without a byte order mark', `\ufeff${item('1')}`, /^400 .*a byte order mark is not allowed/],
  ['one value', `${item('1')} 2`, /^400 /],
  ['one value', ` \t\r\n${item('1')}\n`, '1'],
  ['White space around a payload is not kept', item('  \t{"a" : [1, 2]}\n '), '{"a" : [1, 2]}'],
  ['128 containers', item(`${'['.repeat(125)}${']'.repeat(125)}`), /^\[{125}\]{125}$/],
  ['128 containers', item(`${'['.repeat(126)}${']'.repeat(126)}`), /^400 .*128 levels of nesting/],
  ['lone surrogate', `{"items":[{"queue":"\\ud83d","payload":1}]}`, /^400 .*lone surrogate/],
  ['lone surrogate', item('"\\ud83d"'), '"\\ud83d"'],
  ['as they were sent', item('[1.0,12345678901234567890,1e2]'), '[1.0,12345678901234567890,1e2]'],
  ['as they were sent', item('{"a":1,"a":2}'), '{"a":1,"a":2}'],
  ['comes once', item('1', ',"queue":"r"'), /^400 .*duplicate field `queue`/],
  ['comes once', item('1', ',"unknown":1,"unknown":2'), '1'],
];

test.each(RULES)('%s: %s', async (rule, body, expected) => {
  const manual = readFileSync(new URL('../../docs/api.md', import.meta.url), 'utf8');
  const [, section = ''] = manual.split('\n### JSON\n');
  expect(section.split(/\n##+ /)[0]?.replaceAll('\n', ' ')).toContain(rule);
  const found = await pushed(body);
  if (typeof expected === 'string') expect(found).toBe(expected);
  else expect(found).toMatch(expected);
});
