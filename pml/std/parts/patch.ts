// Line differences: the shortest edit script (Myers) and its unified form. Where several scripts are equally short,
// removals come first.

type Edit = { kind: ' ' | '-' | '+'; lines: string[] };

const MOST_EDITS = 1500; // lines that differ before a whole block is replaced: the work grows with the square

// The points of the edit graph that were reached, by number: how many old lines are passed, whether the step that led there
// removes (-1), adds (1) or is the start (0), and the point before. Numbers in lists: a million points are no strain.
type Points = { old: number[]; step: number[]; from: number[] };

// Lines keep their line feed; the last one may have none.
function linesOf(text: string): string[] {
  const lines = text.split('\n');
  const last = lines.pop() as string;
  const whole = lines.map((line) => `${line}\n`);
  if (last !== '') whole.push(last);
  return whole;
}

function editsBetween(before: string[], after: string[]): Edit[] {
  const numbers = new Map<string, number>(); // equal lines have equal numbers, which compare faster
  const numbered = (lines: string[]) => lines.map((line) => {
    if (!numbers.has(line)) numbers.set(line, numbers.size);
    return numbers.get(line) as number;
  });
  const points: Points = { old: [], step: [], from: [] };
  const isFound = shortest(numbered(before), numbered(after), points);
  return isFound ? unwound(points, before, after) : replaced(before, after);
}

// Follows, for each number of edits, the furthest point on every diagonal (old lines minus new lines); the last point is
// the end. False if there are too many edits.
function shortest(before: number[], after: number[], points: Points): boolean {
  const most = Math.min(before.length + after.length, MOST_EDITS);
  const furthest = new Int32Array(2 * most + 3).fill(-1); // the point on each diagonal, the middle one being 0
  const middle = most + 1;
  const isReached = (from: number, start: number, step: number, diagonal: number): boolean => {
    let old = start;
    while (old < before.length && old - diagonal < after.length && before[old] === after[old - diagonal]) old++;
    furthest[middle + diagonal] = points.old.push(old) - 1;
    points.step.push(step);
    points.from.push(from);
    return old >= before.length && old - diagonal >= after.length;
  };
  if (isReached(-1, 0, 0, 0)) return true;
  let [lowest, highest] = [-Infinity, Infinity]; // beyond these an edge was reached
  for (let edits = 1; edits <= most; edits++) {
    for (let diagonal = Math.max(lowest, -edits); diagonal <= Math.min(highest, edits); diagonal += 2) {
      const [left, right] = [furthest[middle + diagonal - 1], furthest[middle + diagonal + 1]];
      const removed = left >= 0 && points.old[left] < before.length ? points.old[left] + 1 : -1;
      const added = right >= 0 && points.old[right] - diagonal >= 1 && points.old[right] - diagonal <= after.length ? points.old[right] : -1;
      furthest[middle + diagonal] = -1;
      if (removed < 0 && added < 0) continue;
      if (added >= removed ? isReached(right, added, 1, diagonal) : isReached(left, removed, -1, diagonal)) return true;
      const old = points.old[points.old.length - 1];
      if (old >= before.length) highest = Math.min(highest, diagonal - 1);
      if (old - diagonal >= after.length) lowest = Math.max(lowest, diagonal + 1);
    }
  }
  return false;
}

function unwound(points: Points, before: string[], after: string[]): Edit[] {
  const way: number[] = [];
  for (let point = points.old.length - 1; point >= 0; point = points.from[point]) way.push(point);
  const edits: Edit[] = [];
  const push = (kind: Edit['kind'], line: string) => {
    const last = edits[edits.length - 1];
    if (last !== undefined && last.kind === kind) last.lines.push(line);
    else edits.push({ kind, lines: [line] });
  };
  let [old, fresh] = [0, 0];
  for (const point of way.reverse()) {
    if (points.step[point] < 0) push('-', before[old++]);
    if (points.step[point] > 0) push('+', after[fresh++]);
    for (; old < points.old[point]; old++, fresh++) push(' ', before[old]);
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
