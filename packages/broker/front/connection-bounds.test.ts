// Goal: at every limit of open files the connections of clients, at all ports together, leave the
// node the files that it needs itself, whatever is set; who has fewer than he asked for, or few at
// all, is told. Method: limits and settings, and the bounds and lines that they give.
import { expect, test } from 'vitest';
import { type Config, readConfig } from '../config/config.js';
import { connectionBounds, ownFiles, partOfBounds, readFileLimit } from './connection-bounds.js';

function configOf(environment: Readonly<Record<string, string>> = {}): Config {
  const config = readConfig(environment, 'svc-00000000');
  if (config.kind === 'refused') throw new Error(config.error);
  return config;
}

const UNLIMITED = Number.MAX_SAFE_INTEGER;

test.each([
  [256, 115],
  [512, 371],
  [1024, 883],
  [4096, 3955],
  [20_000, 19_859],
  [1_048_576, 1_000_000],
  [UNLIMITED, 1_000_000],
  // With so few a node would be one for nobody.
  [64, 16],
])('with %i files a node alone takes %i connections', (files, connections) => {
  const { bounds } = connectionBounds(configOf(), files);
  expect(bounds.max).toBe(connections);
  expect(bounds.perAddressMax).toBeNull();
});

test('front threads have files of their own', () => {
  expect(connectionBounds(configOf(), 1024, 4).bounds.max).toBe(883 - 36);
});

test('a gateway with a port of its own has half of them, and files of its own', () => {
  const bounded = (more: Readonly<Record<string, string>>, files = 1024) =>
    connectionBounds(configOf({ SVC_PROXY_EMBEDDED: 'true', ...more }), files);
  const own = { SVC_PROXY_PORT: '7632' };
  expect(bounded({}).bounds.max).toBe(883 - 11);
  expect(bounded({ PORT: '7632', ...own }).bounds.max).toBe(883 - 11);
  expect(bounded(own).bounds.max).toBe((883 - 11) / 2);
  expect(bounded({ ...own, SVC_MAX_CONNECTIONS: '400' }).bounds.max).toBe(400);
  expect(bounded({ ...own, SVC_MAX_CONNECTIONS: '800' })).toMatchObject({
    bounds: { max: 436 },
    warning: expect.stringContaining('436 connections are taken at each of its ports'),
  });
  expect(bounded(own, 64).bounds.max).toBe(16);
});

test('the platform tells the limit that this process has', () => {
  const files = readFileLimit();
  expect(files).toBeGreaterThan(0);
  expect(connectionBounds(configOf(), null).bounds.max).toBe(883);
});

test('what is set counts as far as the files go', () => {
  const set = (connections: number) => configOf({ SVC_MAX_CONNECTIONS: String(connections) });
  for (const files of [256, 1024, 20_000, UNLIMITED]) {
    const { max } = connectionBounds(configOf(), files).bounds;
    expect(connectionBounds(set(50), files).bounds.max).toBe(50);
    expect(connectionBounds(set(2_000_000), files).bounds.max).toBe(max);
  }
  const each = configOf({ SVC_MAX_CONNECTIONS_PER_ADDRESS: '7' });
  expect(connectionBounds(each, 256).bounds.perAddressMax).toBe(7);
});

test('who has fewer than he asked for, or few at all, is told', () => {
  const warned = (files: number, environment = {}) =>
    connectionBounds(configOf(environment), files).warning;
  expect(warned(256)).toContain('the limit of 256 open files leaves room for 115 connections');
  expect(warned(4096)).toBeNull();
  expect(warned(256, { SVC_MAX_CONNECTIONS: '100' })).toBeNull();
  expect(warned(256, { SVC_MAX_CONNECTIONS: '200' })).toContain(
    'SVC_MAX_CONNECTIONS=200 does not fit into the limit of 256 open files: 115 connections',
  );
});

test('a member keeps files for its port and for each of the others', () => {
  const alone = ownFiles({ raftAddress: null, peers: [] });
  const address = { host: '127.0.0.1', port: 7000 };
  const members = (count: number) => {
    const peer = { raftAddress: 'a:1', httpAddress: 'a:2' };
    const peers = Array.from({ length: count }, (_, i) => ({ ...peer, id: i + 1 }));
    return ownFiles({ raftAddress: address, peers });
  };
  expect(members(3)).toBe(alone + 65 + 4 * 8);
  expect(members(9)).toBe(alone + 65 + 8 * 8);
});

test('trusted proxies are known by address, by network and by word', () => {
  const { isTrustedProxy } = connectionBounds(
    configOf({ SVC_EDGE_TRUSTED_PROXIES: '192.0.2.7, 198.51.100.0/24, loopback' }),
    256,
  ).bounds;
  const trusted = ['192.0.2.7', '198.51.100.200', '127.0.0.9', '::1'].map(isTrustedProxy);
  expect(trusted).toEqual([true, true, true, true]);
  expect(['192.0.2.8', '198.51.101.1', '10.0.0.1'].map(isTrustedProxy)).toEqual([
    false,
    false,
    false,
  ]);
});

test.each([
  [10, 3],
  [16, 8],
  [100, 7],
  [3, 3],
])('parts of %i connections for %i threads add up', (max, threads) => {
  const parts = Array.from({ length: threads }, (_, place) =>
    partOfBounds({ max, perAddressMax: 5 }, threads, place),
  );
  expect(parts.reduce((sum, part) => sum + part.max, 0)).toBe(max);
  expect(Math.min(...parts.map((part) => part.max))).toBeGreaterThan(0);
  const perAddress = parts.map(({ perAddressMax }) => perAddressMax ?? 0);
  expect(perAddress.every((part) => part * threads >= 5 && (part - 1) * threads < 5)).toBe(true);
});
