import { actAs, type Identity } from '../data/identity.js';
import { type Poll, usePoll } from '../data/poll.js';
import { call } from '../data/request.js';

/** A token or a session may end, or get another role, while the page is open. */
const EVERY_MS = 60_000;

export function useIdentityPoll(): Poll<Identity> {
  return usePoll('identity', askIdentity, EVERY_MS);
}

async function askIdentity(signal: AbortSignal): Promise<Identity> {
  const identity = await call('GET /auth/me', { signal });
  actAs(identity);
  return identity;
}
