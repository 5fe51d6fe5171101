/**
 * The lines of the contract that have to be seen to hold: its documents' sections and, of each, the
 * rows of its tables by their first column, or the statements of its text in a few words. The
 * contract itself is not part of this repository; a reader who has it can compare the two from top
 * to bottom. A row without a test fails, and so does a test of a row that is not here.
 */
import { EPHEMERAL } from './sections-ephemeral.js';
import { INSPECTION } from './sections-inspection.js';
import { KV } from './sections-kv.js';
import { MESSAGE_PLANE } from './sections-message-plane.js';
import { PAGES } from './sections-pages.js';
import { STANDBY } from './sections-standby.js';
import { STREAMS } from './sections-streams.js';
import { SURFACE_LIMITS } from './sections-surface-limits.js';
import { TIMERS } from './sections-timers.js';

export const SECTIONS = {
  ...MESSAGE_PLANE,
  ...INSPECTION,
  ...EPHEMERAL,
  ...KV,
  ...STREAMS,
  ...SURFACE_LIMITS,
  ...TIMERS,
  ...PAGES,
  ...STANDBY,
};

export type SectionName = keyof typeof SECTIONS;
