// Goal: the log goes where the program says, and nowhere by default. Method: a console that is
// watched, and a client whose one call fails once.
import { afterEach, expect, test, vi } from 'vitest';
import { fakeTransport } from '../surfaces/fake-client.fake.js';
import type { ClientOptions } from '../transport/settings.js';
import { lostConnection } from './platform.fake.js';

const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined);

afterEach(() => {
  warn.mockClear();
  vi.unstubAllEnvs();
});

async function failOnce(options: Partial<ClientOptions> = {}): Promise<readonly unknown[]> {
  const { platform, transport } = fakeTransport(
    (_, nth) => (nth ? '1' : lostConnection()),
    options,
  );
  await platform.settled(transport.call({ method: 'GET', path: '/x', repeat: 'any' }));
  return warn.mock.calls.flat();
}

test('silent, unless the environment or the program asks for it', async () => {
  expect(await failOnce()).toEqual([]);
  vi.stubEnv('SVC_CLIENT_LOG', 'true');
  const [line] = await failOnce();
  expect(line).toMatch(/^svc client: a call failed and is tried again \{"call":"GET \/x",/);
});

test('one JSON object a line', async () => {
  const [line] = await failOnce({ structuredLogs: true });
  const expected = { level: 'warn', message: 'a call failed and is tried again', call: 'GET /x' };
  expect(JSON.parse(String(line))).toMatchObject(expected);
});

test('any logger', async () => {
  const told: unknown[] = [];
  const logger = { warn: (...given: unknown[]) => told.push(given), error: () => undefined };
  expect(await failOnce({ logger })).toEqual([]);
  expect(told).toMatchObject([['a call failed and is tried again', { server: 'http://a:1' }]]);
});
