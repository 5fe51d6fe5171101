/** Minutes since the epoch, and the buckets that they fall into. */

const US_PER_MINUTE = 60_000_000;
const MINUTES_PER_HOUR = 60;

export function minuteAt(stampUs: number): number {
  return Math.floor(stampUs / US_PER_MINUTE);
}

/** The first minute that begins at the instant or after it. */
export function minuteFrom(stampUs: number): number {
  return Math.ceil(stampUs / US_PER_MINUTE);
}

export function minuteUs(minute: number): number {
  return minute * US_PER_MINUTE;
}

/**
 * Where the bucket begins that holds the minute: the minute of the hour, rounded down to the width.
 * So a width of more than an hour begins at the hour too.
 */
export function bucketStart(minute: number, widthMinutes: number): number {
  return minute - ((minute % MINUTES_PER_HOUR) % widthMinutes);
}
