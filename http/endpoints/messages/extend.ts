/**
 * POST /api/v1/lease/{leaseId}/extend (message-plane 5). The body is optional and read leniently:
 * whatever does not name a whole number of seconds means the default.
 */

import type { ExtendCommand, ExtendedOutcome } from '@svc/engine';
import { count, describedAs, integer, nullable, stamp, text, truth } from '@svc/schema';
import { formatStampUs, INT32_MAX, LEASE_EXTEND_SECONDS_DEFAULT } from '@svc/wire';
import { bodyForm, ifPresent, integerMember } from '../../json/body-form.js';
import { shown } from '../../json/shown.js';
import { answer, endpoint } from '../../routing/endpoint.js';
import { sendShown } from '../../routing/reply.js';
import { outcomeRender, submit } from '../../routing/submit.js';

const ANY = Number.POSITIVE_INFINITY;

const extendForm = bodyForm({
  seconds: ifPresent(
    LEASE_EXTEND_SECONDS_DEFAULT,
    integerMember(describedAs('60 when absent.', integer), -ANY, ANY),
  ),
});

/** message-plane 5: the three times are one value. */
const extendAnswer = shown<ExtendedOutcome, ExtendCommand>()({
  leaseId: [text, (_, { leaseId }) => leaseId],
  success: [truth, ({ renewed }) => renewed > 0],
  renewed: count,
  newExpiresAt: [nullable(stamp), expiresAt],
  expiresAt: [describedAs('The same as `newExpiresAt`.', nullable(stamp)), expiresAt],
  lease_expires_at: [describedAs('The same as `newExpiresAt`.', nullable(stamp)), expiresAt],
});

function expiresAt({ expiresAtUs }: ExtendedOutcome): string | null {
  return expiresAtUs === null ? null : formatStampUs(expiresAtUs);
}

export const extendEndpoint = endpoint({
  at: 'POST /api/v1/lease/{leaseId}/extend',
  level: 'read-write',
  gateway: 'consume',
  tag: 'messages',
  summary: 'Lengthen every live lease of this id.',
  request: {
    share: 'drain',
    form: extendForm,
    optional: true,
    lenient: true,
  },
  answers: {
    200: answer(
      'The earliest end of the leases that were lengthened, or `success: false` when none was.',
      extendAnswer,
    ),
  },
  handle: (front, { exchange, tenant, params: { leaseId }, body }) => {
    const seconds = Math.min(Math.max(body.seconds, 1), INT32_MAX);
    submit(front, exchange, { kind: 'extend', tenant, leaseId, seconds }, renderer);
  },
});

const renderer = outcomeRender('extended', (exchange, command: ExtendCommand, outcome) =>
  sendShown(exchange, '200 OK', extendAnswer, outcome, command),
);
