/** Messages, entries and states in words, one line each. */
import { type Configuration, isJoint } from '../../configuration.js';
import { decodeConfiguration } from '../../configuration-codec.js';
import type { Entry } from '../../entry.js';
import { type LogIndex, NO_NODE, type Term } from '../../identifiers.js';
import type { Message } from '../../messages.js';
import type { HardState, PeerStatus, SoftState, Status } from '../../ready.js';

const SHOWN_TEXT_MAX = 12;

/** Ids of reads are minted at random places; a script numbers them in the order it asked. */
export type ReadName = (id: number) => string;

export function messageLine(message: Message, readName: ReadName): string {
  const { from, to, type } = message;
  return `${from}>${to} ${type} ${messageWords(message, readName)}`;
}

function messageWords(message: Message, readName: ReadName): string {
  const ofTerm = `term ${message.term}`;
  switch (message.type) {
    case 'pre-vote-request':
      return `${ofTerm}, last ${at(message.lastIndex, message.lastTerm)}`;
    case 'vote-request': {
      const forced = message.forced ? ', forced' : '';
      return `${ofTerm}, last ${at(message.lastIndex, message.lastTerm)}${forced}`;
    }
    case 'pre-vote-response':
    case 'vote-response':
      return `${ofTerm}, ${message.granted ? 'granted' : 'refused'}`;
    case 'append': {
      const after = at(message.previousIndex, message.previousTerm);
      const what = message.entries.length === 0 ? 'nothing' : entriesText(message.entries);
      return `${ofTerm}, after ${after}: ${what}; commit ${message.commit}${lifeText(message)}`;
    }
    case 'append-response': {
      const what = message.index === 0 ? 'only the term' : `holds ${message.index}`;
      return `${ofTerm}, ${what}${lifeText(message)}`;
    }
    case 'append-rejection': {
      const meeting = at(message.hintIndex, message.hintTerm);
      const lost = message.lost > 0 ? ', lost entries' : '';
      const where = `lacks ${message.rejectedIndex}, may meet at ${meeting}`;
      return `${ofTerm}, ${where}${lost}${lifeText(message)}`;
    }
    case 'heartbeat':
      return `${ofTerm}, commit ${message.commit}, round ${message.round}, sent ${message.sentMs}`;
    case 'heartbeat-response': {
      const lost = message.lost > 0 ? ', lost entries' : '';
      return `${ofTerm}, round ${message.round}, sent ${message.sentMs}${lost}`;
    }
    case 'snapshot': {
      const { index, term, configuration } = message.snapshot;
      const what = `up to ${at(index, term)}, ${configurationText(configuration)}`;
      return `${ofTerm}, ${what}${lifeText(message)}`;
    }
    case 'timeout-now':
      return ofTerm;
    case 'transfer-request':
      return `${ofTerm}, to ${message.target}`;
    case 'read-request':
      return `${ofTerm}, ${readName(message.id)}`;
    case 'read-response':
      return `${ofTerm}, ${readName(message.id)} at ${message.index}`;
    case 'append-durable':
      return `${ofTerm}, up to ${at(message.index, message.entryTerm)}`;
  }
}

/** The number is drawn at random; that it is there at all says what matters. */
function lifeText({ life }: { readonly life: number }): string {
  return life > 0 ? ' (knows of the loss)' : '';
}

/** A place of the log: index/term. */
export function at(index: LogIndex, term: Term): string {
  return `${index}/t${term}`;
}

/** Neighbours of one term and one content are a run: `3..5/t1 old`. */
export function entriesText(entries: readonly Entry[]): string {
  const runs: { first: LogIndex; last: LogIndex; term: Term; content: string }[] = [];
  for (const { index, term, ...entry } of entries) {
    const content = contentText(entry);
    const run = runs.at(-1);
    if (run?.term === term && run.content === content && run.last + 1 === index) run.last = index;
    else runs.push({ first: index, last: index, term, content });
  }
  return runs.map(runText).join(', ');
}

function runText(run: { first: LogIndex; last: LogIndex; term: Term; content: string }): string {
  const from = run.first === run.last ? '' : `${run.first}..`;
  return `${from}${at(run.last, run.term)} ${run.content}`;
}

function contentText(entry: Pick<Entry, 'type' | 'data'>): string {
  if (entry.type === 'configuration') {
    return `[${configurationText(decodeConfiguration(entry.data).configuration)}]`;
  }
  const { data } = entry;
  if (data.length === 0) return 'empty';
  if (data.length > SHOWN_TEXT_MAX) return `(${data.length} bytes)`;
  return Array.from(data, (code) => String.fromCharCode(code)).join('');
}

export function configurationText(config: Configuration): string {
  if (config.voters.length === 0) return 'no members';
  const parts = [`voters ${config.voters.join(' ')}`];
  if (isJoint(config)) parts.push(`outgoing ${config.outgoing.join(' ')}`);
  if (config.learners.length > 0) parts.push(`learners ${config.learners.join(' ')}`);
  if (config.learnersNext.length > 0) parts.push(`then learners ${config.learnersNext.join(' ')}`);
  if (config.promoting.length > 0) parts.push(`to promote ${config.promoting.join(' ')}`);
  if (config.autoLeave) parts.push('left by itself');
  return parts.join(', ');
}

/** What a ready says of role and hard state; `before` is the hard state that it said last. */
export function changesText(
  soft: SoftState | undefined,
  hard: HardState | undefined,
  before: HardState,
): string {
  const parts: string[] = [];
  if (soft !== undefined) parts.push(roleText(soft));
  if (hard !== undefined) {
    if (hard.term !== before.term) parts.push(`term ${hard.term}`);
    if (hard.vote !== NO_NODE && (hard.vote !== before.vote || hard.term !== before.term)) {
      parts.push(`votes for ${hard.vote}`);
    }
    if (hard.commit !== before.commit) parts.push(`commit ${hard.commit}`);
    if (parts.length === 0) parts.push('repeats its hard state');
  }
  return parts.join(', ');
}

function roleText({ role, leader, leading, recovering }: SoftState): string {
  const plans = leading ? ', may plan' : '';
  const follows = leader === NO_NODE ? ', no leader' : ` of ${leader}`;
  return `${role}${role === 'follower' ? follows : plans}${recovering ? ', recovering' : ''}`;
}

export function stateText(status: Status): string {
  const { term, vote, commit, applied, firstIndex, lastIndex } = status;
  const parts = [
    `${roleText(status)}, term ${term}`,
    vote === NO_NODE ? 'no vote' : `vote ${vote}`,
    `commit ${commit}`,
    `applied ${applied}`,
    `log ${firstIndex}..${lastIndex}`,
  ];
  if (status.durableIndex !== lastIndex) parts.push(`durable ${status.durableIndex}`);
  if (status.transferTarget !== NO_NODE) parts.push(`handing over to ${status.transferTarget}`);
  if (status.pendingReads > 0) parts.push(`${status.pendingReads} reads wait`);
  if (status.appendStuck) parts.push('its append hangs');
  if (status.appendFailed) parts.push('its append failed');
  return parts.join(', ');
}

export function progressText(peer: PeerStatus): string {
  const parts = [`${peer.state}, match ${peer.match}, next ${peer.next}`];
  if (peer.learner) parts.push('learner');
  if (peer.paused) parts.push('paused');
  if (peer.inFlightMessages > 0) parts.push(`${peer.inFlightMessages} in flight`);
  if (!peer.recentlyActive) parts.push('silent');
  return parts.join(', ');
}
