/**
 * Exact decimal arithmetic over JSON number literals (state-surfaces 1.5).
 *
 * A decimal is a mantissa of 128 bits and up to 38 digits behind the point. What does not fit, an
 * operand or a result, is calculated in doubles, which is what the contract falls back to as well;
 * a double that is no number in JSON any more (an infinity) has no literal.
 *
 * The literal of a result is the shortest: no zeros at the end of a fraction, no exponent. Counters
 * are short integers nearly always, and those are added as such: the rest is for what needs it.
 */

interface Decimal {
  readonly mantissa: bigint;
  /** Digits behind the point, 0..38. */
  readonly scale: number;
}

const SCALE_MAX = 38;
const MANTISSA_MAX = 2n ** 127n - 1n;
/** A longer literal cannot be short, unless it has zeros without need: 39 digits each side. */
const EXPONENT_MAX = 1000;
const TEN = 10n;
const LITERAL = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;
/** Sums of two of them are exact. */
const SHORT_INTEGER = /^-?\d{1,15}$/;

/** Whether the text is a JSON number. */
export function isNumberText(text: string): boolean {
  return LITERAL.test(text);
}

/** The sum as a literal; null when it is no number. */
export function addDecimals(a: string, b: string): string | null {
  if (SHORT_INTEGER.test(a) && SHORT_INTEGER.test(b)) return doubleText(Number(a) + Number(b));
  const left = decimalOf(a);
  const right = decimalOf(b);
  const sum = left === null || right === null ? null : add(left, right);
  return sum === null ? doubleText(Number(a) + Number(b)) : decimalText(sum);
}

/** Negative when `a` is less, 0 when they are equal. */
export function compareDecimals(a: string, b: string): number {
  if (SHORT_INTEGER.test(a) && SHORT_INTEGER.test(b)) return Number(a) - Number(b);
  const left = decimalOf(a);
  const right = decimalOf(b);
  if (left === null || right === null) return Math.sign(Number(a) - Number(b)) || 0;
  const [x, y] = aligned(left, right);
  return x < y ? -1 : x > y ? 1 : 0;
}

/** null: it does not fit. */
function decimalOf(literal: string): Decimal | null {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = LITERAL.exec(literal) ?? [];
  if (literal.length > EXPONENT_MAX || Math.abs(Number(exponent)) > EXPONENT_MAX) return null;
  const digits = BigInt(whole + fraction);
  const scale = fraction.length - Number(exponent);
  const mantissa = sign === '' ? digits : -digits;
  return fitted(scale < 0 ? mantissa * TEN ** BigInt(-scale) : mantissa, Math.max(0, scale));
}

function fitted(mantissa: bigint, scale: number): Decimal | null {
  let m = mantissa;
  let s = scale;
  while (s > 0 && m % TEN === 0n) {
    m /= TEN;
    s--;
  }
  const size = m < 0n ? -m : m;
  return s <= SCALE_MAX && size <= MANTISSA_MAX ? { mantissa: m, scale: s } : null;
}

function add(a: Decimal, b: Decimal): Decimal | null {
  const [x, y] = aligned(a, b);
  return fitted(x + y, Math.max(a.scale, b.scale));
}

/** Both mantissas at the longer scale. */
function aligned(a: Decimal, b: Decimal): readonly [bigint, bigint] {
  const scale = Math.max(a.scale, b.scale);
  return [a.mantissa * TEN ** BigInt(scale - a.scale), b.mantissa * TEN ** BigInt(scale - b.scale)];
}

function decimalText({ mantissa, scale }: Decimal): string {
  if (scale === 0) return mantissa.toString();
  const sign = mantissa < 0n ? '-' : '';
  const digits = (mantissa < 0n ? -mantissa : mantissa).toString().padStart(scale + 1, '0');
  return `${sign}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}

function doubleText(value: number): string | null {
  return Number.isFinite(value) ? String(value === 0 ? 0 : value) : null;
}
