// JSON: reading, writing, and finding and changing parts of a value. Pure.

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
type Steps = string[];

const MOST_FOUND = 10_000;

export async function parse(args: { text: string }) {
  try {
    return { value: JSON.parse(args.text) as Json };
  } catch (error) {
    throw new Error(`The text is not JSON: ${(error as Error).message}`);
  }
}

export async function stringify(args: { value: Json; indent?: number; sortKeys?: boolean }) {
  return { text: JSON.stringify(args.sortKeys ? sorted(args.value) : args.value, null, args.indent ?? 0) };
}

function sorted(value: Json): Json {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.keys(value).sort().map((key) => [key, sorted(value[key])]));
}

const isObject = (value: Json | undefined): value is { [key: string]: Json } => typeof value === 'object' && value !== null && !Array.isArray(value);

// A JSON Pointer (RFC 6901): "" is the whole value, "/a/0" the first item of `a`.
function stepsOf(pointer: string): Steps {
  if (pointer === '') return [];
  if (pointer[0] !== '/') throw new Error(`A path begins with "/" ("/a/0") or is empty: ${pointer}`);
  return pointer.slice(1).split('/').map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
}

const INDEX = /^(0|[1-9]\d*)$/;

function child(value: Json | undefined, step: string): Json | undefined {
  if (Array.isArray(value)) return INDEX.test(step) ? value[Number(step)] : undefined;
  return isObject(value) && Object.hasOwn(value, step) ? value[step] : undefined;
}

export async function get(args: { value: Json; path: string }) {
  const found = stepsOf(args.path).reduce<Json | undefined>(child, args.value);
  return found === undefined ? { found: false, value: null } : { found: true, value: found };
}

export async function set(args: { value: Json; path: string; to: Json }) {
  return { value: changed(args.value, stepsOf(args.path), args.path, () => args.to) };
}

export async function remove(args: { value: Json; path: string }) {
  const steps = stepsOf(args.path);
  if (steps.length === 0) throw new Error('The whole value cannot be removed');
  return { value: changed(args.value, steps, args.path, () => undefined) };
}

// A copy in which one place is another; `undefined` takes it out. Objects on the way are made, arrays are not.
function changed(value: Json | undefined, steps: Steps, path: string, to: () => Json | undefined): Json {
  if (steps.length === 0) return to() as Json;
  const [step, ...rest] = steps;
  if (Array.isArray(value)) {
    const at = step === '-' ? value.length : INDEX.test(step) ? Number(step) : -1;
    const fresh = changed(value[at], rest, path, to);
    if (at < 0 || at > value.length || (fresh === undefined && at === value.length)) throw new Error(`There is no item ${step} on the way of ${path}`);
    return fresh === undefined ? value.toSpliced(at, 1) : value.toSpliced(at, 1, fresh);
  }
  if (value !== undefined && !isObject(value)) throw new Error(`There is neither an object nor an array at ${step} on the way of ${path}`);
  const entries = new Map(Object.entries(value ?? {}));
  const fresh = changed(entries.get(step), rest, path, to);
  if (fresh !== undefined) entries.set(step, fresh);
  else if (!entries.delete(step)) throw new Error(`There is nothing at ${path}`);
  return Object.fromEntries(entries);
}

// RFC 7396: objects are merged, null removes, anything else replaces.
export async function merge(args: { target: Json; patch: Json }) {
  return { value: merged(args.target, args.patch) };
}

function merged(target: Json | undefined, patch: Json): Json {
  if (!isObject(patch)) return patch;
  const result = new Map(isObject(target) ? Object.entries(target) : []);
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) result.delete(key);
    else result.set(key, merged(result.get(key), value));
  }
  return Object.fromEntries(result);
}

// The part of JSONPath without filters: $.a.b  $['a b']  $[0]  $[-1]  $[1:3]  $.*  $..name
export async function query(args: { value: Json; path: string }) {
  let found: [Json, string][] = [[args.value, '']];
  for (const selector of selectorsOf(args.path)) {
    const from = selector.deep ? found.flatMap(([value, path]) => [...descendants(value, path)]) : found;
    found = from.flatMap(([value, path]) => selected(value, path, selector));
    if (found.length > MOST_FOUND) throw new Error(`More than ${MOST_FOUND} values fit: ask for fewer`);
  }
  return { values: found.map(([value]) => value), paths: found.map(([, path]) => path) };
}

type Selector = { deep: boolean; all?: boolean; key?: string; index?: number; slice?: [number | undefined, number | undefined] };

function selectorsOf(path: string): Selector[] {
  const selectors: Selector[] = [];
  const token = /(\.\.|\.)?(?:([\p{L}_$][\p{L}\p{N}_$-]*)|(\*)|\[(?:(\*)|(-?\d+)|(-?\d+)?:(-?\d+)?|'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")\])/uy;
  token.lastIndex = path[0] === '$' ? 1 : 0;
  while (token.lastIndex < path.length) {
    const at = token.lastIndex;
    const match = token.exec(path);
    const bracketed = match !== null && match[0].endsWith(']');
    if (match === null || (bracketed ? match[1] === '.' : match[1] === undefined && at > 0)) throw new Error(`The path cannot be read at position ${at + 1}: ${path}`);
    const [, dots, name, star, allItems, index, start, end, single, double] = match;
    const quoted = (single ?? double)?.replace(/\\(.)/g, '$1');
    const number = (text: string | undefined) => (text === undefined ? undefined : Number(text));
    const what = star || allItems ? { all: true } : index !== undefined ? { index: Number(index) }
      : name !== undefined || quoted !== undefined ? { key: name ?? quoted } : { slice: [number(start), number(end)] as Selector['slice'] };
    selectors.push({ deep: dots === '..', ...what });
  }
  return selectors;
}

function* descendants(value: Json, path: string): Generator<[Json, string]> {
  yield [value, path];
  for (const [key, one] of children(value)) yield* descendants(one, `${path}/${escaped(key)}`);
}

const children = (value: Json): [string, Json][] => (typeof value === 'object' && value !== null ? Object.entries(value) : []);
const escaped = (step: string) => step.replaceAll('~', '~0').replaceAll('/', '~1');

function selected(value: Json, path: string, selector: Selector): [Json, string][] {
  let chosen: [string, Json][] = [];
  if (selector.all) chosen = children(value);
  else if (selector.key !== undefined && isObject(value) && Object.hasOwn(value, selector.key)) chosen = [[selector.key, value[selector.key]]];
  else if (Array.isArray(value) && selector.index !== undefined && value.at(selector.index) !== undefined) {
    chosen = [[String(selector.index < 0 ? value.length + selector.index : selector.index), value.at(selector.index) as Json]];
  } else if (Array.isArray(value) && selector.slice) chosen = children(value).slice(...selector.slice);
  return chosen.map(([key, one]) => [one, `${path}/${escaped(key)}`]);
}
