/**
 * The plan of the cluster and its features, behind a gateway; a node by itself has everything. The
 * shell asks once for all pages.
 */
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Overview } from '../base/gateway-words.js';
import { useCapabilities, useSession } from './identity.js';
import { NO_POLL, type Poll, usePoll } from './poll.js';
import { call } from './request.js';

export type Features = Overview['features'];
export type Feature = keyof Features;

/** For pages that need the features alone: a plan changes rarely. */
export const EVERY_MS_FEATURES = 60_000;
const ALL: Features = { streams: true, traces: true, kv: true, timers: true, ephemeral: true };

export const PlanContext = createContext<Poll<Overview>>(NO_POLL);

/** For the shell. */
export function usePlanPoll(everyMs: number): Poll<Overview> {
  const { read, session } = useCapabilities();
  return usePoll(
    read && session ? 'plan' : null,
    (signal) => call('GET /api/console/overview', { signal }),
    everyMs,
  );
}

/**
 * null: they are not known yet. If the plan cannot be read, all pages are shown, and the server
 * refuses those that it lacks.
 */
export function useFeatures(): Features | null {
  const isMember = useSession() !== null;
  const { data, error } = useContext(PlanContext);
  if (data !== null) return data.features;
  return !isMember || error !== null ? ALL : null;
}
