/**
 * POST /streams/v1/queries (streams 2): registers a streaming query by its name, or says that it is
 * known by another configuration.
 */
import type { Refusal, RegisterStreamCommand, StreamRegisteredOutcome } from '@svc/engine';
import { describedAs, either, named, nullable, optional, text, truth } from '@svc/schema';
import {
  errorAnswer,
  NAME_BYTES_MAX,
  STREAM_CONFIG_HASH_BYTES_MAX,
  type StreamDeniedAnswer,
  type StreamMismatchAnswer,
  type StreamRegisteredAnswer,
  streamDeniedAnswer,
  streamMismatchAnswer,
  streamRegisteredAnswer,
  utf8Length,
} from '@svc/wire';
import { badRequest } from '../../exchange/errors.js';
import type { Exchange } from '../../exchange/exchange.js';
import { body } from '../../json/body.js';
import { keySet } from '../../json/json-keys.js';
import { JsonReader, KEY_UNKNOWN, KEYS_END } from '../../json/json-reader.js';
import { answer, endpoint, refusal, STORAGE_FULL } from '../../routing/endpoint.js';
import type { Front, RouteRequest } from '../../routing/route.js';
import { type OutcomeRenderer, submit } from '../../routing/submit.js';
import { nonEmpty } from './stream-fields.js';

export const STREAM_QUERY_BODY_KEYS = keySet(
  'name',
  'source_queue',
  'sink_queue',
  'config_hash',
  'reset',
);

export const streamQueryEndpoint = endpoint({
  at: 'POST /streams/v1/queries',
  level: 'read-write',
  tag: 'streams',
  summary: 'Registers a streaming query by its name, or finds it.',
  request: {
    share: 'growing',
    schema: named(
      'StreamQueryBody',
      body(STREAM_QUERY_BODY_KEYS, {
        name: nonEmpty,
        source_queue: nonEmpty,
        sink_queue: optional(nullable(text)),
        config_hash: describedAs(
          `Compared byte for byte; ${STREAM_CONFIG_HASH_BYTES_MAX} bytes at most.`,
          nonEmpty,
        ),
        reset: optional(
          describedAs('On another hash: delete all state and accept it.', nullable(truth)),
        ),
      }),
    ),
  },
  answers: {
    200: answer('Registered, now or before.', streamRegisteredAnswer),
    400: refusal('A field is missing.'),
    403: answer(
      'A new name, and the tenant may have no more.',
      either(streamDeniedAnswer, errorAnswer),
    ),
    409: answer('Known by another configuration; nothing was changed.', streamMismatchAnswer),
    413: refusal('`name_too_long`.'),
    507: STORAGE_FULL,
  },
  handle,
});

const renderer: OutcomeRenderer<RegisterStreamCommand, 'stream-registered'> = {
  kind: 'stream-registered',
  render,
};

function handle(front: Front, { exchange, tenant, body }: RouteRequest): void {
  const query = readStreamQueryBody(body);
  const refusal = refusalOf(tenant, query);
  if (refusal !== null) exchange.refuse(refusal);
  else submit(front, exchange, { kind: 'register-stream', tenant, ...query }, renderer);
}

type StreamQueryBody = Omit<RegisterStreamCommand, 'kind' | 'tenant'>;

function refusalOf(tenant: string, query: StreamQueryBody): Refusal | null {
  const { name, sourceQueue, sinkQueue, configHash } = query;
  if (name === '') return badRequest('name is required');
  if (sourceQueue === '') return badRequest('source_queue is required');
  if (configHash === '') return badRequest('config_hash is required');
  const hashBytes = utf8Length(configHash);
  if (hashBytes > STREAM_CONFIG_HASH_BYTES_MAX) {
    const limit = `the ${STREAM_CONFIG_HASH_BYTES_MAX}-byte limit`;
    return badRequest(`config_hash is ${hashBytes} bytes, over ${limit}`);
  }
  const names: readonly (readonly [string, string])[] = [
    ['query', name],
    ['queue', sourceQueue],
    ['queue', sinkQueue ?? ''],
  ];
  for (const [what, text] of names) {
    const bytes = utf8Length(text);
    if (utf8Length(tenant) + bytes <= NAME_BYTES_MAX) continue;
    const limit = `the composite store key limit leaves ${NAME_BYTES_MAX} bytes for names`;
    return { reason: 'name_too_long', error: `${what} name is ${bytes} bytes; ${limit}` };
  }
  return null;
}
const NAME = 0;
const SOURCE_QUEUE = 1;
const SINK_QUEUE = 2;
const CONFIG_HASH = 3;

/** Throws `JsonError` for a body of another shape; what is absent is "". */
export function readStreamQueryBody(body: Buffer): StreamQueryBody {
  const reader = new JsonReader(body);
  let name = '';
  let sourceQueue = '';
  let sinkQueue: string | null = null;
  let configHash = '';
  let reset = false;
  let seen = 0;
  reader.enterObject('the body');
  for (;;) {
    const key = reader.nextKey(STREAM_QUERY_BODY_KEYS, seen);
    if (key === KEYS_END) break;
    if (key !== KEY_UNKNOWN) seen |= 1 << key;
    if (key === KEY_UNKNOWN || reader.isNull()) reader.skipValue();
    else if (key === NAME) name = reader.readName('name');
    else if (key === SOURCE_QUEUE) sourceQueue = reader.readName('source_queue');
    else if (key === SINK_QUEUE) sinkQueue = reader.readName('sink_queue');
    else if (key === CONFIG_HASH) configHash = reader.readText('config_hash');
    else reset = readTruth(reader, 'reset');
  }
  reader.finish();
  return { name, sourceQueue, sinkQueue, configHash, reset };
}

export function readTruth(reader: JsonReader, name: string): boolean {
  reader.skipValue();
  const text = reader.valueText();
  if (text === 'true') return true;
  return text === 'false' ? false : reader.fail(`${name} must be a boolean`, reader.valueStart);
}

function render(
  exchange: Exchange,
  { name, configHash }: RegisterStreamCommand,
  { verdict }: StreamRegisteredOutcome,
): void {
  switch (verdict.result) {
    case 'registered': {
      const answer: StreamRegisteredAnswer = {
        success: true,
        query_id: verdict.queryId,
        name,
        config_hash: configHash,
        fresh: verdict.fresh,
        reset: verdict.reset,
      };
      exchange.json('200 OK', JSON.stringify(answer));
      break;
    }
    case 'mismatch': {
      const answer: StreamMismatchAnswer = {
        success: false,
        query_id: verdict.queryId,
        name,
        error: 'config_hash mismatch; retry with reset:true',
      };
      exchange.json('409 Conflict', JSON.stringify(answer));
      break;
    }
    case 'denied': {
      const { quota } = verdict;
      const error =
        quota === null
          ? 'streams not granted for this tenant'
          : `streams query quota exceeded (max ${quota})`;
      const answer: StreamDeniedAnswer = { success: false, denied: true, error };
      exchange.json('403 Forbidden', JSON.stringify(answer));
      break;
    }
  }
}
