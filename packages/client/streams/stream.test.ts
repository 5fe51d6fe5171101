// Goal: misuse is refused with a text that says what to write instead. Method: a network that must
// not be used.
import { describe, expect, test } from 'vitest';
import { FakePlatform } from '../base/platform.fake.js';
import { Client } from '../client.js';
import { tokenBucketGate } from './gates.js';
import { Stream } from './stream.js';

describe('misuse is refused before anything is sent', () => {
  const client = new Client('http://a:1', new FakePlatform(() => new Error('it was sent')));
  // biome-ignore lint/suspicious/noExplicitAny: programs without types
  const from = (queue: unknown = client.queue('in')): any => Stream.from(queue as string);
  const act = (n: unknown) => n;
  const run = (options: object, queue?: unknown) => from(queue).to('out').run(options);
  const MISUSE: readonly [does: () => unknown, text: string][] = [
    [() => from(7), "the queue of Stream.from is 7: write Stream.from(client.queue('orders')), or"],
    [() => from(client.queue().namespace('a')), 'the queue of Stream.from is an object'],
    [() => from(client.queue('in').batch(5)), 'Stream.from takes a queue without batch'],
    [() => from().map(7), 'map got 7: write map((value, context) => ...)'],
    [() => from().reduce(act, 0), 'reduce needs a window: write windowTumbling({ seconds: 60 })'],
    [() => from().windowTumbling({ seconds: '1m' }), 'seconds is "1m"'],
    [() => from().windowTumbling({ second: 1 }), 'has no option second: write seconds'],
    [() => from().windowSliding({ size: 60, slide: 10 }), 'size is 60: write a'],
    [() => from().windowSliding({ size: '1m', slide: '2m' }), 'write at most size'],
    [() => from().windowSliding({ size: '1h', slide: '1s' }), 'a 1000th of it'],
    [() => from().windowSession({}), 'gap is undefined'],
    [() => from().windowCron({ every: 'month' }), 'every is "month": write one of'],
    [() => from().windowTumbling({ seconds: 1, onLate: 'keep' }), 'write one of "drop", "include"'],
    [
      () => from().windowTumbling({ seconds: 1, eventTime: 'at' }),
      'eventTime got "at": write eventTime((value, context) => ...)',
    ],
    [() => from().windowTumbling({ seconds: 1 }).to('out'), 'to needs what the window comes to'],
    [() => from().windowTumbling({ seconds: 1 }).aggregate({}), 'write aggregate({ count: () => 1'],
    [() => from().windowTumbling({ seconds: 1 }).aggregate({ '#': act }), 'is "#": write another'],
    [
      () => from().windowTumbling({ seconds: 1 }).reduce(act),
      'the initial value of reduce is undef',
    ],
    [() => from().gate(act).gate(act), 'gate is a second window or gate: write to(queue), and'],
    [() => from().gate(act).keyBy(act), 'keyBy stands behind what it is for'],
    [() => from().flatMap(act).gate(act), 'write flatMap behind gate'],
    [() => from().gate(tokenBucketGate({ capacity: 0, refillPerSec: 1 })), 'a number above 0'],
    [() => from().to('out', { key: act }), 'to has no option key'],
    [() => from().run({}), 'the values of a stream go somewhere: write to(queue) or foreach(act)'],
    [() => run({}), 'queryId is undefined: write a text of letters'],
    [() => run({ queryId: 'a b' }), 'queryId is "a b"'],
    [() => run({ queryId: 'a', batch: 5 }), 'run has no option batch: write batchSize'],
    [() => run({ queryId: 'a', maxPartitions: 65 }), 'a whole number from 1 to 64'],
    [() => run({ queryId: 'a' }, 'in'), "write url, or Stream.from(client.queue('orders'))"],
    [() => run({ queryId: 'a', bearerToken: 'x' }), 'run needs a broker: write url'],
    [() => run({ queryId: 'a', url: 'b:1' }), 'does not begin with http://'],
  ];

  test.each(MISUSE.map(([does, text]) => [text, does] as const))('%s', async (text, does) => {
    await expect((async () => does())()).rejects.toThrow(TypeError);
    await expect((async () => does())()).rejects.toThrow(text);
  });
});
