// Goal: what is told of a turn is what its commands went through. Method: the calls of a leader, in
// their order, under a clock set by hand.
import { newPipelineMeters, type PipelineMeters, type Summary } from '@svc/wire';
import { beforeEach, expect, test } from 'vitest';
import type { Clock } from '../system/clock.js';
import type { Request } from './leader.js';
import { TurnMeters } from './turn-meters.js';

let nowMs: number;
let pipeline: PipelineMeters;
let meters: TurnMeters;

beforeEach(() => {
  nowMs = 0;
  pipeline = newPipelineMeters();
  meters = new TurnMeters(pipeline, { nowMs: () => nowMs } as Clock, 50);
});

function request(kind: 'push' | 'ack' | 'pop', messages = 0): Request {
  const command = { kind, itemGroup: Array.from({ length: messages }, () => 0) };
  return { command, origin: null, onOutcome: () => {} } as unknown as Request;
}

const told = ({ count, sum }: Summary) => [count, sum];

test('a turn of two pushes, an ack and a pop that was parked', () => {
  const requests = [request('ack'), request('pop'), request('push', 3), request('push', 4)];
  const [ack, pop, first, second] = requests as [Request, Request, Request, Request];
  meters.arrived(pop);
  nowMs = 1000;
  meters.arrived(ack);
  nowMs = 1002;
  meters.arrived(first);
  meters.arrived(second);
  nowMs = 1004;
  meters.began(nowMs);
  nowMs = 1005;
  meters.planned('ack');
  nowMs = 1060;
  meters.planned('push');
  nowMs = 1061;
  meters.planned('push');
  const answers = requests.map((ticket) => ({ ticket, outcome: { kind: 'none' } as const }));
  meters.ended(answers, 7);
  nowMs = 1070;
  const proposedMs = meters.proposed(answers);
  meters.turned();
  nowMs = 1075;
  meters.committed(proposedMs, nowMs);
  nowMs = 1080;
  meters.applied(proposedMs);

  expect(told(pipeline.plan)).toEqual([1, 57_000]);
  expect(told(pipeline.turn)).toEqual([1, 66_000]);
  // The pop is left out: it waited for messages, not for its turn.
  expect(told(pipeline.queueWait)).toEqual([3, 8000]);
  expect(told(pipeline.arrivalToProposed)).toEqual([3, 70_000 + 2 * 68_000]);
  expect(told(pipeline.drainToPropose)).toEqual([1, 66_000]);
  expect(told(pipeline.drainCommands)).toEqual([1, 4]);
  expect(told(pipeline.drainMessages)).toEqual([1, 7]);
  expect(told(pipeline.planDeferred)).toEqual([1, 7]);
  expect(told(pipeline.proposedToCommitted)).toEqual([1, 5000]);
  expect(told(pipeline.proposeRoundtrip)).toEqual([1, 10_000]);
  expect(pipeline.proposals).toBe(1);
  const push = pipeline.commands.get('push');
  expect([push?.planned, push?.slow, push?.tookUs.sum]).toEqual([2, 1, 56_000]);
  expect(pipeline.commands.get('ack')).toMatchObject({ planned: 1, slow: 0 });
});

test('a turn that answers nobody is planned and nothing else', () => {
  meters.began(0);
  nowMs = 3;
  meters.ended([], 0);
  meters.turned();
  expect(told(pipeline.plan)).toEqual([1, 3000]);
  expect(told(pipeline.drainCommands)).toEqual([0, 0]);
});

test('what the planner counts is added once, and goes on with the next leadership', () => {
  meters.settle(5, { loaded: 3, unloaded: 1 });
  meters.settle(7, { loaded: 4, unloaded: 4 });
  new TurnMeters(pipeline, { nowMs: () => 0 } as Clock, 50).settle(2, { loaded: 1, unloaded: 0 });
  expect(pipeline.applied.wakes).toBe(9);
  expect(pipeline.consumed).toEqual({ loaded: 5, unloaded: 4 });
});
