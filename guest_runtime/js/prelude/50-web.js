// crypto, performance, and what the sandbox does not have: the network, processes and threads, each with an error that
// says so. DOMException is QuickJS-ng's own.
(function (native) {
  'use strict';
  const { uncurry, uncurryGetter, typedArrayName } = native;
  const { defineProperty } = Object;
  const { isView } = ArrayBuffer;
  const { Uint8Array, DOMException, TypeError } = globalThis;
  const TypedArrayPrototype = Object.getPrototypeOf(Uint8Array.prototype);
  const bufferOf = uncurryGetter(TypedArrayPrototype, 'buffer');
  const byteOffset = uncurryGetter(TypedArrayPrototype, 'byteOffset');
  const byteLength = uncurryGetter(TypedArrayPrototype, 'byteLength');
  const hex = uncurry(Number.prototype.toString);

  // The most that one getRandomValues may ask for (W3C Web Cryptography, 10.1.1).
  const RANDOM_QUOTA_BYTES = 65_536;

  class Crypto {
    getRandomValues(array) {
      const name = isView(array) ? typedArrayName(array) : undefined;
      if (!name || name.startsWith('Float')) {
        throw new DOMException('crypto.getRandomValues: an integer typed array is required', 'TypeMismatchError');
      }
      if (byteLength(array) > RANDOM_QUOTA_BYTES) {
        throw new DOMException(`crypto.getRandomValues: at most ${RANDOM_QUOTA_BYTES} bytes at a time`, 'QuotaExceededError');
      }
      native.random(new Uint8Array(bufferOf(array), byteOffset(array), byteLength(array)));
      return array;
    }

    randomUUID() {
      const bytes = new Uint8Array(16);
      native.random(bytes);
      bytes[6] = (bytes[6] & 0x0f) | 0x40;
      bytes[8] = (bytes[8] & 0x3f) | 0x80;
      let text = '';
      for (let i = 0; i < 16; i++) text += (i === 4 || i === 6 || i === 8 || i === 10 ? '-' : '') + (bytes[i] < 16 ? '0' : '') + hex(bytes[i], 16);
      return text;
    }
  }
  native.tag(Crypto.prototype, 'Crypto');

  // QuickJS-ng's own `performance` starts when the guest is built and runs on while a program is suspended.
  const { now: wallClock } = Date;
  class Performance {
    now() {
      return native.now();
    }

    // Asked for each time: a suspended program's clock stood still meanwhile, and each run starts its own.
    get timeOrigin() {
      return wallClock() - native.now();
    }

    toJSON() {
      return { timeOrigin: this.timeOrigin };
    }
  }
  native.tag(Performance.prototype, 'Performance');

  native.defineGlobals({ Crypto, crypto: new Crypto(), Performance, performance: new Performance() });

  const TOOLS = 'Use mcp.<server>.<tool>() to reach the outside.';
  function isolationError(what, name, code, reason) {
    const error = new Error(`${what} is not available: ${reason}. ${TOOLS}`);
    defineProperty(error, 'name', { value: name, writable: true, configurable: true });
    error.code = code;
    return error;
  }
  const networkError = (what) => (
    isolationError(what, 'NetworkIsolationError', 'network_isolated', 'local code is network-isolated'));
  const processError = (what) => (
    isolationError(what, 'IsolationError', 'process_isolated', 'local code cannot start processes or threads'));

  // A function, callable with or without `new`, that only tells why it is not there.
  const refusal = (what, makeError, name = what) => {
    const refuse = function () {
      throw makeError(what);
    };
    defineProperty(refuse, 'name', { value: name, configurable: true });
    return refuse;
  };
  native.refuseNetwork = (what, name) => refusal(what, networkError, name);
  native.refuseProcess = (what, name) => refusal(what, processError, name);

  native.defineGlobals({
    fetch: async function fetch() {
      throw networkError('fetch');
    },
    XMLHttpRequest: native.refuseNetwork('XMLHttpRequest'),
    WebSocket: native.refuseNetwork('WebSocket'),
    EventSource: native.refuseNetwork('EventSource'),
    importScripts: native.refuseNetwork('importScripts'),
    Worker: native.refuseProcess('Worker'),
  });
})
