/** Numbers as people read them. Unknown is a dash, never 0. */

export const UNKNOWN = '–';
const BYTE_UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
const COUNT_UNITS = ['', 'k', 'M', 'G', 'T'];

export type Figure = number | null | undefined;

export function isFigure(value: Figure): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}

/** 1234567 -> "1,234,567". */
export function formatInteger(value: Figure): string {
  return isFigure(value) ? Math.round(value).toLocaleString('en-US') : UNKNOWN;
}

/** 734003200 -> "700 MiB". */
export function formatBytes(value: Figure): string {
  return isFigure(value) ? scaled(value, 1024, BYTE_UNITS) : UNKNOWN;
}

/** 123456.7 -> "123 k"; small rates keep a digit, those below a tenth their first two. */
export function formatRate(value: Figure): string {
  if (isFigure(value) && value > 0 && value < 0.1) return String(Number(value.toPrecision(2)));
  return isFigure(value) ? scaled(value, 1000, COUNT_UNITS).trim() : UNKNOWN;
}

/** 24.13 -> "24 %"; below ten with a digit. */
export function formatPercent(value: Figure): string {
  if (!isFigure(value)) return UNKNOWN;
  return `${value.toFixed(value < 10 ? 1 : 0).replace(/\.0$/, '')} %`;
}

/** 93784 -> "1 d 2 h"; the two largest units. */
export function formatDuration(seconds: Figure): string {
  if (!isFigure(seconds)) return UNKNOWN;
  const whole = Math.floor(seconds);
  const parts: readonly (readonly [number, string])[] = [
    [Math.floor(whole / 86_400), 'd'],
    [Math.floor(whole / 3600) % 24, 'h'],
    [Math.floor(whole / 60) % 60, 'min'],
    [whole % 60, 's'],
  ];
  const first = parts.findIndex(([count]) => count > 0);
  if (first === -1) return '0 s';
  return parts
    .slice(first, first + 2)
    .filter(([count]) => count > 0)
    .map(([count, unit]) => `${count} ${unit}`)
    .join(' ');
}

/** 12.34 -> "12 ms"; from a minute on as a duration. */
export function formatMs(ms: Figure): string {
  if (!isFigure(ms)) return UNKNOWN;
  if (ms >= 60_000) return formatDuration(ms / 1000);
  if (ms >= 1000) return `${(ms / 1000).toFixed(1).replace(/\.0$/, '')} s`;
  return `${ms.toFixed(ms < 10 ? 1 : 0).replace(/\.0$/, '')} ms`;
}

/** "1 queue", "2 queues", "1,000 queues". */
export function counted(count: number, one: string, many: string): string {
  return `${formatInteger(count)} ${count === 1 ? one : many}`;
}

function scaled(value: number, step: number, units: readonly string[]): string {
  let unit = 0;
  let rest = value;
  while (rest >= step && unit < units.length - 1) {
    rest /= step;
    unit++;
  }
  // What rounds up to the next unit is shown in it.
  if (Math.round(rest) >= step && unit < units.length - 1) {
    rest /= step;
    unit++;
  }
  const digits = rest >= 100 ? 0 : 1;
  return `${rest.toFixed(digits).replace(/\.0$/, '')} ${units[unit]}`;
}
