// The calendar, and ISO 8601 texts. A clock's time is a Date whose UTC fields are what the clock shows.

const DAY_MS = 86_400_000;
const MONTHS = ['January', 'February', 'March', 'April', 'May', 'June', 'July', 'August', 'September', 'October', 'November', 'December'];
const WEEKDAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const [FIRST_MS, LAST_MS] = [-62_135_596_800_000, 253_402_300_799_999]; // of the years 1 to 9999

function checkRange(milliseconds: number) {
  if (!(milliseconds >= FIRST_MS && milliseconds <= LAST_MS)) throw new Error('The time is not within the years 1 to 9999');
}

const padded = (value: number, digits = 2) => String(value).padStart(digits, '0');
const dateText = (year: number, month: number, day: number) => `${padded(year, 4)}-${padded(month)}-${padded(day)}`;
const isoText = (clock: Date) => clock.toISOString().slice(0, -1);

function offsetText(offset: number): string {
  const size = Math.abs(offset);
  const seconds = size % 60 === 0 ? '' : `:${padded(size % 60)}`; // of times before there were zones
  return `${offset < 0 ? '-' : '+'}${padded(Math.floor(size / 3600))}:${padded(Math.floor(size / 60) % 60)}${seconds}`;
}

// `Date.UTC` takes the years 0 to 99 for others.
function dayMs(year: number, month: number, day: number): number {
  return new Date(0).setUTCFullYear(year, month - 1, day);
}

const monthDays = (year: number, month: number) => new Date(dayMs(year, month + 1, 0)).getUTCDate();

function dayOfYear(clock: Date): number {
  return Math.floor((clock.getTime() - dayMs(clock.getUTCFullYear(), 1, 1)) / DAY_MS) + 1;
}

// The week of ISO 8601: the one that holds the year's first Thursday is the first.
function weekOf(clock: Date): { week: number; weekYear: number } {
  const thursday = new Date(clock.getTime() + (4 - (clock.getUTCDay() || 7)) * DAY_MS);
  return { week: Math.floor((dayOfYear(thursday) - 1) / 7) + 1, weekYear: thursday.getUTCFullYear() };
}

function weekMs(year: number, week: number, weekday: number): number {
  const fourth = new Date(dayMs(year, 1, 4)); // always in the first week
  const monday = fourth.getTime() - ((fourth.getUTCDay() || 7) - 1) * DAY_MS;
  return monday + ((week - 1) * 7 + weekday - 1) * DAY_MS;
}

// The same day of another month, or its last if it has no such day.
function monthsLater(clock: Date, months: number): number {
  const total = clock.getUTCFullYear() * 12 + clock.getUTCMonth() + months;
  const [year, month] = [Math.floor(total / 12), total - Math.floor(total / 12) * 12 + 1];
  if (year < 1 || year > 9999) throw new Error('The time is not within the years 1 to 9999');
  const timeOfDay = ((clock.getTime() % DAY_MS) + DAY_MS) % DAY_MS;
  return dayMs(year, month, Math.min(clock.getUTCDate(), monthDays(year, month))) + timeOfDay;
}

const EXTENDED = /^(\d{4})-(?:(\d{2})-(\d{2})|W(\d{2})-(\d)|(\d{3}))(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d+))?)?(Z|[+-]\d{2}(?::\d{2}(?::\d{2})?)?)?)?$/iu;
const BASIC = /^(\d{4})(?:(\d{2})(\d{2})|W(\d{2})(\d)|(\d{3}))(?:T(\d{2})(\d{2})(?:(\d{2})(?:[.,](\d+))?)?(Z|[+-]\d{2}(?:\d{2}(?:\d{2})?)?)?)?$/iu;

function readIso(text: string): { localMs: number; offset: string | undefined } {
  const match = EXTENDED.exec(text) ?? BASIC.exec(text);
  if (match === null) throw new Error(`Not a date or time of ISO 8601 (2026-11-18, 2026-11-18T08:05:59.123+01:00): ${JSON.stringify(text.slice(0, 60))}`);
  const refuse = (what: string) => new Error(`${what}: ${text}`);
  const within = (group: number, name: string, least: number, most: number, hint = ''): number => {
    const value = Number(match[group] ?? 0);
    if (match[group] !== undefined && (value < least || value > most)) throw refuse(`The ${name} is ${least} to ${most}, not ${value}${hint}`);
    return value;
  };
  const year = within(1, 'year', 1, 9999);
  let day: number;
  if (match[4] !== undefined) day = weekMs(year, within(4, 'week', 1, weekOf(new Date(dayMs(year, 12, 28))).week), within(5, 'day of the week', 1, 7));
  else if (match[6] !== undefined) day = dayMs(year, 1, within(6, 'day of the year', 1, dayOfYear(new Date(dayMs(year, 12, 31)))));
  else {
    const month = within(2, 'month', 1, 12);
    day = dayMs(year, month, within(3, `day of ${MONTHS[month - 1]} ${year}`, 1, monthDays(year, month)));
  }
  const hour = within(7, 'hour', 0, 23, match[7] === '24' ? ' (write 00:00 of the next day)' : '');
  const second = within(9, 'second', 0, 59, match[9] === '60' ? ' (leap seconds are not counted)' : '');
  const millisecond = Number((match[10] ?? '').slice(0, 3).padEnd(3, '0')); // what is finer is cut
  return { localMs: day + ((hour * 60 + within(8, 'minute', 0, 59)) * 60 + second) * 1000 + millisecond, offset: match[11] };
}
