// TextEncoder and TextDecoder, UTF-8 only. atob and btoa are QuickJS-ng's own.
(function (native) {
  'use strict';
  const { uncurry, uncurryGetter, typedArrayName, kindOf } = native;
  const { encode, decode } = native;
  const { Uint8Array, TypeError, RangeError } = globalThis;
  const { isView } = ArrayBuffer;
  const TypedArrayPrototype = Object.getPrototypeOf(Uint8Array.prototype);
  const setBytes = uncurry(TypedArrayPrototype.set);
  const subarray = uncurry(TypedArrayPrototype.subarray);
  const lengthOf = uncurryGetter(TypedArrayPrototype, 'length');
  const typedView = [
    uncurryGetter(TypedArrayPrototype, 'buffer'),
    uncurryGetter(TypedArrayPrototype, 'byteOffset'),
    uncurryGetter(TypedArrayPrototype, 'byteLength'),
  ];
  const dataView = [
    uncurryGetter(DataView.prototype, 'buffer'),
    uncurryGetter(DataView.prototype, 'byteOffset'),
    uncurryGetter(DataView.prototype, 'byteLength'),
  ];
  const LABELS = new Set(['utf-8', 'utf8', 'unicode-1-1-utf-8', 'unicode11utf8', 'unicode20utf8', 'x-unicode20utf8']);
  const BOM = '\ufeff';

  function bytesOf(input) {
    if (input === undefined) return new Uint8Array(0);
    if (isView(input)) {
      const [buffer, offset, length] = typedArrayName(input) ? typedView : dataView;
      return new Uint8Array(buffer(input), offset(input), length(input));
    }
    const isObject = typeof input === 'object' && input !== null;
    const isBuffer = isObject && (kindOf(input) === 'ArrayBuffer'
      || (typeof SharedArrayBuffer === 'function' && input instanceof SharedArrayBuffer));
    if (!isBuffer) throw new TypeError('TextDecoder.decode: the input must be an ArrayBuffer or a view of one');
    return new Uint8Array(input);
  }

  // The range of a valid second byte for the leads that narrow it (Unicode, table 3-7).
  const secondByte = (lead) => [lead === 0xe0 ? 0xa0 : lead === 0xf0 ? 0x90 : 0x80,
    lead === 0xed ? 0x9f : lead === 0xf4 ? 0x8f : 0xbf];

  // How many bytes at the end are the valid beginning of a character whose rest is still to come.
  function unfinished(bytes, length) {
    for (let back = 1; back <= 3 && back <= length; back++) {
      const lead = bytes[length - back];
      if ((lead & 0xc0) === 0x80) continue;
      const needed = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
      if (lead < 0xc2 || lead > 0xf4 || back >= needed) return 0;
      const [low, high] = secondByte(lead);
      const second = bytes[length - back + 1];
      return back === 1 || (second >= low && second <= high) ? back : 0;
    }
    return 0;
  }

  class TextEncoder {
    get encoding() {
      return 'utf-8';
    }

    encode(input = '') {
      return encode(`${input}`);
    }

    encodeInto(source, destination) {
      if (!isView(destination) || typedArrayName(destination) !== 'Uint8Array') {
        throw new TypeError('TextEncoder.encodeInto: the destination must be a Uint8Array');
      }
      const text = `${source}`;
      const room = lengthOf(destination);
      // A UTF-16 unit takes at least one byte, so more of the text than this cannot fit.
      const bytes = encode(text.length > room + 1 ? text.slice(0, room + 1) : text);
      let written = lengthOf(bytes);
      if (written > room) {
        written = room;
        while (written > 0 && (bytes[written] & 0xc0) === 0x80) written--;
      }
      let read = 0;
      for (let i = 0; i < written; i++) if ((bytes[i] & 0xc0) !== 0x80) read += bytes[i] >= 0xf0 ? 2 : 1;
      setBytes(destination, subarray(bytes, 0, written));
      return { read, written };
    }
  }

  class TextDecoder {
    #fatal;
    #ignoreBOM;
    #held = new Uint8Array(0);
    #atStart = true;

    constructor(label = 'utf-8', options = {}) {
      const name = `${label}`.replace(/^[\t\n\f\r ]+|[\t\n\f\r ]+$/g, '').toLowerCase();
      if (!LABELS.has(name)) throw new RangeError(`TextDecoder: the encoding '${label}' is not supported, only utf-8`);
      this.#fatal = Boolean(options?.fatal);
      this.#ignoreBOM = Boolean(options?.ignoreBOM);
    }

    get encoding() {
      return 'utf-8';
    }

    get fatal() {
      return this.#fatal;
    }

    get ignoreBOM() {
      return this.#ignoreBOM;
    }

    decode(input = undefined, options = {}) {
      const stream = Boolean(options?.stream);
      let bytes = this.#joined(bytesOf(input));
      this.#held = new Uint8Array(0);
      if (stream) {
        const whole = lengthOf(bytes) - unfinished(bytes, lengthOf(bytes));
        // A copy: the caller may reuse the buffer for the next chunk.
        this.#held = new Uint8Array(subarray(bytes, whole));
        bytes = subarray(bytes, 0, whole);
      }
      const isStart = this.#atStart;
      this.#atStart = true;
      let text = decode(bytes, this.#fatal);
      if (stream) this.#atStart = isStart && text === '';
      if (isStart && !this.#ignoreBOM && text[0] === BOM) text = text.slice(1);
      return text;
    }

    #joined(chunk) {
      const held = lengthOf(this.#held);
      if (held === 0) return chunk;
      const joined = new Uint8Array(held + lengthOf(chunk));
      setBytes(joined, this.#held);
      setBytes(joined, chunk, held);
      return joined;
    }
  }

  native.tag(TextEncoder.prototype, 'TextEncoder');
  native.tag(TextDecoder.prototype, 'TextDecoder');
  native.bytesOf = bytesOf;
  native.defineGlobals({ TextEncoder, TextDecoder });
})
