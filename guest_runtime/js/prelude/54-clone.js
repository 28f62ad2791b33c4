// structuredClone (HTML standard, section 2.7): serialization and deserialization in one walk.
(function (native) {
  'use strict';
  const { uncurry, uncurryGetter, kindOf, readData } = native;
  const { keys, defineProperty, getOwnPropertyDescriptor, getPrototypeOf } = Object;
  const { DOMException, Map, Set, RegExp, Date, DataView, Error } = globalThis;
  const forEachOfMap = uncurry(Map.prototype.forEach);
  const forEachOfSet = uncurry(Set.prototype.forEach);
  const sliceBuffer = uncurry(ArrayBuffer.prototype.slice);
  const TypedArrayPrototype = getPrototypeOf(Uint8Array.prototype);
  const sourceOf = uncurryGetter(RegExp.prototype, 'source');
  const flagsOf = uncurryGetter(RegExp.prototype, 'flags');
  const timeOf = uncurry(Date.prototype.getTime);
  const byteLength = uncurryGetter(ArrayBuffer.prototype, 'byteLength');
  // Both are recent; without them a transferred buffer is copied and stays usable.
  const transferBuffer = ArrayBuffer.prototype.transfer && uncurry(ArrayBuffer.prototype.transfer);
  const isDetached = 'detached' in ArrayBuffer.prototype ? uncurryGetter(ArrayBuffer.prototype, 'detached') : () => false;

  const geometry = (prototype) => ({
    buffer: uncurryGetter(prototype, 'buffer'),
    offset: uncurryGetter(prototype, 'byteOffset'),
    length: uncurryGetter(prototype, prototype === TypedArrayPrototype ? 'length' : 'byteLength'),
  });
  const typedGeometry = geometry(TypedArrayPrototype);
  const viewGeometry = geometry(DataView.prototype);
  const views = { __proto__: null, DataView };
  for (const name of Reflect.ownKeys(globalThis)) {
    const value = getOwnPropertyDescriptor(globalThis, name)?.value;
    if (typeof value === 'function' && getPrototypeOf(value) === getPrototypeOf(Uint8Array)) views[name] = value;
  }
  const errors = { __proto__: null, Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError };
  const unbox = {
    __proto__: null,
    Number: uncurry(Number.prototype.valueOf),
    String: uncurry(String.prototype.valueOf),
    Boolean: uncurry(Boolean.prototype.valueOf),
    BigInt: uncurry(BigInt.prototype.valueOf),
  };
  const { Object: box } = globalThis;
  // Objects whose state lives outside their properties cannot be rebuilt from these.
  const UNCLONEABLE = new Set(['Promise', 'WeakMap', 'WeakSet', 'WeakRef', 'Symbol']);
  const platform = [URL, URLSearchParams, Event, EventTarget, AbortController, TextDecoder, Crypto, Performance];

  const refuse = (what) => new DOMException(`${what} could not be cloned`, 'DataCloneError');

  // `memory` maps each original to its clone: cycles end, and what was shared stays shared.
  function clone(value, memory) {
    if (typeof value === 'symbol') throw refuse('A symbol');
    if (typeof value === 'function') throw refuse('A function');
    if (typeof value !== 'object' || value === null) return value;
    if (memory.has(value)) return memory.get(value);
    const kind = kindOf(value);
    const isPlatform = kind === 'Object' && platform.some(({ prototype }) => prototype.isPrototypeOf(value));
    if (UNCLONEABLE.has(kind) || isPlatform) throw refuse(`A value of type ${isPlatform ? 'platform object' : kind}`);
    if (kind in unbox) return remember(value, box(unbox[kind](value)), memory);
    if (kind in views) return remember(value, cloneView(value, kind, memory), memory);
    const builder = builders[kind] ?? builders.Object;
    return builder(value, memory);
  }

  function remember(value, copy, memory) {
    memory.set(value, copy);
    return copy;
  }

  function cloneView(view, kind, memory) {
    const { buffer, offset, length } = kind === 'DataView' ? viewGeometry : typedGeometry;
    // The buffer first: a detached one is refused, and asking for the offset of its DataView would throw.
    const copy = clone(buffer(view), memory);
    return new views[kind](copy, offset(view), length(view));
  }

  function copyProperties(value, copy, memory) {
    for (const key of keys(value)) {
      // Defined, not assigned: "__proto__" is an ordinary key of the data.
      defineProperty(copy, key, { value: clone(value[key], memory), writable: true, enumerable: true, configurable: true });
    }
    return copy;
  }

  const builders = {
    __proto__: null,
    Object: (value, memory) => copyProperties(value, remember(value, {}, memory), memory),
    Array: (value, memory) => copyProperties(value, remember(value, new Array(value.length), memory), memory),
    Date: (value, memory) => remember(value, new Date(timeOf(value)), memory),
    RegExp: (value, memory) => remember(value, new RegExp(sourceOf(value), flagsOf(value)), memory),
    ArrayBuffer: (value, memory) => {
      if (isDetached(value)) throw refuse('A detached ArrayBuffer');
      return remember(value, sliceBuffer(value, 0, byteLength(value)), memory);
    },
    Map: (value, memory) => {
      const copy = remember(value, new Map(), memory);
      // Listed first: getters that run during the walk may change the original.
      const entries = [];
      forEachOfMap(value, (item, key) => entries.push([key, item]));
      for (const [key, item] of entries) copy.set(clone(key, memory), clone(item, memory));
      return copy;
    },
    Set: (value, memory) => {
      const copy = remember(value, new Set(), memory);
      const items = [];
      forEachOfSet(value, (item) => items.push(item));
      for (const item of items) copy.add(clone(item, memory));
      return copy;
    },
    Error: (value, memory) => {
      const ErrorClass = errors[readData(value, 'name')] ?? Error;
      return copyError(value, remember(value, new ErrorClass(), memory), memory);
    },
    DOMException: (value, memory) => (
      remember(value, new DOMException(readData(value, 'message'), readData(value, 'name')), memory)),
  };

  function copyError(value, copy, memory) {
    for (const key of ['message', 'stack', 'cause']) {
      const item = readData(value, key);
      if (item === undefined || (key === 'message' && !getOwnPropertyDescriptor(value, key))) continue;
      const shown = key === 'cause' ? clone(item, memory) : `${item}`;
      defineProperty(copy, key, { value: shown, writable: true, enumerable: false, configurable: true });
    }
    return copy;
  }

  function transferList(options) {
    const list = [...(options?.transfer ?? [])];
    list.forEach((item, i) => {
      const isBuffer = typeof item === 'object' && item !== null && kindOf(item) === 'ArrayBuffer';
      if (!isBuffer || isDetached(item)) throw refuse('A value in the transfer list');
      if (list.indexOf(item) !== i) throw refuse('An ArrayBuffer listed twice for transfer');
    });
    return list;
  }

  native.defineGlobals({
    structuredClone: function structuredClone(value, options = undefined) {
      if (arguments.length === 0) throw new TypeError('structuredClone: 1 argument required');
      const transfer = transferList(options);
      const copy = clone(value, new Map());
      // Buffers are copied and then detached; nobody can tell this from moving them, and a failure leaves all intact.
      if (transferBuffer) for (const buffer of transfer) transferBuffer(buffer);
      return copy;
    },
  });
})
