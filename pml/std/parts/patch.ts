// Line differences: the shortest edit script (Myers) and its unified form. Where several scripts are equally short,
// removals come first.

type Edit = { kind: ' ' | '-' | '+'; lines: string[] };

const MOST_EDITS = 1500; // lines that differ before a whole block is replaced: the work grows with the square

// A point of the edit graph: how many old lines are passed, and the step that led here.
type Point = { old: number; kind: '-' | '+' | ''; from: Point | null };

// Lines keep their line feed; the last one may have none.
function linesOf(text: string): string[] {
  const lines = text.split('\n');
  const last = lines.pop() as string;
  const whole = lines.map((line) => `${line}\n`);
  if (last !== '') whole.push(last);
  return whole;
}

function editsBetween(before: string[], after: string[]): Edit[] {
  const end = shortest(before, after);
  return end === null ? replaced(before, after) : unwound(end, before, after);
}

// Follows, for each number of edits, the furthest point on every diagonal (old lines minus new lines).
function shortest(before: string[], after: string[]): Point | null {
  const follow = (start: number, diagonal: number): number => {
    let old = start;
    while (old < before.length && old - diagonal < after.length && before[old] === after[old - diagonal]) old++;
    return old;
  };
  const isEnd = (old: number, diagonal: number) => old >= before.length && old - diagonal >= after.length;
  const furthest = new Map<number, Point>([[0, { old: follow(0, 0), kind: '', from: null }]]);
  if (isEnd((furthest.get(0) as Point).old, 0)) return furthest.get(0) as Point;
  let [lowest, highest] = [-Infinity, Infinity]; // beyond these an edge was reached
  for (let edits = 1; edits <= Math.min(before.length + after.length, MOST_EDITS); edits++) {
    for (let diagonal = Math.max(lowest, -edits); diagonal <= Math.min(highest, edits); diagonal += 2) {
      const step = furthestStep(furthest.get(diagonal - 1), furthest.get(diagonal + 1), diagonal, before.length, after.length);
      if (step === null) {
        furthest.delete(diagonal);
        continue;
      }
      step.old = follow(step.old, diagonal);
      if (isEnd(step.old, diagonal)) return step;
      furthest.set(diagonal, step);
      if (step.old >= before.length) highest = Math.min(highest, diagonal - 1);
      if (step.old - diagonal >= after.length) lowest = Math.max(lowest, diagonal + 1);
    }
  }
  return null;
}

function furthestStep(left: Point | undefined, right: Point | undefined, diagonal: number, oldCount: number, newCount: number): Point | null {
  const canRemove = left !== undefined && left.old < oldCount;
  const canAdd = right !== undefined && right.old - diagonal >= 1 && right.old - diagonal <= newCount;
  if (canAdd && (!canRemove || left.old < right.old)) return { old: right.old, kind: '+', from: right };
  return canRemove ? { old: left.old + 1, kind: '-', from: left } : null;
}

function unwound(end: Point, before: string[], after: string[]): Edit[] {
  const points: Point[] = [];
  for (let point: Point | null = end; point !== null; point = point.from) points.push(point);
  const edits: Edit[] = [];
  const push = (kind: Edit['kind'], line: string) => {
    const last = edits[edits.length - 1];
    if (last !== undefined && last.kind === kind) last.lines.push(line);
    else edits.push({ kind, lines: [line] });
  };
  let [old, fresh] = [0, 0];
  for (const point of points.reverse()) {
    if (point.kind === '-') push('-', before[old++]);
    if (point.kind === '+') push('+', after[fresh++]);
    for (; old < point.old; old++, fresh++) push(' ', before[old]);
  }
  return edits;
}

// What is the same at both ends is kept, all between is replaced.
function replaced(before: string[], after: string[]): Edit[] {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start++;
  let end = 0;
  const most = Math.min(before.length, after.length) - start;
  while (end < most && before[before.length - 1 - end] === after[after.length - 1 - end]) end++;
  const edits: Edit[] = [
    { kind: ' ', lines: before.slice(0, start) },
    { kind: '-', lines: before.slice(start, before.length - end) },
    { kind: '+', lines: after.slice(start, after.length - end) },
    { kind: ' ', lines: before.slice(before.length - end) },
  ];
  return edits.filter((edit) => edit.lines.length > 0);
}

type Hunk = { oldStart: number; newStart: number; lines: string[] };

// Groups edits with `context` lines around them; groups that touch are one.
function hunksOf(edits: Edit[], context: number): Hunk[] {
  const hunks: Hunk[] = [];
  let open: Hunk | null = null;
  let lead: string[] = [];
  let [old, fresh] = [1, 1];
  edits.forEach((edit, index) => {
    const { kind, lines } = edit;
    if (kind === ' ') {
      const joins = lines.length <= context * 2 && index < edits.length - 1;
      if (open !== null) open.lines.push(...(joins ? lines : lines.slice(0, context)).map((line) => ` ${line}`));
      if (!joins) open = null;
      lead = context > 0 ? lines.slice(-context) : [];
    } else {
      if (open === null) {
        open = { oldStart: old - lead.length, newStart: fresh - lead.length, lines: lead.map((line) => ` ${line}`) };
        hunks.push(open);
      }
      for (const line of lines) open.lines.push(kind + line);
      lead = [];
    }
    if (kind !== '+') old += lines.length;
    if (kind !== '-') fresh += lines.length;
  });
  return hunks;
}

function hunkText(hunk: Hunk): string {
  const oldCount = hunk.lines.filter((line) => line[0] !== '+').length;
  const newCount = hunk.lines.filter((line) => line[0] !== '-').length;
  // an empty range is told by the line before it
  const range = (start: number, count: number) => `${count === 0 ? start - 1 : start},${count}`;
  const shown = hunk.lines.map((line) => (line.endsWith('\n') ? line : `${line}\n\\ No newline at end of file\n`));
  return `@@ -${range(hunk.oldStart, oldCount)} +${range(hunk.newStart, newCount)} @@\n${shown.join('')}`;
}
