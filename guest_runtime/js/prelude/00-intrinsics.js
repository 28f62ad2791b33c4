// What the other prelude files share, put on `native` so that it stays inside their closures: how a global is
// defined, what kind of object a value really is, and reading a property without running guest code.
(function (native) {
  'use strict';
  const { getPrototypeOf, getOwnPropertyDescriptor, defineProperty, keys } = Object;
  const { isArray } = Array;
  const { isView } = ArrayBuffer;
  const { isError } = Error;

  // uncurry(Map.prototype.get)(map, key): immune to later changes of Map.prototype and Function.prototype.
  const uncurry = Function.prototype.bind.bind(Function.prototype.call);
  const uncurryGetter = (prototype, key) => uncurry(getOwnPropertyDescriptor(prototype, key).get);
  native.uncurry = uncurry;
  native.uncurryGetter = uncurryGetter;

  // Browsers' attributes for globals: writable and configurable, but not listed by `for (key in globalThis)`.
  native.defineGlobals = (values) => {
    for (const key of keys(values)) {
      defineProperty(globalThis, key, { value: values[key], writable: true, configurable: true, enumerable: false });
    }
  };

  native.tag = (target, name) => {
    defineProperty(target, Symbol.toStringTag, { value: name, configurable: true });
  };

  // A stack trace must not hand out the functions on the stack: they are the prelude's closures and `native`'s own.
  Error.prepareStackTrace = (error, sites) => sites;
  const [site] = new Error().stack;
  if (site) delete getPrototypeOf(site).getFunction;
  Error.prepareStackTrace = undefined;

  const TypedArray = getPrototypeOf(Uint8Array);
  const typedArrayName = uncurryGetter(TypedArray.prototype, Symbol.toStringTag);
  native.typedArrayName = typedArrayName;

  // Each test throws unless the object has the internal slot; the prototype only tells which test to try.
  const brands = new Map([
    [Map.prototype, ['Map', uncurryGetter(Map.prototype, 'size')]],
    [Set.prototype, ['Set', uncurryGetter(Set.prototype, 'size')]],
    [Date.prototype, ['Date', uncurry(Date.prototype.getTime)]],
    [RegExp.prototype, ['RegExp', uncurryGetter(RegExp.prototype, 'source')]],
    [ArrayBuffer.prototype, ['ArrayBuffer', uncurryGetter(ArrayBuffer.prototype, 'byteLength')]],
    [Number.prototype, ['Number', uncurry(Number.prototype.valueOf)]],
    [String.prototype, ['String', uncurry(String.prototype.valueOf)]],
    [Boolean.prototype, ['Boolean', uncurry(Boolean.prototype.valueOf)]],
    [BigInt.prototype, ['BigInt', uncurry(BigInt.prototype.valueOf)]],
    [Symbol.prototype, ['Symbol', uncurry(Symbol.prototype.valueOf)]],
    [WeakRef.prototype, ['WeakRef', uncurry(WeakRef.prototype.deref)]],
    [WeakMap.prototype, ['WeakMap', (value) => weakMapHas(value, brands)]],
    [WeakSet.prototype, ['WeakSet', (value) => weakSetHas(value, brands)]],
    [Promise.prototype, ['Promise', () => {}]],
    [DOMException.prototype, ['DOMException', uncurryGetter(DOMException.prototype, 'name')]],
  ]);
  const brandOf = uncurry(Map.prototype.get);
  const weakMapHas = uncurry(WeakMap.prototype.has);
  const weakSetHas = uncurry(WeakSet.prototype.has);

  // 'Array', 'Map', 'Uint8Array', 'Error', ...; 'Object' for everything without an internal slot of its own.
  native.kindOf = (value) => {
    try {
      if (isArray(value)) return 'Array';
      if (isView(value)) return typedArrayName(value) ?? 'DataView';
      for (let proto = getPrototypeOf(value), steps = 0; proto !== null && steps < 100; steps++) {
        const brand = brandOf(brands, proto);
        if (brand) {
          brand[1](value);
          return brand[0];
        }
        proto = getPrototypeOf(proto);
      }
    } catch {
      return 'Object';
    }
    return isError(value) ? 'Error' : 'Object';
  };

  const trustedGetters = new Set([
    getOwnPropertyDescriptor(Error.prototype, 'stack')?.get,
    getOwnPropertyDescriptor(DOMException.prototype, 'name').get,
    getOwnPropertyDescriptor(DOMException.prototype, 'message').get,
  ]);
  const isTrusted = uncurry(Set.prototype.has);
  const { apply } = Reflect;

  // object[key] for data properties, own or inherited; a getter that is not the engine's own reads as undefined.
  native.readData = (object, key) => {
    for (let holder = object, steps = 0; holder !== null && steps < 100; steps++) {
      const property = getOwnPropertyDescriptor(holder, key);
      if (property) {
        if ('value' in property) return property.value;
        return isTrusted(trustedGetters, property.get) ? apply(property.get, object, []) : undefined;
      }
      holder = getPrototypeOf(holder);
    }
    return undefined;
  };
})
