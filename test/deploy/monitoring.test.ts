/**
 * Goal: Prometheus takes the alerts of deploy/, each of them fires for what it is for and for
 * nothing else, and alerts and board name only figures that nodes tell. Method: `promtool`, where
 * it is installed: it runs the rules over series that are written down here.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, type TestContext, test } from 'vitest';
import { CONTRACT_FAMILIES } from '../contract/metric-families.js';
import { DEPLOY, missing, run } from './real-tools.js';

const ALERTS = join(DEPLOY, 'prometheus/alerts.yml');
const BOARD = join(DEPLOY, 'grafana/svc.json');

let scratch: string;

beforeAll(() => {
  scratch = mkdtempSync(join(tmpdir(), 'svc-monitoring-'));
});

afterAll(() => rmSync(scratch, { recursive: true, force: true }));

function skipWithoutPromtool(context: TestContext): void {
  const reason = missing('promtool', ['--version']);
  if (reason === null) return;
  console.log(reason);
  context.skip();
}

/** Ends with 0, or the test fails with what it said. */
function promtool(...args: readonly string[]): void {
  const { status, output } = run('promtool', args);
  expect(status, output).toBe(0);
}

/** `series` in the notation of promtool, a value each 15 s. */
interface Scene {
  readonly severity: 'page' | 'ticket';
  readonly at: string;
  readonly series: Readonly<Record<string, string>>;
  /** Beside the name, the state and the severity. */
  readonly labels: string;
}

/** Settled point 13 of the contract. */
const CLUSTER_TOTALS = ['push_messages', 'ack_messages', 'dead_letters'].map(
  (what) => `svc_cluster_${what}_total`,
);
const A = 'job="svc",instance="a"';
const B = 'job="svc",instance="b"';

const SCENES: Readonly<Record<string, Scene>> = {
  SvcNodeDown: page('2m', A, { [`up{${A}}`]: '0x20' }),
  SvcNoLeader: page('2m', 'job="svc"', {
    [`svc_raft_state{${A},state="leader"}`]: '0x20',
    [`svc_raft_state{${B},state="leader"}`]: '0x20',
  }),
  SvcLeaderChanges: ticket('1h', 'job="svc"', { [`svc_raft_term{${A}}`]: '1+1x240' }),
  SvcRestarts: ticket('1h', A, { [`process_start_time_seconds{${A}}`]: '1x60 2x60 3x60 4x60' }),
  SvcNodeBehind: ticket('10m', `${B},kind="applied"`, {
    [`svc_raft_index{${A},kind="committed"}`]: '20001x60',
    [`svc_raft_index{${A},kind="applied"}`]: '20001x60',
    [`svc_raft_index{${B},kind="applied"}`]: '1x60',
  }),
  SvcStorageFull: page('1m', A, { [`svc_raft_storage_full{${A}}`]: '1x20' }),
  SvcWritesWait: page('3m', A, { [`svc_raft_admit_waiting{${A}}`]: '2x20' }),
  SvcSlowDisk: ticket('11m', `${A},quantile="0.99"`, {
    [`svc_raft_log_fsync_seconds{${A},quantile="0.99"}`]: '0.3x60',
  }),
  SvcNamesNearlyUsed: ticket('1m', 'job="svc",kind="queues"', {
    [`svc_names{${A},kind="queues"}`]: '91x20',
    [`svc_names_max{${A},kind="queues"}`]: '100x20',
  }),
  SvcPayloadsNotDecrypted: page('10m', A, {
    [`svc_payloads_not_decrypted_total{${A}}`]: '0x20 1x20',
  }),
  SvcGroupLag: ticket('6m', 'job="svc",queue="q",consumer_group="g"', {
    [`svc_consumer_group_lag_seconds{${A},queue="q",consumer_group="g"}`]: '301x60',
  }),
  SvcGroupLagNotWatched: ticket('20m', 'job="svc"', {
    [`svc_consumer_group_lag_complete{${A}}`]: '0x100',
  }),
  SvcQueuesNotTold: ticket('20m', 'job="svc"', {
    [`svc_queue_series_omitted{${A},of="traffic"}`]: '3x100',
  }),
  SvcDeadLetters: ticket('10m', 'job="svc"', {
    [`svc_cluster_dead_letters_total{${A}}`]: '0x20 1x20',
  }),
  SvcStandbyHalted: page('1m', `${A},state="halted"`, {
    [`svc_link_follower_state{${A},state="halted"}`]: '1x20',
  }),
  SvcStandbyNotFollowing: page('2m', 'job="svc"', {
    [`svc_link_follower_state{${A},state="following"}`]: '0x20',
  }),
  SvcStandbyBehind: ticket('6m', 'job="svc"', { [`svc_link_lag_seconds{${A}}`]: '61x60' }),
  SvcLogNotKept: page('1m', A, { [`svc_link_holding{${A}}`]: '0x20' }),
};

function page(at: string, labels: string, series: Scene['series']): Scene {
  return { severity: 'page', at, labels, series };
}

function ticket(at: string, labels: string, series: Scene['series']): Scene {
  return { severity: 'ticket', at, labels, series };
}

/** A cluster of which nothing is to be said, for as long as the longest scene. */
const QUIET: Readonly<Record<string, string>> = {
  [`up{${A}}`]: '1x300',
  [`svc_raft_state{${A},state="leader"}`]: '1x300',
  [`svc_raft_term{${A}}`]: '7x300',
  [`process_start_time_seconds{${A}}`]: '1x300',
  [`svc_raft_index{${A},kind="committed"}`]: '0+1000x300',
  [`svc_raft_index{${A},kind="applied"}`]: '0+1000x300',
  [`svc_raft_storage_full{${A}}`]: '0x300',
  [`svc_raft_admit_waiting{${A}}`]: '0x300',
  [`svc_raft_log_fsync_seconds{${A},quantile="0.99"}`]: '0.01x300',
  [`svc_names{${A},kind="queues"}`]: '10x300',
  [`svc_names_max{${A},kind="queues"}`]: '100x300',
  [`svc_payloads_not_decrypted_total{${A}}`]: '0x300',
  [`svc_consumer_group_lag_seconds{${A},queue="q",consumer_group="g"}`]: '5x300',
  [`svc_consumer_group_lag_complete{${A}}`]: '1x300',
  [`svc_queue_series_omitted{${A},of="traffic"}`]: '0x300',
  [`svc_cluster_dead_letters_total{${A}}`]: '3x300',
  [`svc_link_follower_state{${A},state="halted"}`]: '0x300',
  [`svc_link_follower_state{${A},state="following"}`]: '1x300',
  [`svc_link_lag_seconds{${A}}`]: '1x300',
  [`svc_link_holding{${A}}`]: '1x300',
};

/** What fires at that time is just what is named. JSON is YAML. */
function testOf(series: Scene['series'], at: string, firing: readonly string[]): object {
  return {
    interval: '15s',
    input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
    promql_expr_test: [
      {
        expr: 'ALERTS{alertstate="firing"}',
        eval_time: at,
        exp_samples: firing.map((labels) => ({ labels, value: 1 })),
      },
    ],
  };
}

test('each alert fires for what it is for, and a quiet cluster raises none', (context) => {
  skipWithoutPromtool(context);
  const scenes = Object.entries(SCENES).map(([name, { series, at, severity, labels }]) => {
    const own = `alertname="${name}",alertstate="firing",severity="${severity}"`;
    return testOf(series, at, [`ALERTS{${own},${labels}}`]);
  });
  const tests = { rule_files: [ALERTS], tests: [...scenes, testOf(QUIET, '75m', [])] };
  const file = join(scratch, 'alerts-test.yml');
  writeFileSync(file, JSON.stringify(tests));
  promtool('test', 'rules', file);
});

test('Prometheus takes configuration, alerts and the expressions of the board', (context) => {
  skipWithoutPromtool(context);
  promtool('check', 'config', join(DEPLOY, 'prometheus/prometheus.yml'));
  const rules = boardExpressions().map((expr, i) => ({ record: `svc:board:${i}`, expr }));
  const file = join(scratch, 'board.yml');
  writeFileSync(file, JSON.stringify({ groups: [{ name: 'board', rules }] }));
  promtool('check', 'rules', file);
});

test('every alert has a scene; alerts and board name figures that nodes tell', () => {
  const alerts = readFileSync(ALERTS, 'utf8');
  const names = [...alerts.matchAll(/- alert: (\w+)/g)].map(([, name]) => name);
  expect(names.sort()).toEqual(Object.keys(SCENES).sort());
  const known = new Set([...CONTRACT_FAMILIES.map(({ name }) => name), ...CLUSTER_TOTALS]);
  const expressions = [...alerts.matchAll(/^ +expr: (.*(?:\n {10}.*)*)/gm)].map(([, text]) => text);
  const used = [...expressions, ...boardExpressions()].flatMap(
    (text) => text?.match(/\bsvc_\w+/g) ?? [],
  );
  expect(new Set(used).size).toBeGreaterThan(20);
  expect([...new Set(used)].filter((name) => !known.has(name))).toEqual([]);
});

/** With a value for each variable of Grafana. */
function boardExpressions(): readonly string[] {
  const { panels } = JSON.parse(readFileSync(BOARD, 'utf8')) as {
    readonly panels: readonly { readonly targets: readonly { readonly expr: string }[] }[];
  };
  return panels.flatMap(({ targets }) =>
    targets.map(({ expr }) => expr.replace('$__rate_interval', '1m').replaceAll('$job', 'svc')),
  );
}
