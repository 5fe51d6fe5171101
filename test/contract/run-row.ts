/** Runs one row of a contract table and judges what came of it. */
import { expect } from 'vitest';
import type { Answer } from '../process/http-client.js';
import type { BrokerUnderTest } from './broker-under-test.js';
import type { ContractRow, ExpectedAnswer, RowExchange } from './table.js';

export async function runRow(broker: BrokerUnderTest, row: ContractRow): Promise<void> {
  if ('run' in row) await row.run(broker);
  else await exchange(broker, row);
}

async function exchange(broker: BrokerUnderTest, row: RowExchange): Promise<void> {
  await row.before?.(broker);
  const [method = '', path = ''] = named(row.send, broker).split(' ');
  const answer = await broker.client.send(
    method,
    path,
    bodyOf(row, broker),
    row.headers === undefined ? {} : { headers: row.headers },
  );
  expectAnswer(answer, row.answer, broker);
}

function bodyOf({ body }: RowExchange, broker: BrokerUnderTest): Uint8Array | string | undefined {
  if (body === undefined || body instanceof Uint8Array) return body;
  return named(typeof body === 'string' ? body : (JSON.stringify(body) ?? ''), broker);
}

/** Fails when `answer` is not the expected one. */
export function expectAnswer(
  answer: Answer,
  expected: ExpectedAnswer,
  broker: BrokerUnderTest,
): void {
  expect(answer.status, answer.text.slice(0, 500)).toBe(expected.status);
  const { text, body, error, code, headers } = expected;
  if (text !== undefined) expect(answer.text).toBe(named(text, broker));
  for (const [name, value] of Object.entries(headers ?? {})) {
    expect(answer.headers[name], name).toBe(value);
  }
  if (body === undefined && error === undefined && code === undefined) return;
  expect(answer.headers['content-type']).toBe('application/json');
  const parsed: unknown = JSON.parse(answer.text);
  if (body !== undefined) expect(parsed).toMatchObject(namedValue(body, broker) as object);
  if (error !== undefined) {
    expect((parsed as { error: unknown }).error).toEqual(
      expect.stringContaining(named(error, broker)),
    );
  }
  if (code !== undefined) expect(parsed).toMatchObject({ code });
}

/** `{queue}` replaced by the row's queue. */
function named(text: string, { queue }: BrokerUnderTest): string {
  return text.replaceAll('{queue}', queue);
}

/** The same in every string of a value; matchers and the like stay as they are. */
function namedValue(value: unknown, broker: BrokerUnderTest): unknown {
  if (typeof value === 'string') return named(value, broker);
  if (Array.isArray(value)) return value.map((one) => namedValue(one, broker));
  if (typeof value !== 'object' || value === null) return value;
  if (Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [key, namedValue(one, broker)]),
  );
}
