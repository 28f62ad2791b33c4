// Differences: of lines, words and JSON; patches applied to text. Reads files, writes none. Parts: files, patch, reading_patch.

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
type Options = { context?: number; beforeName?: string; afterName?: string };

const isObject = (value: Json): value is { [key: string]: Json } => typeof value === 'object' && value !== null && !Array.isArray(value);
const escaped = (step: string) => step.replaceAll('~', '~0').replaceAll('/', '~1');
const plainName = (name: string) => name.replace(/[\r\n\t]/gu, ' '); // a line end would begin another line of the patch

function compared(before: string, after: string, options: Options) {
  const edits = editsBetween(linesOf(before), linesOf(after));
  const lines = (kind: Edit['kind']) => edits.filter((edit) => edit.kind === kind).reduce((sum, edit) => sum + edit.lines.length, 0);
  const hunks = hunksOf(edits, options.context ?? 3).map(hunkText).join('');
  const names = `--- ${plainName(options.beforeName ?? 'before')}\n+++ ${plainName(options.afterName ?? 'after')}\n`;
  return { diff: hunks === '' ? '' : names + hunks, added: lines('+'), removed: lines('-'), isSame: before === after };
}

export async function unified(args: Options & { before: string; after: string }) {
  return compared(args.before, args.after, args);
}

export async function files(args: { beforePath: string; afterPath: string; context?: number }) {
  const read = async (path: string) => {
    const bytes = await bytesOf((await locate(path)).path);
    if (bytes.subarray(0, 8192).includes(0)) throw new Error(`The file is not text: ${path}`);
    return textIn(bytes);
  };
  const [before, after] = [await read(args.beforePath), await read(args.afterPath)];
  return compared(before, after, { context: args.context, beforeName: args.beforePath, afterName: args.afterPath });
}

const KINDS = { ' ': 'same', '-': 'removed', '+': 'added' };

export async function words(args: { before: string; after: string }) {
  const tokens = (text: string) => text.match(/\s+|[\p{L}\p{M}\p{N}_]+|[^]/gu) ?? [];
  const parts = editsBetween(tokens(args.before), tokens(args.after)).map(({ kind, lines }) => ({ kind: KINDS[kind], text: lines.join('') }));
  const marks: Record<string, [string, string]> = { same: ['', ''], removed: ['[-', '-]'], added: ['{+', '+}'] };
  return { parts, text: parts.map(({ kind, text }) => marks[kind][0] + text + marks[kind][1]).join(''), isSame: args.before === args.after };
}

type Operation = { op: 'add' | 'remove' | 'replace'; path: string; value?: Json };

// As a JSON Patch (RFC 6902) that makes the one of the other.
export async function json(args: { before: Json; after: Json }) {
  const operations = [...operationsBetween(args.before, args.after, '')];
  return { operations, isSame: operations.length === 0 };
}

function* operationsBetween(before: Json, after: Json, path: string): Generator<Operation> {
  if (isObject(before) && isObject(after)) yield* membersBetween(before, after, path);
  else if (Array.isArray(before) && Array.isArray(after)) yield* itemsBetween(before, after, path);
  else if (before !== after) yield { op: 'replace', path, value: after };
}

function* membersBetween(before: { [key: string]: Json }, after: { [key: string]: Json }, path: string): Generator<Operation> {
  for (const key of Object.keys(before)) if (!Object.hasOwn(after, key)) yield { op: 'remove', path: `${path}/${escaped(key)}` };
  for (const [key, value] of Object.entries(after)) {
    const place = `${path}/${escaped(key)}`;
    if (Object.hasOwn(before, key)) yield* operationsBetween(before[key], value, place);
    else yield { op: 'add', path: place, value };
  }
}

const isEqual = (a: Json, b: Json): boolean => operationsBetween(a, b, '').next().done === true;

// What is the same at both ends stays; between, items are compared one by one, and those beyond are added or removed.
function* itemsBetween(before: Json[], after: Json[], path: string): Generator<Operation> {
  const least = Math.min(before.length, after.length);
  let [start, end] = [0, 0];
  while (start < least && isEqual(before[start], after[start])) start++;
  while (end < least - start && isEqual(before[before.length - 1 - end], after[after.length - 1 - end])) end++;
  const both = least - end;
  for (let at = start; at < both; at++) yield* operationsBetween(before[at], after[at], `${path}/${at}`);
  for (let at = before.length - end - 1; at >= both; at--) yield { op: 'remove', path: `${path}/${at}` };
  for (let at = both; at < after.length - end; at++) yield { op: 'add', path: `${path}/${at}`, value: after[at] };
}

// Each part must fit where it says, or at the nearest place where its lines are; nothing is guessed.
export async function apply(args: { text: string; patch: string; reverse?: boolean }) {
  let lines = linesOf(args.text);
  let [shift, least] = [0, 0]; // by how much later lines have moved, and where the last part ended
  const hunks = readPatch(args.patch).map((hunk) => (args.reverse ? reversed(hunk) : hunk));
  const parts = hunks.map((hunk, index) => {
    const old = hunk.lines.filter((line) => line[0] !== '+').map((line) => line.slice(1));
    const fresh = hunk.lines.filter((line) => line[0] !== '-').map((line) => line.slice(1));
    const stated = hunk.oldStart - (old.length === 0 ? 0 : 1) + shift; // an empty range is told by the line before it
    const at = placeOf(old, lines, stated, least);
    if (at < 0) throw misfit(old, lines, stated, `Part ${index + 1} of ${hunks.length} does not fit`);
    lines = [...lines.slice(0, at), ...fresh, ...lines.slice(at + old.length)];
    shift += at - stated + fresh.length - old.length;
    least = at + fresh.length;
    return { line: at + 1, offset: at - stated };
  });
  return { text: lines.join(''), parts };
}

function reversed({ oldStart, newStart, lines }: Hunk): Hunk {
  const turned = lines.map((line) => ({ '+': '-', '-': '+', ' ': ' ' })[line[0]] + line.slice(1));
  return { oldStart: newStart, newStart: oldStart, lines: turned };
}

function placeOf(old: string[], lines: string[], stated: number, least: number): number {
  const isThere = (at: number) => at >= least && at + old.length <= lines.length && old.every((line, i) => line === lines[at + i]);
  for (let away = 0; away <= (old.length === 0 ? 0 : Math.max(stated, lines.length)); away++) {
    if (isThere(stated - away)) return stated - away;
    if (isThere(stated + away)) return stated + away;
  }
  return -1;
}

function misfit(old: string[], lines: string[], stated: number, what: string): Error {
  const wrong = old.findIndex((line, i) => line !== lines[stated + i]);
  const at = stated + Math.max(0, wrong);
  const shown = (line: string) => JSON.stringify(line.length > 200 ? `${line.slice(0, 200)}...` : line);
  const there = lines[at] === undefined ? `the text ends after line ${lines.length}` : `line ${at + 1} is ${shown(lines[at])}`;
  return new Error(`${what}: ${there}, the patch has ${wrong < 0 ? 'a line more' : shown(old[wrong])}. Nothing was changed`);
}
