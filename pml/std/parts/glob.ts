// Glob patterns: * ? [a-z] {a,b} {1..3} ** and groups such as +(a|b). A leading dot is a character like any other; ! in
// front of the pattern negates it; a pattern that begins with # matches nothing.

const MOST_GLOBS = 1000; // that braces may stand for

const CLASSES: Record<string, string> = {
  alpha: 'A-Za-z', digit: '0-9', alnum: 'A-Za-z0-9', upper: 'A-Z', lower: 'a-z', space: '\\s', xdigit: '0-9A-Fa-f', word: '\\w',
};

function glob(pattern: string): (path: string) => boolean {
  if (pattern === '' || pattern[0] === '#') return (path) => pattern === '' && path === '';
  const negations = /^!*/.exec(pattern)![0].length;
  const choices = braces(pattern.slice(negations)).map((one) => withoutDetours(one.split(/\/+/)).map(segment));
  return (path) => {
    const parts = path.split('/');
    return choices.some((segments) => fits(segments, parts, 0, 0)) !== (negations % 2 === 1);
  };
}

type Segment = RegExp | '**';

// `a/../b` is `b`.
function withoutDetours(parts: string[]): string[] {
  const kept: string[] = [];
  for (const part of parts) {
    const last = kept[kept.length - 1];
    if (part === '..' && last !== undefined && !['', '.', '..', '**'].includes(last)) kept.pop();
    else kept.push(part);
  }
  return kept;
}

function segment(text: string): Segment {
  return text === '**' ? '**' : new RegExp(`^(?!\\.{1,2}$)${expression(text)}$`, 's');
}

function fits(segments: Segment[], parts: string[], at: number, from: number): boolean {
  for (; at < segments.length; at++, from++) {
    const wanted = segments[at];
    if (wanted === '**') {
      if (at === segments.length - 1) return from < parts.length;
      for (let next = from; next < parts.length; next++) if (fits(segments, parts, at + 1, next)) return true;
      return false;
    }
    if (from >= parts.length || !wanted.test(parts[from])) return false;
  }
  return from === parts.length;
}

// The regular expression of one segment, or of one alternative of a group.
function expression(text: string): string {
  let made = '';
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    const group = '?*+@!'.includes(character) && text[at + 1] === '(' ? closing(text, at + 1) : -1;
    const set = character === '[' ? /^\[([!^]?)(\]?(?:\[:\w+:\]|\\.|[^\]])*)\]/s.exec(text.slice(at)) : null;
    if (group > 0) {
      const inner = split(text.slice(at + 2, group), '|').map(expression).join('|');
      if (character === '!') made += `(?!(?:${inner})${expression(text.slice(group + 1))}$)[^/]*`;
      else made += `(?:${inner})${character === '@' ? '' : character}`;
      at = group;
    } else if (set !== null && set[2] !== '') {
      const body = set[2].replace(/\[:(\w+):\]/g, (_, name) => CLASSES[name] ?? '').replace(/[[\]^&]/g, '\\$&');
      made += `[${set[1] ? '^' : ''}${body}]`;
      at += set[0].length - 1;
    } else if (character === '*') {
      while (text[at + 1] === '*') at++;
      made += '[^/]*';
    } else if (character === '?') made += '[^/]';
    else if (character === '\\' && at + 1 < text.length) made += literal(text[++at]);
    else made += literal(character);
  }
  return made;
}

const literal = (character: string) => character.replace(/[\\^$.*+?()[\]{}|/-]/, '\\$&');

function closing(text: string, open: number): number {
  let depth = 0;
  for (let at = open; at < text.length; at++) {
    if (text[at] === '\\') at++;
    else if (text[at] === text[open]) depth++;
    else if (text[at] === (text[open] === '(' ? ')' : '}') && --depth === 0) return at;
  }
  return -1;
}

// Splits at a separator that is in no brackets.
function split(text: string, separator: string): string[] {
  const parts = [''];
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '\\') {
      parts[parts.length - 1] += text.slice(at, ++at + 1);
      continue;
    }
    if ('({'.includes(text[at])) depth++;
    if (')}'.includes(text[at])) depth--;
    if (text[at] === separator && depth === 0) parts.push('');
    else parts[parts.length - 1] += text[at];
  }
  return parts;
}

// All the patterns that one with braces stands for.
function braces(pattern: string): string[] {
  for (let open = 0; open < pattern.length; open++) {
    if (pattern[open] === '\\') open++;
    if (pattern[open] !== '{') continue;
    const close = closing(pattern, open);
    if (close < 0) continue;
    const choices = alternatives(pattern.slice(open + 1, close));
    if (choices === null) continue;
    const rests = braces(pattern.slice(close + 1));
    const heads = choices.flatMap((choice) => braces(choice));
    if (heads.length * rests.length > MOST_GLOBS) throw new Error(`The pattern stands for more than ${MOST_GLOBS} others`);
    return heads.flatMap((head) => rests.map((rest) => pattern.slice(0, open) + head + rest));
  }
  return [pattern];
}

function alternatives(inner: string): string[] | null {
  const listed = split(inner, ',');
  if (listed.length > 1) return listed;
  const range = /^(-?\d+)\.\.(-?\d+)$|^([A-Za-z])\.\.([A-Za-z])$/.exec(inner);
  if (range === null) return null;
  const ends = range[1] !== undefined ? [Number(range[1]), Number(range[2])] : [range[3].charCodeAt(0), range[4].charCodeAt(0)];
  const count = Math.abs(ends[1] - ends[0]) + 1;
  if (count > MOST_GLOBS) throw new Error(`The pattern stands for more than ${MOST_GLOBS} others`);
  const step = ends[1] < ends[0] ? -1 : 1;
  const numbers = Array.from({ length: count }, (_, index) => ends[0] + index * step);
  return numbers.map((number) => (range[1] !== undefined ? String(number) : String.fromCharCode(number)));
}
