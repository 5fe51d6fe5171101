/**
 * What Node says of this process, under the names that dashboards for Node know: `process_*` and
 * `nodejs_*`. The library that everybody uses collects them; this file keeps it from costing the
 * node anything.
 *
 * What must hold:
 * - `/metrics/prometheus` is public. However often it is asked, the figures are collected once in
 *   `COLLECT_MS_MIN`: each collection opens files of /proc, walks handles, and begins a new window
 *   of the event loop's lag.
 * - A figure that cannot be read is left out, or is what it was: no file can be opened at the limit
 *   of open files, and a window without a turn of the loop has no lag. Nothing here ends the
 *   process or a scrape.
 * - Between two scrapes runs nothing but the runtime's own sampling of the loop, which is no
 *   JavaScript.
 *
 * So two of the library's collectors are not used, and the others one by one: its own function
 * takes all of them, and what they begin cannot be ended.
 * - `nodejs_gc_duration_seconds` needs an observer that Node calls after each collection of
 *   garbage: 0.25 ms each, measured, or one to two percent of a processor under load. It also
 *   counts only the first collection of a turn of the loop.
 * - `process_open_fds`: the library lists /proc/self/fd, a name for each connection, at once. Linux
 *   tells their number as the size of that folder (since 6.2; before, the family is left out).
 */
import { statSync } from 'node:fs';
import { Gauge, type Metric, Registry } from 'prom-client';
import eventLoopLag from 'prom-client/lib/metrics/eventLoopLag.js';
import heapSizeAndUsed from 'prom-client/lib/metrics/heapSizeAndUsed.js';
import heapSpacesSizeAndUsed from 'prom-client/lib/metrics/heapSpacesSizeAndUsed.js';
import osMemoryHeap from 'prom-client/lib/metrics/osMemoryHeap.js';
import processCpuTotal from 'prom-client/lib/metrics/processCpuTotal.js';
import processHandles from 'prom-client/lib/metrics/processHandles.js';
import processMaxFileDescriptors from 'prom-client/lib/metrics/processMaxFileDescriptors.js';
import processRequests from 'prom-client/lib/metrics/processRequests.js';
import processResources from 'prom-client/lib/metrics/processResources.js';
import processStartTime from 'prom-client/lib/metrics/processStartTime.js';
import version from 'prom-client/lib/metrics/version.js';
import { type Exposition, type FamilyType, labelText } from './exposition.js';
import { isMachineRefusal } from './machine-figures.js';

/** Collectors ask every 5 to 60 seconds. */
const COLLECT_MS_MIN = 1000;
/** The loop is sampled 50 times a second; each time costs a wake-up of an idle process. */
const LAG_PRECISION_MS = 20;
/** A lag of centuries is what an empty window says. */
const SANE_MAX = 9e9;

/** Files of the library, which is why its version is fixed. */
const COLLECTORS = [
  processCpuTotal,
  processStartTime,
  osMemoryHeap,
  processMaxFileDescriptors,
  eventLoopLag,
  processResources,
  processHandles,
  processRequests,
  heapSizeAndUsed,
  heapSpacesSizeAndUsed,
  version,
];

export type RuntimeFigures = readonly Collected[];

interface Collected {
  readonly name: string;
  readonly type: FamilyType;
  readonly help: string;
  readonly values: readonly Value[];
}

/** As the library has it: `metricName` is there where it is not the family's. */
interface Value {
  readonly value: number;
  readonly labels: Readonly<Partial<Record<string, string | number>>>;
  readonly metricName?: string;
}

export class RuntimeFamilies {
  readonly #registry: Registry;
  #collecting: Promise<RuntimeFigures> | null = null;
  #collectedMs = Number.NEGATIVE_INFINITY;

  constructor(registry: Registry) {
    this.#registry = registry;
  }

  /** Never rejects. */
  collect(): Promise<RuntimeFigures> {
    const nowMs = performance.now();
    if (this.#collecting === null || nowMs - this.#collectedMs >= COLLECT_MS_MIN) {
      this.#collectedMs = nowMs;
      this.#collecting = collectAll(this.#registry);
    }
    return this.#collecting;
  }
}

export function writeRuntime(out: Exposition, families: RuntimeFigures): void {
  for (const { name, type, help, values } of families) {
    out.family(name, type, help);
    for (const { labels, value, metricName = name } of values) {
      const pairs = Object.entries(labels).map(([label, one]) => labelText(label, String(one)));
      out.sample(pairs.join(','), value, metricName.slice(name.length));
    }
  }
}

let ofProcess: RuntimeFamilies | null = null;

/** Those of this process, from the first call on. */
export function runtimeFamilies(): RuntimeFamilies {
  ofProcess ??= new RuntimeFamilies(registryOfProcess());
  return ofProcess;
}

function registryOfProcess(): Registry {
  const registry = new Registry();
  for (const collector of COLLECTORS) {
    collector(registry, { eventLoopMonitoringPrecision: LAG_PRECISION_MS });
  }
  addOpenFiles(registry);
  return registry;
}

/** One after the other: some of the library's figures are set by the family before them. */
async function collectAll(registry: Registry): Promise<RuntimeFigures> {
  const collected: Collected[] = [];
  for (const { name } of registry.getMetricsAsArray()) {
    const metric = registry.getSingleMetric(name);
    const one = metric === undefined ? null : await collectOne(metric);
    if (one !== null) collected.push(one);
  }
  return collected;
}

/** null: nothing of it can be read now. */
async function collectOne(metric: Metric): Promise<Collected | null> {
  try {
    const { name, help, type, values } = (await metric.get()) as unknown as Collected;
    const readable = values.filter(({ value }) => Number.isFinite(value) && value < saneMax(name));
    return readable.length === 0 ? null : { name, help, type, values: readable };
  } catch {
    return null;
  }
}

function saneMax(name: string): number {
  return name.startsWith('nodejs_eventloop_lag') ? SANE_MAX : Number.POSITIVE_INFINITY;
}

function addOpenFiles(registry: Registry): void {
  new Gauge({
    name: 'process_open_fds',
    help: 'Number of open file descriptors.',
    registers: [registry],
    collect() {
      const count = openFiles();
      if (count === null) this.remove();
      else this.set(count);
    },
  });
}

/** null: the platform does not tell. */
function openFiles(): number | null {
  try {
    const { size } = statSync('/proc/self/fd');
    return size === 0 ? null : size;
  } catch (error) {
    if (isMachineRefusal(error)) return null;
    throw error;
  }
}
