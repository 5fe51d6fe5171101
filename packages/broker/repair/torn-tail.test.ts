/**
 * Goal: a node whose end of the log looks like an interrupted write, and is held by a peer, does
 * not vote without it. Method: a real log of one of three members, its last record cut in the
 * middle before the witness knew of it; the two peers answer as scripted, on a clock moved by hand.
 */
import { configuration, type NodeId } from '@svc/raft';
import { Log } from '@svc/storage';
import { SimulatedDisk } from '@svc/storage/testing';
import { expect, it } from 'vitest';
import { memberId } from '../config/member-id.js';
import { MovedClock } from '../testing/moved-clock.fake.js';
import { answersTo } from './answer.js';
import { RepairPhase, type RepairResult } from './phase.js';

const MEMBERS = [1, 2, 3].map((number) => memberId(number, 0));
const [SELF, HOLDER] = MEMBERS as [NodeId, NodeId];
const LAST = 4;

function newLog(disk: SimulatedDisk): Log {
  return Log.open({
    disk,
    directory: '/log',
    identity: new Uint8Array(16).fill(1),
    recentBytesMax: 0,
    zeroFillBytes: 0,
    damage: 'keep',
    onFailure: (error) => {
      throw error;
    },
  });
}

function filled(lastIndex: number): { readonly disk: SimulatedDisk; readonly log: Log } {
  const disk = new SimulatedDisk({ seed: 1 });
  const log = newLog(disk);
  for (let index = 1; index <= lastIndex; index++) {
    log.append([{ index, term: 1, type: 0, data: new Uint8Array(700).fill(index) }], () => {});
    disk.settle();
  }
  return { disk, log };
}

/** What the phase comes to when the holder answers `answers` questions and then no more. */
function outcome(answers: number) {
  const { disk } = filled(LAST);
  disk.crash('process');
  const path = disk.paths().find((each) => each.endsWith('.log')) ?? '';
  const file = disk.openSync(path, 'write');
  file.truncateSync(file.sizeSync() - 300);
  file.syncSync();
  file.closeSync();
  const log = newLog(disk);
  expect(log.recovery.tornTail?.firstIndex).toBe(LAST);
  const holder = filled(LAST).log;
  const other = filled(LAST - 1).log;
  const clock = new MovedClock();
  let left = answers;
  let marker = false;
  const end: { result: RepairResult | null } = { result: null };
  const phase = new RepairPhase(
    {
      self: SELF,
      ownTerm: 1,
      log,
      peers: MEMBERS.filter((each) => each !== SELF),
      configurationsBefore: () => ({
        configurations: [configuration(MEMBERS)],
        formerVoters: [],
        complete: true,
      }),
      appliedIndex: 0,
      tornTail: LAST,
      recovering: false,
      markRecovering: () => {
        marker = true;
      },
      clearRecovering: () => {
        marker = false;
      },
      send: (to, content) => {
        if (content.kind !== 'repair-ask') return false;
        if (to === HOLDER && left-- <= 0) return false;
        const node = { term: 1, recovering: false, led: false };
        const given = answersTo(content, to === HOLDER ? holder : other, node);
        clock.after(1, () => {
          for (const answer of given) phase.onAnswer(to, answer);
        });
        return true;
      },
      clock,
      round: 7,
      report: () => {},
    },
    (result) => {
      end.result = result;
    },
  );
  phase.start();
  for (let step = 0; step < 600; step++) {
    clock.move(100);
    disk.settle();
  }
  return { ...end.result, marker, lastIndex: log.lastIndex };
}

it('takes the entry over and votes', () => {
  const whole = { recovering: false, marker: false, adopted: 1, lastIndex: LAST };
  expect(outcome(1000)).toMatchObject(whole);
});

it('goes on without its vote when the holder falls silent before it gave the entry', () => {
  const lost = { recovering: true, marker: true, adopted: 0, lastIndex: LAST - 1 };
  expect(outcome(1)).toMatchObject(lost);
});
