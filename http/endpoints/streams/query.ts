/**
 * POST /streams/v1/queries (streams 2): registers a streaming query by its name, or says that it is
 * known by another configuration.
 */
import type { RegisterStreamCommand, StreamRegisteredOutcome } from '@svc/engine';
import { describedAs, either, named, truth } from '@svc/schema';
import {
  errorAnswer,
  STREAM_CONFIG_HASH_BYTES_MAX,
  streamDeniedAnswer,
  streamMismatchAnswer,
  streamRegisteredAnswer,
  utf8Length,
} from '@svc/wire';
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
import { answer, endpoint, refusal, STORAGE_FULL } from '../../routing/endpoint.js';
import { sendAnswer } from '../../routing/reply.js';
import { type OutcomeRenderer, submit } from '../../routing/submit.js';
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

export const streamQueryEndpoint = endpoint({
  at: 'POST /streams/v1/queries',
  level: 'read-write',
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

const renderer: OutcomeRenderer<RegisterStreamCommand, 'stream-registered'> = {
  kind: 'stream-registered',
  render,
};

function render(
  exchange: Exchange,
  { name, configHash }: RegisterStreamCommand,
  { verdict }: StreamRegisteredOutcome,
): void {
  switch (verdict.result) {
    case 'registered': {
      sendAnswer(exchange, '200 OK', streamRegisteredAnswer, {
        success: true,
        query_id: verdict.queryId,
        name,
        config_hash: configHash,
        fresh: verdict.fresh,
        reset: verdict.reset,
      });
      break;
    }
    case 'mismatch': {
      sendAnswer(exchange, '409 Conflict', streamMismatchAnswer, {
        success: false,
        query_id: verdict.queryId,
        name,
        error: 'config_hash mismatch; retry with reset:true',
      });
      break;
    }
    case 'denied': {
      const { quota } = verdict;
      const error =
        quota === null
          ? 'streams not granted for this tenant'
          : `streams query quota exceeded (max ${quota})`;
      sendAnswer(exchange, '403 Forbidden', streamDeniedAnswer, {
        success: false,
        denied: true,
        error,
      });
      break;
    }
  }
}
