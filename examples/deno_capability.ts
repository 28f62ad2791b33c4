// A capability written for Deno, as a registry would serve it. It knows nothing of the sandbox:
//
//   pml run examples/deno_capability.ts --call note --mount DIR:rw --args '{"title": "milk", "text": "two litres"}'
//   pml run examples/deno_capability.ts --call list --mount DIR
type Args = Record<string, unknown>;

interface Note {
  title: string;
  bytes: number;
}

const SUFFIX = '.note.txt';

async function list(folder: string): Promise<Note[]> {
  const notes: Note[] = [];
  for await (const entry of Deno.readDir(folder)) {
    if (!entry.isFile || !entry.name.endsWith(SUFFIX)) continue;
    const { size } = await Deno.stat(`${folder}/${entry.name}`);
    notes.push({ title: entry.name.slice(0, -SUFFIX.length), bytes: size });
  }
  return notes.sort((a, b) => a.title.localeCompare(b.title));
}

async function note(folder: string, title: string, text: string): Promise<Note> {
  const path = `${folder}/${title}${SUFFIX}`;
  await Deno.writeTextFile(path, `${text}\n`);
  return { title, bytes: new TextEncoder().encode(await Deno.readTextFile(path)).length };
}

async function read(folder: string, title: string): Promise<string> {
  try {
    return await Deno.readTextFile(`${folder}/${title}${SUFFIX}`);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) throw new Error(`there is no note '${title}'`);
    throw error;
  }
}

export async function callTool(name: string, args: Args): Promise<unknown> {
  const folder = (args.folder as string | undefined) ?? Deno.cwd();
  switch (name) {
    case 'list':
      return await list(folder);
    case 'note':
      return await note(folder, String(args.title), String(args.text));
    case 'read':
      return await read(folder, String(args.title));
    default:
      throw new Error(`unknown tool: ${name}`);
  }
}
