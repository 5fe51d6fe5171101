/**
 * Effects on what stands beside queues: key/value, timers, streams, ephemeral queues' declarations,
 * and what operators set. Each family has a file of its own; here they are one part of the
 * catalogue of effects (effects.ts).
 */
import type { ChoiceOf } from '../base/fields/choice.js';
import type { State } from '../base/state.js';
import { applyEphemeralEffect, ephemeralEffects } from './ephemeral-queues.js';
import { applyKv, expireKv, kvEffects } from './kv/apply.js';
import { applyStreamEffect, streamEffects } from './streams/effects.js';
import { applySurfaceEffect, surfaceEffects } from './surface-effects.js';
import { applyTimerEffect, timerEffects } from './timers/effects.js';

export const featureEffects = {
  ...kvEffects,
  ...surfaceEffects,
  ...timerEffects,
  ...streamEffects,
  ...ephemeralEffects,
};
export type FeatureEffect = ChoiceOf<'kind', typeof featureEffects>;

export function isFeatureEffect<Any extends { readonly kind: string }>(
  effect: Any,
): effect is Extract<Any, FeatureEffect> {
  return Object.hasOwn(featureEffects, effect.kind);
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
