// Hashes, message authentication, random values, encodings. Hashing is asked of the host: the guest takes a second for a
// megabyte. A file is read here, within the workspace. Parts: files.

type Data = { text?: string; base64?: string };

interface Host {
  hashing: {
    start(args: { algorithm: string; keyBase64?: string }): Promise<null>;
    add(args: { base64: string }): Promise<null>;
    digest(): Promise<string>;
  };
}

const CHUNK_BYTES = 3 * 1024 * 1024; // of one call to the host
const MOST_RANDOM_BYTES = 65_536; // of one call to `getRandomValues`

function bytesFrom({ text, base64 }: Data): Uint8Array {
  if ((text === undefined) === (base64 === undefined)) throw new Error('Give either text or base64');
  return text !== undefined ? new TextEncoder().encode(text) : decoded(base64 as string, 'base64');
}

async function hashed(bytes: Uint8Array, algorithm: string, key?: Uint8Array) {
  await mcp.hashing.start({ algorithm, ...(key === undefined ? {} : { keyBase64: key.toBase64() }) });
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) await mcp.hashing.add({ base64: bytes.subarray(at, at + CHUNK_BYTES).toBase64() });
  const hex = await mcp.hashing.digest();
  return { algorithm, hex, base64: Uint8Array.fromHex(hex).toBase64(), bytes: bytes.length };
}

export async function hash(args: Data & { algorithm?: string }) {
  return hashed(bytesFrom(args), args.algorithm ?? 'sha256');
}

export async function hash_file(args: { path: string; algorithm?: string }) {
  const { path } = await locate(args.path);
  return hashed(await bytesOf(path), args.algorithm ?? 'sha256');
}

export async function hmac(args: Data & { key?: string; keyBase64?: string; algorithm?: string }) {
  if ((args.key === undefined) === (args.keyBase64 === undefined)) throw new Error('Give either key or keyBase64');
  return hashed(bytesFrom(args), args.algorithm ?? 'sha256', bytesFrom({ text: args.key, base64: args.keyBase64 }));
}

export async function uuid(args: { version?: number; count?: number }) {
  const made = args.version === 7 ? timed : () => crypto.randomUUID();
  return { uuids: Array.from({ length: args.count ?? 1 }, made) };
}

// RFC 9562, version 7: milliseconds, then randomness; in the order in which they are made, to the millisecond.
function timed(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  new DataView(bytes.buffer).setUint16(0, Math.floor(Date.now() / 2 ** 32));
  new DataView(bytes.buffer).setUint32(2, Date.now() % 2 ** 32);
  bytes[6] = 0x70 | (bytes[6] & 0x0f);
  bytes[8] = 0x80 | (bytes[8] & 0x3f);
  return bytes.toHex().replace(/^(.{8})(.{4})(.{4})(.{4})/u, '$1-$2-$3-$4-');
}

export async function random_bytes(args: { length?: number; to?: string }) {
  const bytes = new Uint8Array(args.length ?? 32);
  for (let at = 0; at < bytes.length; at += MOST_RANDOM_BYTES) crypto.getRandomValues(bytes.subarray(at, at + MOST_RANDOM_BYTES));
  return { data: encoded(bytes, args.to ?? 'hex') };
}

function encoded(bytes: Uint8Array, to: string): string {
  if (to === 'hex') return bytes.toHex();
  return to === 'base64url' ? bytes.toBase64({ alphabet: 'base64url', omitPadding: true }) : bytes.toBase64();
}

// Padding may be missing, white space is passed over; anything else is refused.
function decoded(data: string, from: string): Uint8Array {
  try {
    return from === 'hex' ? Uint8Array.fromHex(data.replace(/\s+/gu, '')) : Uint8Array.fromBase64(data, { alphabet: from as 'base64' });
  } catch {
    throw new Error(`The data is not ${from}: ${JSON.stringify(data.slice(0, 40))}`);
  }
}

export async function encode(args: Data & { to: string }) {
  const bytes = bytesFrom(args);
  if (args.to !== 'url') return { data: encoded(bytes, args.to) };
  const plain = /[A-Za-z0-9_.~-]/u;
  return { data: Array.from(bytes, (byte) => (plain.test(String.fromCharCode(byte)) ? String.fromCharCode(byte) : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`)).join('') };
}

export async function decode(args: { data: string; from: string }) {
  const bytes = args.from === 'url' ? percentDecoded(args.data) : decoded(args.data, args.from);
  let text: string | null = null;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    // not text: base64 alone tells it
  }
  return { text, base64: bytes.toBase64(), bytes: bytes.length };
}

function percentDecoded(data: string): Uint8Array {
  const wrong = /%(?![0-9A-Fa-f]{2})/u.exec(data);
  if (wrong !== null) throw new Error(`The data is not url: no two hexadecimal digits after % at position ${wrong.index + 1}`);
  const parts = data.split(/(%[0-9A-Fa-f]{2})/u).map((part, at) => (at % 2 === 1 ? [parseInt(part.slice(1), 16)] : [...new TextEncoder().encode(part)]));
  return new Uint8Array(parts.flat());
}

// Takes as long whatever the texts hold, so that a secret cannot be guessed from the time.
export async function compare(args: { a: string; b: string }) {
  const [a, b] = [args.a, args.b].map((text) => new TextEncoder().encode(text));
  let difference = a.length ^ b.length;
  for (let at = 0; at < Math.max(a.length, b.length); at++) difference |= (a[at] ?? 0) ^ (b[at] ?? 0);
  return { equal: difference === 0 };
}
