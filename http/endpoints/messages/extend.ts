/**
 * POST /api/v1/lease/{leaseId}/extend (message-plane 5). The body is optional and read leniently:
 * whatever does not name a whole number of seconds means the default.
 */
import type { ExtendCommand, ExtendedOutcome } from '@svc/engine';
import { describedAs, integer } from '@svc/schema';
import { extendAnswer, formatStampUs, INT32_MAX, LEASE_EXTEND_SECONDS_DEFAULT } from '@svc/wire';
import type { Exchange } from '../../exchange/exchange.js';
import { bodyForm, ifPresent, integerMember } from '../../json/body-form.js';
import { answer, endpoint } from '../../routing/endpoint.js';
import { sendAnswer } from '../../routing/reply.js';
import { type OutcomeRenderer, submit } from '../../routing/submit.js';

const ANY = Number.POSITIVE_INFINITY;

const extendForm = bodyForm({
  seconds: ifPresent(
    LEASE_EXTEND_SECONDS_DEFAULT,
    integerMember(describedAs('60 when absent.', integer), -ANY, ANY),
  ),
});

export const extendEndpoint = endpoint({
  at: 'POST /api/v1/lease/{leaseId}/extend',
  level: 'read-write',
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

const renderer: OutcomeRenderer<ExtendCommand, 'extended'> = { kind: 'extended', render };

function render(exchange: Exchange, command: ExtendCommand, outcome: ExtendedOutcome): void {
  const { renewed, expiresAtUs } = outcome;
  const expiresAt = expiresAtUs === null ? null : formatStampUs(expiresAtUs);
  sendAnswer(exchange, '200 OK', extendAnswer, {
    leaseId: command.leaseId,
    success: renewed > 0,
    renewed,
    newExpiresAt: expiresAt,
    expiresAt,
    lease_expires_at: expiresAt,
  });
}
