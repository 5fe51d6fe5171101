// Where a node's time went, from the CPU profiles it wrote at its end.

import { readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { renderTable } from './report.js';

const ROWS_MAX = 20;

interface ProfileNode {
  readonly id: number;
  readonly callFrame: {
    readonly functionName: string;
    readonly url: string;
    readonly lineNumber: number;
  };
  /** Ids of what it called. */
  readonly children?: readonly number[];
}

/** The parts of the V8 profile format that are read. Times are microseconds. */
export interface CpuProfile {
  /** On the monotonic clock. */
  readonly startTime: number;
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

/** The first rows of every profile below `directory` that was written after `sinceMs`. */
export function renderProfiles(directory: string, sinceMs: number): string {
  const parts: string[] = [];
  for (const name of readdirSync(directory)) {
    const file = join(directory, name);
    if (!name.endsWith('.cpuprofile') || statSync(file).mtimeMs < sinceMs) {
      continue;
    }
    const profile = JSON.parse(readFileSync(file, 'utf8')) as CpuProfile;
    const rows = selfTimes(profile)
      .slice(0, ROWS_MAX)
      .map((row) => [row.selfMs.toFixed(0), `${(row.share * 100).toFixed(1)} %`, row.place]);
    const columns = ['self ms', 'share', 'function'];
    parts.push(`CPU profile ${file}`, renderTable(columns, rows, new Set(['self ms', 'share'])));
  }
  return parts.length === 0 ? `no CPU profile was written to ${directory}` : parts.join('\n');
}

function placeOf(node: ProfileNode): string {
  const { functionName, url, lineNumber } = node.callFrame;
  const name = functionName === '' ? '(anonymous)' : functionName;
  return url === '' ? name : `${name} ${basename(url)}:${lineNumber + 1}`;
}
