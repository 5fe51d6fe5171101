/** A transport over a scripted network, for the tests of what is built on one. */
import { FakePlatform, type FakeRequest, type Script } from '../base/platform.fake.js';
import { type ClientOptions, settingsOf } from '../transport/settings.js';
import { Transport } from '../transport/transport.js';

export function fakeTransport(script: Script, options: Partial<ClientOptions> = {}) {
  const platform = new FakePlatform(script);
  const settings = settingsOf({ url: 'http://a:1', ...options });
  return { platform, transport: new Transport(settings, platform) };
}

/** The operations of a request to key/value, locks or timers. */
export function operationsOf({ body }: Pick<FakeRequest, 'body'>): Record<string, unknown>[] {
  return JSON.parse(body ?? '{}').operations;
}

/** The error of a call that fails. */
export async function errorOf(
  platform: FakePlatform,
  promise: Promise<unknown>,
): Promise<Error & Readonly<Record<string, unknown>>> {
  return platform.settled(
    promise.then(
      () => {
        throw new Error('it was answered');
      },
      (error) => error,
    ),
  );
}
