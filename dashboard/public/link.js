/**
 * Texts about the link to another cluster. `link` is `raft.link` of `/health`, undefined on a
 * node that has no part in one. Figures stand as the node wrote them; large ones also in words.
 */
import { formatBytes, formatDuration } from './format.js';
import { formatMoment } from './surfaces.js';

/** Behind by this much of both: one entry after an idle hour is an hour late and no alarm. */
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

export function duration(ms) {
  return `${ms} ms${ms < 60_000 ? '' : ` (${formatDuration(ms / 1000)})`}`;
}

function size(bytes) {
  return `${bytes} B${bytes < 1024 ? '' : ` (${formatBytes(bytes)})`}`;
}

function moment(us) {
  return `${formatMoment(new Date(us / 1000).toISOString())} UTC`;
}

const counted = (count, one, many) => `${count} ${count === 1 ? one : many}`;

/** Pairs of label and text, with a tone where something is wrong. null: `leaderId` is unknown. */
export function factsOf(link, leaderId, nowMs) {
  if (link === undefined) return [];
  const { role, name, source, configuredSource, position, follower } = link;
  const addresses = role === 'promoted' ? undefined : configuredSource;
  const facts = [
    { label: 'Role', text: roleText(link) },
    { label: 'Name', text: name },
    { label: 'Source', text: (addresses ?? source?.split(','))?.join(', ') },
    { label: role === 'promoted' ? 'Went on after' : 'Position', text: placeText(position) },
    ...(follower === undefined ? [] : followerFacts(follower, { role, leaderId, nowMs })),
  ];
  return facts.filter(({ text }) => text !== undefined && text !== null);
}

function roleText({ role, sinceUs, promotedAtUs }) {
  if (role === 'standby') return `standby, since ${moment(sinceUs)}`;
  return role === 'promoted' ? `promoted, ${moment(promotedAtUs)}` : role;
}

function placeText(position) {
  if (position === undefined) return undefined;
  const { index, term, nowUs } = position;
  if (index === 0) return 'before the first entry of the source';
  return `entry ${index}, term ${term}, of ${moment(nowUs)}`;
}

function followerFacts(follower, { role, leaderId, nowMs }) {
  const { state, error, source, lagEntries, lagMs, lastAnswerMs } = follower;
  const tone = toneOf(state);
  if (state === 'idle') {
    const leader = leaderId === null ? 'the leader' : `the leader, node ${leaderId},`;
    const text = role === 'standby' ? `idle here: ${leader} reads the source` : state;
    return [{ label: 'State', text }];
  }
  return [
    { label: 'State', text: state, tone },
    { label: 'Reason', text: error, tone },
    { label: 'Reads', text: source },
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

function toneOf(state) {
  if (state === 'halted') return 'bad';
  return state === 'waiting' ? 'wait' : undefined;
}

export const READER_COLUMNS = ['Standby', 'Has entry', 'Behind', 'Holds', 'Silent', 'Ends in'];

/** `applied`: how far this node is itself. */
export function readerRows({ readers = [], limits } = {}, applied) {
  return readers.map(({ name, after, idleMs, heldBytes }) => [
    { text: name, isLong: true },
    { text: `${after}` },
    { text: `${Math.max(0, applied - after)}` },
    { text: size(heldBytes) },
    { text: duration(idleMs) },
    { text: duration(Math.max(0, limits.idleMs - idleMs)), isBad: isNearEnd(idleMs, limits) },
  ]);
}

function isNearEnd(idleMs, limits) {
  return idleMs >= limits.idleMs * NEAR_SHARE;
}

/** One or two sentences on what the figures mean. */
export function noteOf(link) {
  if (link === undefined) {
    return `This cluster follows no other one, and no standby reads this node. See ${GUIDE}.`;
  }
  const notes = [];
  if (link.role === 'promoted') {
    notes.push('What the source took after that entry is not here.');
  }
  if (link.readers !== undefined) notes.push(limitsText(link));
  return notes.join(' ');
}

function limitsText({ limits, holding }) {
  const { idleMs, diskPct, usedPct } = limits;
  const end = `is silent for ${duration(idleMs)}`;
  const silence = `This node keeps its log for a standby until that ${end}`;
  if (diskPct >= NEVER_PCT) return `${silence}.`;
  const disk = `${silence}, or the volume is ${diskPct} % full. It is ${usedPct} % full`;
  return holding ? `${disk}: nothing is over.` : `${disk}: that is over, and nothing is kept.`;
}

/** Alarms for the overview, the worst first. */
export function alarmsOf(link) {
  if (link === undefined) return [];
  const { role, follower } = link;
  const alarms = [
    ...(role === 'standby' && follower !== undefined ? followerAlarms(follower) : []),
    ...(link.readers === undefined ? [] : holdAlarms(link)),
  ];
  return alarms.sort((a, b) => Number(b.tone === 'bad') - Number(a.tone === 'bad'));
}

function followerAlarms({ state, error, lagEntries, lagMs, lastAnswerMs }) {
  if (state === 'halted') return [{ tone: 'bad', text: `The standby is halted: ${error}` }];
  if (state === 'waiting')
    return [{ tone: 'wait', text: `The standby waits: ${error ?? 'no answer yet'}` }];
  const alarms = [];
  if (lagEntries >= FAR_ENTRIES && lagMs >= FAR_MS) {
    const text = `The standby is behind by ${lagEntries} entries and ${duration(lagMs)}`;
    alarms.push({ tone: 'wait', text });
  }
  if (state === 'following' && lastAnswerMs >= SILENT_MS) {
    alarms.push({ tone: 'wait', text: `The source is silent for ${duration(lastAnswerMs)}` });
  }
  return alarms;
}

function holdAlarms({ readers, limits, holding }) {
  const { diskPct, usedPct } = limits;
  const full = `the volume is ${usedPct} % full, and at ${diskPct} % nothing is kept for standbys`;
  const alarms = [];
  if (!holding) alarms.push({ tone: 'bad', text: `No hold: ${full}` });
  else if (diskPct < NEVER_PCT && usedPct >= diskPct - NEAR_PCT) {
    alarms.push({ tone: 'wait', text: `Holds end soon: ${full}` });
  }
  for (const { name, idleMs } of readers.filter((one) => isNearEnd(one.idleMs, limits))) {
    const left = duration(Math.max(0, limits.idleMs - idleMs));
    alarms.push({
      tone: 'wait',
      text: `The hold of standby ${name} ends in ${left}: it is silent`,
    });
  }
  return alarms;
}
