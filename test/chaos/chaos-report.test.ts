/**
 * Goal: the end of a run says what was done, what clients met and whether the promise held. Method:
 * the report of a run that was never made.
 */
import { expect, it } from 'vitest';
import { RequestLog } from '../cluster/request-log.js';
import { renderReport } from './chaos-report.js';
import type { ChaosReport } from './run-record.js';

function report(violations: readonly string[]): ChaosReport {
  const requests = new RequestLog();
  for (const outcome of ['ok', 'ok', 'no answer']) requests.observe('push', outcome, 0, 1);
  const figures = { count: 12, unavailableMsMax: 1234.5, recoveryMsMax: 20 };
  return {
    seed: 7,
    seconds: 60.4,
    interrupted: false,
    faults: new Map([
      ['pause-leader', { ...figures, count: 3 }],
      ['kill-leader', figures],
    ]),
    requests,
    verdicts: ['round 1: 5 messages acknowledged, 0 anomalies'],
    violations,
  };
}

it('renders a clean run', () => {
  expect(renderReport(report([])).split('\n')).toEqual([
    'fault         times  no push for at most, ms  well again after at most, ms',
    '------------  -----  -----------------------  ----------------------------',
    'kill-leader      12                     1235                            20',
    'pause-leader      3                     1235                            20',
    '',
    'request  outcome    count',
    '-------  ---------  -----',
    'push     ok             2',
    'push     no answer      1',
    '',
    'round 1: 5 messages acknowledged, 0 anomalies',
    '',
    'seed 7, 60 s, 15 faults. 1 round judged, nothing lost, repeated, reordered or delivered ' +
      'after its ack.',
  ]);
});

it('says what was violated, and that it was interrupted', () => {
  const broken = { ...report(['round 1: lost: m7']), interrupted: true };
  expect(renderReport(broken)).toContain(
    '15 faults, interrupted. The promise was broken:\nround 1: lost: m7',
  );
});
