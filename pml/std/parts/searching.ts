// The part of `filesystem` that looks through folders: a tree, names, contents. Nothing is read of what looks secret.

const MOST_TREE_ENTRIES = 50_000;
const MOST_GREP_FILE_BYTES = 8 * 1024 * 1024;
const MOST_GREP_TEXT = 2 * 1024 * 1024; // characters of all that grep shows
const LINE_CHARACTERS = 500; // of a line that grep shows

type Node = { name: string; type: 'file' | 'directory'; children?: Node[] };

export async function directory_tree(args: { path: string; excludePatterns?: string[] }): Promise<Content> {
  const excluded = (args.excludePatterns ?? []).flatMap((pattern) => {
    const all = pattern.includes('*') ? [pattern] : [pattern, `**/${pattern}`, `**/${pattern}/**`];
    return all.map(glob);
  });
  let count = 0;
  async function children(folder: string, relative: string): Promise<Node[]> {
    const nodes: Node[] = [];
    for (const { name, isDirectory } of await entriesOf(folder)) {
      if (excluded.some((matches) => matches(relative + name))) continue;
      if (++count > MOST_TREE_ENTRIES) throw new Error(`The tree has more than ${MOST_TREE_ENTRIES} entries: exclude some with excludePatterns`);
      const inside = isDirectory ? { children: await childrenIfOpen(join(folder, name), `${relative}${name}/`) } : {};
      nodes.push({ name, type: isDirectory ? 'directory' : 'file', ...inside });
    }
    return nodes;
  }
  // a folder that looks secret is shown without what is in it
  const childrenIfOpen = (folder: string, relative: string) => children(folder, relative).catch((error) => {
    if (error instanceof Deno.errors.PermissionDenied) return [];
    throw error;
  });
  const { path } = await locate(args.path);
  return { content: JSON.stringify(await children(path, ''), null, 2) };
}

// Every entry below a folder, a folder before what is in it. Links that lead out or nowhere and folders that cannot be
// read are passed over, and so is what `skips` says.
async function* walk(folder: string, skips: (below: string) => boolean, relative = ''): AsyncGenerator<[string, Entry, string]> {
  for (const entry of await entriesOf(folder)) {
    const [path, below] = [join(folder, entry.name), relative + entry.name];
    if (skips(below) || (entry.isSymlink && !(await leadsInside(path)))) continue;
    yield [path, entry, below];
    if (!entry.isDirectory) continue;
    try {
      yield* walk(path, skips, `${below}/`);
    } catch {
      continue;
    }
  }
}

const leadsInside = (path: string) => locate(path).then((found) => found.permissions !== undefined, () => false);

export async function search_files(args: { path: string; pattern: string; excludePatterns?: string[] }): Promise<Content> {
  const { path } = await locate(args.path);
  const matches = glob(args.pattern);
  const excluded = (args.excludePatterns ?? []).map(glob);
  const found: string[] = [];
  for await (const [full, , relative] of walk(path, (below) => excluded.some((one) => one(below)))) {
    if (matches(relative)) found.push(full);
  }
  return { content: found.length > 0 ? found.join('\n') : 'No matches found' };
}

type Match = { path: string; line: number; column: number; text: string; before?: string[]; after?: string[] };
type GrepArgs = { pattern: string; path?: string; glob?: string; ignoreCase?: boolean; context?: number; maxResults?: number };

export async function grep(args: GrepArgs) {
  const { path } = await locate(args.path ?? '.');
  const wanted = expressionOf(args.pattern, args.ignoreCase ? 'i' : '');
  const fitting = args.glob === undefined ? () => true : glob(args.glob.includes('/') ? args.glob : `**/${args.glob}`);
  const most = args.maxResults ?? 200;
  const found = { matches: [] as Match[], filesSearched: 0, filesSkipped: 0, truncated: false };
  let room = MOST_GREP_TEXT;
  for await (const [full, relative] of filesBelow(path)) {
    if (!fitting(relative)) continue;
    const text = await searchable(full);
    if (text === null) {
      found.filesSkipped++;
      continue;
    }
    found.filesSearched++;
    for (const match of matchesIn(text, wanted, full, args.context ?? 0)) {
      room -= JSON.stringify(match).length;
      found.truncated = found.matches.length >= most || room < 0;
      if (found.truncated) return found;
      found.matches.push(match);
    }
  }
  return found;
}

function expressionOf(pattern: string, flags: string): RegExp {
  try {
    return new RegExp(pattern, flags);
  } catch (error) {
    throw new Error(`Not a regular expression: ${(error as Error).message}: ${pattern}`);
  }
}

// The files of a folder, without those of `.git`, or the file itself.
async function* filesBelow(path: string): AsyncGenerator<[string, string]> {
  if ((await named('stat', path, Deno.stat(path))).isFile) {
    yield [path, path.slice(path.lastIndexOf('/') + 1)];
    return;
  }
  for await (const [full, entry, relative] of walk(path, (below) => /(^|\/)\.git$/.test(below))) {
    if (entry.isFile) yield [full, relative];
  }
}

// Its text, unless it is large, not text, or not to be read.
async function searchable(path: string): Promise<string | null> {
  try {
    if ((await Deno.stat(path)).size > MOST_GREP_FILE_BYTES) return null;
    const bytes = await Deno.readFile(path);
    return bytes.subarray(0, 8192).includes(0) ? null : textIn(bytes);
  } catch {
    return null;
  }
}

function* matchesIn(text: string, wanted: RegExp, path: string, context: number): Generator<Match> {
  const lines = text.split(/\r?\n/);
  if (lines[lines.length - 1] === '') lines.pop();
  const shown = (from: number, to: number) => lines.slice(Math.max(0, from), to).map((line) => line.slice(0, LINE_CHARACTERS));
  for (let at = 0; at < lines.length; at++) {
    const match = wanted.exec(lines[at]);
    if (match === null) continue;
    const around = context > 0 ? { before: shown(at - context, at), after: shown(at + 1, at + 1 + context) } : {};
    yield { path, line: at + 1, column: match.index + 1, text: lines[at].slice(0, LINE_CHARACTERS), ...around };
  }
}
