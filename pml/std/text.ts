// Text: counting, splitting, finding, replacing, shaping, comparing. Pure. Regular expressions are JavaScript's, in Unicode
// mode; one that explodes ends with the CPU limit.

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

export async function count(args: { text: string }) {
  const ends = occurrences(args.text, /\r\n|\n|\r/gu);
  return {
    characters: args.text.length - occurrences(args.text, /[\u{10000}-\u{10FFFF}]/gu),
    words: occurrences(args.text, /\S+/gu),
    lines: ends + Number(/[^\r\n]$/u.test(args.text)),
    bytes: new TextEncoder().encode(args.text).length,
  };
}

function occurrences(text: string, pattern: RegExp): number {
  let found = 0;
  while (pattern.test(text)) found++;
  return found;
}

// What is looked for: a text as it is written, or a regular expression.
function wanted(find: string, isPattern: boolean | undefined, flags: string): RegExp {
  if (find === '') throw new Error('What to look for is empty');
  try {
    return new RegExp(isPattern ? find : RegExp.escape(find), `gu${flags}`);
  } catch (error) {
    throw new Error(`Not a regular expression: ${(error as Error).message} (Unicode mode: \\ only before characters that have a meaning): ${find}`);
  }
}

type SplitArgs = { text: string; separator?: string; regex?: boolean; limit?: number; trim?: boolean; skipEmpty?: boolean };

export async function split(args: SplitArgs) {
  const separator = args.separator === undefined ? /\r\n|\n|\r/gu : wanted(args.separator, args.regex, '');
  const all: string[] = [];
  let from = 0;
  for (const match of args.text.matchAll(separator)) {
    if (args.limit !== undefined && all.length >= args.limit - 1) break;
    if (match[0] === '' && (match.index === 0 || match.index === args.text.length)) continue;
    all.push(args.text.slice(from, match.index));
    from = match.index + match[0].length;
  }
  all.push(args.text.slice(from));
  if (args.separator === undefined && all[all.length - 1] === '') all.pop(); // the last line's end begins no other
  const parts = args.trim ? all.map((part) => part.trim()) : all;
  return { parts: args.skipEmpty ? parts.filter((part) => part !== '') : parts };
}

type ReplaceArgs = { text: string; find: string; replacement: string; regex?: boolean; ignoreCase?: boolean; firstOnly?: boolean };

export async function replace(args: ReplaceArgs) {
  const pattern = wanted(args.find, args.regex, args.ignoreCase ? 'i' : '');
  let replaced = 0;
  for (const _ of args.text.matchAll(pattern)) {
    replaced++;
    if (args.firstOnly) break;
  }
  const once = args.firstOnly ? new RegExp(pattern.source, pattern.flags.replace('g', '')) : pattern;
  const text = args.regex ? args.text.replace(once, args.replacement) : args.text.replace(once, () => args.replacement);
  return { text, count: replaced };
}

type ExtractArgs = { text: string; pattern: string; ignoreCase?: boolean; multiline?: boolean; dotAll?: boolean; maxResults?: number };

export async function extract(args: ExtractArgs) {
  const flags = `${args.ignoreCase ? 'i' : ''}${args.multiline ? 'm' : ''}${args.dotAll ? 's' : ''}`;
  const most = args.maxResults ?? 1000;
  const matches: object[] = [];
  let [line, lineStart] = [1, 0];
  for (const match of args.text.matchAll(wanted(args.pattern, true, flags))) {
    if (matches.length >= most) return { matches, truncated: true };
    for (let next = args.text.indexOf('\n', lineStart); next >= 0 && next < match.index; next = args.text.indexOf('\n', lineStart)) {
      line++;
      lineStart = next + 1;
    }
    matches.push({
      text: match[0], start: match.index, end: match.index + match[0].length, line, column: match.index - lineStart + 1,
      groups: match.slice(1).map((group) => group ?? null),
      named: Object.fromEntries(Object.entries(match.groups ?? {}).map(([name, group]) => [name, group ?? null])),
    });
  }
  return { matches, truncated: false };
}

// Letters that no accent can be taken from.
const PLAIN: Record<string, string> = { ß: 'ss', æ: 'ae', œ: 'oe', ø: 'o', đ: 'd', ð: 'd', þ: 'th', ł: 'l', ı: 'i' };

const capital = (word: string) => {
  const [first = '', ...rest] = Array.from(word);
  return first.toUpperCase() + rest.join('').toLowerCase();
};
// `parseHTTPUrl2` and `parse http-url 2` alike.
const wordsOf = (text: string) => text
  .replace(/(\p{Ll}|\p{N})(\p{Lu})/gu, '$1 $2')
  .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2')
  .match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
const lowerWords = (text: string) => Array.from(wordsOf(text), (word) => word.toLowerCase());

function slug(text: string): string {
  const plain = text.toLowerCase().replace(/[ßæœøđðþłı]/gu, (letter) => PLAIN[letter]).normalize('NFD').replace(/\p{M}/gu, '');
  return (plain.normalize('NFC').replace(/['’]/gu, '').match(/[\p{L}\p{N}]+/gu) ?? []).join('-');
}

const CASES: Record<string, (text: string) => string> = {
  upper: (text) => text.toUpperCase(),
  lower: (text) => text.toLowerCase(),
  title: (text) => text.replace(/[\p{L}\p{M}\p{N}]+(?:['’][\p{L}\p{M}]+)*/gu, capital),
  sentence: (text) => text.toLowerCase().replace(/(^|[.!?]\s+)(\P{L}*?)(\p{L})/gu, (_, before, between, letter) => before + between + letter.toUpperCase()),
  camel: (text) => lowerWords(text).map((word, at) => (at === 0 ? word : capital(word))).join(''),
  pascal: (text) => lowerWords(text).map(capital).join(''),
  snake: (text) => lowerWords(text).join('_'),
  kebab: (text) => lowerWords(text).join('-'),
  constant: (text) => lowerWords(text).join('_').toUpperCase(),
  slug,
};

export async function convert_case(args: { text: string; to: string }) {
  return { text: CASES[args.to](args.text) };
}

// Paragraphs, which blank lines part, are filled anew; a word that is longer than a line stays whole.
export async function wrap(args: { text: string; width?: number; indent?: string; hangingIndent?: string }) {
  const width = args.width ?? 80;
  const [first, others] = [args.indent ?? '', args.hangingIndent ?? args.indent ?? ''];
  const filled = args.text.split(/(?:\r\n|\n|\r)(?:[ \t]*(?:\r\n|\n|\r))+/u).map((paragraph) => {
    const lines: string[] = [];
    let line = '';
    for (const word of paragraph.split(/\s+/u).filter(Boolean)) {
      const room = width - length(lines.length === 0 ? first : others);
      if (line !== '' && length(line) + 1 + length(word) > room) {
        lines.push(line);
        line = word;
      } else line = line === '' ? word : `${line} ${word}`;
    }
    if (line !== '') lines.push(line);
    return lines.map((one, at) => (at === 0 ? first : others) + one).join('\n');
  });
  return { text: filled.filter((paragraph) => paragraph !== '').join('\n\n') };
}

const length = (text: string) => Array.from(text).length;

// `{{name}}`, `{{user.name}}`, `{{items.0}}`: places for values, no logic.
export async function template(args: { template: string; values: { [key: string]: Json }; missing?: 'error' | 'empty' | 'keep' }) {
  const missing = new Set<string>();
  const text = args.template.replace(/\{\{\s*([^{}]*?)\s*\}\}/gu, (whole, name: string) => {
    const value = name.split('.').reduce<Json | undefined>(member, args.values);
    if (value !== undefined) return typeof value === 'string' ? value : value === null ? '' : JSON.stringify(value);
    missing.add(name);
    return args.missing === 'keep' ? whole : '';
  });
  const names = [...missing];
  if (names.length > 0 && (args.missing ?? 'error') === 'error') throw new Error(`No value for ${names.map((name) => `{{${name}}}`).join(', ')}`);
  return { text, missing: names };
}

const member = (value: Json | undefined, key: string): Json | undefined => (typeof value === 'object' && value !== null && Object.hasOwn(value, key)
  && !(Array.isArray(value) && key === 'length') ? (value as { [key: string]: Json })[key] : undefined);

// Levenshtein's distance over characters: what is the same at both ends costs nothing.
export async function similarity(args: { a: string; b: string; ignoreCase?: boolean }) {
  const [a, b] = [args.a, args.b].map((text) => Array.from((args.ignoreCase ? text.toLowerCase() : text).normalize('NFC')));
  const longest = Math.max(a.length, b.length);
  const apart = distance(a, b);
  return { distance: apart, similarity: longest === 0 ? 1 : 1 - apart / longest };
}

function distance(a: string[], b: string[]): number {
  let [start, end] = [0, 0];
  const least = Math.min(a.length, b.length);
  while (start < least && a[start] === b[start]) start++;
  while (end < least - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  const [left, right] = [a.slice(start, a.length - end), b.slice(start, b.length - end)];
  let row = right.map((_, at) => at + 1);
  left.forEach((character, above) => {
    let [corner, before] = [above, above + 1];
    row = row.map((up, at) => {
      const here = character === right[at] ? corner : 1 + Math.min(corner, up, before);
      corner = up;
      before = here;
      return here;
    });
  });
  return right.length === 0 ? left.length : row[row.length - 1];
}
