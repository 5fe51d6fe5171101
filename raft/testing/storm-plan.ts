/**
 * What a seed draws before a storm begins: the group, the settings, and which kinds of trouble come
 * how often. Every seed has another mixture, since faults hide each other. A focus draws only such
 * mixtures as can show a certain kind of bug; without one, anything goes.
 */
import type { RaftSettings } from '../options.js';
import type { Chance } from './chance.js';
import { ELECTION_MS } from './group.fake.js';
import type { Weather } from './network.fake.js';
import {
  betrayal,
  forgetfulCandidate,
  forgetfulVoter,
  hastyChanges,
  lateAnswer,
  oldAgainstNew,
  oldEntry,
  type Play,
  type Stage,
} from './storm-plays.js';

export const FOCUSES = ['elections', 'leases', 'reads', 'members', 'losses'] as const;
export type Focus = (typeof FOCUSES)[number];

export interface StormPlan {
  readonly nodes: number;
  readonly settings: Partial<RaftSettings>;
  readonly diskShowsAccepted: boolean;
  readonly keepEntries: number;
  /** Removed members may disturb for ever unless both pre-vote and check-quorum are on. */
  readonly changesMembers: boolean;
  /** Without enough members that hold everything nobody could be elected, and nothing would end. */
  readonly losesEntries: boolean;
  readonly plays: readonly ((stage: Stage) => Play)[];
  readonly playProbability: number;
  readonly faultProbability: number;
  readonly coldProbability: number;
  readonly weather: Weather;
}

type Plays = StormPlan['plays'];

const PLAYS: Plays = [oldEntry, forgetfulVoter, forgetfulCandidate, betrayal, lateAnswer];
const PLAYS_WITH_MEMBERS: Plays = [hastyChanges, oldAgainstNew];
const PLAYS_OF: { readonly [focus in Focus]: Plays } = {
  elections: [oldEntry, forgetfulVoter, forgetfulCandidate],
  leases: [betrayal, lateAnswer],
  reads: [lateAnswer],
  members: PLAYS_WITH_MEMBERS,
  losses: [],
};

export function drawPlan(seed: number, chance: Chance, focus: Focus | undefined): StormPlan {
  const nodes = focus === undefined ? 1 + (seed % 5) : nodesFor(seed, focus);
  const safe = focus === 'leases' || focus === 'members' || chance.hits(0.7);
  const leases = focus === undefined ? chance.hits(0.5) : focus === 'leases';
  const loses = focus === undefined ? nodes >= 3 && chance.hits(0.2) : focus === 'losses';
  // A group that shrinks to one or two members leaves nothing to most plays.
  const changes = focus === undefined ? safe && chance.hits(0.5) : focus === 'members';
  const changesMembers = changes && !loses;
  const playProbability = focus === undefined ? pick(chance, [0, 0.02, 0.1, 0.2]) : 0.2;
  const quiet = playProbability > 0 && focus !== 'losses' && chance.hits(0.7);
  return {
    nodes,
    settings: {
      preVote: safe || chance.hits(0.5),
      checkQuorum: safe || chance.hits(0.5),
      reads: safe && leases ? 'lease' : 'quorum',
      inFlightMessagesMax: chance.between(1, 8),
      appendBytesMax: chance.between(1, 200),
      uncommittedBytesMax: chance.between(1, 100),
      applyingBytesMax: chance.between(1, 200),
      tailBytesMax: chance.hits(0.5) ? 0 : 1000,
      tailUnappliedBytesMax: (seed & 1) * 100,
    },
    diskShowsAccepted: chance.hits(0.5),
    keepEntries: chance.hits(0.6) ? chance.between(1, 20) : Infinity,
    changesMembers,
    losesEntries: loses,
    plays: focus === undefined ? somePlays(chance, changesMembers) : PLAYS_OF[focus],
    playProbability,
    faultProbability: quiet ? 0.001 : pick(chance, [0.005, 0.02, 0.05, 0.1]),
    coldProbability: pick(chance, [0, 0, 0.1, 0.5]),
    weather: {
      lossProbability: pick(chance, [0, 0, 0.02, 0.1]),
      repeatProbability: pick(chance, [0, 0.02, 0.2]),
      delayMsMax: pick(chance, [0, 2, 5, 20]),
      stragglerProbability: pick(chance, [0, 0.02, 0.1]),
      stragglerMsMax: 5 * ELECTION_MS,
    },
  };
}

/** With an odd number the smallest quorum is missed by one vote. */
function nodesFor(seed: number, focus: Focus): number {
  return focus === 'members' ? 3 + (seed % 3) : 3 + 2 * (seed % 2);
}

/** Some storms have one play over and over, some have all. */
function somePlays(chance: Chance, changesMembers: boolean): Plays {
  const plays = changesMembers ? [...PLAYS, ...PLAYS_WITH_MEMBERS] : PLAYS;
  const only = chance.pick(plays);
  return chance.hits(0.5) && only !== undefined ? [only] : plays;
}

function pick(chance: Chance, values: readonly number[]): number {
  return chance.pick(values) ?? 0;
}
