// Which part of the work of a request a piece of code belongs to: by its file, and where one file
// serves several parts, by who called it. Used on the call stacks of a profile.
//
// What must hold: every file of the product has a stage, so that no time is nobody's.

export const STAGES = [
  'parse',
  'turn',
  'plan',
  'log',
  'consensus',
  'apply',
  'render',
  'socket',
  'checkpoint',
  'peers',
  'other',
] as const;
export type Stage = (typeof STAGES)[number];

export const STAGE_TEXTS: { readonly [stage in Stage]: string } = {
  parse: 'request: head, route, body, JSON',
  turn: 'requests held, gathered to turns, answers given out',
  plan: 'planning the entry',
  log: 'log: group, checksum, hand-over to the thread pool',
  consensus: 'consensus',
  apply: 'applying the entry',
  render: 'answer: payloads read, JSON',
  socket: 'answer written by the library: text to bytes, system call',
  checkpoint: 'checkpoint',
  peers: 'other nodes',
  other: 'timers, meters, the rest',
};

/** `caller`: the stage of the nearest caller that has one of its own. */
type Rule = Stage | 'caller' | 'front';

/** By the beginning of the path below the checkout; the longest that fits counts. */
export const RULES: { readonly [beginning: string]: Rule } = {
  'http/': 'front',
  // The calls of the library have no place of their own in a profile.
  'http/exchange/exchange.': 'socket',
  'packages/broker/': 'other',
  'packages/broker/consensus/': 'consensus',
  'packages/broker/directory/state-store': 'checkpoint',
  'packages/broker/leader/': 'turn',
  'packages/broker/leader/replica.': 'apply',
  'packages/broker/peers/': 'peers',
  'packages/broker/reads/fetch.': 'render',
  'packages/broker/reads/message-reader.': 'render',
  'packages/broker/reads/opened-batch.': 'render',
  'packages/broker/repair/snapshot-': 'peers',
  'packages/broker/requests/': 'turn',
  'packages/broker/requests/forward-': 'peers',
  'packages/broker/service/broker.': 'turn',
  'packages/broker/system/send-buffers.': 'peers',
  'packages/engine/': 'caller',
  'packages/engine/planner/planner.': 'plan',
  'packages/engine/state/apply.': 'apply',
  'packages/ephemeral/': 'other',
  'packages/schema/': 'caller',
  'packages/wire/': 'caller',
  'raft/': 'consensus',
  'storage/': 'caller',
  'storage/disk/': 'log',
  'storage/log/': 'log',
  'storage/state/lmdb/writer.': 'checkpoint',
};

/** Of code that any stage may call, when nobody who has a stage did. */
const UNCALLED: Stage = 'other';

/** The rule of a file of the product by its path below the checkout, built or not. */
export function ruleOf(path: string): Rule | undefined {
  const source = path.replace('/dist/', '/');
  let found = '';
  for (const beginning of Object.keys(RULES)) {
    if (source.startsWith(beginning) && beginning.length > found.length) found = beginning;
  }
  return RULES[found];
}

/**
 * `stack` are the files from the innermost call outwards. What is not the product's, such as a
 * function of the runtime, counts for who called it.
 */
export function stageOf(stack: readonly string[]): Stage {
  let front = false;
  for (const [depth, path] of stack.entries()) {
    const rule = ruleOf(path);
    if (rule === undefined || rule === 'caller') continue;
    if (rule === 'socket' && depth === 0) return 'socket';
    // The front reads a request when the library calls it, and answers when the broker does.
    if (rule === 'front' || rule === 'socket') front = true;
    else return front ? 'render' : rule;
  }
  return front ? 'parse' : UNCALLED;
}
