/**
 * What the readers of a tenant agree on, one document in the key/value store. A member that is
 * missing or wrong has its default, so a document of another release is read as far as it goes.
 */
import { RANGES } from './time-range.js';

export const SETTINGS = { namespace: 'svc-dashboard', key: 'settings' } as const;
const FORMAT = 'svc.dashboard.settings/v1';

export interface Settings {
  /** The span of time that charts show at first. */
  readonly range: string;
  /** A message that waits longer is told on the overview. */
  readonly waitSeconds: number;
}

/** From 300 s on a node calls a group `Lagging`. */
export const DEFAULT_SETTINGS: Settings = { range: RANGES[0].key, waitSeconds: 300 };

export const WAIT_SECONDS_MAX = 31_536_000;

export function settingsOf(value: unknown): Settings {
  const said = (typeof value === 'object' && value !== null ? value : {}) as Partial<Settings>;
  const { range, waitSeconds } = said;
  return {
    range: RANGES.some(({ key }) => key === range) && range ? range : DEFAULT_SETTINGS.range,
    waitSeconds: isWait(waitSeconds) ? waitSeconds : DEFAULT_SETTINGS.waitSeconds,
  };
}

export function isWait(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) >= 1 && Number(value) <= WAIT_SECONDS_MAX;
}

/** Written under the version that was read; 0: there was none. */
export function settingsWrite(settings: Settings, version: number): object[] {
  const value = { format: FORMAT, ...settings };
  const { namespace: ns, key } = SETTINGS;
  return [{ op: 'put', ns, key, value, forever: true, expect: version }];
}
