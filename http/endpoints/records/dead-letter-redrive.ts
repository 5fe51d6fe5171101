/**
 * POST /api/v1/dlq/redrive: replays the dead letters of a queue, oldest first, a slice in each
 * call. The answer says where the next one goes on.
 */
import type { RedriveCommand, RedrivenOutcome } from '@svc/engine';
import {
  constant,
  count,
  describedAs,
  instant,
  integerBetween,
  matching,
  nullable,
  text,
} from '@svc/schema';
import { parseIsoUs, REDRIVE_LETTERS_MAX } from '@svc/wire';
import { badRequestFault } from '../../exchange/errors.js';
import {
  bodyForm,
  describedBy,
  given,
  integerMember,
  nameMember,
  textMember,
} from '../../json/body-form.js';
import { shown } from '../../json/shown.js';
import { answer, endpoint, STORAGE_FULL } from '../../routing/endpoint.js';
import { sendShown } from '../../routing/reply.js';
import { outcomeRender, submit } from '../../routing/submit.js';

/** The dead letter that was looked at last, and the microsecond at which the redrive ends. */
const CURSOR = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})?\.(\d{1,16})$/;

const cursor = describedAs('Where the call before ended.', matching(CURSOR));
const limitField = describedAs(
  `Dead letters to try; a call tries ${REDRIVE_LETTERS_MAX} at most.`,
  integerBetween(1, Number.MAX_SAFE_INTEGER),
);

const redriveForm = bodyForm({
  queue: nameMember(),
  consumerGroup: given(null, nameMember()),
  from: given(null, describedBy(instant, textMember())),
  to: given(null, describedBy(instant, textMember())),
  limit: given(REDRIVE_LETTERS_MAX, integerMember(limitField, 1)),
  cursor: given(null, textMember(cursor)),
});

const redriveAnswer = shown<RedrivenOutcome, RedriveCommand>()({
  success: constant(true),
  queue: [text, (_, { queue }) => queue],
  consumerGroup: [nullable(text), (_, { group }) => group],
  moved: count,
  duplicates: count,
  refused: count,
  cursor: [nullable(cursor), ({ next }) => next && `${next.after}.${next.endUs}`],
});

export const deadLetterRedriveEndpoint = endpoint({
  at: 'POST /api/v1/dlq/redrive',
  level: 'read-write',
  gateway: 'queue-admin',
  tag: 'dead letters',
  summary: 'Replays dead letters of a queue, the oldest first, a slice in each call.',
  request: {
    share: 'growing',
    form: redriveForm,
    example: { queue: 'orders', consumerGroup: 'billing', from: '2026-11-26T10:00:00Z' },
  },
  answers: {
    200: answer(
      'What became of the slice; to be called again with `cursor` until that is null.',
      redriveAnswer,
      {
        success: true,
        queue: 'orders',
        consumerGroup: 'billing',
        moved: 199,
        duplicates: 1,
        refused: 0,
        cursor: '0193f2a0-7b1c-7000-8000-000000000001.1795688130123456',
      },
    ),
    507: STORAGE_FULL,
  },
  check: ({ body }) => void rangeOf(body),
  names: ({ body }) => ({ queue: body.queue, group: body.consumerGroup }),
  handle: (front, { exchange, tenant, body }) => {
    const { queue, consumerGroup, limit } = body;
    const command: RedriveCommand = {
      kind: 'redrive',
      tenant,
      queue,
      group: consumerGroup === '' ? null : consumerGroup,
      ...rangeOf(body),
      limit: Math.min(limit, REDRIVE_LETTERS_MAX),
    };
    submit(front, exchange, command, renderer);
  },
});

const renderer = outcomeRender('redriven', (exchange, command: RedriveCommand, outcome) =>
  sendShown(exchange, '200 OK', redriveAnswer, outcome, command),
);

/** Throws `RequestFault`. */
function rangeOf({
  from,
  to,
  cursor,
}: ReturnType<typeof redriveForm.read>): Pick<RedriveCommand, 'fromUs' | 'place'> {
  const fromUs = instantOf('from', from) ?? 0;
  const toUs = instantOf('to', to);
  if (cursor === null) return { fromUs, place: toUs === null ? null : { after: '', endUs: toUs } };
  const [, after = '', endUs] = CURSOR.exec(cursor) ?? [];
  if (endUs === undefined) throw badRequestFault('cursor is invalid');
  return {
    fromUs,
    place: { after, endUs: Math.min(Number(endUs), toUs ?? Number.MAX_SAFE_INTEGER) },
  };
}

/** Microseconds; null: not named. */
function instantOf(name: string, text: string | null): number | null {
  const atUs = text === null ? null : parseIsoUs(text);
  if (atUs === null && text !== null) throw badRequestFault(`${name} is invalid`);
  return atUs === null ? null : Math.min(Math.max(atUs, 0), Number.MAX_SAFE_INTEGER);
}
