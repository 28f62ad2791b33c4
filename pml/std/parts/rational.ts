// Exact numbers: fractions of integers of any size, read from and written as decimals.

type Rational = { top: bigint; bottom: bigint }; // in lowest terms, the bottom positive
type Rounding = 'half_even' | 'half_up' | 'half_down' | 'up' | 'down' | 'ceiling' | 'floor';

const MOST_BITS = 200_000; // of a number: some 60,000 digits
const MOST_EXPONENT = 10_000; // of a number as it is written
const MOST_PLACES = 1000;
const MOST_FACTORIAL = 5000;

const absolute = (value: bigint) => (value < 0n ? -value : value);
const bits = (value: bigint) => absolute(value).toString(16).length * 4;

function divisor(a: bigint, b: bigint): bigint {
  let [left, right] = [absolute(a), absolute(b)];
  while (right !== 0n) [left, right] = [right, left % right];
  return left;
}

function rational(top: bigint, bottom = 1n): Rational {
  if (bottom === 0n) throw new Error('Division by zero');
  if (Math.max(bits(top), bits(bottom)) > MOST_BITS) throw new Error(`The number has more than ${MOST_BITS} bits`);
  const common = divisor(top, bottom) * (bottom < 0n ? -1n : 1n);
  return { top: top / common, bottom: bottom / common };
}

function rationalOf(text: string): Rational {
  const match = /^\s*([+-]?)(\d*)\.?(\d*)(?:[eE]([+-]?\d+))?\s*$/u.exec(text);
  const digits = match === null ? '' : match[2] + match[3];
  if (match === null || digits === '') throw new Error(`${JSON.stringify(text.slice(0, 60))} is not a decimal number`);
  const exponent = Number(match[4] ?? 0) - match[3].length;
  if (Math.abs(exponent) > MOST_EXPONENT) throw new Error(`The exponent is beyond ${MOST_EXPONENT}`);
  const value = BigInt(match[1] + digits);
  return exponent < 0 ? rational(value, 10n ** BigInt(-exponent)) : rational(value * 10n ** BigInt(exponent));
}

const lower = ({ top, bottom }: Rational): bigint => (top % bottom !== 0n && top < 0n ? top / bottom - 1n : top / bottom);
const compare = (a: Rational, b: Rational): number => Number(a.top * b.bottom > b.top * a.bottom) - Number(a.top * b.bottom < b.top * a.bottom);
const minus = (a: Rational, b: Rational) => rational(a.top * b.bottom - b.top * a.bottom, a.bottom * b.bottom);
const times = (a: Rational, b: Rational) => rational(a.top * b.top, a.bottom * b.bottom);
const over = (a: Rational, b: Rational) => rational(a.top * b.bottom, a.bottom * b.top);

function powered(base: Rational, exponent: Rational): Rational {
  if (exponent.bottom !== 1n) throw new Error('An exact power has an integer as its exponent');
  const by = absolute(exponent.top);
  const isTrivial = base.bottom === 1n && absolute(base.top) <= 1n;
  if (!isTrivial && by * BigInt(Math.max(bits(base.top), bits(base.bottom))) > BigInt(2 * MOST_BITS)) throw new Error(`The number has more than ${MOST_BITS} bits`);
  const count = isTrivial ? (by % 2n) + (by > 0n ? 2n : 0n) : by; // of 0, 1 and -1 only whether it is even counts
  const raised = { top: base.top ** count, bottom: base.bottom ** count };
  return exponent.top < 0n ? rational(raised.bottom, raised.top) : rational(raised.top, raised.bottom);
}

function integer({ top, bottom }: Rational): bigint {
  if (bottom !== 1n) throw new Error('An integer is expected');
  return top;
}

const multiple = (a: bigint, b: bigint) => (a === 0n || b === 0n ? 0n : absolute(a * b) / divisor(a, b));

function factorial(value: bigint): bigint {
  if (value < 0n || value > BigInt(MOST_FACTORIAL)) throw new Error(`A factorial is of 0 to ${MOST_FACTORIAL}`);
  let product = 1n;
  for (let by = 2n; by <= value; by++) product *= by;
  return product;
}

const EXACT: Omit<Arithmetic<Rational>, 'names'> = {
  literal: rationalOf,
  negative: ({ top, bottom }) => ({ top: -top, bottom }),
  binary: {
    '+': (a, b) => minus(a, { top: -b.top, bottom: b.bottom }),
    '-': minus,
    '*': times,
    '/': over,
    '%': (a, b) => minus(a, times(b, rational(lower(over(a, b))))),
    '^': powered,
  },
  functions: {
    abs: one(({ top, bottom }) => ({ top: absolute(top), bottom })),
    min: many((a, b) => (compare(a, b) <= 0 ? a : b)),
    max: many((a, b) => (compare(a, b) >= 0 ? a : b)),
    floor: one((value) => rational(lower(value))),
    ceil: one(({ top, bottom }) => rational(-lower({ top: -top, bottom }))),
    trunc: one(({ top, bottom }) => rational(top / bottom)),
    round: { least: 1, most: 2, of: (value, places) => rounded(value, placesOf(places), 'half_even') },
    gcd: many((a, b) => rational(divisor(integer(a), integer(b)))),
    lcm: many((a, b) => rational(multiple(integer(a), integer(b)))),
    factorial: one((value) => rational(factorial(integer(value)))),
  },
};

function placesOf(value: Rational | undefined): number {
  const places = value === undefined ? 0 : Number(integer(value));
  if (Math.abs(places) > MOST_PLACES) throw new Error(`There are at most ${MOST_PLACES} places`);
  return places;
}

function rounded(value: Rational, places: number, mode: Rounding): Rational {
  const scale = 10n ** BigInt(Math.abs(places));
  const scaled = places < 0 ? over(value, rational(scale)) : times(value, rational(scale));
  const down = lower(scaled);
  const rest = minus(scaled, rational(down));
  const half = compare(rest, { top: 1n, bottom: 2n });
  const isUp: Record<Rounding, boolean> = {
    half_even: half > 0 || (half === 0 && down % 2n !== 0n),
    half_up: half > 0 || (half === 0 && value.top > 0n),
    half_down: half > 0 || (half === 0 && value.top < 0n),
    up: rest.top > 0n && value.top > 0n,
    down: rest.top > 0n && value.top < 0n,
    ceiling: rest.top > 0n,
    floor: false,
  };
  const whole = rational(isUp[mode] ? down + 1n : down);
  return places < 0 ? times(whole, rational(scale)) : over(whole, rational(scale));
}

// The decimal with exactly so many places; the value must have no more.
function decimal({ top, bottom }: Rational, places: number): string {
  const digits = absolute((top * 10n ** BigInt(places)) / bottom).toString().padStart(places + 1, '0');
  const [whole, rest] = [digits.slice(0, digits.length - places), digits.slice(digits.length - places)];
  return `${top < 0n ? '-' : ''}${whole}${places > 0 ? `.${rest}` : ''}`;
}

// How many places the decimal has, null if it never ends.
function placesNeeded({ bottom }: Rational): number | null {
  let [rest, twos, fives] = [bottom, 0, 0];
  for (; rest % 2n === 0n; rest /= 2n) twos++;
  for (; rest % 5n === 0n; rest /= 5n) fives++;
  return rest === 1n ? Math.max(twos, fives) : null;
}
