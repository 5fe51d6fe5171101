/**
 * Effects on what stands beside queues: key/value, timers, streams, ephemeral queues' declarations,
 * what operators set, and the part of a standby. A row says what an effect is made of and what it
 * does to the state; here the rows of all features are one part of the catalogue of effects
 * (effects.ts).
 */
import type { ChoiceOf, EffectKind } from '../base/fields/choice.js';
import type { State } from '../base/state.js';
import { ephemeralEffects } from './ephemeral-queues.js';
import { kvEffects } from './kv/apply.js';
import { standbyEffects } from './standby/effects.js';
import { streamEffects } from './streams/effects.js';
import { surfaceEffects } from './surface-effects.js';
import { timerEffects } from './timers/effects.js';

export const featureEffects = {
  ...kvEffects,
  ...surfaceEffects,
  ...timerEffects,
  ...streamEffects,
  ...ephemeralEffects,
  ...standbyEffects,
};
export type FeatureEffect = ChoiceOf<'kind', typeof featureEffects>;

export function applyFeatureEffect(state: State, effect: FeatureEffect, stampUs: number): void {
  const kind = featureEffects[effect.kind] as EffectKind<unknown>;
  kind.apply(state, effect as never, stampUs);
}
