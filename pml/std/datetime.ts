// Moments: now, reading and writing them, calendars, time zones. Years 1 to 9999, milliseconds. Zones are asked of the host,
// which has IANA's. Where clocks are set back, a time means the first of its two moments; where they are set forward, a
// time that no clock shows means the moment as far after the gap. Parts: calendar.

interface Host {
  zones: {
    at(args: { zone: string; seconds: number }): Promise<{ offset: number; abbreviation: string }>;
    local(args: { zone: string; seconds: number }): Promise<{ first: number; second: number }>;
  };
}
declare const mcp: Host;

type Time = string | number;
type Moment = { epochMs: number; offset: number; zone: string; abbreviation: string };
type Amounts = { years?: number; months?: number; weeks?: number; days?: number; hours?: number; minutes?: number; seconds?: number; milliseconds?: number };

const FIXED = /^(?:UTC|Z|GMT|([+-])(\d{2})(?::?(\d{2})(?::?(\d{2}))?)?)$/iu; // seconds: of times before there were zones

// The offset of a zone that has only one, in seconds.
function fixedOffset(zone: string): number | null {
  const match = FIXED.exec(zone);
  if (match === null) return null;
  const [hours, minutes, seconds] = match.slice(2).map((part) => Number(part ?? 0));
  if (hours > 23 || minutes > 59 || seconds > 59) throw new Error(`An offset is at most 23:59:59: ${zone}`);
  return (match[1] === '-' ? -1 : 1) * (hours * 3600 + minutes * 60 + seconds);
}

async function momentAt(epochMs: number, zone: string): Promise<Moment> {
  checkRange(epochMs);
  const fixed = fixedOffset(zone);
  const name = fixed === 0 ? 'UTC' : fixed === null ? zone : offsetText(fixed);
  const { offset, abbreviation } = fixed === null ? await mcp.zones.at({ zone, seconds: Math.floor(epochMs / 1000) }) : { offset: fixed, abbreviation: name };
  checkRange(epochMs + offset * 1000);
  return { epochMs, offset, zone: name, abbreviation };
}

// The moment at which clocks of the zone show a time, told in milliseconds as if it were UTC's.
async function epochOf(localMs: number, zone: string): Promise<number> {
  checkRange(localMs);
  const fixed = fixedOffset(zone);
  const offset = fixed ?? (await mcp.zones.local({ zone, seconds: Math.floor(localMs / 1000) })).first;
  return localMs - offset * 1000;
}

async function momentOf(time: Time, zone: string | undefined): Promise<Moment> {
  if (typeof time === 'number') return momentAt(time, zone ?? 'UTC');
  const { localMs, offset } = readIso(time);
  const own = offset ?? zone ?? 'UTC';
  return momentAt(await epochOf(localMs, own), zone ?? own);
}

const clockOf = ({ epochMs, offset }: Moment) => new Date(epochMs + offset * 1000);

function told(moment: Moment) {
  const clock = clockOf(moment);
  const { week, weekYear } = weekOf(clock);
  const [year, month, day] = [clock.getUTCFullYear(), clock.getUTCMonth() + 1, clock.getUTCDate()];
  return {
    iso: isoText(clock) + (moment.zone === 'UTC' ? 'Z' : offsetText(moment.offset)), utc: `${isoText(new Date(moment.epochMs))}Z`,
    epochMs: moment.epochMs, zone: moment.zone, offset: offsetText(moment.offset), abbreviation: moment.abbreviation,
    date: dateText(year, month, day), year, month, day,
    hour: clock.getUTCHours(), minute: clock.getUTCMinutes(), second: clock.getUTCSeconds(), millisecond: clock.getUTCMilliseconds(),
    weekday: WEEKDAYS[clock.getUTCDay()], isoWeekday: clock.getUTCDay() || 7, isoWeek: week, isoWeekYear: weekYear, dayOfYear: dayOfYear(clock),
  };
}

export async function now(args: { zone?: string }) {
  return told(await momentAt(Date.now(), args.zone ?? 'UTC'));
}

export async function parse(args: { text: string; zone?: string }) {
  return told(await momentOf(args.text, args.zone));
}

export async function convert_zone(args: { time: Time; zone: string; from?: string }) {
  const moment = await momentOf(args.time, args.from);
  return told(await momentAt(moment.epochMs, args.zone));
}

export async function format(args: { time: Time; pattern: string; zone?: string }) {
  const moment = await momentOf(args.time, args.zone);
  const text = args.pattern.replace(/%(-?)(:z|[^]|$)/gu, (whole, bare: string, directive: string, at: number) => {
    const write = Object.hasOwn(DIRECTIVES, directive) ? DIRECTIVES[directive] : null;
    if (write === null) throw new Error(`${whole} at position ${at + 1} is no directive; there are ${Object.keys(DIRECTIVES).map((name) => `%${name}`).join(' ')}`);
    const written = write(clockOf(moment), moment);
    return bare ? written.replace(/^[0 ]+(?=.)/u, '') : written;
  });
  return { text };
}

const DIRECTIVES: Record<string, (clock: Date, moment: Moment) => string> = {
  Y: (clock) => padded(clock.getUTCFullYear(), 4), y: (clock) => padded(clock.getUTCFullYear() % 100), m: (clock) => padded(clock.getUTCMonth() + 1),
  B: (clock) => MONTHS[clock.getUTCMonth()], b: (clock) => MONTHS[clock.getUTCMonth()].slice(0, 3),
  d: (clock) => padded(clock.getUTCDate()), e: (clock) => String(clock.getUTCDate()).padStart(2), j: (clock) => padded(dayOfYear(clock), 3),
  A: (clock) => WEEKDAYS[clock.getUTCDay()], a: (clock) => WEEKDAYS[clock.getUTCDay()].slice(0, 3), u: (clock) => String(clock.getUTCDay() || 7), w: (clock) => String(clock.getUTCDay()),
  G: (clock) => padded(weekOf(clock).weekYear, 4), V: (clock) => padded(weekOf(clock).week),
  H: (clock) => padded(clock.getUTCHours()), I: (clock) => padded(clock.getUTCHours() % 12 || 12), p: (clock) => (clock.getUTCHours() < 12 ? 'AM' : 'PM'),
  M: (clock) => padded(clock.getUTCMinutes()), S: (clock) => padded(clock.getUTCSeconds()), L: (clock) => padded(clock.getUTCMilliseconds(), 3),
  f: (clock) => `${padded(clock.getUTCMilliseconds(), 3)}000`,
  F: (clock) => dateText(clock.getUTCFullYear(), clock.getUTCMonth() + 1, clock.getUTCDate()), T: (clock) => isoText(clock).slice(11, 19), R: (clock) => isoText(clock).slice(11, 16),
  z: (_, moment) => offsetText(moment.offset).replaceAll(':', ''), ':z': (_, moment) => offsetText(moment.offset), Z: (_, moment) => moment.abbreviation,
  s: (_, moment) => String(Math.floor(moment.epochMs / 1000)), n: () => '\n', t: () => '\t', '%': () => '%',
};

// Years, months, weeks and days by the calendar of the zone, the clock's time kept; hours and less as they elapse.
async function later(moment: Moment, amounts: Amounts): Promise<number> {
  const months = (amounts.years ?? 0) * 12 + (amounts.months ?? 0);
  const days = (amounts.weeks ?? 0) * 7 + (amounts.days ?? 0);
  const isDated = months !== 0 || days !== 0;
  const date = isDated ? await epochOf(monthsLater(clockOf(moment), months) + days * DAY_MS, moment.zone) : moment.epochMs;
  return date + (amounts.hours ?? 0) * 3_600_000 + (amounts.minutes ?? 0) * 60_000 + (amounts.seconds ?? 0) * 1000 + (amounts.milliseconds ?? 0);
}

export async function add(args: Amounts & { time: Time; zone?: string }) {
  const moment = await momentOf(args.time, args.zone);
  return told(await momentAt(await later(moment, args), moment.zone));
}

export async function difference(args: { from: Time; to: Time; zone?: string }) {
  const [from, to] = [await momentOf(args.from, args.zone), await momentOf(args.to, args.zone)];
  const milliseconds = to.epochMs - from.epochMs;
  const [first, last] = milliseconds < 0 ? [await momentAt(to.epochMs, from.zone), from] : [from, await momentAt(to.epochMs, from.zone)];
  const calendar = await between(first, last);
  return {
    sign: Math.sign(milliseconds), milliseconds, seconds: milliseconds / 1000, minutes: milliseconds / 60_000, hours: milliseconds / 3_600_000, days: milliseconds / DAY_MS,
    calendar, iso: (milliseconds < 0 ? '-' : '') + durationText(calendar),
  };
}

// The most months, then the most days, that do not lead beyond the end; the rest as it elapses.
async function between(first: Moment, last: Moment): Promise<Required<Omit<Amounts, 'weeks'>>> {
  const [start, end] = [clockOf(first), clockOf(last)];
  let months = (end.getUTCFullYear() - start.getUTCFullYear()) * 12 + end.getUTCMonth() - start.getUTCMonth();
  while (months > 0 && (await later(first, { months })) > last.epochMs) months--;
  let days = Math.max(0, Math.floor((end.getTime() - monthsLater(start, months)) / DAY_MS));
  while (days > 0 && (await later(first, { months, days })) > last.epochMs) days--;
  const rest = last.epochMs - (await later(first, { months, days }));
  return {
    years: Math.floor(months / 12), months: months % 12, days, hours: Math.floor(rest / 3_600_000), minutes: Math.floor(rest / 60_000) % 60,
    seconds: Math.floor(rest / 1000) % 60, milliseconds: rest % 1000,
  };
}

function durationText({ years, months, days, hours, minutes, seconds, milliseconds }: Required<Omit<Amounts, 'weeks'>>): string {
  const whole = seconds + milliseconds / 1000;
  const date = [[years, 'Y'], [months, 'M'], [days, 'D']].filter(([amount]) => amount !== 0).flat().join('');
  const time = [[hours, 'H'], [minutes, 'M'], [whole, 'S']].filter(([amount]) => amount !== 0).flat().join('');
  return date === '' && time === '' ? 'PT0S' : `P${date}${time === '' ? '' : `T${time}`}`;
}
