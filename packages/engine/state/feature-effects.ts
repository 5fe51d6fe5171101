/**
 * Effects on what stands beside queues: key/value, timers, streams, ephemeral queues' declarations,
 * and what operators set. Each family has a file of its own; here they are one part of the
 * catalogue of effects (effects.ts).
 */
import type { ByteReader, ByteWriter } from '../base/bytes.js';
import type { Key, State } from '../base/state.js';
import {
  applyEphemeralEffect,
  type EphemeralQueueEffect,
  readEphemeralEffect,
  writeEphemeralEffect,
} from './ephemeral-queues.js';
import {
  applyKv,
  type ExpireKvEffect,
  expireKv,
  type KvEffect,
  readKvEffect,
  writeKvEffect,
} from './kv/apply.js';
import {
  applyStreamEffect,
  readStreamEffect,
  type StreamEffect,
  writeStreamEffect,
} from './streams/effects.js';
import {
  applySurfaceEffect,
  readSurfaceEffect,
  SURFACE_EFFECT_KINDS,
  type SurfaceEffect,
  writeSurfaceEffect,
} from './surface-effects.js';
import {
  applyTimerEffect,
  readTimerEffect,
  TIMER_EFFECT_KINDS,
  type TimerEffect,
  writeTimerEffect,
} from './timers/effects.js';

export type FeatureEffect =
  | KvEffect
  | ExpireKvEffect
  | SurfaceEffect
  | TimerEffect
  | StreamEffect
  | EphemeralQueueEffect;

/** Their codes follow from their places, and stand in logs: a new one comes last. */
export const FEATURE_EFFECT_KINDS = [
  'kv',
  'expire-kv',
  ...SURFACE_EFFECT_KINDS,
  ...TIMER_EFFECT_KINDS,
  'stream-query',
  'drop-stream-query',
  'stream-state',
  'sweep-streams',
  'ephemeral-queue',
] as const satisfies readonly FeatureEffect['kind'][];

const KINDS: ReadonlySet<string> = new Set(FEATURE_EFFECT_KINDS);

export function isFeatureEffect<Any extends { readonly kind: string }>(
  effect: Any,
): effect is Extract<Any, FeatureEffect> {
  return KINDS.has(effect.kind);
}

export function isFeatureKind(kind: string | undefined): kind is FeatureEffect['kind'] {
  return kind !== undefined && KINDS.has(kind);
}

export function applyFeatureEffect(state: State, effect: FeatureEffect, stampUs: number): void {
  switch (effect.kind) {
    case 'kv':
      applyKv(state, effect, stampUs);
      break;
    case 'expire-kv':
      expireKv(state, effect);
      break;
    case 'switches':
    case 'grant':
    case 'purge':
    case 'drop-traces':
      applySurfaceEffect(state, effect);
      break;
    case 'timer':
    case 'remove-timers':
    case 'delay-timer':
    case 'timer-clock':
      applyTimerEffect(state, effect);
      break;
    case 'stream-query':
    case 'drop-stream-query':
    case 'stream-state':
    case 'sweep-streams':
      applyStreamEffect(state, effect, stampUs);
      break;
    case 'ephemeral-queue':
      applyEphemeralEffect(state, effect);
      break;
  }
}

export function writeFeatureEffect(w: ByteWriter, effect: FeatureEffect): void {
  switch (effect.kind) {
    case 'kv':
      writeKvEffect(w, effect);
      break;
    case 'expire-kv':
      w.text(effect.from);
      w.varint(effect.beforeUs);
      w.varint(effect.rowsMax);
      break;
    case 'switches':
    case 'grant':
    case 'purge':
    case 'drop-traces':
      writeSurfaceEffect(w, effect);
      break;
    case 'timer':
    case 'remove-timers':
    case 'delay-timer':
    case 'timer-clock':
      writeTimerEffect(w, effect);
      break;
    case 'stream-query':
    case 'drop-stream-query':
    case 'stream-state':
    case 'sweep-streams':
      writeStreamEffect(w, effect);
      break;
    case 'ephemeral-queue':
      writeEphemeralEffect(w, effect);
      break;
  }
}

export function readFeatureEffect(kind: FeatureEffect['kind'], r: ByteReader): FeatureEffect {
  switch (kind) {
    case 'kv':
      return readKvEffect(r);
    case 'expire-kv':
      return { kind, from: r.text() as Key, beforeUs: r.varint(), rowsMax: r.varint() };
    case 'switches':
    case 'grant':
    case 'purge':
    case 'drop-traces':
      return readSurfaceEffect(kind, r);
    case 'timer':
    case 'remove-timers':
    case 'delay-timer':
    case 'timer-clock':
      return readTimerEffect(kind, r);
    case 'stream-query':
    case 'drop-stream-query':
    case 'stream-state':
    case 'sweep-streams':
      return readStreamEffect(kind, r);
    case 'ephemeral-queue':
      return readEphemeralEffect(r);
  }
}
