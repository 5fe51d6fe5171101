/**
 * Messages written by the script itself: from a member of a former life, from a node that is not
 * on the stage, or such as no sound node sends.
 */
import { logIndex, type NodeId, nodeId, type Term, term } from '../../identifiers.js';
import type { Message } from '../../messages.js';
import { oldEntries } from './group-commands.js';
import { ScriptError, type Words } from './words.js';

interface Envelope {
  readonly from: NodeId;
  readonly to: NodeId;
  readonly term: Term;
}

/**
 * `FROM>TO KIND term T [field number]... [with TERM...]`; a field that is not named is 0. The
 * entries of an append have the terms after `with`, and what old entries contain.
 */
export function forged(words: Words): Message {
  const way = /^(\d+)>(\d+)$/.exec(words.take());
  if (way === null) throw new ScriptError('a forged message begins with FROM>TO');
  const kind = words.take();
  const fields = new Map<string, number>();
  let terms: readonly number[] = [];
  while (!words.ended) {
    if (words.taken('with')) {
      terms = words.numbers();
      continue;
    }
    const name = words.take();
    fields.set(name, words.number());
  }
  const of = (name: string): number => fields.get(name) ?? 0;
  const envelope = {
    from: nodeId(Number(way[1])),
    to: nodeId(Number(way[2])),
    term: term(of('term')),
  };
  return reply(kind, envelope, of) ?? request(kind, envelope, of, terms);
}

type Fields = (name: string) => number;

function reply(kind: string, envelope: Envelope, of: Fields): Message | undefined {
  switch (kind) {
    case 'pre-vote-response':
    case 'vote-response':
      return { type: kind, ...envelope, granted: of('granted') === 1 };
    case 'append-response':
      return { type: kind, ...envelope, index: logIndex(of('index')), life: of('life') };
    case 'append-rejection':
      return {
        type: kind,
        ...envelope,
        rejectedIndex: logIndex(of('rejected')),
        hintIndex: logIndex(of('hint')),
        hintTerm: term(of('hint-term')),
        life: of('life'),
        lost: of('lost'),
      };
    case 'heartbeat-response':
      return { type: kind, ...envelope, round: of('round'), sentMs: of('sent'), lost: of('lost') };
    case 'read-response':
      return { type: kind, ...envelope, id: of('id'), index: logIndex(of('index')) };
    default:
      return undefined;
  }
}

function request(kind: string, envelope: Envelope, of: Fields, terms: readonly number[]): Message {
  switch (kind) {
    case 'pre-vote-request':
    case 'vote-request': {
      const last = { lastIndex: logIndex(of('last')), lastTerm: term(of('last-term')) };
      if (kind === 'pre-vote-request') return { type: kind, ...envelope, ...last };
      return { type: kind, ...envelope, ...last, forced: of('forced') === 1 };
    }
    case 'append':
      return {
        type: kind,
        ...envelope,
        previousIndex: logIndex(of('after')),
        previousTerm: term(of('after-term')),
        entries: oldEntries(of('after') + 1, terms),
        commit: logIndex(of('commit')),
        life: of('life'),
      };
    case 'heartbeat': {
      const commit = logIndex(of('commit'));
      return { type: kind, ...envelope, commit, round: of('round'), sentMs: of('sent') };
    }
    case 'timeout-now':
      return { type: kind, ...envelope };
    case 'transfer-request':
      return { type: kind, ...envelope, target: nodeId(of('target')) };
    default:
      throw new ScriptError(`"${kind}" cannot be forged`);
  }
}
