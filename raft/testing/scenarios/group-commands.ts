/** Commands that set up a group, let its time pass and bring it to an election. */
import { configuration } from '../../configuration.js';
import type { Entry } from '../../entry.js';
import { logIndex, nodeId, term } from '../../identifiers.js';
import { DEFAULT_SETTINGS, type RaftSettings } from '../../options.js';
import type { Commands } from './command.js';
import { BROKEN_PROMISE, ELECTION_MS, HEARTBEAT_MS, type Stage } from './stage.js';
import type { StagedNode } from './staged-node.js';
import { ScriptError, type Words } from './words.js';

/** Node 1 waits one election timeout for its leader, node 2 a fifth more, and so on. */
const PATIENCE_STEP = 0.2;
/** Five nodes campaign within two election timeouts; a last resort after five. */
const CAMPAIGN_WAIT_MS_MAX = 10 * ELECTION_MS;

export const GROUP_COMMANDS: Commands = {
  settings: (stage, words) => {
    const given = settingsOf(words);
    stage.settings = { ...stage.settings, ...given };
  },
  nodes: addNodes,
  campaign: (stage, words) => {
    stage.node(words.number()).running.campaign();
  },
  elect: (stage, words) => {
    const node = stage.node(words.number());
    node.running.campaign();
    stage.quietly(() => stage.settle([]));
    const printed = stage.takePrinted();
    for (const line of printed) if (line.startsWith(BROKEN_PROMISE)) stage.print(line);
    const { role, term: ofTerm, commit } = node.running.status();
    if (role === 'leader') stage.print(`${node.id}: leads term ${ofTerm}, commit ${commit}`);
    else stage.print(`${node.id}: is not elected`);
  },
  'await-campaign': (stage, words) => {
    const node = stage.node(words.number());
    let waitedMs = 0;
    while (node.running.status().role === 'follower') {
      if (waitedMs >= CAMPAIGN_WAIT_MS_MAX) {
        stage.print(`${node.id}: does not campaign within ${waitedMs} ms`);
        return;
      }
      node.pass(HEARTBEAT_MS);
      waitedMs += HEARTBEAT_MS;
    }
    stage.print(`${node.id}: campaigns after ${waitedMs} ms`);
  },
  pass: (stage, words) => {
    const ms = words.number();
    const nodes = stage.some(words.numbers());
    inSteps(ms, (step) => {
      for (const node of nodes) node.pass(step);
      stage.work();
    });
  },
  live: (stage, words) => {
    const ms = words.number();
    const nodes = stage.some(words.numbers());
    stage.quietly(() =>
      inSteps(ms, (step) => {
        for (const node of nodes) node.pass(step);
        stage.settle([]);
      }),
    );
  },
  jump: (stage, words) => {
    const node = stage.node(words.number());
    const ms = words.number();
    for (let left = words.ended ? 1 : words.number(); left > 0; left--) {
      node.pass(ms);
      stage.work();
    }
  },
};

function inSteps(ms: number, action: (stepMs: number) => void): void {
  for (let left = ms; left > 0; left -= HEARTBEAT_MS) action(Math.min(left, HEARTBEAT_MS));
}

/** `nodes 1 2 [voters ...] [learners ...] [log TERMS...] [term T] [vote V] [commit C] [x=y ...]` */
function addNodes(stage: Stage, words: Words): void {
  const ids = words.numbers();
  let voters: readonly number[] = ids;
  let learners: readonly number[] = [];
  let terms: readonly number[] = [];
  let ofTerm: number | undefined;
  let vote = 0;
  let commit = 0;
  while (!words.ended && !words.upcoming.includes('=')) {
    const clause = words.take();
    if (clause === 'voters') voters = words.numbers();
    else if (clause === 'learners') learners = words.numbers();
    else if (clause === 'log') terms = words.numbers();
    else if (clause === 'term') ofTerm = words.number();
    else if (clause === 'vote') vote = words.number();
    else if (clause === 'commit') commit = words.number();
    else throw new ScriptError(`"${clause}" says nothing about a node`);
  }
  const settings = { ...stage.settings, ...settingsOf(words) };
  for (const id of ids) {
    stage.add({
      id: nodeId(id),
      configuration: configuration(voters.map(nodeId), learners.map(nodeId)),
      entries: oldEntries(1, terms),
      hardState: {
        term: term(ofTerm ?? terms.reduce((most, one) => Math.max(most, one), 0)),
        vote: nodeId(vote),
        commit: logIndex(commit),
      },
      settings,
      random: ((id - 1) * PATIENCE_STEP) % 1,
    });
  }
}

/** One content for all: entries of one place and term must not differ between nodes. */
export function oldEntries(first: number, terms: readonly number[]): readonly Entry[] {
  return terms.map((ofTerm, place) => ({
    index: logIndex(first + place),
    term: term(ofTerm),
    type: 'normal',
    data: bytesOf('old'),
  }));
}

export function bytesOf(text: string): Uint8Array {
  return Uint8Array.from(text, (letter) => letter.charCodeAt(0));
}

/** `name=value`, with the names of the settings themselves. */
function settingsOf(words: Words): Partial<RaftSettings> {
  const settings: Record<string, string | number | boolean> = {};
  for (const word of words.rest()) {
    const [name = '', value = ''] = word.split('=');
    if (!(name in DEFAULT_SETTINGS)) throw new ScriptError(`"${name}" is no setting`);
    settings[name] = settingValue(value);
  }
  return settings;
}

function settingValue(text: string): string | number | boolean {
  if (text === 'on' || text === 'off') return text === 'on';
  if (text === 'never') return Infinity;
  return /^-?\d+$/.test(text) ? Number(text) : text;
}

export function changeSettings(node: StagedNode, words: Words): void {
  node.settings = { ...node.settings, ...settingsOf(words) };
}
