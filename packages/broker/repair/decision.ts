/**
 * What may be concluded from the answers of peers about entries that this node has lost. Pure.
 *
 * The danger. This node acknowledged an entry, a leader counted the acknowledgement, and the entry
 * is unreadable now. If the node forgets it and votes on, it may help to elect a leader without it:
 * a committed entry is gone although only one disk was bad. So the node votes as before only when
 * one of these is certain:
 *
 * - it has every entry again (repair of a slot; adoption of a tail), or
 * - no entry it lost is committed, nor can its old acknowledgement ever help to commit one.
 *
 * Otherwise it starts without its vote (`recover`), and consensus gives the vote back when a leader
 * has filled the log up. That always ends well while a leader exists. It ends never where the
 * group cannot elect one without this node's vote (two voters; three of which one is dead), and
 * that is what the other two ways out are for.
 *
 * Nodes that count. Let the lost entry be f, at index i. f is committed only if a quorum Q of the
 * configuration in force holds it, and if this node is to matter, it is in Q. The others of Q hold
 * f as well, and what is committed leaves no log. So if every quorum without the peers that
 * answered is too small (`covered`), some peer of Q is among those who answered, and:
 *
 * - all of them say `never-had`: f is not committed;
 * - some say `have`: the most complete of the logs that answered (highest last term, then highest
 *   last index) contains f if f is committed. This is the rule by which votes are given, and the
 *   same proof: this node "elects" that log over its own lost tail, and then takes it over.
 *
 * The fence. The above speaks of the moment of the answers. A leader that still counts this node's
 * old acknowledgement could complete the quorum later. It counts it only in the term in which it
 * was given, which is at most this node's own durable term T, and with acknowledgements of that
 * same term. So an answer is final if the peer's durable term is above T: it acknowledges nothing
 * in those terms any more. And if all other voters have answered, no fence is needed: such a leader
 * is one of them, holds f itself, and a leader's log only grows, so it says `have`; f is repaired
 * or adopted, and not lost. (A leader that was removed by the newest configuration known here may
 * lead a while longer: it has to be among those who have answered too.)
 *
 * Which configuration. A configuration entry counts when applied, and a leader proposes the next
 * one only then. So while entries up to i - 1 are known, the one in force when f was committed is
 * among those this node knows: the one it has applied and those in its log before i. Later ones
 * (in the lost tail itself) could only take effect after entry i was committed under a known one,
 * which is what is excluded. `covered` must hold in each of them; too many only make it stricter.
 * In a joint configuration f needs both majorities, so it suffices to block one of them. Where this
 * node does not vote, its acknowledgement never counted.
 *
 * Peers that recover say `never-had` of nothing (they answer `recovering`), since they may have
 * forgotten the same entry; a damaged slot of theirs is `damaged`. Both still say `have` of what
 * they hold. A replaced node has another member id and is not asked. So damage at two nodes is
 * survived where it concerns different slots, and where it concerns the same one the node waits.
 *
 * `purged` says that i is committed and given up; nothing can be concluded about the entries behind
 * it except that the peer's log holds what is committed of them, so it covers a `recover` alone.
 * `parted` likewise: somewhere in a run of slots whose headers are gone the peer's log is another
 * one, so what follows the run is not in it, but which slot of the run differs nobody can say.
 */
import type { Configuration, NodeId } from '@svc/raft';
import type { SlotResult } from '../peers/frames.js';

/** The latest word of one peer about one slot. */
export interface PeerWord {
  /** `parted`: what it sent for a run of slots that are known only together does not fit them. */
  readonly verdict: SlotResult | 'parted';
  /** Its durable term. */
  readonly term: number;
  readonly lastIndex: number;
  readonly lastTerm: number;
  readonly led: boolean;
}

export interface Lost {
  readonly self: NodeId;
  /** The durable term of this node. */
  readonly ownTerm: number;
  /** Every configuration that may have been in force; empty when none is known. */
  readonly configurations: readonly Configuration[];
  /** Voters of the one before these: one of them may still lead. */
  readonly formerVoters: readonly NodeId[];
  /** The entry is below this node's checkpoint: it is committed, whatever anyone says. */
  readonly committed: boolean;
  readonly words: ReadonlyMap<NodeId, PeerWord>;
}

const GONE: readonly PeerWord['verdict'][] = ['purged', 'parted'];

export type RecordDecision =
  /** Ask on. */
  | 'wait'
  /** It is committed nowhere and never will be: cut it and all after it, vote as before. */
  | 'cut'
  /** The others have it no more; cut it, and let a leader fill the log up. */
  | 'recover';

/** For a slot whose entry is pinned: a `have` that fitted has repaired it, and is not here. */
export function decideRecord(lost: Lost): RecordDecision {
  if (!lost.committed && isCovered(lost, ['never-had'])) return 'cut';
  const isGone = [...lost.words.values()].some(({ verdict }) => GONE.includes(verdict));
  return isGone && isCovered(lost, ['never-had', ...GONE]) ? 'recover' : 'wait';
}

export type TailDecision =
  | { readonly kind: 'wait' }
  /** As for a record. */
  | { readonly kind: 'cut' }
  /** The log of `from` contains whatever of the tail is committed: cut, and take it over. */
  | { readonly kind: 'adopt'; readonly from: NodeId; readonly lastIndex: number }
  | { readonly kind: 'recover' };

export interface LostTail extends Lost {
  /** The first entry that may have been lost. */
  readonly index: number;
  /** Entries that may be taken over from a peer outside consensus. */
  readonly adoptMax: number;
  /** There was time enough for every peer that is up to answer. */
  readonly patient: boolean;
}

export function decideTail(lost: LostTail): TailDecision {
  if (isCovered(lost, ['have', 'never-had'])) return adoptionOf(lost);
  // A leader that somebody knows will fill the log up; without one, going on would help nobody.
  const words = [...lost.words.values()];
  const led = words.some((word) => word.led || word.verdict === 'purged');
  return led && lost.patient ? { kind: 'recover' } : { kind: 'wait' };
}

/**
 * For a tail that power most likely interrupted and nobody was told of. Its bytes look like it
 * (storage tells by the sectors), so silence is not held against it: who waited for a dead peer
 * whenever power failed would lose a majority that is there. What peers do hold is taken over.
 */
export function decideTornTail(lost: LostTail): TailDecision {
  const isKnown = isCovered(lost, ['have', 'never-had']);
  if (!isKnown && !lost.patient) return { kind: 'wait' };
  const decision = adoptionOf(lost);
  return decision.kind === 'recover' ? { kind: 'cut' } : decision;
}

function adoptionOf(lost: LostTail): TailDecision {
  const best = mostComplete(lost.words);
  if (best === null || best.word.verdict !== 'have') {
    return { kind: lost.committed ? 'recover' : 'cut' };
  }
  const { lastIndex } = best.word;
  // So far behind, others went on without this node, and there is or will be a leader.
  if (lastIndex - lost.index >= lost.adoptMax) return { kind: 'recover' };
  return { kind: 'adopt', from: best.peer, lastIndex };
}

function mostComplete(
  words: ReadonlyMap<NodeId, PeerWord>,
): { readonly peer: NodeId; readonly word: PeerWord } | null {
  let best: { readonly peer: NodeId; readonly word: PeerWord } | null = null;
  for (const [peer, word] of words) {
    if (word.verdict !== 'have' && word.verdict !== 'never-had') continue;
    const { lastTerm, lastIndex } = best?.word ?? { lastTerm: -1, lastIndex: -1 };
    const better =
      word.lastTerm > lastTerm || (word.lastTerm === lastTerm && word.lastIndex > lastIndex);
    if (better) best = { peer, word };
  }
  return best;
}

/**
 * Whether every quorum that this node's acknowledgement could have completed includes a peer whose
 * final word is among `verdicts`.
 */
function isCovered(lost: Lost, verdicts: readonly PeerWord['verdict'][]): boolean {
  const { self, words, configurations, formerVoters, ownTerm } = lost;
  if (configurations.length === 0) return false;
  const others = new Set([...configurations.flatMap(votersOf), ...formerVoters]);
  others.delete(self);
  const spoke = (peer: NodeId) => verdicts.includes(words.get(peer)?.verdict ?? 'damaged');
  const allSpoke = [...others].every(spoke);
  const isFinal = (peer: NodeId) =>
    spoke(peer) && (allSpoke || (words.get(peer)?.term ?? 0) > ownTerm);
  return configurations.every((configuration) => {
    const { voters, outgoing } = configuration;
    if (!voters.includes(self) && !outgoing.includes(self)) return true;
    return [voters, outgoing].some((half) => half.length > 0 && isBlocked(half, isFinal));
  });
}

/** Whether those of whom nothing is known are no majority. */
function isBlocked(voters: readonly NodeId[], isFinal: (peer: NodeId) => boolean): boolean {
  const silent = voters.filter((voter) => !isFinal(voter)).length;
  return silent < Math.floor(voters.length / 2) + 1;
}

function votersOf({ voters, outgoing }: Configuration): readonly NodeId[] {
  return [...voters, ...outgoing];
}
