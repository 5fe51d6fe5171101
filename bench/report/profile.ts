// Where a node's time went, from the CPU profiles it wrote at its end.

import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { checkoutRoot } from '../rig/checkout.js';
import { renderTable } from './report.js';

const ROWS_MAX = 20;

interface ProfileNode {
  readonly id: number;
  readonly callFrame: {
    readonly functionName: string;
    readonly url: string;
    readonly lineNumber: number;
  };
}

/** The parts of the V8 profile format that are read. Times are microseconds. */
export interface CpuProfile {
  readonly nodes: readonly ProfileNode[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

export interface SelfTime {
  readonly place: string;
  readonly selfMs: number;
  readonly share: number;
}

/** Functions by the time spent in them and not in what they called, longest first. */
export function selfTimes(profile: CpuProfile): readonly SelfTime[] {
  return sharesOf(profile, functionOf);
}

/**
 * The same by folder of this checkout; what lies elsewhere (the runtime, the garbage collector,
 * libraries) by its own name.
 */
export function folderTimes(profile: CpuProfile, root: string): readonly SelfTime[] {
  return sharesOf(profile, ({ callFrame: { functionName, url } }) => {
    if (url.includes('/node_modules/')) return 'node_modules';
    if (url.startsWith(root)) return dirname(url.slice(root.length)).replace(/(^|\/)dist\b/, '');
    return url.startsWith('node:') ? 'node:*' : functionName || '(native)';
  });
}

function sharesOf(
  profile: CpuProfile,
  placeOf: (node: ProfileNode) => string,
): readonly SelfTime[] {
  const places = new Map(profile.nodes.map((node) => [node.id, placeOf(node)]));
  const microseconds = new Map<string, number>();
  let total = 0;
  for (const [index, nodeId] of profile.samples.entries()) {
    const place = places.get(nodeId) ?? '(unknown)';
    const delta = Math.max(0, profile.timeDeltas[index] ?? 0);
    microseconds.set(place, (microseconds.get(place) ?? 0) + delta);
    total += delta;
  }
  return [...microseconds]
    .map(([place, time]) => ({ place, selfMs: time / 1000, share: total === 0 ? 0 : time / total }))
    .sort((left, right) => right.selfMs - left.selfMs);
}

/** Folders and functions of every profile below `directory` that was written after `sinceMs`. */
export function renderProfiles(directory: string, sinceMs: number): string {
  const root = pathToFileURL(`${checkoutRoot()}/`).href;
  const parts: string[] = [];
  for (const name of existsSync(directory) ? readdirSync(directory) : []) {
    const file = join(directory, name);
    if (!name.endsWith('.cpuprofile') || statSync(file).mtimeMs < sinceMs) continue;
    const profile = unbundled(JSON.parse(readFileSync(file, 'utf8')) as CpuProfile, root);
    parts.push(
      `CPU profile ${file}`,
      tableOf('folder', folderTimes(profile, root)),
      tableOf('function', selfTimes(profile)),
    );
  }
  return parts.length === 0 ? `no CPU profile was written to ${directory}` : parts.join('\n\n');
}

/** A bundle names each file before what it took from it: functions are shown as of their files. */
export function unbundled(profile: CpuProfile, root: string): CpuProfile {
  const bundles = new Map<string, readonly Part[]>();
  const nodes = profile.nodes.map((node) => {
    const { url, lineNumber } = node.callFrame;
    if (!/\/dist\/bundle\/[^/]+$/.test(url)) return node;
    const parts = bundles.get(url) ?? partsOf(readFileSync(fileURLToPath(url), 'utf8'));
    bundles.set(url, parts);
    const part = parts.findLast(({ line }) => line <= lineNumber);
    if (part === undefined) return node;
    const place = { url: root + part.file, lineNumber: lineNumber - part.line };
    return { ...node, callFrame: { ...node.callFrame, ...place } };
  });
  return { ...profile, nodes };
}

interface Part {
  readonly file: string;
  /** The first of the file. */
  readonly line: number;
}

function partsOf(bundle: string): readonly Part[] {
  return bundle.split('\n').flatMap((text, at) => {
    const [, file] = /^\/\/ ([\w@.\-/]+\.[cm]?js)$/.exec(text) ?? [];
    return file === undefined ? [] : [{ file, line: at + 1 }];
  });
}

function tableOf(what: string, times: readonly SelfTime[]): string {
  const rows = times
    .slice(0, ROWS_MAX)
    .map((row) => [row.selfMs.toFixed(0), `${(row.share * 100).toFixed(1)} %`, row.place]);
  return renderTable(['self ms', 'share', what], rows, new Set(['self ms', 'share']));
}

function functionOf(node: ProfileNode): string {
  const { functionName, url, lineNumber } = node.callFrame;
  const name = functionName === '' ? '(anonymous)' : functionName;
  return url === '' ? name : `${name} ${basename(url)}:${lineNumber + 1}`;
}
