/**
 * Goal: what stands in deploy/ is read without complaint by the programs it is for, and agrees with
 * the node: variables that exist, peer lists that parse, time to drain. Method: the real programs
 * where they are installed, else a printed reason; the text of the files for the rest.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '@svc/broker';
import { afterAll, beforeAll, describe, expect, type TestContext, test } from 'vitest';
import { haproxyEnvironment, nginxCopy } from './balancer-under-test.js';
import { DEPLOY, missing, run, toolPath } from './real-tools.js';

/** A node finishes what is in flight for at most this long. */
const DRAIN_SECONDS = 60;
/** No request takes longer than a long poll. */
const LONGEST_SECONDS = 60;
/** Settings of the balancer, not of a node. */
const BALANCER_VARIABLE = /^SVC_LB_/;

let scratch: string;

beforeAll(() => {
  scratch = mkdtempSync(join(tmpdir(), 'svc-deploy-'));
});

afterAll(() => rmSync(scratch, { recursive: true, force: true }));

function text(path: string): string {
  return readFileSync(join(DEPLOY, path), 'utf8');
}

function skipWithout(context: TestContext, name: string, probe: readonly string[]): void {
  const reason = missing(name, probe);
  if (reason === null) return;
  console.log(reason);
  context.skip();
}

function numbers(path: string, pattern: RegExp): number[] {
  return [...text(path).matchAll(pattern)].map((match) => Number(match[1]));
}

describe('read by the real program', () => {
  test('haproxy', (context) => {
    skipWithout(context, 'haproxy', ['-v']);
    const args = ['-c', '-f', join(DEPLOY, 'haproxy/haproxy.cfg')];
    const { status, output } = run(toolPath('haproxy'), args, haproxyEnvironment(1, [2, 3, 4]));
    expect(output).not.toMatch(/WARNING|ALERT/);
    expect(status).toBe(0);
  });

  test('nginx', (context) => {
    skipWithout(context, 'nginx', ['-v']);
    const copy = nginxCopy(scratch, 1, [2, 3, 4]);
    const { status, output } = run(toolPath('nginx'), ['-t', '-e', 'stderr', '-c', copy]);
    expect(output).not.toMatch(/\[(warn|emerg|error)\]/);
    expect(status).toBe(0);
  });

  test('systemd', (context) => {
    skipWithout(context, 'systemd-analyze', ['--version']);
    const unit = text('systemd/svc.service').replace('/usr/bin/node', process.execPath);
    const copy = join(scratch, 'svc.service');
    writeFileSync(copy, unit);
    const { status, output } = run('systemd-analyze', ['verify', copy]);
    expect({ status, output }).toEqual({ status: 0, output: '' });
  });

  test('kubectl', (context) => {
    skipWithout(context, 'kubectl', ['kustomize', '--help']);
    const { status, output } = run('kubectl', ['kustomize', join(DEPLOY, 'kubernetes')]);
    expect(status).toBe(0);
    const kinds = [...output.matchAll(/^kind: (\w+)$/gm)].map((match) => match[1]).sort();
    expect(kinds).toEqual([
      'NetworkPolicy',
      'PodDisruptionBudget',
      'Service',
      'Service',
      'StatefulSet',
    ]);
  });

  test('docker compose', (context) => {
    skipWithout(context, 'docker', ['compose', 'version']);
    const args = ['compose', '-f', join(DEPLOY, 'compose.yaml'), 'config', '--quiet'];
    expect(run('docker', args, { SVC_RAFT_TOKEN: 'x' })).toEqual({ status: 0, output: '' });
  });

  test('docker build', (context) => {
    skipWithout(context, 'docker', ['buildx', 'version']);
    skipWithout(context, 'docker', ['info']);
    const args = ['buildx', 'build', '--check', '-f', join(DEPLOY, 'Dockerfile'), scratch];
    expect(run('docker', args).status).toBe(0);
  });
});

describe('agrees with the node', () => {
  const files = readdirSync(DEPLOY, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(DEPLOY.length));

  test('every variable that is named exists', () => {
    const manual = readFileSync(join(DEPLOY, '../docs/configuration.md'), 'utf8');
    const known = new Set(
      manual
        .split('\n')
        .filter((line) => line.startsWith('| `'))
        .flatMap((line) => [...(line.split('|')[1] ?? '').matchAll(/`(\w+)`/g)])
        .map((match) => match[1] ?? ''),
    );
    expect(known.size).toBeGreaterThan(30);
    const named = [...files, '../scripts/cluster.ts'].flatMap((path) =>
      [...text(path).matchAll(/\bSVC_[A-Z0-9_]+\b/g)].map((match) => match[0]),
    );
    expect(named.length).toBeGreaterThan(10);
    const unknown = named.filter((name) => !known.has(name) && !BALANCER_VARIABLE.test(name));
    expect(unknown).toEqual([]);
  });

  test('every peer list is one, with three nodes and the ports that are open', () => {
    const lists = files.flatMap((path) =>
      [...text(path).matchAll(/\b1=\S+:\d+\/\S+:\d+\S*/g)].map((match) => match[0]),
    );
    expect(lists.length).toBe(3);
    for (const peers of lists) {
      const config = readConfig({
        SVC_RAFT_REPLICATOR: 'openraft',
        SVC_RAFT_NODE_ID: '3',
        SVC_RAFT_PEERS: peers,
      });
      expect(config).toMatchObject({ kind: 'config', peers: { length: 3 } });
      expect(peers.match(/:7400\//g)?.length).toBe(3);
      expect(peers.match(/:6632(,|$)/g)?.length).toBe(3);
    }
  });

  test.each<[string, RegExp]>([
    ['systemd/svc.service', /^TimeoutStopSec=(\d+)$/gm],
    ['compose.yaml', /stop_grace_period: (\d+)s/g],
    ['kubernetes/stateful-set.yaml', /terminationGracePeriodSeconds: (\d+)/g],
    ['haproxy/haproxy.cfg', /hard-stop-after (\d+)s/g],
    ['nginx/nginx.conf', /worker_shutdown_timeout (\d+)s/g],
  ])('%s leaves the time to drain', (path, pattern) => {
    const seconds = numbers(path, pattern);
    expect(seconds.length).toBeGreaterThan(0);
    expect(Math.min(...seconds)).toBeGreaterThan(DRAIN_SECONDS);
  });

  test.each<[string, RegExp, number]>([
    ['haproxy/haproxy.cfg', /timeout (?:client|server) (\d+)s/g, 2],
    ['nginx/nginx.conf', /proxy_(?:send|read)_timeout (\d+)s/g, 2],
  ])('%s waits for a long poll', (path, pattern, count) => {
    const seconds = numbers(path, pattern);
    expect(seconds.length).toBe(count);
    expect(Math.min(...seconds)).toBeGreaterThan(LONGEST_SECONDS);
  });

  test('a node that is not ready is never killed for it', () => {
    const set = text('kubernetes/stateful-set.yaml');
    const probes = [...set.matchAll(/(\w+)Probe:\s+httpGet:\s+path: (\S+)/g)];
    expect(probes.map((match) => [match[1], match[2]])).toEqual([
      ['startup', '/api/v1/raft/status'],
      ['liveness', '/api/v1/raft/status'],
      ['readiness', '/health'],
    ]);
    expect(set).toContain('podManagementPolicy: Parallel');
    expect(text('kubernetes/services.yaml')).toContain('publishNotReadyAddresses: true');
  });
});
