// What the runner and the process of an attack say to each other.

import type { Address } from '../rig/http-connection.js';
import type { Check } from './scenario.js';

export interface Order {
  readonly kind: 'fill' | 'attack';
  readonly scenario: string;
  readonly nodes: readonly Address[];
  readonly seconds: number;
}

export type Report =
  | { readonly kind: 'line'; readonly line: string }
  | { readonly kind: 'failed'; readonly error: string }
  | { readonly kind: 'filled' }
  | {
      readonly kind: 'attacked';
      /** What became of its requests, most frequent first. */
      readonly outcomes: readonly (readonly [outcome: string, times: number])[];
      readonly checks: readonly Check[];
    };
