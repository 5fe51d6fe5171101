// Goal: what is not meant for this member never reaches consensus, whatever the bytes, and each
// refusal is counted. Method: frames made by hand and damaged at every byte.
import { encodeMessage, logIndex, type Message, NO_NODE, nodeId, term } from '@svc/raft';
import { beforeEach, expect, test } from 'vitest';
import { memberId } from '../config/member-id.js';
import { PEER_CHANNELS, type PeerPort } from '../peers/port.js';
import { GroupLink } from './group-link.js';

const SELF = memberId(1, 77);
const PEER = memberId(2, 0);

let sent: { to: number; channel: string; bytes: Uint8Array }[];
let taken: Message[];
let unreachable: number[];
let accepts: boolean;
let link: GroupLink;
let port: PeerPort;

beforeEach(() => {
  sent = [];
  taken = [];
  unreachable = [];
  accepts = true;
  port = {
    send: (to, channel, parts) => {
      sent.push({ to, channel, bytes: Buffer.concat(parts) });
      return accepts;
    },
    onFrame: () => {},
    onUnreachable: () => {},
  };
  link = new GroupLink(port, SELF, 1_000_000);
  link.open({
    onMessage: (message) => taken.push(message),
    onContent: () => {},
    onUnreachable: (node) => unreachable.push(node),
  });
});

function append(to = SELF, from = PEER): Message {
  const data = new Uint8Array(50).fill(9);
  const entry = { index: logIndex(5), term: term(3), type: 'normal', data } as const;
  return {
    type: 'append',
    from,
    to,
    term: term(3),
    previousIndex: logIndex(4),
    previousTerm: term(2),
    entries: [entry],
    commit: logIndex(4),
    life: 0,
  };
}

function bytesOf(message: Message): Uint8Array {
  return Buffer.concat(encodeMessage(message));
}

test('a message goes to the number of its member and comes back as it was', () => {
  const message = append(memberId(9, 4), SELF);
  link.send(message);
  expect(sent[0]).toMatchObject({ to: 9, channel: 'consensus' });
  port.onFrame(2, 'consensus', bytesOf(append()));
  expect(taken).toEqual([append()]);
});

test('what is small never waits behind entries, and no append overtakes another', () => {
  const heartbeat = { term: term(3), commit: logIndex(4), round: 1, sentMs: 2 } as const;
  link.send({ type: 'heartbeat', from: SELF, to: PEER, ...heartbeat });
  link.send({ ...append(PEER, SELF), entries: [] } as Message);
  link.sendContent(PEER, { kind: 'digest', index: 1, digest: '0'.repeat(16) });
  expect(sent.map(({ channel }) => channel)).toEqual(['control', 'consensus', 'bulk']);
  port.onFrame(2, 'control', bytesOf(append()));
  expect(taken).toEqual([append()]);
});

test('calls are for another reader of the port', () => {
  port.onFrame(2, 'calls', bytesOf(append()));
  port.onFrame(2, 'answers', bytesOf(append()));
  expect(taken).toEqual([]);
  expect(link.counters()).toMatchObject({ other_channel: 2 });
});

test('only a lost append makes the leader look again where the logs meet', () => {
  for (const channel of PEER_CHANNELS) port.onUnreachable(2, channel);
  expect(unreachable).toEqual([2]);
});

test('the former life of this node and of a sender speak for nobody', () => {
  port.onFrame(2, 'consensus', bytesOf(append(memberId(1, 0))));
  port.onFrame(2, 'consensus', bytesOf(append(SELF, memberId(3, 0))));
  port.onFrame(3, 'consensus', bytesOf(append()));
  expect(taken).toEqual([]);
  expect(link.counters()).toMatchObject({ other_member: 1, foreign_sender: 2 });
  expect(link.refused).toBe(3);
});

test('a frame that is damaged anywhere is refused and counted', () => {
  const whole = bytesOf(append());
  for (let at = 0; at < whole.length; at++) {
    const bytes = Uint8Array.from(whole);
    bytes[at] = (bytes[at] ?? 0) ^ 0x10;
    port.onFrame(2, 'consensus', bytes);
  }
  for (let end = 0; end < whole.length; end++) {
    port.onFrame(2, 'consensus', whole.subarray(0, end));
  }
  expect(taken).toEqual([]);
  expect(link.refused).toBe(2 * whole.length);
  port.onFrame(2, 'bulk', whole);
  expect(link.refused).toBe(2 * whole.length + 1);
});

test('what the port drops is counted', () => {
  accepts = false;
  link.send(append(PEER, SELF));
  expect(link.sendContent(PEER, { kind: 'digest', index: 1, digest: '0'.repeat(16) })).toBe(false);
  expect(link.counters().unsent).toBe(2);
});

test('a closed link takes nothing', () => {
  link.close();
  port.onFrame(2, 'consensus', bytesOf(append()));
  expect(taken).toEqual([]);
  expect(NO_NODE).toBe(nodeId(0));
});
