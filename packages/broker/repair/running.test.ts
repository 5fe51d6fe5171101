/**
 * Goal: damage found while a node runs is repaired from the others, is never answered by giving
 * anything up, and keeps the node from campaigning until it is gone. Method: real logs on simulated
 * disks over a network that loses and repeats; damage is planted under a running log and found by
 * its scrub.
 */
import { Log, type LogEntry } from '@svc/storage';
import { SimulatedDisk } from '@svc/storage/testing';
import { describe, expect, test } from 'vitest';
import { memberId } from '../config/member-id.js';
import { MovedClock } from '../testing/moved-clock.fake.js';
import { FakeNetwork, seededRandom } from '../testing/recovery.fake.js';
import { answersTo } from './answer.js';
import { RepairRunning } from './running.js';

const ENTRIES = 40;

class Machine {
  readonly disk: SimulatedDisk;
  readonly log: Log;
  readonly changes: boolean[] = [];
  readonly reports: string[] = [];
  readonly running: RepairRunning;

  constructor(
    readonly number: number,
    clock: MovedClock,
    network: FakeNetwork,
  ) {
    this.disk = new SimulatedDisk({ seed: number });
    this.log = Log.open({
      disk: this.disk,
      directory: '/log',
      identity: new Uint8Array(16).fill(number),
      segmentBytes: 1024,
      recentBytesMax: 0,
      damage: 'keep',
      onFailure: (error) => {
        throw error;
      },
    });
    const self = memberId(number, 0);
    const send = network.attach(self, (from, content) => {
      if (content.kind === 'repair-answer') this.running.onAnswer(from, content);
      if (content.kind !== 'repair-ask') return;
      const node = { term: 1, recovering: false, led: true };
      for (const answer of answersTo(content, this.log, node)) send(from, answer);
    });
    this.running = new RepairRunning({
      log: this.log,
      peers: () => [1, 2, 3].filter((each) => each !== number).map((each) => memberId(each, 0)),
      send,
      clock,
      round: number,
      report: (text) => this.reports.push(text),
      onChange: (whole) => this.changes.push(whole),
    });
  }

  append(entries: readonly LogEntry[]): void {
    this.log.append(entries, () => {});
    this.disk.settle();
  }

  /** Flips a bit in the body of the entry, and reads everything once. */
  damage(index: number): void {
    for (const path of this.disk.paths().filter((name) => name.endsWith('.log'))) {
      const at = Buffer.from(this.disk.contents(path)).indexOf(`<${index}>`);
      if (at !== -1) this.disk.flipBit(path, at + 5, 2);
    }
    for (let i = 0; i < 200; i++) this.log.scrub(4096);
  }
}

function group() {
  const clock = new MovedClock();
  const network = new FakeNetwork(seededRandom(3));
  const machines = [1, 2, 3].map((number) => new Machine(number, clock, network));
  const entries = Array.from({ length: ENTRIES }, (_, i): LogEntry => {
    const data = new Uint8Array(Buffer.from(`<${i + 1}>${'.'.repeat(90)}`));
    return { index: i + 1, term: 1, type: 0, data };
  });
  for (const machine of machines) machine.append(entries);
  const pass = (ms: number) => {
    for (let passed = 0; passed < ms; passed += 20) {
      for (let i = 0; i < 4; i++) network.step();
      for (const { disk } of machines) disk.step();
      clock.move(20);
    }
  };
  return { network, machines: machines as [Machine, Machine, Machine], entries, pass };
}

function all(log: Log): LogEntry[] {
  const found: LogEntry[] = [];
  while (found.length < ENTRIES) {
    const more = log.entries(found.length + 1, ENTRIES + 1, 1 << 20);
    for (const { index, term, type, data } of more) {
      found.push({ index, term, type, data: new Uint8Array(data) });
    }
  }
  return found;
}

describe('a running node', () => {
  test('is repaired by the others, says when it may campaign, and keeps every entry', () => {
    const { network, machines, entries, pass } = group();
    network.loss = 0.3;
    network.repetition = 0.3;
    const [one, two] = machines;
    for (const index of [3, 4, 17]) one.damage(index);
    two.damage(5);
    pass(20_000);
    expect([one.changes, two.changes, machines[2].changes]).toEqual([
      [false, true],
      [false, true],
      [],
    ]);
    expect(one.reports.at(-1)).toContain('whole again; slots repaired: 3');
    for (const { log } of machines) expect(all(log)).toEqual(entries);
  });

  test('asks on while nobody has it, and takes what comes back later', () => {
    const { machines, entries, pass } = group();
    const [one, two, three] = machines;
    for (const machine of machines) machine.damage(9);
    pass(12_000);
    expect(machines.map(({ running }) => running.whole)).toEqual([false, false, false]);
    expect(one.reports.length).toBeGreaterThan(1);
    expect(one.reports.at(-1)).toContain('node 2 damaged, node 3 damaged');
    // As an operator puts the file back at one of them.
    expect(three.log.repair(entries[8] as LogEntry, () => {})).toBe('repairing');
    pass(5000);
    expect(machines.map(({ running }) => running.whole)).toEqual([true, true, true]);
    expect(all(one.log)).toEqual(entries);
    expect(all(two.log)).toEqual(entries);
  });

  test('stops asking when it is stopped', () => {
    const { network, machines, pass } = group();
    machines[0].damage(9);
    pass(1500);
    machines[0].running.stop();
    const { sent } = network;
    pass(5000);
    expect(network.sent - sent).toBeLessThan(10);
  });
});
