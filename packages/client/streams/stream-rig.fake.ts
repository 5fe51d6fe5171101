/** Workers of a stream on a broker in memory, whose time passes as a test says. */
import { FakePlatform } from '../base/platform.fake.js';
import { Client } from '../client.js';
import type { StreamRunner } from './runner.js';
import type { StreamOptions } from './stream.js';
import { StreamServer } from './stream-server.fake.js';

const QUERY = { queryId: 'sums' };
export const GROUP = 'streams.sums';

export interface Event {
  readonly key: string;
  /** Seconds. */
  readonly at: number;
  readonly n: number;
}

export function rig() {
  const server = new StreamServer();
  const platform = new FakePlatform(server.answer);
  server.platform = platform;
  const client = new Client({ url: 'http://a:1', retryDelayMillis: 10 }, platform);
  const started: StreamRunner[] = [];
  const start = async (
    stream: { run(options: StreamOptions): Promise<StreamRunner> },
    more = {},
  ) => {
    const runner = await stream.run({ ...QUERY, ...more });
    started.push(runner);
    return runner;
  };
  const stop = () => platform.settled(Promise.all(started.map((runner) => runner.stop())));
  /** Lets time pass until all is acknowledged, and `isDone`. */
  const drain = async (isDone = () => true) => {
    for (let i = 0; i < 200; i++) {
      await platform.pass(500);
      if (server.pending('in', GROUP) === 0 && isDone()) return;
    }
    throw new Error('it does not come to its end');
  };
  return { server, platform, client, start, stop, drain, events: () => client.queue<Event>('in') };
}
