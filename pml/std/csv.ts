// CSV as RFC 4180 has it, and what one asks of a table: which rows, in which order, and sums by group. Pure.

type Field = string | number | boolean | null;
type Row = { [column: string]: Field };

const DELIMITERS = [',', ';', '\t', '|'];
const LINE_END = /\r\n|\n|\r/u;
const LINES_LOOKED_AT = 20; // to find out the delimiter

const quoted = (text: string) => JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}...` : text);

type ParseArgs = { text: string; delimiter?: string; header?: boolean; types?: boolean };

export async function parse(args: ParseArgs) {
  const text = args.text.replace(/^\uFEFF/u, '');
  const delimiter = args.delimiter ?? detected(text);
  checkDelimiter(delimiter);
  const records = [...recordsOf(text, delimiter)];
  const valued = (field: string): Field => (args.types ? typed(field) : field);
  if (args.header === false) return { columns: [], rows: records.map(({ fields }) => fields.map(valued)), delimiter };
  const columns = columnsOf(records[0]?.fields ?? []);
  const rows = records.slice(1).map(({ fields, line }, index) => {
    if (fields.length !== columns.length) {
      throw new Error(`Row ${index + 1} (line ${line}) has ${fields.length} fields, the header has ${columns.length}; header: false gives rows as they are`);
    }
    return Object.fromEntries(columns.map((column, at) => [column, valued(fields[at])]));
  });
  return { columns, rows, delimiter };
}

function checkDelimiter(delimiter: string) {
  if (delimiter.length !== 1 || '"\r\n'.includes(delimiter)) throw new Error(`A delimiter is one character, no quote or line end: ${quoted(delimiter)}`);
}

function columnsOf(fields: string[]): string[] {
  fields.forEach((name, at) => {
    const first = fields.indexOf(name);
    if (first < at) throw new Error(`Columns ${first + 1} and ${at + 1} of the header have the same name ${quoted(name)}; header: false gives rows as lists`);
  });
  return fields;
}

type Line = { fields: string[]; line: number };

// Lines with nothing in them are no records.
function* recordsOf(text: string, delimiter: string): Generator<Line> {
  const plain = new RegExp(`[^"\\r\\n${RegExp.escape(delimiter)}]*`, 'y');
  let [at, line, fields, begin] = [0, 1, [] as string[], 1];
  const refuse = (what: string, where: number) => {
    const lines = text.slice(0, where).split(LINE_END);
    return new Error(`${what} in field ${fields.length + 1} at line ${lines.length}, column ${lines[lines.length - 1].length + 1}`);
  };
  while (at < text.length) {
    if (text[at] === '"') {
      const end = closingQuote(text, at);
      if (end < 0) throw refuse('A quote is opened and not closed', at);
      const inner = text.slice(at + 1, end);
      fields.push(inner.replaceAll('""', '"'));
      line += inner.split(LINE_END).length - 1;
      at = end + 1;
    } else {
      plain.lastIndex = at;
      fields.push((plain.exec(text) as RegExpExecArray)[0]);
      at = plain.lastIndex;
    }
    const next = text[at];
    if (next === delimiter) {
      at++;
      if (at < text.length) continue;
      fields.push('');
    } else if (next !== undefined && next !== '\n' && next !== '\r') {
      fields.pop();
      throw refuse(next === '"' ? 'A quote in text that does not begin with one (write "" in a quoted field)' : 'Text after a closing quote', at);
    }
    const isBlank = fields.length === 1 && fields[0] === '' && text[at - 1] !== '"';
    if (!isBlank) yield { fields, line: begin };
    fields = [];
    at += text.startsWith('\r\n', at) ? 2 : 1;
    begin = ++line;
  }
}

function closingQuote(text: string, open: number): number {
  let at = text.indexOf('"', open + 1);
  while (at >= 0 && text[at + 1] === '"') at = text.indexOf('"', at + 2);
  return at;
}

// The one that is in each of the first lines equally often; of several, the most frequent.
function detected(text: string): string {
  const lines = text.replace(/"(?:[^"]|"")*(?:"|$)/gu, '').split(LINE_END, LINES_LOOKED_AT + 1).filter((line) => line !== '');
  const whole = lines.slice(0, LINES_LOOKED_AT);
  const counts = DELIMITERS.map((delimiter) => {
    const each = whole.map((line) => line.split(delimiter).length - 1);
    return { delimiter, isEven: each.every((count) => count === each[0]), first: each[0] ?? 0 };
  });
  const found = counts.filter(({ first }) => first > 0).sort((a, b) => Number(b.isEven) - Number(a.isEven) || b.first - a.first);
  return found[0]?.delimiter ?? ',';
}

// Only what the same text comes of again, or nearly: 007, 1e5 and numbers longer than a float stay text.
function typed(field: string): Field {
  if (field === '') return null;
  if (/^(true|false)$/iu.test(field)) return field.toLowerCase() === 'true';
  return isNumeric(field) && field.replace(/\D/gu, '').length <= 15 ? Number(field) : field;
}

const isNumeric = (text: string) => /^-?(0|[1-9]\d*)(\.\d+)?$/u.test(text);

type StringifyArgs = {
  rows: (Row | Field[])[]; columns?: string[]; header?: boolean; delimiter?: string; lineEnd?: 'LF' | 'CRLF'; quoteAll?: boolean; escapeFormulas?: boolean;
};

export async function stringify(args: StringifyArgs) {
  const delimiter = args.delimiter ?? ',';
  checkDelimiter(delimiter);
  const named = args.rows.filter((row) => !Array.isArray(row)) as Row[];
  if (named.length > 0 && named.length < args.rows.length) throw new Error('Rows are all objects or all lists');
  const columns = args.columns ?? [...new Set(named.flatMap((row) => Object.keys(row)))];
  const records: Field[][] = args.rows.map((row) => (Array.isArray(row) ? row : columns.map((column) => own(row, column))));
  const hasHeader = args.header ?? columns.length > 0;
  const needsQuotes = new RegExp(`["\\r\\n${RegExp.escape(delimiter)}]|^\\s|\\s$`, 'u');
  const written = (record: Field[], index: number) => record.map((field, at) => {
    const text = textOf(field, `row ${hasHeader ? index : index + 1}, field ${at + 1}`);
    const safe = args.escapeFormulas && typeof field === 'string' && /^[=+\-@\t\r]/u.test(text) && !isNumeric(text) ? `'${text}` : text;
    const isOnly = safe === '' && record.length === 1; // else it were a blank line
    const isMark = index === 0 && at === 0 && safe.startsWith('\uFEFF'); // else it were taken for a byte order mark
    return args.quoteAll || isOnly || isMark || needsQuotes.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  }).join(delimiter);
  const lines = (hasHeader ? [columns, ...records] : records).map(written);
  const end = args.lineEnd === 'CRLF' ? '\r\n' : '\n';
  return { text: lines.map((line) => line + end).join('') };
}

const own = (row: Row, column: string): Field => (Object.hasOwn(row, column) ? row[column] : null);

function textOf(field: unknown, place: string): string {
  if (field === null) return '';
  if (typeof field === 'object') throw new Error(`A field is text, a number, true, false or null: ${place} is ${Array.isArray(field) ? 'a list' : 'an object'}`);
  return String(field);
}

type Condition = { column: string; is: string; value?: Field | Field[] };
type QueryArgs = { rows: Row[]; where?: Condition[]; sort?: { column: string; descending?: boolean }[]; select?: string[]; offset?: number; limit?: number };

export async function query(args: QueryArgs) {
  const used = [...(args.where ?? []).map(({ column }) => column), ...(args.sort ?? []).map(({ column }) => column), ...(args.select ?? [])];
  checkColumns(args.rows, used);
  const fitting = args.rows.filter((row) => (args.where ?? []).every((condition) => holds(own(row, condition.column), condition)));
  const sorted = args.sort === undefined ? fitting : fitting.toSorted((a, b) => {
    for (const { column, descending } of args.sort ?? []) {
      const [left, right] = [own(a, column), own(b, column)];
      const order = compared(left, right);
      if (order !== 0) return descending && !isEmpty(left) && !isEmpty(right) ? -order : order;
    }
    return 0;
  });
  const start = args.offset ?? 0;
  const rows = sorted.slice(start, args.limit === undefined ? undefined : start + args.limit);
  const chosen = args.select;
  return { rows: chosen ? rows.map((row) => Object.fromEntries(chosen.map((column) => [column, own(row, column)]))) : rows, total: fitting.length };
}

// A column that no row has is a mistake, not an empty one.
function checkColumns(rows: Row[], used: string[]) {
  if (rows.length === 0) return;
  const known = new Set(rows.flatMap((row) => Object.keys(row)));
  const unknown = used.find((column) => !known.has(column));
  if (unknown !== undefined) throw new Error(`There is no column ${quoted(unknown)}; there are ${[...known].slice(0, 50).map(quoted).join(', ')}`);
}

const numberOf = (field: Field): number | null => (typeof field === 'number' ? field : typeof field === 'string' && isNumeric(field) ? Number(field) : null);

const isEmpty = (field: Field) => field === null || field === '';

// Numbers, also those written as text, by size and before other text; text by its characters; what is empty comes last.
function compared(a: Field, b: Field): number {
  if (isEmpty(a) || isEmpty(b)) return Number(isEmpty(a)) - Number(isEmpty(b));
  const [left, right] = [numberOf(a), numberOf(b)];
  if (left !== null && right !== null) return left - right;
  if (left !== null || right !== null) return left !== null ? -1 : 1;
  const [first, second] = [String(a), String(b)];
  return first < second ? -1 : Number(first > second);
}

const CONDITIONS: Record<string, (field: Field, value: Field) => boolean> = {
  equal: (field, value) => compared(field, value) === 0,
  not_equal: (field, value) => compared(field, value) !== 0,
  less: (field, value) => compared(field, value) < 0,
  at_most: (field, value) => compared(field, value) <= 0,
  greater: (field, value) => compared(field, value) > 0,
  at_least: (field, value) => compared(field, value) >= 0,
  contains: (field, value) => textOf(field, '').includes(textOf(value, '')),
  starts_with: (field, value) => textOf(field, '').startsWith(textOf(value, '')),
  ends_with: (field, value) => textOf(field, '').endsWith(textOf(value, '')),
};

function holds(field: Field, { column, is, value }: Condition): boolean {
  if (is === 'empty' || is === 'not_empty') return isEmpty(field) === (is === 'empty');
  if (value === undefined) throw new Error(`The condition on ${quoted(column)} has no value`);
  if (is === 'one_of') return (Array.isArray(value) ? value : [value]).some((one) => compared(field, one) === 0);
  if (Array.isArray(value)) throw new Error(`The condition on ${quoted(column)} has a list; only one_of takes one`);
  const isSize = ['less', 'at_most', 'greater', 'at_least'].includes(is);
  return isSize && isEmpty(field) ? false : CONDITIONS[is](field, value);
}

type Total = { column: string; of: 'count' | 'sum' | 'mean' | 'min' | 'max'; as?: string };

export async function aggregate(args: { rows: Row[]; by?: string[]; totals: Total[] }) {
  const by = args.by ?? [];
  checkColumns(args.rows, [...by, ...args.totals.map(({ column }) => column)]);
  const groups = new Map<string, Row[]>();
  for (const row of args.rows) {
    const key = JSON.stringify(by.map((column) => own(row, column)));
    const group = groups.get(key);
    if (group) group.push(row);
    else groups.set(key, [row]);
  }
  if (by.length === 0 && groups.size === 0) groups.set('[]', []);
  const rows = [...groups.values()].map((group) => {
    const keys = by.map((column) => [column, own(group[0], column)] as const);
    const totals = args.totals.map((total) => [total.as ?? `${total.of}_${total.column}`, totalled(group, total)] as const);
    return Object.fromEntries([...keys, ...totals]);
  });
  return { rows };
}

// Of the fields that are not empty.
function totalled(rows: Row[], { column, of }: Total): number | null {
  const fields = rows.map((row) => own(row, column)).filter((field) => !isEmpty(field));
  if (of === 'count') return fields.length;
  const numbers = fields.map((field) => {
    const number = numberOf(field);
    if (number === null) throw new Error(`${quoted(String(field))} in column ${quoted(column)} is no number`);
    return number;
  });
  if (of === 'sum') return Math.sumPrecise(numbers);
  if (numbers.length === 0) return null;
  if (of === 'mean') return Math.sumPrecise(numbers) / numbers.length;
  return numbers.reduce((a, b) => (of === 'min' ? Math.min(a, b) : Math.max(a, b)));
}
