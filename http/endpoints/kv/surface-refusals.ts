/** Refusals that every call of key/value, locks and timers can be answered. */

import { either } from '@svc/schema';
import { errorAnswer, surfaceErrorAnswer } from '@svc/wire';
import { answer } from '../../routing/endpoint.js';

function surfaceRefusal(description: string) {
  return answer(description, either(surfaceErrorAnswer, errorAnswer));
}

/** What calls of key/value, locks and timers can be answered besides. */
export const SURFACE_REFUSALS = {
  400: surfaceRefusal('`reason` names what is wrong.'),
  403: surfaceRefusal('`feature_gated` or a quota: waiting does not help.'),
  413: surfaceRefusal('`payload_too_large`: `reason` names what is.'),
  429: surfaceRefusal('`rate_limited`; `Retry-After` says when one more may come.'),
  503: surfaceRefusal('Switched off, or not served at the moment.'),
};
