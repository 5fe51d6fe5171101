import type { Identity } from '../data/identity.js';
import { type Poll, usePoll } from '../data/poll.js';
import { call } from '../data/request.js';

/** A token may end, or get another role, while the page is open. */
const EVERY_MS = 60_000;

export function useIdentityPoll(): Poll<Identity> {
  return usePoll('identity', (signal) => call('GET /auth/me', { signal }), EVERY_MS);
}
