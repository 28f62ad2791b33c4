// Reading files of the workspace. Where a path really leads is asked of the host; whatever the answer, the sandbox keeps
// the program inside.

type Found = { path: string; permissions?: string; createdMs?: number };

const MOST_FILE_BYTES = 64 * 1024 * 1024; // of a file that is read into the guest's memory

interface Host { workspace: { locate(args: { path: string }): Promise<Found> } }
declare const mcp: Host;

const locate = async (path: string): Promise<Found> => {
  if (/^[A-Za-z]:([\\/]|$)/.test(path)) throw new Error(`Access denied - Windows-style path received on a POSIX host: ${path}`);
  return mcp.workspace.locate({ path });
};
const textIn = (bytes: Uint8Array) => new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);

// Errors of files in the words that the reference server's platform has for them.
const MEANINGS: Record<string, string> = {
  ENOENT: 'no such file or directory', EISDIR: 'illegal operation on a directory', ENOTDIR: 'not a directory', EEXIST: 'file already exists',
};
async function named<T>(action: string, path: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    const { code } = error as { code?: string };
    if (code === 'EISDIR') throw new Error(`EISDIR: ${MEANINGS.EISDIR}, read`);
    if (code !== undefined && code in MEANINGS) throw new Error(`${code}: ${MEANINGS[code]}, ${action} '${path}'`);
    throw error;
  }
}

async function bytesOf(path: string): Promise<Uint8Array> {
  const { size, isFile } = await named('open', path, Deno.stat(path));
  if (isFile && size > MOST_FILE_BYTES) throw new Error(`The file has ${size} bytes, more than the ${MOST_FILE_BYTES} that can be read: ${path}`);
  return named('open', path, Deno.readFile(path));
}
