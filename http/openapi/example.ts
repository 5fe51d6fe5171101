/**
 * Examples of bodies and answers, made from their schemas: a request has the members that it needs,
 * an answer those of a plain success. Values are chosen by the name of the member, so that the same
 * queue and group go through all examples. Where a record states an example, that one is taken.
 */
import type { AnySchema, Json, JsonObject } from '@svc/schema';

const COMPONENTS = '#/components/schemas/';
const UUID = '0193f2a0-7b1c-7000-8000-000000000001';
const STAMP = '2026-11-26T10:15:30.123456Z';

/** By the end of a member's name, the first that fits and that the schema takes. */
const BY_NAME: readonly (readonly [RegExp, Json])[] = [
  [/^(transactionId|transaction_id|originalTransactionId|txn)$/, 'order-1'],
  [/^(partitionId|partition_id)$/, '7'],
  [/^(leaseId|lease_id|workerId|worker_id)$/, UUID],
  [/^(queue|queueName|queue_name|source_queue|topics|queues?)$/, 'orders'],
  [/^(partition|partitionName|partition_name)$/, 'Default'],
  [/^(group|consumerGroup|consumer_group|groups)$/, 'billing'],
  [/^(namespace|ns)$/, 'shop'],
  [/^key$/, 'cart/17'],
  [/^(timerKey)$/, 'reminder-17'],
  [/^(name|trace_name|traceName)$/, 'checkout'],
  [/^(task)$/, 'checkout'],
  [/^(error|message|errorMessage)$/, 'what went wrong'],
  [/^(host|hostname)$/, 'node-1'],
  [/^(raft|http)$/, 'node-1:7000'],
  [/^payload$/, 'eyJpZCI6MX0='],
  [/^version$/, '1.0.0'],
  [/^(limit|batch)$/, 100],
  [/^(ttlSeconds|seconds|leaseTime)$/, 60],
  [/^delayMs$/, 5000],
  [/^(index|offset|retryCount)$/, 0],
];

/** Optional members of answers that a plain success does not have. */
const NOT_SHOWN: ReadonlySet<string> = new Set([
  'error',
  'reason',
  'message',
  'failedIndex',
  'kvReason',
  'truncated',
  'partitionsTruncated',
  'nextAfter',
  'noop',
  'nodesMissing',
  'dlq',
  'payloadAvailable',
  'dataAvailable',
]);

/** For texts whose name says nothing: the first that the schema takes. */
const TEXTS: readonly string[] = [
  'text',
  UUID,
  STAMP,
  '2026-11-26T10:15:30.123Z',
  '2026-11-26T10:15:30Z',
  '2026-11-26T10:15:30.123456+00:00',
  '2026-11-26',
  '7',
  '0f1e2d3c4b5a69788796a5b4c3d2e1f0',
];
const ANYTHING: Json = { id: 1 };

export function requestExample(schema: AnySchema): Json {
  return new Examples(schema, false).of(schema.json, 'body');
}

export function answerExample(schema: AnySchema): Json {
  return new Examples(schema, true).of(schema.json, 'answer');
}

class Examples {
  readonly #uses: ReadonlyMap<string, JsonObject>;
  readonly #isAnswer: boolean;

  constructor({ uses }: AnySchema, isAnswer: boolean) {
    this.#uses = uses;
    this.#isAnswer = isAnswer;
  }

  of(schema: JsonObject, name: string): Json {
    const json = this.#resolved(schema);
    if (json.const !== undefined) return json.const;
    if (Array.isArray(json.enum)) return (json.enum as readonly Json[])[0] ?? null;
    if (json.default !== undefined) return json.default;
    if (Array.isArray(json.anyOf) && json.properties === undefined) {
      return this.of((json.anyOf as readonly JsonObject[])[0] ?? {}, name);
    }
    const [kind] = [json.type].flat();
    switch (kind) {
      case 'null':
        return null;
      case 'boolean':
        return true;
      case 'integer':
      case 'number':
        return numberOf(json, name);
      case 'string':
        return textOf(json, name);
      case 'array':
        return this.#list(json, name);
      case 'object':
        return this.#object(json);
      default:
        return ANYTHING;
    }
  }

  #resolved(schema: JsonObject): JsonObject {
    const { $ref } = schema;
    if (typeof $ref !== 'string') return schema;
    return this.#uses.get($ref.slice(COMPONENTS.length)) ?? {};
  }

  #list({ items, maxItems }: JsonObject, name: string): Json {
    return maxItems === 0 ? [] : [this.of((items ?? {}) as JsonObject, name)];
  }

  #object({ properties, required = [], additionalProperties, anyOf }: JsonObject): Json {
    if (properties === undefined) {
      if (typeof additionalProperties !== 'object') return {};
      return { orders: this.of(additionalProperties as JsonObject, 'orders') };
    }
    const [alternative] = (anyOf ?? []) as readonly JsonObject[];
    const needed = [required, alternative?.required ?? []].flat() as readonly string[];
    return Object.fromEntries(
      Object.entries(properties as Record<string, JsonObject>)
        .filter(([name, { not }]) => not === undefined && this.#isShown(name, needed))
        .map(([name, member]) => [name, this.of(member, name)]),
    );
  }

  #isShown(name: string, needed: readonly string[]): boolean {
    return needed.includes(name) || (this.#isAnswer && !NOT_SHOWN.has(name));
  }
}

function numberOf({ minimum, maximum }: JsonObject, name: string): number {
  const named = BY_NAME.find(([pattern, value]) => typeof value === 'number' && pattern.test(name));
  const [least, most] = [Number(minimum ?? 0), Number(maximum ?? Number.MAX_SAFE_INTEGER)];
  return Math.min(Math.max((named?.[1] as number | undefined) ?? 1, least), most);
}

function textOf({ pattern, format }: JsonObject, name: string): string {
  const named = BY_NAME.flatMap(([ends, value]) =>
    typeof value === 'string' && ends.test(name) ? [value] : [],
  );
  const isTaken = (one: string): boolean =>
    (typeof pattern !== 'string' || new RegExp(pattern, 'u').test(one)) &&
    (format !== 'uuid' || one === UUID);
  return [...named, ...TEXTS].find(isTaken) ?? '';
}
