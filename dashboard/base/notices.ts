/** The faults of the cluster, the worst first, each with the page that shows it. */
import type { LinkView } from '@svc/wire';
import { counted, formatDuration, isFigure } from './format.js';
import { gaugesOf, type RaftView } from './fullest-node.js';
import { noticesOf as linkNoticesOf } from './standby-link.js';

export interface NoticeText {
  readonly tone: 'wait' | 'bad';
  readonly text: string;
  /** The address in the app. */
  readonly to: string;
}

export interface NoticeSources {
  readonly status: string | null;
  readonly raft: RaftView | null;
  readonly link: LinkView | null;
  readonly deadLetters: number | null;
  /** Seconds that the oldest unconsumed message waits. */
  readonly longestLagSeconds: number | null;
  /** From so many on it is told. */
  readonly waitSeconds: number;
}

const FAR_BEHIND_ENTRIES = 10_000;

export function noticesOf(sources: NoticeSources): NoticeText[] {
  const { status, raft, link, deadLetters, longestLagSeconds, waitSeconds } = sources;
  const notices: NoticeText[] = [
    ...(raft === null ? [] : raftNotices(raft)),
    ...linkNoticesOf(link).map((notice) => ({ ...notice, to: '/system' })),
  ];
  if (status !== null && status !== 'healthy') {
    notices.push({ tone: 'wait', text: `The node that answers is ${status}`, to: '/system' });
  }
  if (isFigure(longestLagSeconds) && longestLagSeconds > waitSeconds) {
    const text = `A message has waited for ${formatDuration(longestLagSeconds)}`;
    notices.push({ tone: 'wait', text, to: '/consumers' });
  }
  if (isFigure(deadLetters) && deadLetters > 0) {
    const text = counted(deadLetters, 'dead letter', 'dead letters');
    notices.push({ tone: 'wait', text, to: '/dlq' });
  }
  return notices.sort((a, b) => Number(b.tone === 'bad') - Number(a.tone === 'bad'));
}

function raftNotices(raft: RaftView): NoticeText[] {
  const { leaderId, members } = raft;
  const notices: NoticeText[] = [];
  if (leaderId === null) notices.push(bad('No leader: nothing is stored until one is elected'));
  for (const { nodeId, reachable, lagEntries } of members) {
    if (reachable !== true) notices.push(bad(`Node ${nodeId} does not answer`));
    else if (isFigure(lagEntries) && lagEntries > FAR_BEHIND_ENTRIES) {
      const text = `Node ${nodeId} is behind by ${counted(lagEntries, 'entry', 'entries')}`;
      notices.push({ tone: 'wait', text, to: '/system' });
    }
  }
  for (const { label, text, tone, note } of gaugesOf(raft)) {
    if (label === 'Raft' || tone === 'good') continue;
    notices.push({ tone, text: `${label}: ${text} (${note})`, to: '/system' });
  }
  return notices;
}

function bad(text: string): NoticeText {
  return { tone: 'bad', text, to: '/system' };
}
