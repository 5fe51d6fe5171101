// Goal: which paths need no token. Method: a table of lists and paths.
import { expect, test } from 'vitest';
import { OpenPaths } from './open-paths.js';

const STANDARD = ['/health', '/metrics/prometheus', '/metrics', '/'];

const TABLE: readonly [readonly string[], string, boolean][] = [
  [STANDARD, '/', true],
  [STANDARD, '/health', true],
  [STANDARD, '/metrics', true],
  [STANDARD, '/metrics/prometheus', true],
  [STANDARD, '/api/v1/push', false],
  [STANDARD, '/queues', false],
  // `/` alone is no prefix, and neither is what does not end in one
  [STANDARD, '/healthy', false],
  [STANDARD, '/health/', false],
  [STANDARD, '/metrics/x', false],
  [STANDARD, '//', false],
  // public whatever the list says
  [[], '/health', true],
  [[], '/metrics', true],
  [[], '/metrics/prometheus', true],
  [[], '/', true],
  [[], '/auth/me', false],
  [[], '/auth/login', true],
  [[], '/auth/logout', true],
  [[], '/auth/session-token', false],
  [[], '/assets/app.js', true],
  [[], '/assets', false],
  [[], '/favicon.ico', true],
  [[], '/favicon', true],
  [[], '/faviconx/y', true],
  [[], '/streams/v1/queries', false],
  // an entry, and an entry that is a prefix
  [['/api/v1/push'], '/api/v1/push', true],
  [['/api/v1/push'], '/api/v1/push/', false],
  [['/api/v1/push'], '/api/v1/pushy', false],
  [['/api/v1/pop/'], '/api/v1/pop/queue/q', true],
  [['/api/v1/pop/'], '/api/v1/pop/', true],
  [['/api/v1/pop/'], '/api/v1/pop', false],
  // as it came: another spelling is another path
  [['/api/v1/push'], '/API/v1/push', false],
  [['/api/v1/push'], '/api/v1/%70ush', false],
];

test.each(TABLE)('%j %s: %s', (skipped, path, open) => {
  expect(new OpenPaths(skipped).has(path)).toBe(open);
});
