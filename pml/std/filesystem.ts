// Files of the workspace, by the names and in the words of the reference server `@modelcontextprotocol/server-filesystem`.
// Read tools run with the workspace mounted read-only. Parts: files, glob, patch, searching.

type Entry = { name: string; isFile: boolean; isDirectory: boolean; isSymlink: boolean };
type Content = { content: string };

const join = (folder: string, name: string) => (folder.endsWith('/') ? folder + name : `${folder}/${name}`);
const withoutReturns = (text: string) => text.replace(/\r\n/g, '\n');

// In the order of the bytes of their names.
async function entriesOf(path: string): Promise<Entry[]> {
  const entries: Entry[] = [];
  const reading = (async () => {
    for await (const entry of Deno.readDir(path)) entries.push(entry);
  })();
  await named('scandir', path, reading);
  return entries.sort((a, b) => byCodePoints(a.name, b.name));
}

function byCodePoints(a: string, b: string): number {
  const [left, right] = [Array.from(a), Array.from(b)];
  for (let i = 0; i < left.length && i < right.length; i++) {
    const difference = (left[i].codePointAt(0) as number) - (right[i].codePointAt(0) as number);
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
}

export async function read_text_file(args: { path: string; head?: number; tail?: number }): Promise<Content> {
  const { path } = await locate(args.path);
  if (args.head && args.tail) throw new Error('Cannot specify both head and tail parameters simultaneously');
  const bytes = await bytesOf(path);
  if (args.head) return { content: head(bytes, args.head) };
  if (args.tail) return { content: tail(bytes, args.tail) };
  return { content: textIn(bytes) };
}

export const read_file = read_text_file;

function head(bytes: Uint8Array, lines: number): string {
  if (lines < 0) return '';
  let end = -1;
  for (let count = 0; count < lines; count++) {
    const next = bytes.indexOf(10, end + 1);
    if (next < 0) return textIn(bytes).replace(/\n$/, '');
    end = next;
  }
  return textIn(bytes.subarray(0, end));
}

function tail(bytes: Uint8Array, lines: number): string {
  if (lines < 0) return '';
  let start = bytes.length;
  for (let count = 0; count < lines && start >= 0; count++) start = start > 0 ? bytes.lastIndexOf(10, start - 1) : -1;
  return withoutReturns(textIn(bytes.subarray(start + 1))).split('\n').slice(-lines).join('\n');
}

export async function read_multiple_files(args: { paths: string[] }): Promise<Content> {
  const texts: string[] = [];
  for (const path of args.paths) {
    try {
      texts.push(`${path}:\n${textIn(await bytesOf((await locate(path)).path))}\n`);
    } catch (error) {
      texts.push(`${path}: Error - ${(error as Error).message}`);
    }
  }
  return { content: texts.join('\n---\n') };
}

const MEDIA: Record<string, string> = {
  png: 'image/png', jpg: 'image/jpeg', jpeg: 'image/jpeg', gif: 'image/gif', webp: 'image/webp', bmp: 'image/bmp', svg: 'image/svg+xml',
  mp3: 'audio/mpeg', wav: 'audio/wav', ogg: 'audio/ogg', flac: 'audio/flac',
};

export async function read_media_file(args: { path: string }) {
  const { path } = await locate(args.path);
  const extension = /[^/]\.([^./]*)$/.exec(path)?.[1].toLowerCase() ?? '';
  const mimeType = Object.hasOwn(MEDIA, extension) ? MEDIA[extension] : 'application/octet-stream';
  const bytes = await bytesOf(path);
  let binary = '';
  for (let at = 0; at < bytes.length; at += 8192) binary += String.fromCharCode(...bytes.subarray(at, at + 8192));
  const data = btoa(binary);
  const type = mimeType.split('/')[0];
  if (type !== 'application') return { content: [{ type, data, mimeType }] };
  const plain = path.replace(/[^\x20-\x7e]|[ "#%<>?[\\\]^`{|}]/gu, encodeURIComponent);
  return { content: [{ type: 'resource', resource: { uri: `file://${plain}`, mimeType, blob: data } }] };
}

export async function write_file(args: { path: string; content: string }): Promise<Content> {
  const { path } = await locate(args.path);
  await named('open', path, Deno.writeTextFile(path, args.content));
  return { content: `Successfully wrote to ${args.path}` };
}

export async function edit_file(args: { path: string; edits: { oldText: string; newText: string }[]; dryRun?: boolean }): Promise<Content> {
  const { path } = await locate(args.path);
  const before = withoutReturns(textIn(await bytesOf(path)));
  let after = before;
  for (const { oldText, newText } of args.edits) {
    const [wanted, given] = [withoutReturns(oldText), withoutReturns(newText)];
    const edited = after.includes(wanted) ? after.replace(wanted, () => given) : editedLoosely(after, wanted, given);
    if (edited === null) throw new Error(`Could not find exact match for edit:\n${oldText}`);
    after = edited;
  }
  const hunks = hunksOf(editsBetween(linesOf(before), linesOf(after)), 4).map(hunkText).join('');
  const diff = `Index: ${path}\n${'='.repeat(67)}\n--- ${path}\toriginal\n+++ ${path}\tmodified\n${hunks}`;
  let fence = '```';
  while (diff.includes(fence)) fence += '`';
  if (!args.dryRun) await named('open', path, Deno.writeTextFile(path, after));
  return { content: `${fence}diff\n${diff}${fence}\n\n` };
}

const indentOf = (line: string | undefined) => /^\s*/.exec(line ?? '')![0];

// Finds the lines whatever their indentation, and gives the new ones the indentation that is there.
function editedLoosely(text: string, wanted: string, given: string): string | null {
  const [lines, old] = [text.split('\n'), wanted.split('\n')];
  const trimmed = old.map((line) => line.trim());
  const start = lines.findIndex((_, at) => at + old.length <= lines.length && trimmed.every((line, i) => line === lines[at + i].trim()));
  if (start < 0) return null;
  const indent = indentOf(lines[start]);
  const fresh = given.split('\n').map((line, i) => {
    if (i === 0) return indent + line.trimStart();
    const [before, now] = [indentOf(old[i]), indentOf(line)];
    if (before === '' || now === '') return line;
    return indent + ' '.repeat(Math.max(0, now.length - before.length)) + line.trimStart();
  });
  lines.splice(start, old.length, ...fresh);
  return lines.join('\n');
}

export async function create_directory(args: { path: string }): Promise<Content> {
  const { path } = await locate(args.path);
  await named('mkdir', path, Deno.mkdir(path, { recursive: true }));
  return { content: `Successfully created directory ${args.path}` };
}

export async function move_file(args: { source: string; destination: string }): Promise<Content> {
  const from = (await locate(args.source)).path;
  const to = (await locate(args.destination)).path;
  const exists = await Deno.lstat(to).then(() => true, (error) => {
    if (error.code === 'ENOENT') return false;
    throw error;
  });
  if (exists) throw new Error(`Destination already exists: ${to}`);
  await named('rename', from, Deno.rename(from, to));
  return { content: `Successfully moved ${args.source} to ${args.destination}` };
}

const label = (entry: Entry) => `${entry.isDirectory ? '[DIR]' : '[FILE]'} ${entry.name}`;

export async function list_directory(args: { path: string }): Promise<Content> {
  const entries = await entriesOf((await locate(args.path)).path);
  return { content: entries.map(label).join('\n') };
}

export async function list_directory_with_sizes(args: { path: string; sortBy?: 'name' | 'size' }): Promise<Content> {
  const { path } = await locate(args.path);
  const sized: (Entry & { size: number })[] = [];
  for (const entry of await entriesOf(path)) {
    const size = await sizeOf(join(path, entry.name), entry.isSymlink).catch(() => 0);
    sized.push({ ...entry, size });
  }
  const files = sized.filter((entry) => !entry.isDirectory);
  const sorted = sized.sort(args.sortBy === 'size' ? (a, b) => b.size - a.size : (a, b) => byAlphabet(a.name, b.name));
  const lines = sorted.map((entry) => {
    const size = entry.isDirectory ? '' : shownSize(entry.size).padStart(10);
    return `${entry.isDirectory ? '[DIR]' : '[FILE]'} ${entry.name.padEnd(30)} ${size}`;
  });
  const total = files.reduce((sum, entry) => sum + entry.size, 0);
  lines.push('', `Total: ${files.length} files, ${sized.length - files.length} directories`, `Combined size: ${shownSize(total)}`);
  return { content: lines.join('\n') };
}

const sizeOf = async (path: string, isLink: boolean) => (await Deno.stat(isLink ? (await locate(path)).path : path)).size;

function shownSize(bytes: number): string {
  const power = Math.min(bytes > 0 ? Math.floor(Math.log(bytes) / Math.log(1024)) : 0, 4);
  return power === 0 ? `${bytes} B` : `${(bytes / 1024 ** power).toFixed(2)} ${['B', 'KB', 'MB', 'GB', 'TB'][power]}`;
}

// As people sort: marks, digits, letters; accents and capitals count only between names that are otherwise the same.
const MARKS = '_-,;:!?.\'"()[]{}@*/\\&#%`^+<=>|~$';
function byAlphabet(a: string, b: string): number {
  const plain = (text: string) => text.normalize('NFD').replace(/\p{M}/gu, '');
  const weight = (c: string) => {
    const mark = MARKS.indexOf(c);
    return c === ' ' ? -1 : mark >= 0 ? mark : 1000 + (c.codePointAt(0) as number);
  };
  const weights = (text: string) => Array.from(plain(text).toLowerCase(), weight);
  const [left, right] = [weights(a), weights(b)];
  for (let i = 0; i < left.length && i < right.length; i++) if (left[i] !== right[i]) return left[i] - right[i];
  if (left.length !== right.length) return left.length - right.length;
  const accents = byCodePoints(a.normalize('NFD').toLowerCase(), b.normalize('NFD').toLowerCase());
  return accents !== 0 ? accents : -byCodePoints(plain(a), plain(b));
}

export async function get_file_info(args: { path: string }): Promise<Content> {
  const found = await locate(args.path);
  const facts = await named('stat', found.path, Deno.stat(found.path));
  const when = (time: Date | number) => `${new Date(time)} (Coordinated Universal Time)`;
  const lines = [
    `size: ${facts.size}`, `created: ${when(found.createdMs ?? facts.mtime)}`, `modified: ${when(facts.mtime)}`, `accessed: ${when(facts.atime)}`,
    `isDirectory: ${facts.isDirectory}`, `isFile: ${facts.isFile}`, `permissions: ${found.permissions}`,
  ];
  return { content: lines.join('\n') };
}

export async function list_allowed_directories(): Promise<Content> {
  return { content: `Allowed directories:\n${Deno.cwd()}` };
}
