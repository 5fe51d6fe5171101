// Goal: the figures of the runtime cost a scrape little, and never a scrape or the process. Method:
// registries with collectors that count, fail and say nonsense; real processes that collect garbage
// and take every file descriptor.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { Gauge, Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { readExposition } from '../testing/exposition-reader.fake.js';
import { Exposition } from './exposition.js';
import { RuntimeFamilies, runtimeFamilies, writeRuntime } from './runtime-families.js';

/** What dashboards for Node show. */
const KNOWN = [
  'process_cpu_user_seconds_total',
  'process_cpu_system_seconds_total',
  'process_cpu_seconds_total',
  'process_start_time_seconds',
  'process_resident_memory_bytes',
  'process_virtual_memory_bytes',
  'process_heap_bytes',
  'process_max_fds',
  'nodejs_eventloop_lag_seconds',
  'nodejs_eventloop_lag_min_seconds',
  'nodejs_eventloop_lag_max_seconds',
  'nodejs_eventloop_lag_mean_seconds',
  'nodejs_eventloop_lag_stddev_seconds',
  'nodejs_eventloop_lag_p50_seconds',
  'nodejs_eventloop_lag_p90_seconds',
  'nodejs_eventloop_lag_p99_seconds',
  'nodejs_active_handles',
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources',
  'nodejs_active_resources_total',
  'nodejs_heap_size_total_bytes',
  'nodejs_heap_size_used_bytes',
  'nodejs_external_memory_bytes',
  'nodejs_heap_space_size_total_bytes',
  'nodejs_heap_space_size_used_bytes',
  'nodejs_heap_space_size_available_bytes',
  'nodejs_version_info',
];

async function textOf(families: RuntimeFamilies): Promise<string> {
  const out = new Exposition();
  writeRuntime(out, await families.collect());
  return out.finish().toString();
}

test('the names that dashboards know, as a strict reader takes them', async () => {
  const families = runtimeFamilies();
  // A window of the event loop.
  await new Promise((resolve) => setTimeout(resolve, 200));
  const read = readExposition(await textOf(families));
  for (const name of KNOWN) expect(read.get(name)?.samples.length, name).toBeGreaterThan(0);
  const memory = read.get('process_resident_memory_bytes')?.samples[0]?.value;
  expect(memory).toBeGreaterThan(10_000_000);
});

test('figures are collected once for all who ask within a second', async () => {
  const registry = new Registry();
  let collected = 0;
  const collect = () => {
    collected++;
  };
  new Gauge({ name: 'g', help: 'A gauge.', registers: [registry], collect });
  const families = new RuntimeFamilies(registry);
  await Promise.all(Array.from({ length: 100 }, () => families.collect()));
  await families.collect();
  expect(collected).toBe(1);
});

test('what cannot be read is left out, and nothing else is', async () => {
  const registry = new Registry();
  const gauge = (name: string, collect: (this: Gauge) => void) =>
    new Gauge({ name, help: 'A gauge.', registers: [registry], collect });
  gauge('a', function collect() {
    this.set(1);
  });
  gauge('fails', () => {
    throw Object.assign(new Error('EMFILE'), { code: 'EMFILE', syscall: 'open' });
  });
  gauge('nodejs_eventloop_lag_mean_seconds', function collect() {
    this.set(Number.NaN);
  });
  gauge('nodejs_eventloop_lag_min_seconds', function collect() {
    // The window is empty.
    this.set(9223372036854776000 / 1e9);
  });
  gauge('z', function collect() {
    this.set(2);
  });
  const collected = await new RuntimeFamilies(registry).collect();
  expect(collected.map(({ name }) => name)).toEqual(['a', 'z']);
});

/** A program with `families` and `valueOf`, in a process of its own that ends by itself. */
function inProcess(program: string, limits = ''): unknown {
  const built = fileURLToPath(new URL('../dist/metrics/runtime-families.js', import.meta.url));
  const text = `
    const { runtimeFamilies } = await import(${JSON.stringify(built)});
    const families = runtimeFamilies();
    const valuesOf = async (name) =>
      (await families.collect()).find((family) => family.name === name)?.values ?? null;
    ${program}
  `;
  const shell = `${limits} exec "$0" --expose-gc --input-type=module -e "$1"`;
  const { status, signal, stdout, stderr } = spawnSync(
    '/bin/sh',
    ['-c', shell, process.execPath, text],
    { encoding: 'utf8', timeout: 60_000 },
  );
  expect({ status, signal, stderr }).toEqual({ status: 0, signal: null, stderr: '' });
  return JSON.parse(stdout);
}

test('no observer is called for each collection of garbage', () => {
  const observers = inProcess(`
    const { createHook } = await import('node:async_hooks');
    let turns = 0;
    createHook({ init: (id, type) => { if (type === 'Immediate') turns++; } }).enable();
    for (let i = 0; i < 5; i++) globalThis.gc();
    await new Promise((resolve) => setTimeout(resolve, 50));
    console.log(JSON.stringify(turns));
  `);
  expect(observers).toBe(0);
});

test('with every file descriptor taken the figures are given, and the process goes on', () => {
  const figures = inProcess(
    `
    const fs = await import('node:fs');
    let taken = 0;
    try { for (;;) { fs.openSync('/dev/null'); taken++; } } catch (error) {
      if (error.code !== 'EMFILE') throw error;
    }
    const names = (await families.collect()).map(({ name }) => name);
    const [open] = (await valuesOf('process_open_fds')) ?? [{ value: null }];
    console.log(JSON.stringify({ taken, count: names.length, open: open.value }));
  `,
    'ulimit -n 128;',
  ) as { taken: number; count: number; open: number | null };
  expect(figures.taken).toBeGreaterThan(50);
  expect(figures.count).toBeGreaterThan(20);
  // Linux tells since 6.2; what was open before the limit was set is beside it.
  expect(figures.open ?? 128).toBeGreaterThanOrEqual(128);
});
