/** Times in the zone of the reader, and the exact value beside them. */
import { formatDuration, UNKNOWN } from './format.js';

/** ISO 8601 as the node writes it (to the microsecond), or milliseconds since 1970. */
export type Moment = string | number | null | undefined;

const pad = (value: number, length = 2) => String(value).padStart(length, '0');

/** null: it is no time. */
export function millisOf(moment: Moment): number | null {
  if (moment === null || moment === undefined) return null;
  const ms = typeof moment === 'number' ? moment : Date.parse(moment);
  return Math.abs(ms) <= MS_MAX ? ms : null;
}

/** Further from 1970 there are no dates. */
const MS_MAX = 8.64e15;

/** "2026-10-12 11:31:04" where the reader is. A text that is no time stays as it is. */
export function formatMoment(moment: Moment): string {
  const ms = millisOf(moment);
  if (ms === null) return typeof moment === 'string' ? moment : UNKNOWN;
  const at = new Date(ms);
  const day = `${pad(at.getFullYear(), 4)}-${pad(at.getMonth() + 1)}-${pad(at.getDate())}`;
  return `${day} ${formatClock(ms)}`;
}

/** "11:31:04" where the reader is. */
export function formatClock(ms: number): string {
  const at = new Date(ms);
  return `${pad(at.getHours())}:${pad(at.getMinutes())}:${pad(at.getSeconds())}`;
}

/** What stands in the answer, and the same in UTC where it was a number. */
export function exactMoment(moment: Moment): string {
  if (typeof moment === 'string') return moment;
  const ms = millisOf(moment);
  return ms === null ? '' : new Date(ms).toISOString();
}

/** "5 min ago", "in 2 h 3 min", "now"; what counts down by seconds is the last minute alone. */
export function formatAgo(moment: Moment, nowMs: number): string {
  const ms = millisOf(moment);
  if (ms === null) return UNKNOWN;
  const seconds = Math.round((nowMs - ms) / 1000);
  if (seconds === 0) return 'now';
  const away = Math.abs(seconds);
  const text = formatDuration(away < 60 ? away : away - (away % 60));
  return seconds > 0 ? `${text} ago` : `in ${text}`;
}

/** For a field of type `datetime-local`: "2026-10-12T11:31:04". */
export function localInputOf(ms: number): string {
  return formatMoment(ms).replace(' ', 'T');
}
