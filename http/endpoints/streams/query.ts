/**
 * POST /streams/v1/queries (streams 2): registers a streaming query by its name, or says that it is
 * known by another configuration.
 */

import type { RegisterStreamCommand, StreamRegisteredOutcome } from '@svc/engine';
import { constant, describedAs, either, named, text, truth, uuid } from '@svc/schema';
import { errorAnswer, STREAM_CONFIG_HASH_BYTES_MAX, utf8Length } from '@svc/wire';
import { badRequestFault } from '../../exchange/errors.js';
import type { Exchange } from '../../exchange/exchange.js';
import {
  bodyForm,
  describedBy,
  flagMember,
  given,
  nameMember,
  textMember,
} from '../../json/body-form.js';
import { shown } from '../../json/shown.js';
import { answer, endpoint, refusal, STORAGE_FULL } from '../../routing/endpoint.js';
import { sendShown } from '../../routing/reply.js';
import { outcomeRender, submit } from '../../routing/submit.js';
import { nonEmpty } from './state.js';

const queryForm = bodyForm({
  name: describedBy(nonEmpty, given('', nameMember())),
  source_queue: describedBy(nonEmpty, given('', nameMember())),
  sink_queue: given(null, nameMember()),
  config_hash: describedBy(
    describedAs(`Compared byte for byte; ${STREAM_CONFIG_HASH_BYTES_MAX} bytes at most.`, nonEmpty),
    given('', textMember()),
  ),
  reset: given(
    false,
    flagMember(describedAs('On another hash: delete all state and accept it.', truth)),
  ),
});

type Verdict = StreamRegisteredOutcome['verdict'];
type VerdictOf<Result> = Extract<Verdict, { readonly result: Result }>;

const streamRegisteredAnswer = shown<VerdictOf<'registered'>, RegisterStreamCommand>()({
  success: constant(true),
  query_id: [uuid, ({ queryId }) => queryId],
  name: [text, (_, { name }) => name],
  config_hash: [text, (_, { configHash }) => configHash],
  fresh: describedAs('Whether the name was new.', truth),
  reset: describedAs('Whether all state of the query was deleted.', truth),
});

const streamMismatchAnswer = shown<VerdictOf<'mismatch'>, RegisterStreamCommand>()({
  success: constant(false),
  query_id: [uuid, ({ queryId }) => queryId],
  name: [text, (_, { name }) => name],
  error: [text, () => 'config_hash mismatch; retry with reset:true'],
});

const streamDeniedAnswer = shown<VerdictOf<'denied'>>()({
  success: constant(false),
  denied: constant(true),
  error: [
    text,
    ({ quota }) =>
      quota === null
        ? 'streams not granted for this tenant'
        : `streams query quota exceeded (max ${quota})`,
  ],
});

export const streamQueryEndpoint = endpoint({
  at: 'POST /streams/v1/queries',
  level: 'read-write',
  gateway: 'streams-open',
  tag: 'streams',
  summary: 'Registers a streaming query by its name, or finds it.',
  request: {
    share: 'growing',
    form: queryForm,
    schema: named('StreamQueryBody', queryForm.schema),
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
  check: ({ body }) => {
    for (const member of ['name', 'source_queue', 'config_hash'] as const) {
      if (body[member] === '') throw badRequestFault(`${member} is required`);
    }
    const hashBytes = utf8Length(body.config_hash);
    if (hashBytes > STREAM_CONFIG_HASH_BYTES_MAX) {
      const limit = `the ${STREAM_CONFIG_HASH_BYTES_MAX}-byte limit`;
      throw badRequestFault(`config_hash is ${hashBytes} bytes, over ${limit}`);
    }
  },
  names: ({ body }) => [
    { query: body.name },
    { queue: body.source_queue },
    { queue: body.sink_queue },
  ],
  handle: (front, { exchange, tenant, body: { name, reset, ...body } }) => {
    const query = {
      name,
      sourceQueue: body.source_queue,
      sinkQueue: body.sink_queue,
      configHash: body.config_hash,
      reset,
    };
    submit(front, exchange, { kind: 'register-stream', tenant, ...query }, renderer);
  },
});

const renderer = outcomeRender('stream-registered', render);

function render(
  exchange: Exchange,
  command: RegisterStreamCommand,
  { verdict }: StreamRegisteredOutcome,
): void {
  switch (verdict.result) {
    case 'registered':
      sendShown(exchange, '200 OK', streamRegisteredAnswer, verdict, command);
      break;
    case 'mismatch':
      sendShown(exchange, '409 Conflict', streamMismatchAnswer, verdict, command);
      break;
    case 'denied':
      sendShown(exchange, '403 Forbidden', streamDeniedAnswer, verdict);
      break;
  }
}
