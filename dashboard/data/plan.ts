/**
 * The features of the cluster's plan, behind a gateway; a node by itself has everything. The shell
 * asks once for all pages.
 */
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import { useCapabilities, useSession } from './identity.js';
import { type Poll, usePoll } from './poll.js';
import { call, type Success } from './request.js';

type Plan = Success<'GET /api/console/overview'>;
export type Features = Plan['features'];
export type Feature = keyof Features;

/** A plan changes rarely, so it is asked for rarely. */
const EVERY_MS = 60_000;
const ALL: Features = { streams: true, traces: true, kv: true, timers: true, ephemeral: true };

/** null: they are not known yet. */
export const FeaturesContext = createContext<Features | null>(null);

export function useFeatures(): Features | null {
  return useContext(FeaturesContext);
}

/** For the shell. */
export function useFeaturesPoll(): Features | null {
  const { read } = useCapabilities();
  const isMember = useSession() !== null;
  const poll = usePoll(
    isMember && read ? 'plan' : null,
    (signal) => call('GET /api/console/overview', { signal }),
    EVERY_MS,
  );
  return featuresOf(isMember, poll);
}

/** If the plan cannot be read, all pages are shown, and the server refuses those that it lacks. */
function featuresOf(isMember: boolean, { data, error }: Poll<Plan>): Features | null {
  if (data !== null) return data.features;
  return !isMember || error !== null ? ALL : null;
}
