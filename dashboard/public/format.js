/** Numbers as people read them. Unknown is a dash, never 0. */

const UNKNOWN = '–';
const BYTE_UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
const COUNT_UNITS = ['', 'k', 'M', 'G', 'T'];

const isNumber = (value) => typeof value === 'number' && Number.isFinite(value);

/** 1234567 -> "1,234,567". */
export function formatInteger(value) {
  return isNumber(value) ? Math.round(value).toLocaleString('en-US') : UNKNOWN;
}

/** 734003200 -> "700 MiB". */
export function formatBytes(value) {
  return isNumber(value) ? scaled(value, 1024, BYTE_UNITS) : UNKNOWN;
}

/** 123456.7 -> "123 k"; small rates keep a digit. */
export function formatRate(value) {
  return isNumber(value) ? scaled(value, 1000, COUNT_UNITS).trim() : UNKNOWN;
}

/** 93784 -> "1 d 2 h"; the two largest units. */
export function formatDuration(seconds) {
  if (!isNumber(seconds)) return UNKNOWN;
  const whole = Math.floor(seconds);
  const parts = [
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

function scaled(value, step, units) {
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
