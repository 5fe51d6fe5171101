// What the measurements of growth share: the options, a place for their nodes, a voice.

import type { Scratch } from '../scratch.js';
import type { ScaleOptions } from './options.js';

export interface Scale {
  readonly options: ScaleOptions;
  readonly scratch: Scratch;
  /** One line about what is going on, on standard error: standard output is for the results. */
  readonly say: (line: string) => void;
}
