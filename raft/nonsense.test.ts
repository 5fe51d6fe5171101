/**
 * Goal: a host that calls with nonsense cannot bring the core into a state that it never leaves. A
 * number of a caller that cannot be is refused by name or ends in an assertion, before anything
 * changes. Method: a table of every method that takes a number; the node then goes on as before.
 */
import { describe, expect, it } from 'vitest';
import { configuration, type NodeChange } from './configuration.js';
import { logIndex, type NodeId, nodeId, term } from './identifiers.js';
import type { Message } from './messages.js';
import { completed, DEFAULT_SETTINGS } from './options.js';
import { Raft } from './raft.js';
import type { ConfigurationProposal } from './ready.js';
import { FakeDisk } from './testing/disk.fake.js';
import { LoneNode } from './testing/lone.fake.js';

const TOO_LARGE = 2 ** 53;
const NO_NUMBERS = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
const NO_IDS = [...NO_NUMBERS, -1, 0, 1.5, TOO_LARGE];
const NO_BYTES = new Uint8Array(0);

function leader(): LoneNode {
  const node = new LoneNode();
  node.lead([2]);
  node.acknowledge(2, 1);
  node.drain();
  return node;
}

function picture({ raft }: LoneNode): string {
  const { peers, ...status } = raft.status();
  return JSON.stringify([status, peers]);
}

function leadsOn(node: LoneNode): boolean {
  const proposal = node.raft.propose(Uint8Array.of(1));
  node.drain();
  if (!proposal.accepted) return false;
  node.acknowledge(2, proposal.index);
  node.drain();
  return node.raft.status().applied === proposal.index;
}

function change(node: LoneNode, changes: readonly NodeChange[]): ConfigurationProposal {
  const { configurationIndex } = node.raft.status();
  const wanted = { changes, transition: 'auto', context: NO_BYTES } as const;
  return node.raft.proposeConfiguration(wanted, configurationIndex, { force: true });
}

type Call = (node: LoneNode, value: number) => unknown;

const THROW: readonly (readonly [string, Call, readonly number[]])[] = [
  ['tick', ({ raft }, value) => raft.tick(value), NO_NUMBERS],
  ['readIndex', ({ raft }, value) => raft.readIndex(value), NO_NUMBERS],
  ['applied', ({ raft }, value) => raft.applied(logIndex(value)), [...NO_NUMBERS, 1.5, TOO_LARGE]],
  ['proposeAll of nothing', ({ raft }) => raft.proposeAll([]), [0]],
];

const ANSWER: readonly (readonly [string, Call, unknown])[] = [
  [
    'transferLeader',
    ({ raft }, value) => raft.transferLeader(nodeId(value)),
    { accepted: false, reason: 'not_voter' },
  ],
  ['reportUnreachable', ({ raft }, value) => raft.reportUnreachable(nodeId(value)), undefined],
  ['reportSnapshot', ({ raft }, value) => raft.reportSnapshot(nodeId(value), 'sent'), undefined],
  ...(['add-voter', 'add-learner', 'remove'] as const).map(
    (type) =>
      [
        `proposeConfiguration, ${type}`,
        (node: LoneNode, value: number) =>
          change(node, [
            { type: 'add-learner', node: nodeId(4) },
            { type, node: nodeId(value) },
          ]),
        { accepted: false, reason: 'impossible_node' },
      ] as const,
  ),
];

describe('a leader that is called with nonsense leads on', () => {
  it.each(THROW)('%s ends in an assertion', (_, call, values) => {
    for (const value of values) {
      const node = leader();
      const before = picture(node);
      expect(() => call(node, value), String(value)).toThrow();
      expect(picture(node)).toBe(before);
      expect(leadsOn(node)).toBe(true);
    }
  });

  it.each(ANSWER)('%s refuses or ignores it', (_, call, answer) => {
    for (const value of NO_IDS) {
      const node = leader();
      const before = picture(node);
      expect(call(node, value), String(value)).toEqual(answer);
      expect(picture(node)).toBe(before);
      expect(leadsOn(node)).toBe(true);
    }
  });

  it('an index of a configuration that cannot be is none that it has', () => {
    for (const value of [...NO_NUMBERS, -1, 0.5, TOO_LARGE]) {
      const node = leader();
      const changes = [{ type: 'add-learner', node: nodeId(4) }] as const;
      const wanted = { changes, transition: 'auto', context: NO_BYTES } as const;
      expect(node.raft.proposeConfiguration(wanted, logIndex(value))).toEqual({
        accepted: false,
        reason: 'membership_changed',
      });
      expect(leadsOn(node)).toBe(true);
    }
  });

  it('a message of a kind that it does not know changes nothing, its term least of all', () => {
    const node = leader();
    const before = picture(node);
    const unknown = { type: 'of-a-later-version', from: nodeId(2), to: nodeId(1), term: term(99) };
    node.step(unknown as unknown as Message);
    expect(picture(node)).toBe(before);
    expect(node.raft.counters().malformed).toBe(1);
  });
});

describe('a node is not made of nonsense', () => {
  const sound = {
    id: nodeId(1),
    nowMs: 0,
    random: () => 0,
    storage: new FakeDisk(false),
    hardState: { term: term(0), vote: nodeId(0), commit: logIndex(0) },
    configuration: configuration([1, 2, 3].map(nodeId)),
    configurationIndex: logIndex(0),
    applied: logIndex(0),
  };

  it('neither number, clock, term, vote, commit nor applied index', () => {
    const { hardState } = sound;
    for (const value of NO_IDS) {
      expect(() => new Raft({ ...sound, id: value as NodeId }), `id ${value}`).toThrow();
    }
    for (const value of NO_NUMBERS) {
      expect(() => new Raft({ ...sound, nowMs: value }), `clock ${value}`).toThrow();
    }
    for (const value of [...NO_NUMBERS, -1, 1.5, TOO_LARGE]) {
      for (const name of ['term', 'vote', 'commit']) {
        const broken = { ...sound, hardState: { ...hardState, [name]: value } };
        expect(() => new Raft(broken), `${name} ${value}`).toThrow();
      }
      const broken = { ...sound, applied: logIndex(value) };
      expect(() => new Raft(broken), `applied ${value}`).toThrow();
    }
  });

  it('nor a setting that bounds nothing', () => {
    const numbers = Object.entries(DEFAULT_SETTINGS).filter(([, one]) => typeof one === 'number');
    expect(numbers.length).toBeGreaterThan(10);
    for (const [name] of numbers) {
      expect(() => completed({ [name]: Number.NaN }), name).toThrow();
      expect(() => completed({ [name]: -1 }), name).toThrow();
    }
  });
});
