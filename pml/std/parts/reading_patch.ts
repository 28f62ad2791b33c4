// Reads a unified diff of one file; what is wrong with it is told with its line. Needs: patch.

function readPatch(patch: string): Hunk[] {
  const lines = linesOf(patch).map((line) => (line.endsWith('\n') ? line : `${line}\n`));
  const hunks: Hunk[] = [];
  for (let at = 0; at < lines.length;) {
    const head = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/u.exec(lines[at]);
    if (head !== null) {
      const [, oldStart, oldCount = '1', newStart, newCount = '1'] = head;
      const [body, end] = readBody(lines, at + 1, Number(oldCount), Number(newCount));
      hunks.push({ oldStart: Number(oldStart), newStart: Number(newStart), lines: body });
      at = end;
    } else {
      checkBetween(lines[at], at, hunks.length > 0);
      at++;
    }
  }
  if (hunks.length === 0) throw new Error('The patch has no part: none of its lines begins with "@@ -1,2 +1,2 @@"');
  return hunks;
}

// Before the first part anything may stand, after a part only the next.
function checkBetween(line: string, at: number, isAfterPart: boolean) {
  if (line.startsWith('@@')) throw new Error(`Line ${at + 1} of the patch is not "@@ -1,2 +1,2 @@": ${line.slice(0, 60).trimEnd()}`);
  if (!isAfterPart || line.trim() === '') return;
  if (/^(---|\+\+\+|diff|Index:) /u.test(line)) throw new Error(`The patch changes a second file at its line ${at + 1}; apply one at a time`);
  throw new Error(`Line ${at + 1} of the patch is beyond the lines that its part announced: ${line.slice(0, 60).trimEnd()}`);
}

function readBody(lines: string[], start: number, oldCount: number, newCount: number): [string[], number] {
  const body: string[] = [];
  let [at, old, fresh] = [start, oldCount, newCount];
  for (; old > 0 || fresh > 0; at++) {
    const line = lines[at] === '\n' ? ' \n' : lines[at]; // editors cut the blank of an empty line
    if (line?.[0] === '\\') {
      unended(body);
      continue;
    }
    if (line === undefined || !' +-'.includes(line[0]) || (line[0] !== '+' && old === 0) || (line[0] !== '-' && fresh === 0)) {
      const found = line === undefined ? 'it ends' : `line ${at + 1} is ${JSON.stringify(line.slice(0, 60).trimEnd())}`;
      throw new Error(`The part at line ${start} of the patch announced ${oldCount} old and ${newCount} new lines, but ${found}`);
    }
    if (line[0] !== '+') old--;
    if (line[0] !== '-') fresh--;
    body.push(line);
  }
  if (lines[at]?.[0] !== '\\') return [body, at];
  unended(body);
  return [body, at + 1];
}

// "\ No newline at end of file" is said of the line before it.
function unended(body: string[]) {
  if (body.length > 0) body[body.length - 1] = body[body.length - 1].replace(/\n$/u, '');
}
