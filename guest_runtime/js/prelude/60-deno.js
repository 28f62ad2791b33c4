// The part of Deno that capability code uses: files below the mounts, the error classes, and refusals for the rest.
// What may be read or written is decided by the host; this only translates. Each operation first waits for a file turn,
// an entry that may block, so there are no synchronous twins.
(function (native) {
  'use strict';
  const { uncurry, isObject, bytesOf } = native;
  const { defineProperty, keys } = Object;
  const { fs, encode, decode } = native;
  const { URL, Error, TypeError, Date } = globalThis;
  const { decodeURIComponent } = globalThis;
  const { captureStackTrace } = Error;
  const includes = uncurry(String.prototype.includes);
  const lastIndexOf = uncurry(String.prototype.lastIndexOf);
  const slice = uncurry(String.prototype.slice);
  const replace = uncurry(String.prototype.replace);

  const errors = {};
  for (const name of [
    'NotFound', 'PermissionDenied', 'ConnectionRefused', 'ConnectionReset', 'ConnectionAborted', 'NotConnected', 'AddrInUse',
    'AddrNotAvailable', 'BrokenPipe', 'AlreadyExists', 'InvalidData', 'TimedOut', 'Interrupted', 'WriteZero', 'WouldBlock',
    'UnexpectedEof', 'BadResource', 'Http', 'Busy', 'NotSupported', 'FilesystemLoop', 'IsADirectory', 'NetworkUnreachable',
    'NotADirectory', 'NotCapable',
  ]) {
    errors[name] = { [name]: class extends Error {
      constructor(...args) {
        super(...args);
        defineProperty(this, 'name', { value: name, writable: true, configurable: true });
      }
    } }[name];
  }
  const { NotFound, PermissionDenied, AlreadyExists, InvalidData, NotSupported } = errors;
  const { FilesystemLoop, IsADirectory, NotADirectory } = errors;

  const DENIED = [PermissionDenied, 'permission denied (read-only mount, outside the mounts, or a protected path)'];
  const MEANINGS = {
    __proto__: null,
    ENOENT: [NotFound, 'no such file or directory'],
    EPERM: DENIED,
    EACCES: DENIED,
    EROFS: DENIED,
    ENOTCAPABLE: DENIED,
    EBADF: DENIED,
    EEXIST: [AlreadyExists, 'already exists'],
    ENOTDIR: [NotADirectory, 'not a directory'],
    EISDIR: [IsADirectory, 'is a directory'],
    ELOOP: [FilesystemLoop, 'too many symbolic links'],
    ENOTEMPTY: [Error, 'directory not empty'],
    EINVAL: [Error, 'invalid argument'],
    ENAMETOOLONG: [Error, 'name too long'],
    ENOSPC: [Error, 'no space left'],
    EXDEV: [Error, 'not on the same mount'],
    EIO: [Error, 'input/output error'],
    EILSEQ: [InvalidData, 'the name is not valid UTF-8'],
    ENOTSUP: [NotSupported, 'not supported'],
  };

  // `caller` holds the stack of the call: after the turn, the program's own frames are gone.
  function translate(error, what, caller) {
    const errno = error?.errno;
    if (typeof errno !== 'string') return error;
    const [ErrorClass, meaning] = MEANINGS[errno] ?? [Error, errno];
    const translated = new ErrorClass(`${what}: ${meaning}`);
    translated.code = errno;
    return defineProperty(translated, 'stack', { value: caller.stack, writable: true, configurable: true });
  }

  function pathOf(value, name) {
    let path = value;
    if (value instanceof URL) {
      if (value.protocol !== 'file:') throw new TypeError(`${name}: the URL must be a file: URL`);
      path = decodeURIComponent(value.pathname);
    }
    if (typeof path !== 'string') throw new TypeError(`${name}: the path must be a string or a file: URL`);
    if (includes(path, '\0')) throw new InvalidData(`${name}: the path contains a NUL character`);
    return path;
  }

  const isErrno = (error, errno) => isObject(error) && error.errno === errno;
  const parentOf = (path) => {
    const trimmed = replace(path, /\/+$/, '');
    const at = lastIndexOf(trimmed, '/');
    return at < 0 ? '' : slice(trimmed, 0, at);
  };

  const [OTHER, FILE, DIRECTORY, SYMLINK] = [0, 1, 2, 3];
  const kinds = (kind) => ({ isFile: kind === FILE, isDirectory: kind === DIRECTORY, isSymlink: kind === SYMLINK });

  function isDirectory(path) {
    try {
      return fs.stat(path, true)[0] === DIRECTORY;
    } catch {
      return false;
    }
  }

  function read(path) {
    try {
      return fs.read(path);
    } catch (error) {
      // WASI opens a directory and then calls its descriptor bad, as it does with what lies outside the mounts.
      if (isErrno(error, 'EBADF') && isDirectory(path)) error.errno = 'EISDIR';
      throw error;
    }
  }

  function makeDirectories(path) {
    try {
      fs.mkdir(path);
    } catch (error) {
      const parent = parentOf(path);
      if (isErrno(error, 'ENOENT') && parent !== '') {
        makeDirectories(parent);
        fs.mkdir(path);
      } else if (!isDirectory(path)) throw error;
    }
  }

  // Links are removed, never followed.
  function removeTree(path) {
    const entries = fs.list(path);
    for (let i = 0; i < entries.length; i++) {
      const child = `${path}/${entries[i][0]}`;
      const kind = entries[i][1] === OTHER ? fs.stat(child, false)[0] : entries[i][1];
      if (kind === DIRECTORY) removeTree(child);
      else fs.unlink(child);
    }
    fs.rmdir(path);
  }

  function statOf(path, follow) {
    const [kind, size, mtime, atime, ctime] = fs.stat(path, follow);
    const absent = null;
    return {
      ...kinds(kind), size,
      mtime: new Date(mtime), atime: new Date(atime), ctime: new Date(ctime), birthtime: absent,
      dev: 0, ino: absent, mode: absent, nlink: absent, uid: absent, gid: absent, rdev: absent, blksize: absent, blocks: absent,
      isBlockDevice: absent, isCharDevice: absent, isFifo: absent, isSocket: absent,
    };
  }

  const [APPEND, CREATE, NEW] = [1, 2, 4];
  function writing(path, bytes, options) {
    const { append = false, create = true, createNew = false } = options ?? {};
    const mode = (append ? APPEND : 0) | (create || createNew ? CREATE : 0) | (createNew ? NEW : 0);
    return () => fs.write(path, bytes, mode);
  }

  // Each operation takes its arguments at once, as they are when it is called, and gives what to do in the turn.
  const operations = {
    readFile: (path) => () => read(path),
    readTextFile: (path) => () => decode(read(path), false),
    writeFile: (path, data, options) => writing(path, bytesOf(data ?? null), options),
    writeTextFile: (path, text, options) => writing(path, encode(`${text}`), options),
    stat: (path) => () => statOf(path, true),
    lstat: (path) => () => statOf(path, false),
    mkdir: (path, options) => {
      const recursive = options?.recursive;
      return () => (recursive ? makeDirectories(path) : fs.mkdir(path));
    },
    remove: (path, options) => {
      const recursive = options?.recursive;
      return () => {
        if (fs.stat(path, false)[0] !== DIRECTORY) fs.unlink(path);
        else if (recursive) removeTree(path);
        else fs.rmdir(path);
      };
    },
  };
  const pairs = {
    rename: (from, to) => fs.rename(from, to),
    copyFile: (from, to) => fs.write(to, read(from), CREATE),
  };

  async function inTurn(what, act, entry) {
    const caller = {};
    captureStackTrace(caller, entry);
    await fs.turn();
    try {
      return act();
    } catch (error) {
      throw translate(error, what, caller);
    }
  }

  const Deno = {};
  const define = (name, value) => {
    Deno[name] = defineProperty(value, 'name', { value: name, configurable: true });
  };
  const notSynchronous = (name) => define(`${name}Sync`, () => {
    throw new NotSupported(`Deno.${name}Sync is not available in the sandbox: use await Deno.${name}()`);
  });

  for (const name of keys(operations)) {
    const operation = operations[name];
    const entry = async (target, first, second) => {
      const path = pathOf(target, name);
      return inTurn(`${name} '${path}'`, operation(path, first, second), entry);
    };
    define(name, entry);
    notSynchronous(name);
  }
  for (const name of keys(pairs)) {
    const operation = pairs[name];
    const entry = async (first, second) => {
      const [from, to] = [pathOf(first, name), pathOf(second, name)];
      return inTurn(`${name} '${from}' -> '${to}'`, () => operation(from, to), entry);
    };
    define(name, entry);
    notSynchronous(name);
  }

  define('readDir', (target) => {
    // A wrong argument is told at once, a failing directory when it is read, as in Deno.
    const path = pathOf(target, 'readDir');
    return (async function* readDir() {
      const entries = await inTurn(`readDir '${path}'`, () => fs.list(path), readDir);
      for (let i = 0; i < entries.length; i++) yield { name: entries[i][0], ...kinds(entries[i][1]) };
    })();
  });
  notSynchronous('readDir');
  define('cwd', () => fs.cwd());

  for (const name of ['realPath', 'makeTempFile', 'makeTempDir', 'open', 'symlink']) {
    define(name, async () => {
      throw new NotSupported(`Deno.${name} is not available in the sandbox`);
    });
  }

  for (const name of ['connect', 'listen', 'serve']) {
    Deno[name] = native.refuseNetwork(`Deno.${name}`, name);
  }
  for (const name of ['Command', 'run']) Deno[name] = native.refuseProcess(`Deno.${name}`, name);
  define('exit', () => {
    throw new NotSupported('Deno.exit is not available in the sandbox: return from the program instead');
  });

  Deno.env = {};
  for (const name of ['get', 'set', 'has', 'delete', 'toObject']) {
    Deno.env[name] = () => {
      throw new PermissionDenied('the environment is not available in the sandbox');
    };
  }

  Deno.args = [];
  Deno.errors = errors;
  Deno.build = { target: 'wasm32-unknown-wasi', arch: 'wasm32', os: 'linux', vendor: 'unknown', standalone: false };
  Deno.version = { deno: '2.0.0', v8: '', typescript: '' };
  native.tag(Deno, 'Deno');
  native.defineGlobals({ Deno });
})
