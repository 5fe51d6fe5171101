/** Who the caller is (gateway 7). */
import { identityAnswer } from '@svc/wire';
import { answer, type Operations, refusal } from './operation.js';

export const IDENTITY_OPERATIONS: Operations = {
  'GET /auth/me': {
    tag: 'node',
    summary: 'Who the caller is.',
    answers: {
      200: answer(
        'Whom the token names, with its widest role; without tokens everybody is one operator.',
        identityAnswer,
      ),
      401: refusal('`auth_required`: tokens are checked, and none that is valid came.'),
    },
  },
};
