// Arithmetic that is told as text, statistics, rounding, number bases. Pure. Parts: expression, rational.

const DEFAULT_PLACES = 20; // of a number whose decimals never end

// What floats have no number for is an error, not NaN.
function real(value: number): number {
  if (Number.isNaN(value)) throw new Error('There is no real number for this');
  if (!Number.isFinite(value)) throw new Error('The number is too large for a float; evaluate_exact has no such bound');
  return value;
}

function divided(left: number, right: number): number {
  if (right === 0) throw new Error('Division by zero');
  return left / right;
}

// With the sign of the divisor.
function modulo(left: number, right: number): number {
  if (right === 0) throw new Error('Division by zero');
  const rest = left % right;
  return rest !== 0 && rest < 0 !== right < 0 ? rest + right : rest;
}

function toInteger(value: number): bigint {
  if (!Number.isSafeInteger(value)) throw new Error('An integer is expected, of at most 2^53 - 1');
  return BigInt(value);
}

const checked = (functions: Record<string, Func<number>>) => Object.fromEntries(
  Object.entries(functions).map(([name, { least, most, of }]) => [name, { least, most, of: (...values: number[]) => real(of(...values)) }]),
);

const positive = (of: (value: number) => number) => (value: number): number => {
  if (value <= 0) throw new Error('A logarithm is of a number above 0');
  return of(value);
};
const logarithm = positive(Math.log);

const nearest = (value: number, places: number): number => {
  const exact = rounded(rationalOf(String(value)), placesOf(rational(toInteger(places))), 'half_even');
  return Number(decimal(exact, Math.max(0, places)));
};

const FLOATS: Omit<Arithmetic<number>, 'names'> = {
  literal: (text) => real(Number(text)),
  negative: (value) => -value,
  binary: {
    '+': (a, b) => real(a + b),
    '-': (a, b) => real(a - b),
    '*': (a, b) => real(a * b),
    '/': (a, b) => real(divided(a, b)),
    '%': (a, b) => real(modulo(a, b)),
    '^': (a, b) => real(a === 0 && b < 0 ? divided(1, 0) : a ** b),
  },
  functions: checked({
    abs: one(Math.abs), sign: one(Math.sign), sqrt: one(Math.sqrt), cbrt: one(Math.cbrt), exp: one(Math.exp), ln: one(logarithm),
    log: { least: 1, most: 2, of: (value, base) => (base === undefined ? logarithm(value) : divided(logarithm(value), logarithm(base))) },
    log2: one(positive(Math.log2)), log10: one(positive(Math.log10)),
    sin: one(Math.sin), cos: one(Math.cos), tan: one(Math.tan), asin: one(Math.asin), acos: one(Math.acos), atan: one(Math.atan), atan2: two(Math.atan2),
    sinh: one(Math.sinh), cosh: one(Math.cosh), tanh: one(Math.tanh),
    degrees: one((value) => (value * 180) / Math.PI), radians: one((value) => (value * Math.PI) / 180),
    floor: one(Math.floor), ceil: one(Math.ceil), trunc: one(Math.trunc), round: { least: 1, most: 2, of: (value, places = 0) => nearest(value, places) },
    min: many((a, b) => Math.min(a, b)), max: many((a, b) => Math.max(a, b)), hypot: many((a, b) => Math.hypot(a, b)),
    gcd: many((a, b) => Number(divisor(toInteger(a), toInteger(b)))), lcm: many((a, b) => Number(multiple(toInteger(a), toInteger(b)))),
    factorial: one((value) => Number(factorial(toInteger(value)))),
  }),
};
const CONSTANTS = { pi: Math.PI, tau: 2 * Math.PI, e: Math.E };

export async function evaluate(args: { expression: string; variables?: Record<string, number> }) {
  const names = new Map(Object.entries({ ...CONSTANTS, ...args.variables }));
  return { value: evaluated(args.expression, { ...FLOATS, names }) };
}

type ExactArgs = { expression: string; variables?: Record<string, string | number>; places?: number; rounding?: Rounding };

export async function evaluate_exact(args: ExactArgs) {
  const names = new Map(Object.entries(args.variables ?? {}).map(([name, value]) => [name, rationalOf(String(value))]));
  const value = evaluated(args.expression, { ...EXACT, names });
  const needed = placesNeeded(value);
  const places = args.places ?? Math.min(needed ?? DEFAULT_PLACES, MOST_PLACES);
  const text = decimal(rounded(value, places, args.rounding ?? 'half_even'), places);
  return { text, isExact: needed !== null && needed <= places, fraction: `${value.top}/${value.bottom}` };
}

export async function round(args: { value: string | number; places?: number; rounding?: Rounding }) {
  const places = args.places ?? 0;
  const value = rounded(rationalOf(String(args.value)), places, args.rounding ?? 'half_even');
  const text = decimal(value, Math.max(0, places));
  return { text, value: Number(text) };
}

export async function statistics(args: { values: number[]; percentiles?: number[] }) {
  const sorted = args.values.toSorted((a, b) => a - b);
  const count = sorted.length;
  const sum = real(Math.sumPrecise(sorted));
  const mean = sum / count;
  const squares = real(Math.sumPrecise(sorted.map((value) => (value - mean) ** 2)));
  const [sample, population] = [count > 1 ? squares / (count - 1) : null, squares / count];
  const percentile = (at: number) => ({ percentile: at, value: atPercentile(sorted, at) });
  return {
    count, sum, mean, median: atPercentile(sorted, 50), min: sorted[0], max: sorted[count - 1], modes: modes(sorted),
    sampleVariance: sample, sampleStandardDeviation: sample === null ? null : Math.sqrt(sample),
    populationVariance: population, populationStandardDeviation: Math.sqrt(population),
    percentiles: (args.percentiles ?? [25, 50, 75]).map(percentile),
  };
}

// Between two values in proportion, the first being 0 and the last 100.
function atPercentile(sorted: number[], percentile: number): number {
  const at = (percentile / 100) * (sorted.length - 1);
  const [low, high] = [sorted[Math.floor(at)], sorted[Math.ceil(at)]];
  const part = at - Math.floor(at);
  return low === high ? low : low * (1 - part) + high * part;
}

// The most frequent values; none if all are equally rare.
function modes(sorted: number[]): number[] {
  const counts = new Map<number, number>();
  for (const value of sorted) counts.set(value, (counts.get(value) ?? 0) + 1);
  const most = [...counts.values()].reduce((a, b) => Math.max(a, b));
  return most === 1 && sorted.length > 1 ? [] : [...counts].filter(([, frequency]) => frequency === most).map(([value]) => value);
}

const PREFIXES: Record<string, number> = { '0x': 16, '0o': 8, '0b': 2 };

export async function convert_base(args: { number: string; from?: number; to: number }) {
  const match = /^\s*([+-]?)(0[xob](?=.))?([0-9a-z_]+)\s*$/iu.exec(args.number);
  const prefix = match?.[2]?.toLowerCase();
  const hasPrefix = prefix !== undefined && (args.from === undefined || args.from === PREFIXES[prefix]);
  const base = args.from ?? (prefix === undefined ? 10 : PREFIXES[prefix]);
  const digits = match === null ? args.number : `${hasPrefix ? '' : match[2] ?? ''}${match[3]}`.replaceAll('_', '').toLowerCase();
  let value = 0n;
  for (const digit of digits) {
    const worth = /[0-9a-z]/u.test(digit) ? parseInt(digit, 36) : base;
    if (worth >= base) throw new Error(`${JSON.stringify(digit)} is no digit of base ${base}: ${args.number.slice(0, 60)}`);
    value = value * BigInt(base) + BigInt(worth);
  }
  if (digits === '') throw new Error('There is no digit');
  return { text: `${match?.[1] === '-' && value !== 0n ? '-' : ''}${value.toString(args.to)}` };
}
