/**
 * Goal: what a member says of itself counts for a few seconds and no longer, changes are told at
 * once, and who is no member is not believed.
 * Method: three members over a clock that a test moves, and reports that it loses.
 */
import { type NodeId, nodeId } from '@svc/raft';
import { expect, test } from 'vitest';
import type { NodeReport } from '../peers/frames.js';
import type { Clock } from '../system/clock.js';
import { NodeReports } from './reports.js';

class Net {
  nowMs = 0;
  members: NodeId[] = [1, 2, 3].map(nodeId);
  readonly nodes = new Map<NodeId, NodeReports>();
  isLost: (from: number, to: number) => boolean = () => false;
  sent = 0;
  readonly #timers: { atMs: number; readonly everyMs: number; readonly work: () => void }[] = [];

  constructor(versions: readonly number[]) {
    const clock = {
      nowMs: () => this.nowMs,
      every: (everyMs: number, work: () => void) => {
        const timer = { atMs: this.nowMs + everyMs, everyMs, work };
        this.#timers.push(timer);
        return () => this.#timers.splice(this.#timers.indexOf(timer), 1);
      },
    } as unknown as Clock;
    versions.forEach((readVersion, i) => {
      const self = nodeId(i + 1);
      const reports = new NodeReports({
        self,
        clock,
        readVersion,
        consensus: { status: () => ({ commit: 100 + i }) },
        group: { members: () => this.members },
        link: {
          sendContent: (to, report) => {
            this.sent++;
            if (!this.isLost(self, to)) this.nodes.get(to)?.hear(self, report as NodeReport);
            return true;
          },
        },
        logger: { warn: () => {} },
      });
      this.nodes.set(self, reports);
    });
    for (const reports of this.nodes.values()) reports.start();
  }

  node(number: number): NodeReports {
    return this.nodes.get(nodeId(number)) as NodeReports;
  }

  run(ms: number): void {
    const untilMs = this.nowMs + ms;
    for (;;) {
      const [next] = [...this.#timers].sort((a, b) => a.atMs - b.atMs);
      if (next === undefined || next.atMs > untilMs) break;
      this.nowMs = next.atMs;
      next.atMs += next.everyMs;
      next.work();
    }
    this.nowMs = untilMs;
  }
}

test('every member hears what the others read and how far they are', () => {
  const net = new Net([6, 5, 7]);
  net.run(1000);
  expect([1, 2, 3].map((number) => net.node(number).versionReadByAll())).toEqual([5, 5, 5]);
  expect(net.node(1).of(nodeId(3))).toEqual({
    readVersion: 7,
    commit: 102,
    storageFull: false,
    ageMs: 0,
  });
  expect(net.node(1).of(nodeId(4))).toBeNull();
});

test('a member that is not heard any more has said nothing', () => {
  const net = new Net([6, 6, 6]);
  net.run(1000);
  net.isLost = (from) => from === 2;
  net.run(3000);
  expect(net.node(1).versionReadByAll()).toBe(6);
  net.run(1000);
  expect([net.node(1).versionReadByAll(), net.node(2).versionReadByAll()]).toEqual([null, 6]);
  expect(net.node(1).of(nodeId(2))?.ageMs).toBe(4000);
});

test('a full volume is told at once, and holds for as long as it is said', () => {
  const net = new Net([5, 5, 5]);
  net.run(1500);
  const before = net.sent;
  net.node(2).setStorageFull(true);
  net.node(2).setStorageFull(true);
  expect(net.sent - before).toBe(2);
  expect([1, 2, 3].map((number) => net.node(number).anyMemberFull())).toEqual([true, false, true]);
  net.node(2).setStorageFull(false);
  expect(net.node(1).anyMemberFull()).toBe(false);
  net.node(2).setStorageFull(true);
  net.isLost = (from) => from === 2;
  net.run(5000);
  expect(net.node(1).anyMemberFull()).toBe(false);
});

test('who is no member is neither told nor believed', () => {
  const net = new Net([6, 5, 6]);
  net.node(2).setStorageFull(true);
  net.run(1000);
  net.members = [1, 3].map(nodeId);
  net.run(1000);
  expect([net.node(1).versionReadByAll(), net.node(1).anyMemberFull()]).toEqual([6, false]);
  expect(net.node(1).of(nodeId(2))).toBeNull();
  const heard = net.node(2).of(nodeId(1))?.ageMs;
  expect(heard).not.toBe(0);
});

test('nothing is told after stop', () => {
  const net = new Net([5, 5, 5]);
  for (const reports of net.nodes.values()) reports.stop();
  const { sent } = net;
  net.node(1).setStorageFull(true);
  net.run(5000);
  expect(net.sent).toBe(sent);
});
