/**
 * Questions to the gate and its answers, as frames (`thread-frames.ts`):
 *
 *     demand:    kind u8 | rows | bytes | timers, varints | has key/value u8
 *     judgement: nothing: it is let in; or a refusal, as JSON, for it is rare
 */
import { ByteWriter, type Command, GuardedReader } from '@svc/engine';
import type { Demand, GateRefusal, TooFar } from '@svc/http';
import { NAME_BYTES_MAX } from '@svc/wire';
import { commandParts, ownerHead } from './thread-frames.js';

/** The kinds of calls that threads serve. */
const KINDS = ['kv-read', 'kv-write', 'transaction'] as const;

type ThreadDemand = Extract<Demand, { readonly kind: (typeof KINDS)[number] }>;

/** `owner`: as of a pop. */
export function gatedParts(
  command: Command,
  demand: Demand,
  owner: string,
  nowMs: number,
): Uint8Array[] {
  const w = new ByteWriter(32);
  writeDemand(w, demand);
  return [ownerHead(owner), w.finish(), ...commandParts(command, nowMs)];
}

/** The demand, and the bytes of the command; null: as of a command. */
export function splitGated(bytes: Uint8Array): readonly [ThreadDemand, Uint8Array] | null {
  const r = new GuardedReader(bytes);
  const demand = readDemand(r);
  return r.refused ? null : [demand, bytes.subarray(bytes.length - r.left)];
}

/** The demand of a call that has no command. */
export function askParts(tenant: string, demand: Demand): Uint8Array[] {
  const w = new ByteWriter(96);
  writeDemand(w, demand);
  w.text(tenant);
  return [w.finish()];
}

/** null: as of a command. */
export function readAsk(content: Uint8Array): readonly [string, ThreadDemand] | null {
  const r = new GuardedReader(content);
  const demand = readDemand(r);
  const tenant = r.text(NAME_BYTES_MAX);
  return r.whole ? [tenant, demand] : null;
}

function writeDemand(w: ByteWriter, demand: Demand): void {
  const { rows = 0, bytes = 0, timers = 0, hasKv = false } = demand as Partial<Amounts>;
  w.u8(KINDS.indexOf(demand.kind as ThreadDemand['kind']));
  w.varint(rows);
  w.varint(bytes);
  w.varint(timers);
  w.flag(hasKv);
}

type Amounts = Extract<ThreadDemand, { readonly kind: 'transaction' }>;

function readDemand(r: GuardedReader): ThreadDemand {
  const kind = r.oneOf(KINDS);
  const amounts = { rows: r.varint(), bytes: r.varint(), timers: r.varint(), hasKv: r.flag() };
  return { kind, ...amounts };
}

export function judgementParts(refusal: GateRefusal | TooFar | null): Uint8Array[] {
  return refusal === null ? [] : [Buffer.from(JSON.stringify(refusal))];
}

export function readJudgement(content: Uint8Array): GateRefusal | TooFar | null {
  return content.length === 0 ? null : JSON.parse(Buffer.from(content).toString());
}
