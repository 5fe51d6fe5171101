/** Answers with an object, written by its schema. */
import type { Schema } from '@svc/schema';
import type { Status } from '../exchange/errors.js';
import type { Exchange } from '../exchange/exchange.js';
import { jsonOf } from '../json/answer-writer.js';

export function sendAnswer<Value>(
  exchange: Exchange,
  status: Status,
  schema: Schema<Value>,
  value: NoInfer<Value>,
  retryAfter = false,
): void {
  exchange.json(status, jsonOf(schema, value), retryAfter);
}
