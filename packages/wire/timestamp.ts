/**
 * Timestamps as the API writes and reads them. An instant is a number of microseconds since the
 * epoch; its text is `YYYY-MM-DDTHH:MM:SS.ffffffZ`. No `Date` object is made: messages of one
 * append share a second, so the last second's text is remembered and only six digits are new.
 *
 * Instants are exact up to 2^53 microseconds, in June 2255; a later one that a client names is
 * still ordered after all that are.
 */

const US_PER_SECOND = 1_000_000;
const SECONDS_PER_DAY = 86_400;
/** Days from 0000-03-01 to 1970-01-01 in the proleptic Gregorian calendar. */
const DAYS_TO_EPOCH = 719_468;
const DAYS_PER_ERA = 146_097;

const TWO_DIGITS: readonly string[] = Array.from({ length: 100 }, (_, n) =>
  n < 10 ? `0${n}` : `${n}`,
);

let rememberedSecond = Number.NaN;
let rememberedText = '';

/** `YYYY-MM-DDTHH:MM:SS.ffffffZ`, for instants from the year 0 to 2^53. */
export function formatStampUs(stampUs: number): string {
  const second = Math.floor(stampUs / US_PER_SECOND);
  if (second !== rememberedSecond) {
    rememberedSecond = second;
    rememberedText = `${formatSecond(second)}.`;
  }
  const micros = stampUs - second * US_PER_SECOND;
  const high = Math.floor(micros / 10_000);
  const middle = Math.floor(micros / 100) - high * 100;
  return (
    rememberedText +
    (TWO_DIGITS[high] as string) +
    (TWO_DIGITS[middle] as string) +
    (TWO_DIGITS[micros % 100] as string) +
    'Z'
  );
}

/** The same with milliseconds, `YYYY-MM-DDTHH:MM:SS.fffZ`; what is below one is cut. */
export function formatStampMs(stampUs: number): string {
  return `${formatStampUs(stampUs).slice(0, -4)}Z`;
}

/** `YYYY-MM-DDTHH:MM:SS`, without a zone. */
function formatSecond(second: number): string {
  const day = Math.floor(second / SECONDS_PER_DAY);
  const rest = second - day * SECONDS_PER_DAY;
  // Years start in March here, so that the leap day is the last day of one.
  const shifted = day + DAYS_TO_EPOCH;
  const era = Math.floor(shifted / DAYS_PER_ERA);
  const dayOfEra = shifted - era * DAYS_PER_ERA;
  const yearOfEra = Math.floor(
    (dayOfEra -
      Math.floor(dayOfEra / 1_460) +
      Math.floor(dayOfEra / 36_524) -
      Math.floor(dayOfEra / 146_096)) /
      365,
  );
  const dayOfYear =
    dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const monthFromMarch = Math.floor((5 * dayOfYear + 2) / 153);
  const dayOfMonth = dayOfYear - Math.floor((153 * monthFromMarch + 2) / 5) + 1;
  const month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9;
  const year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0);
  const time = [Math.floor(rest / 3600), Math.floor(rest / 60) % 60, rest % 60];
  return `${String(year).padStart(4, '0')}-${TWO_DIGITS[month]}-${TWO_DIGITS[dayOfMonth]}T${time
    .map((part) => TWO_DIGITS[part])
    .join(':')}`;
}

/** Date, time, digits below a second, and then `Z`, an offset, or nothing. */
const ISO = new RegExp(
  '^(\\d{4})-(\\d{2})-(\\d{2})[Tt ](\\d{2}):(\\d{2}):(\\d{2})(?:[.,](\\d{1,9}))?' +
    '(?:([Zz])|([+-])(\\d{2}):?(\\d{2}))?$',
);

/**
 * Microseconds since the epoch of an ISO-8601 date and time, or null when it is not one. Digits
 * below a microsecond are cut; a missing zone means UTC; a date without a time is not an instant.
 */
export function parseIsoUs(text: string): number | null {
  const match = ISO.exec(text);
  if (match === null) return null;
  const part = (index: number): number => Number(match[index] ?? '0');
  const [year, month, day] = [part(1), part(2), part(3)];
  const [hour, minute, second] = [part(4), part(5), part(6)];
  const [zoneHour, zoneMinute] = [part(10), part(11)];
  if (month < 1 || month > 12 || day < 1 || day > daysInMonth(year, month)) return null;
  if (hour > 23 || minute > 59 || second > 59 || zoneHour > 23 || zoneMinute > 59) return null;
  const micros = Number((match[7] ?? '').slice(0, 6).padEnd(6, '0'));
  const zoneSeconds = (match[9] === '-' ? -1 : 1) * (zoneHour * 3600 + zoneMinute * 60);
  const seconds =
    daysFromEpoch(year, month, day) * SECONDS_PER_DAY + hour * 3600 + minute * 60 + second;
  return (seconds - zoneSeconds) * US_PER_SECOND + micros;
}

function daysInMonth(year: number, month: number): number {
  if (month === 2) return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0 ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}

function daysFromEpoch(year: number, month: number, day: number): number {
  const shiftedYear = month <= 2 ? year - 1 : year;
  const era = Math.floor(shiftedYear / 400);
  const yearOfEra = shiftedYear - era * 400;
  const monthFromMarch = month > 2 ? month - 3 : month + 9;
  const dayOfYear = Math.floor((153 * monthFromMarch + 2) / 5) + day - 1;
  const dayOfEra =
    yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
  return era * DAYS_PER_ERA + dayOfEra - DAYS_TO_EPOCH;
}
