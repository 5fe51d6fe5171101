/**
 * How a fresh directory comes into a cluster: founds one with its fellows, adopts the one that was
 * founded with it, or joins one that exists. A pure function of what the nodes said.
 *
 * What must hold, whatever is lost, late, restarted or wiped meanwhile:
 * - No two directories that exist at one time hold different founding entries of one peer list.
 * - A member id belongs to one directory. (It is drawn at random; see `forming-record.ts`.)
 *
 * The lowest numbered node founds, and only when each of the others has said that it is fresh and
 * pledged to this very life of the lowest. A pledge is durable before it is said, and moves on to
 * whatever life of the lowest answers next. A node has one question to another at a time, so each
 * pledge rests on a question asked after the one before; and as lives of one node follow each other
 * in time, a pledge never moves back to one that is gone. So:
 *
 * - A founding entry needs pledges from everybody. Whoever holds an earlier one gives none, because
 *   it is not fresh. So a later one is written only when nobody holds the earlier one any more.
 * - A fresh directory adopts an entry only from the life that it is pledged to. So an answer of a
 *   life that is gone, still on its way, cannot bring back the entry that went with it.
 * - One exception: the life that it is pledged to belongs to the cluster of that entry by now. Then
 *   it never founds, and the earlier entry is the only one.
 *
 * A directory that joins can do no harm: it founds nothing, and is no member until it is added.
 */
import type { NodeId } from '@svc/raft';
import { memberId, nodeNumber } from '../config/member-id.js';
import type { Founding } from '../consensus/forming-record.js';
import type { Card } from './card.js';

export interface FormingSituation {
  readonly node: number;
  readonly incarnation: number;
  readonly pledge: NodeId | null;
  readonly listDigest: string;
  /** SVC_RAFT_JOIN: it never founds. */
  readonly joins: boolean;
  /** The numbers of the peer list, ascending; this node is among them. */
  readonly list: readonly number[];
  /** What the others said last. */
  readonly cards: ReadonlyMap<number, Card>;
}

export type FormingDecision =
  /** Ascending. */
  | { readonly kind: 'found'; readonly founders: readonly NodeId[] }
  | { readonly kind: 'adopt'; readonly clusterId: string; readonly founding: Founding }
  /** `formerLife`: a member with the number of this node, whose directory is not this one. */
  | { readonly kind: 'join'; readonly clusterId: string; readonly formerLife: NodeId | null }
  | { readonly kind: 'wait'; readonly for: readonly FormingObstacle[] };

/** Why a node keeps this one from going on. */
export interface FormingObstacle {
  readonly node: number;
  readonly why:
    | 'silent'
    /** It is fresh, and has not pledged itself to this life of the lowest yet. */
    | 'not_pledged'
    | 'list_differs'
    /** It waits to be added, or belongs to a cluster of which no member answers. */
    | 'joining'
    /** It is to found, and has not yet. */
    | 'lowest'
    /** Its cluster is not the one that another node belongs to. */
    | 'other_cluster';
}

export function decideForming(situation: FormingSituation): FormingDecision {
  const { cards, list, node, joins } = situation;
  const members = [...cards.values()].filter(({ state }) => state === 'member');
  const [first] = members;
  if (first !== undefined) return withCluster(situation, first, members);
  const others = list.filter((id) => id !== node);
  if (joins) return { kind: 'wait', for: others.map((id) => obstacle(id, 'silent')) };
  const missing = node === list[0] ? obstaclesOfLowest(situation, others) : toLowest(situation);
  if (missing.length > 0) return { kind: 'wait', for: missing };
  const lives = others.map((id) => memberId(id, cards.get(id)?.incarnation ?? 0));
  const own = memberId(node, situation.incarnation);
  return { kind: 'found', founders: [own, ...lives].sort((one, other) => one - other) };
}

/** The life that a fresh node pledges itself to next; null: the pledge stays as it is. */
export function pledgeAfter(situation: FormingSituation, card: Card): NodeId | null {
  const [lowest] = situation.list;
  if (situation.joins || card.node !== lowest || card.node === situation.node) return null;
  if (card.state !== 'fresh' || card.listDigest !== situation.listDigest) return null;
  const life = memberId(card.node, card.incarnation);
  return life === situation.pledge ? null : life;
}

function withCluster(
  situation: FormingSituation,
  first: Card,
  members: readonly Card[],
): FormingDecision {
  const { clusterId } = first;
  const foreign = members.filter((card) => card.clusterId !== clusterId);
  if (foreign.length > 0) {
    return { kind: 'wait', for: members.map(({ node }) => obstacle(node, 'other_cluster')) };
  }
  const own = memberId(situation.node, situation.incarnation);
  const founding = members.find((card) => card.founding !== null)?.founding ?? null;
  if (founding?.founders.includes(own) === true) {
    if (mayAdopt(situation, clusterId, founding)) return { kind: 'adopt', clusterId, founding };
    return { kind: 'wait', for: [obstacle(situation.list[0] ?? 0, 'lowest')] };
  }
  const known = new Set(members.flatMap((card) => card.members));
  const formerLife = [...known].find((id) => nodeNumber(id) === situation.node && id !== own);
  return { kind: 'join', clusterId, formerLife: formerLife ?? null };
}

function mayAdopt(situation: FormingSituation, clusterId: string, { founders }: Founding): boolean {
  const { pledge, list, cards } = situation;
  const [founder] = founders;
  if (pledge === null || founder === undefined) return false;
  if (founder === pledge) return true;
  const lowest = cards.get(list[0] ?? 0);
  if (lowest === undefined || lowest.clusterId !== clusterId) return false;
  return memberId(lowest.node, lowest.incarnation) === pledge;
}

function obstaclesOfLowest(
  { cards, node, incarnation, listDigest }: FormingSituation,
  others: readonly number[],
): FormingObstacle[] {
  return others.flatMap((id) => {
    const card = cards.get(id);
    if (card === undefined) return [obstacle(id, 'silent')];
    if (card.state !== 'fresh') return [obstacle(id, 'joining')];
    if (card.listDigest !== listDigest) return [obstacle(id, 'list_differs')];
    return card.pledge === memberId(node, incarnation) ? [] : [obstacle(id, 'not_pledged')];
  });
}

/** What stands between a node that does not found and a cluster: never nothing. */
function toLowest({ cards, list, listDigest }: FormingSituation): FormingObstacle[] {
  const [lowest = 0] = list;
  const card = cards.get(lowest);
  if (card === undefined) return [obstacle(lowest, 'silent')];
  if (card.state !== 'fresh') return [obstacle(lowest, 'joining')];
  if (card.listDigest !== listDigest) return [obstacle(lowest, 'list_differs')];
  return [obstacle(lowest, 'lowest')];
}

function obstacle(node: number, why: FormingObstacle['why']): FormingObstacle {
  return { node, why };
}
