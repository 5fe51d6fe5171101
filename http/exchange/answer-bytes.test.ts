// Goal: an answer is what was written, whatever stood in its memory before; memory is used again
// once it was released, and not before. Method: answers of the sizes that are kept and of a longer
// one, and answers on connections some of which are not read.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { MessageBatch } from '../ports/service.js';
import { TestFront, until } from '../testing/front.fake.js';
import { requestBytes } from '../testing/raw-client.fake.js';
import { AnswerBytes } from './answer-bytes.js';

const KIB = 1024;

/** The answer of one text and one payload, not released. */
function answerOf(char: string, bytes: number): AnswerBytes {
  const answer = new AnswerBytes(bytes);
  answer.write(char.repeat(bytes - 1000));
  answer.copy(Buffer.from(`-${char.repeat(1000)}-`), 1, 1001);
  return answer;
}

function memoryOf(answer: AnswerBytes): ArrayBufferLike {
  return answer.finish().buffer;
}

describe('memory', () => {
  test.each([40, 64, 65, 500, 1024])('of %i KiB is used again once it is released', (size) => {
    const first = answerOf('a', size * KIB);
    const second = answerOf('b', size * KIB);
    expect(memoryOf(second)).not.toBe(memoryOf(first));
    expect(first.finish().toString()).toBe('a'.repeat(size * KIB));
    expect(second.finish().toString()).toBe('b'.repeat(size * KIB));
    const memory = memoryOf(first);
    first.release();
    first.release();
    const third = answerOf('c', size * KIB - 1);
    const fourth = answerOf('d', size * KIB);
    expect(memoryOf(third)).toBe(memory);
    expect(memoryOf(fourth)).not.toBe(memory);
    expect(third.finish().toString()).toBe('c'.repeat(size * KIB - 1));
    for (const one of [second, third, fourth]) one.release();
  });

  test('above a megabyte is not', () => {
    const first = answerOf('a', 1025 * KIB);
    const memory = memoryOf(first);
    first.release();
    expect(memoryOf(answerOf('b', 1025 * KIB))).not.toBe(memory);
  });

  test('that waits to be used again is 8 MiB at most', () => {
    const answers = Array.from({ length: 12 }, () => new AnswerBytes(1024 * KIB));
    const memories = new Set(answers.map(memoryOf));
    for (const answer of answers) answer.release();
    const again = answers.map(() => new AnswerBytes(1024 * KIB));
    expect(again.filter((answer) => memories.has(memoryOf(answer))).length).toBeLessThanOrEqual(8);
  });

  test('that grows keeps what was written, and what is still to be copied', () => {
    const answer = new AnswerBytes(10);
    const long = Buffer.alloc(3 * 1024 * KIB, 'l');
    answer.write('<');
    answer.copy(long, 0, long.length);
    answer.write('>'.repeat(2 * long.length));
    while (answer.copyPart());
    expect(answer.finish().toString()).toBe(`<${long}${'>'.repeat(2 * long.length)}`);
  });

  test('is not used after it was released', () => {
    const answer = answerOf('a', 64 * KIB);
    answer.release();
    expect(() => answer.write('x')).toThrow(/released/);
  });
});

describe('pops of large payloads', () => {
  let front: TestFront;

  beforeEach(async () => {
    front = await TestFront.start();
  });

  afterEach(() => front.stop());

  /** An answer of just under a megabyte. */
  const MESSAGES = 200;
  const PAYLOAD_BYTES = 4000;
  /** The sockets of a connection take fewer of them. */
  const ANSWERS_MAX = 64;

  function batchOf(text: string): MessageBatch {
    const payload = `"${text.padEnd(PAYLOAD_BYTES, '.')}"`;
    const starts = Array.from({ length: MESSAGES }, (_, i) => i * payload.length);
    return {
      bytes: Buffer.from(payload.repeat(MESSAGES)),
      payloadStart: starts,
      payloadEnd: starts.map((start) => start + payload.length),
      stampUs: 1_792_000_000_000_120,
      baseOffset: 0,
      first: 0,
      last: MESSAGES - 1,
      transactionIds: starts.map(() => null),
      producerSubs: null,
      traceIds: null,
    };
  }

  function textsOf(body: string): unknown {
    const { messages } = JSON.parse(body) as { messages: { data: string }[] };
    return [messages.length, new Set(messages.map(({ data }) => data.replace(/\.+$/, '')))];
  }

  test('come as they are to one who reads late, whatever is answered meanwhile', async () => {
    let answers = 0;
    front.service.onPop = (_, reply) => {
      const batches = [batchOf(`answer ${answers++}`)];
      const claim = { queue: 'q', partition: 'p', partitionNumber: 1, deliveryAttempt: 1, batches };
      reply.send({ kind: 'delivered', leaseId: 'l', claims: [claim], terms: null });
    };
    const late = front.client();
    late.pauseReading();
    const isStuck = () => front.reserved('pop') > 0;
    while (!isStuck() && answers < ANSWERS_MAX) {
      const before = answers;
      late.send(requestBytes('/api/v1/pop/queue/q', {}));
      await until(() => answers > before && (isStuck() || front.server.inFlight() === 0));
    }
    expect(isStuck()).toBe(true);
    const owed = answers;
    for (let i = 0; i < 3; i++) {
      const { body } = await front.client().request('/api/v1/pop/queue/q', {});
      expect(textsOf(body)).toEqual([MESSAGES, new Set([`answer ${owed + i}`])]);
    }
    late.resumeReading();
    for (let i = 0; i < owed; i++) {
      const { body } = await late.answer();
      expect(textsOf(body)).toEqual([MESSAGES, new Set([`answer ${i}`])]);
    }
  });
});
