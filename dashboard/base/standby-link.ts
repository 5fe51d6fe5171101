/**
 * Texts about the link to another cluster. `link` is `raft.link` of `/health`, undefined on a
 * node that has no part in one. Figures stand as the node wrote them; large ones also in words.
 */
import type { LinkView } from '@svc/wire';
import { counted, formatBytes, formatDuration } from './format.js';

type Follower = NonNullable<LinkView['follower']>;
type Limits = NonNullable<LinkView['limits']>;

export interface LinkFact {
  readonly label: string;
  readonly text: string;
  readonly tone?: 'wait' | 'bad' | undefined;
}

export interface LinkNotice {
  readonly tone: 'wait' | 'bad';
  readonly text: string;
}

export interface ReaderRow {
  readonly name: string;
  readonly after: number;
  readonly behind: number;
  readonly heldBytes: number;
  readonly idleMs: number;
  readonly endsInMs: number;
  readonly isNearEnd: boolean;
}

/** Behind by this much of both: one entry after an idle hour is an hour late and no notice. */
const FAR_ENTRIES = 1000;
const FAR_MS = 30_000;
/** A source that is heard less often than this is gone or cut off. */
const SILENT_MS = 30_000;
/** A share of the silence after which a hold ends. */
const NEAR_SHARE = 0.75;
/** Below the fullness at which nothing is held. */
const NEAR_PCT = 5;
const NEVER_PCT = 100;

const GUIDE = 'docs/operations.md, “A standby cluster”';

export function duration(ms: number): string {
  return `${ms} ms${ms < 60_000 ? '' : ` (${formatDuration(ms / 1000)})`}`;
}

export function size(bytes: number): string {
  return `${bytes} B${bytes < 1024 ? '' : ` (${formatBytes(bytes)})`}`;
}

/** In UTC: it is compared with what the other cluster says. */
function moment(us: number): string {
  return `${new Date(us / 1000).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

/** Pairs of label and text, with a tone where something is wrong. null: `leaderId` is unknown. */
export function factsOf(
  link: LinkView | undefined | null,
  leaderId: number | null,
  nowMs: number,
): LinkFact[] {
  if (link === undefined || link === null) return [];
  const { role, name, source, configuredSource, position, follower } = link;
  const addresses = role === 'promoted' ? undefined : configuredSource;
  const facts: { label: string; text: string | undefined; tone?: LinkFact['tone'] }[] = [
    { label: 'Role', text: roleText(link) },
    { label: 'Name', text: name },
    { label: 'Source', text: (addresses ?? source?.split(','))?.join(', ') },
    { label: role === 'promoted' ? 'Went on after' : 'Position', text: placeText(position) },
    ...(follower === undefined ? [] : followerFacts(follower, { role, leaderId, nowMs })),
  ];
  return facts.filter((fact): fact is LinkFact => typeof fact.text === 'string');
}

function roleText({ role, sinceUs = 0, promotedAtUs = 0 }: LinkView): string {
  if (role === 'standby') return `standby, since ${moment(sinceUs)}`;
  return role === 'promoted' ? `promoted, ${moment(promotedAtUs)}` : role;
}

function placeText(position: LinkView['position']): string | undefined {
  if (position === undefined) return undefined;
  const { index, term, nowUs } = position;
  if (index === 0) return 'before the first entry of the source';
  return `entry ${index}, term ${term}, of ${moment(nowUs)}`;
}

interface Around {
  readonly role: LinkView['role'];
  readonly leaderId: number | null;
  readonly nowMs: number;
}

function followerFacts(follower: Follower, { role, leaderId, nowMs }: Around): LinkFact[] {
  const { state, error, source, lagEntries, lagMs, lastAnswerMs } = follower;
  const tone = toneOf(state);
  if (state === 'idle') {
    const leader = leaderId === null ? 'the leader' : `the leader, node ${leaderId},`;
    const text = role === 'standby' ? `idle here: ${leader} reads the source` : state;
    return [{ label: 'State', text }];
  }
  return [
    { label: 'State', text: state, tone },
    ...(error === null ? [] : [{ label: 'Reason', text: error, tone }]),
    ...(source === null ? [] : [{ label: 'Reads', text: source }]),
    { label: 'Behind', text: `${counted(lagEntries, 'entry', 'entries')}, ${duration(lagMs)}` },
    {
      label: 'Last contact',
      text:
        lastAnswerMs === null
          ? 'none since this node leads'
          : `${moment((nowMs - lastAnswerMs) * 1000)}, ${duration(lastAnswerMs)} ago`,
    },
  ];
}

function toneOf(state: Follower['state']): LinkFact['tone'] {
  if (state === 'halted') return 'bad';
  return state === 'waiting' ? 'wait' : undefined;
}

/** `applied`: how far this node is itself. */
export function readerRows(
  { readers = [], limits }: Partial<LinkView> = {},
  applied: number,
): ReaderRow[] {
  if (limits === undefined) return [];
  return readers.map(({ name, after, idleMs, heldBytes }) => ({
    name,
    after,
    behind: Math.max(0, applied - after),
    heldBytes,
    idleMs,
    endsInMs: Math.max(0, limits.idleMs - idleMs),
    isNearEnd: isNearEnd(idleMs, limits),
  }));
}

function isNearEnd(idleMs: number, limits: Limits): boolean {
  return idleMs >= limits.idleMs * NEAR_SHARE;
}

/** One or two sentences on what the figures mean. */
export function noteOf(link: LinkView | undefined | null): string {
  if (link === undefined || link === null) {
    return `This cluster follows no other one, and no standby reads this node. See ${GUIDE}.`;
  }
  const notes: string[] = [];
  if (link.role === 'promoted') {
    notes.push('What the source took after that entry is not here.');
  }
  if (link.readers !== undefined && link.limits !== undefined) {
    notes.push(limitsText(link.limits, link.holding === true));
  }
  return notes.join(' ');
}

function limitsText({ idleMs, diskPct, usedPct }: Limits, holding: boolean): string {
  const end = `is silent for ${duration(idleMs)}`;
  const silence = `This node keeps its log for a standby until that ${end}`;
  if (diskPct >= NEVER_PCT) return `${silence}.`;
  const disk = `${silence}, or the volume is ${diskPct} % full. It is ${usedPct} % full`;
  return holding ? `${disk}: nothing is over.` : `${disk}: that is over, and nothing is kept.`;
}

/** Notices for the overview, the worst first. */
export function noticesOf(link: LinkView | undefined | null): LinkNotice[] {
  if (link === undefined || link === null) return [];
  const { role, follower } = link;
  const notices = [
    ...(role === 'standby' && follower !== undefined ? followerNotices(follower) : []),
    ...(link.readers === undefined || link.limits === undefined
      ? []
      : holdNotices(link, link.limits)),
  ];
  return notices.sort((a, b) => Number(b.tone === 'bad') - Number(a.tone === 'bad'));
}

function followerNotices(follower: Follower): LinkNotice[] {
  const { state, error, lagEntries, lagMs, lastAnswerMs } = follower;
  if (state === 'halted') return [{ tone: 'bad', text: `The standby is halted: ${error}` }];
  if (state === 'waiting')
    return [{ tone: 'wait', text: `The standby waits: ${error ?? 'no answer yet'}` }];
  const notices: LinkNotice[] = [];
  if (lagEntries >= FAR_ENTRIES && lagMs >= FAR_MS) {
    const text = `The standby is behind by ${lagEntries} entries and ${duration(lagMs)}`;
    notices.push({ tone: 'wait', text });
  }
  if (state === 'following' && (lastAnswerMs ?? 0) >= SILENT_MS) {
    notices.push({ tone: 'wait', text: `The source is silent for ${duration(lastAnswerMs ?? 0)}` });
  }
  return notices;
}

function holdNotices({ readers = [], holding }: LinkView, limits: Limits): LinkNotice[] {
  const { diskPct, usedPct } = limits;
  const full = `the volume is ${usedPct} % full, and at ${diskPct} % nothing is kept for standbys`;
  const notices: LinkNotice[] = [];
  if (!holding) notices.push({ tone: 'bad', text: `No hold: ${full}` });
  else if (diskPct < NEVER_PCT && usedPct >= diskPct - NEAR_PCT) {
    notices.push({ tone: 'wait', text: `Holds end soon: ${full}` });
  }
  for (const { name, idleMs } of readers.filter((one) => isNearEnd(one.idleMs, limits))) {
    const left = duration(Math.max(0, limits.idleMs - idleMs));
    notices.push({
      tone: 'wait',
      text: `The hold of standby ${name} ends in ${left}: it is silent`,
    });
  }
  return notices;
}
