/** The load of a cluster in four figures: of each the node that is worst off. */
import { type Figure, formatBytes, formatPercent, isFigure } from './format.js';

export type GaugeTone = 'good' | 'wait' | 'bad';

export interface Gauge {
  readonly label: string;
  readonly text: string;
  readonly tone: GaugeTone;
  /** Which node, and of how much. */
  readonly note: string;
}

interface Host {
  readonly anonBytes: number | null;
  readonly cpuPct: number | null;
  readonly memoryLimitBytes?: number | null;
  readonly diskUsedPct?: number | null;
  readonly diskGatePct?: number;
}

export interface LoadedNode {
  readonly nodeId: number;
  readonly reachable?: boolean | null;
  readonly host?: Host | null;
  readonly role?: string;
  readonly lagEntries?: number | null;
}

const CPU_BAD_PCT = 90;
const MEMORY_WAIT_PCT = 80;
const MEMORY_BAD_PCT = 90;
/** The gate of a node of an earlier build, which does not tell: `SVC_RAFT_DISK_HIGH_PCT`. */
const DISK_GATE_PCT = 85;
/** Below the gate by so much it is time to act. */
const DISK_NEAR_PCT = 5;

export interface RaftView {
  readonly leaderId: number | null;
  readonly members: readonly LoadedNode[];
}

export function gaugesOf({ leaderId, members }: RaftView): Gauge[] {
  const cpu = worst(members, ({ cpuPct }) => cpuPct);
  const memory = worst(members, memoryPctOf);
  const anon = memory?.host.anonBytes ?? worst(members, ({ anonBytes }) => anonBytes)?.value;
  const disk = worst(members, diskToGateOf);
  const { diskUsedPct = null, diskGatePct = DISK_GATE_PCT } = disk?.host ?? {};
  const diskTone = toneOf(diskUsedPct, diskGatePct - DISK_NEAR_PCT, diskGatePct);
  const diskNote = `; writes are refused at ${formatPercent(diskGatePct)}`;
  const memoryTone = toneOf(memory?.value, MEMORY_WAIT_PCT, MEMORY_BAD_PCT);
  return [
    gauge('CPU', cpu, formatPercent(cpu?.value), toneOf(cpu?.value, CPU_BAD_PCT, CPU_BAD_PCT)),
    gauge('Memory', memory, formatBytes(anon), memoryTone, limitNote(memory)),
    gauge('Disk', disk, formatPercent(diskUsedPct), diskTone, diskNote),
    raftGauge(leaderId, members),
  ];
}

/** How near the gate a disk is; gates may differ. */
function diskToGateOf({ diskUsedPct, diskGatePct = DISK_GATE_PCT }: Host): Figure {
  return isFigure(diskUsedPct) ? diskUsedPct - diskGatePct : null;
}

function limitNote(memory: Worst | null): string {
  const limit = memory?.host.memoryLimitBytes;
  return isFigure(limit) ? ` of ${formatBytes(limit)}` : '';
}

interface Worst {
  readonly nodeId: number;
  readonly host: Host;
  readonly value: number;
}

function worst(members: readonly LoadedNode[], of: (host: Host) => Figure): Worst | null {
  let found: Worst | null = null;
  for (const { nodeId, host } of members) {
    const value = host === null || host === undefined ? null : of(host);
    if (!host || !isFigure(value) || (found !== null && found.value >= value)) continue;
    found = { nodeId, host, value };
  }
  return found;
}

function memoryPctOf({ anonBytes, memoryLimitBytes }: Host): Figure {
  if (!isFigure(anonBytes) || !isFigure(memoryLimitBytes) || memoryLimitBytes === 0) return null;
  return (anonBytes / memoryLimitBytes) * 100;
}

function toneOf(value: Figure, waitFrom: number, badFrom: number): GaugeTone {
  if (!isFigure(value) || value < waitFrom) return 'good';
  return value < badFrom ? 'wait' : 'bad';
}

function gauge(label: string, from: Worst | null, text: string, tone: GaugeTone, more = ''): Gauge {
  const note = from === null ? 'not told' : `node ${from.nodeId}, the fullest${more}`;
  return { label, text, tone, note };
}

function raftGauge(leaderId: number | null, members: readonly LoadedNode[]): Gauge {
  const silent = members.filter(({ reachable }) => reachable !== true).map(({ nodeId }) => nodeId);
  if (leaderId === null) return { label: 'Raft', text: 'no leader', tone: 'bad', note: '' };
  const text = silent.length === 0 ? `leader ${leaderId}` : `${silent.length} silent`;
  const note = silent.length === 0 ? '' : `no answer from node ${silent.join(', ')}`;
  return { label: 'Raft', text, tone: silent.length === 0 ? 'good' : 'bad', note };
}
