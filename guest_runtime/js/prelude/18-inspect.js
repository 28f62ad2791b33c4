// Values as text for the console, in the manner of Node and Deno. Runs no getter of the guest; the traps of a
// Proxy may run, so whatever they throw is shown instead of the value.
(function (native) {
  'use strict';
  const { uncurry, uncurryGetter, kindOf, readData } = native;
  const { getPrototypeOf, getOwnPropertyDescriptor, is } = Object;
  const { ownKeys } = Reflect;
  const functionSource = uncurry(Function.prototype.toString);
  const symbolText = uncurry(Symbol.prototype.toString);
  const dateValue = uncurry(Date.prototype.getTime);
  const isoDate = uncurry(Date.prototype.toISOString);
  const regExpText = uncurry(RegExp.prototype.toString);
  const forEachOfMap = uncurry(Map.prototype.forEach);
  const forEachOfSet = uncurry(Set.prototype.forEach);
  const sizeOfMap = uncurryGetter(Map.prototype, 'size');
  const sizeOfSet = uncurryGetter(Set.prototype, 'size');
  const byteLength = uncurryGetter(ArrayBuffer.prototype, 'byteLength');
  const lengthOfTyped = uncurryGetter(getPrototypeOf(Uint8Array.prototype), 'length');
  const unbox = {
    Number: uncurry(Number.prototype.valueOf),
    String: uncurry(String.prototype.valueOf),
    Boolean: uncurry(Boolean.prototype.valueOf),
    BigInt: uncurry(BigInt.prototype.valueOf),
    Symbol: uncurry(Symbol.prototype.valueOf),
  };

  const DEPTH = 4;
  const ITEMS = 100;
  const STRING = 10_000;
  const LINE = 76;
  // Depth and width together allow 10^8 entries; past this many the rest is only counted.
  const ENTRIES = 5_000;

  // Classes of the prelude whose state is private tell here what to show: class -> (value) => plain object.
  const views = new Map();
  native.inspectAs = (constructor, view) => views.set(constructor.prototype, view);
  const viewOf = uncurry(Map.prototype.get);

  const ESCAPES = { '\n': '\\n', '\r': '\\r', '\t': '\\t', '\b': '\\b', '\f': '\\f', '\v': '\\v', '\\': '\\\\' };
  const escape = (char) => ESCAPES[char]
    ?? (char > '\xff' ? `\\u${char.charCodeAt(0).toString(16).toUpperCase()}`
      : `\\x${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`);

  function quote(text) {
    const shown = text.length > STRING ? text.slice(0, STRING) : text;
    const mark = !shown.includes("'") ? "'" : !shown.includes('"') ? '"' : !shown.includes('`') ? '`' : "'";
    let body = shown.replace(/[\x00-\x1f\x7f-\x9f\\]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, escape);
    if (mark === "'" && body.includes("'")) body = body.replaceAll("'", "\\'");
    const rest = text.length - shown.length;
    return `${mark}${body}${mark}${rest > 0 ? `... ${rest} more characters` : ''}`;
  }

  function primitive(value) {
    switch (typeof value) {
      case 'string': return quote(value);
      case 'number': return is(value, -0) ? '-0' : `${value}`;
      case 'bigint': return `${value}n`;
      case 'symbol': return symbolText(value);
      default: return `${value}`;
    }
  }

  const isObject = (value) => (typeof value === 'object' && value !== null) || typeof value === 'function';
  const keyText = (key) => (typeof key === 'symbol' ? `[${symbolText(key)}]`
    : /^[A-Za-z_$][\w$]*$/.test(key) ? key : quote(key));
  const more = (count) => `... ${count} more item${count === 1 ? '' : 's'}`;

  // The name a reader knows the object by: its class, and its toStringTag where that says something else.
  function className(value) {
    let name = null;
    for (let holder = value, steps = 0; holder !== null && steps < 100; steps++) {
      const constructor = getOwnPropertyDescriptor(holder, 'constructor')?.value;
      const known = typeof constructor === 'function' ? getOwnPropertyDescriptor(constructor, 'name')?.value : '';
      // An own `constructor` property is data of the object, not its class.
      if (holder !== value && typeof known === 'string' && known !== '') {
        name = known;
        break;
      }
      holder = getPrototypeOf(holder);
    }
    const tag = readData(value, Symbol.toStringTag);
    const suffix = typeof tag === 'string' && tag !== '' && tag !== name ? ` [${tag.slice(0, 100)}]` : '';
    return `${name ?? `[${kindOf(value)}: null prototype]`}${suffix}`;
  }

  function functionText(value) {
    const name = readData(value, 'name');
    const named = typeof name === 'string' && name !== '';
    if (functionSource(value).startsWith('class')) {
      const parent = getPrototypeOf(value);
      const parentName = typeof parent === 'function' ? readData(parent, 'name') : '';
      return `[class ${named ? name : '(anonymous)'}${parentName ? ` extends ${primitive(parentName).slice(1, -1)}` : ''}]`;
    }
    const tag = readData(value, Symbol.toStringTag);
    return `[${typeof tag === 'string' ? tag : 'Function'}${named ? `: ${name}` : ' (anonymous)'}]`;
  }

  function errorText(error) {
    const read = (key) => {
      const value = readData(error, key);
      return typeof value === 'string' ? value : '';
    };
    const [name, message, stack] = [read('name') || 'Error', read('message'), read('stack')];
    const head = message ? `${name}: ${message}` : name;
    if (!stack) return `[${head}]`;
    // QuickJS keeps only the frames in `stack`; other code may have put the headline there itself.
    return (stack.startsWith(name) ? stack : `${head}\n${stack}`).trimEnd();
  }

  class Inspection {
    constructor(depth) {
      this.depth = depth;
      this.left = ENTRIES;
      this.ancestors = [];
    }

    text(value) {
      if (!isObject(value)) return primitive(value);
      if (this.ancestors.includes(value)) return '[Circular]';
      try {
        return this.object(value);
      } catch (error) {
        return `[could not be shown: ${isObject(error) ? kindOf(error) : primitive(error)}]`;
      }
    }

    object(value) {
      const kind = kindOf(value);
      const headline = this.headline(value, kind);
      const isList = kind.endsWith('Array');
      const hasBody = isList || kind === 'Map' || kind === 'Set' || headline === '' || headline.endsWith(' ');
      if (this.ancestors.length >= this.depth && hasBody) return `[${className(value)}]`;
      this.ancestors.push(value);
      const entries = this.contents(value, kind);
      this.ancestors.pop();
      if (entries.length === 0 && !hasBody) return headline;
      const space = headline === '' || headline.endsWith(' ') ? '' : ' ';
      return layout(`${headline}${space}${isList ? '[' : '{'}`, entries, isList ? ']' : '}', isList);
    }

    // What stands before the braces; one that ends in a space (or is empty) is never shown without them.
    headline(value, kind) {
      if (typeof value === 'function') return functionText(value);
      switch (kind) {
        case 'Error': case 'DOMException': return errorText(value);
        case 'Date': return is(dateValue(value), NaN) ? 'Invalid Date' : isoDate(value);
        case 'RegExp': return regExpText(value);
        case 'Number': case 'String': case 'Boolean': case 'BigInt': case 'Symbol':
          return `[${kind}: ${primitive(unbox[kind](value))}]`;
        default:
      }
      const name = className(value);
      if (kind === 'Array') return name === 'Array' ? '' : `${name}(${readData(value, 'length')}) `;
      if (kind === 'Map') return `${name}(${sizeOfMap(value)}) `;
      if (kind === 'Set') return `${name}(${sizeOfSet(value)}) `;
      if (kind.endsWith('Array')) return `${name}(${lengthOfTyped(value)}) `;
      return name === 'Object' ? '' : `${name} `;
    }

    contents(value, kind) {
      const entries = [];
      const add = (make) => {
        if (this.left-- > 0) entries.push(make());
      };
      switch (kind) {
        case 'Array': this.arrayItems(value, entries, readData(value, 'length')); break;
        case 'Map': this.mapItems(value, add, entries); break;
        case 'Set': this.setItems(value, add, entries); break;
        case 'ArrayBuffer': entries.push(`byteLength: ${byteLength(value)}`); break;
        case 'WeakMap': case 'WeakSet': entries.push('<items unknown>'); break;
        default: if (kind.endsWith('Array')) this.typedItems(value, entries);
      }
      const view = viewOf(views, getPrototypeOf(value));
      if (view) return this.contents(view(value), 'Object');
      this.properties(value, kind, add, entries);
      return entries;
    }

    arrayItems(value, entries, length) {
      let index = 0;
      for (; index < length && entries.length < ITEMS && this.left-- > 0; index++) {
        const start = index;
        while (index < length && index - start < 1e6 && !getOwnPropertyDescriptor(value, index)) index++;
        const holes = index - start;
        if (holes > 0) {
          entries.push(`<${holes} empty item${holes === 1 ? '' : 's'}>`);
          index--;
        } else entries.push(this.property(getOwnPropertyDescriptor(value, index)));
      }
      if (index < length) entries.push(more(length - index));
    }

    typedItems(value, entries) {
      const length = lengthOfTyped(value);
      for (let index = 0; index < length && index < ITEMS; index++) entries.push(primitive(value[index]));
      if (length > ITEMS) entries.push(more(length - ITEMS));
    }

    mapItems(value, add, entries) {
      let seen = 0;
      forEachOfMap(value, (item, key) => {
        if (seen++ < ITEMS) add(() => `${this.text(key)} => ${this.text(item)}`);
      });
      if (seen > ITEMS) entries.push(more(seen - ITEMS));
    }

    setItems(value, add, entries) {
      let seen = 0;
      forEachOfSet(value, (item) => {
        if (seen++ < ITEMS) add(() => this.text(item));
      });
      if (seen > ITEMS) entries.push(more(seen - ITEMS));
    }

    properties(value, kind, add, entries) {
      const indexed = kind === 'String' || kind.endsWith('Array');
      const isError = kind === 'Error' || kind === 'DOMException';
      let hidden = 0;
      for (const key of ownKeys(value)) {
        if (indexed && typeof key === 'string' && /^\d+$/.test(key)) continue;
        const property = getOwnPropertyDescriptor(value, key);
        const told = isError && (key === 'cause' || key === 'errors');
        if (!property || !(property.enumerable || told)) continue;
        // The stack's text already has these.
        if (isError && (key === 'stack' || key === 'message' || key === 'name')) continue;
        if (this.left <= 0) hidden++;
        add(() => `${property.enumerable ? keyText(key) : `[${key}]`}: ${this.property(property)}`);
      }
      if (hidden > 0) entries.push(more(hidden));
    }

    property(property) {
      if ('value' in property) return this.text(property.value);
      if (!property.get) return '[Setter]';
      return property.set ? '[Getter/Setter]' : '[Getter]';
    }
  }

  function layout(open, entries, close, isList) {
    if (entries.length === 0) return open + close;
    const width = entries.reduce((sum, entry) => sum + entry.length + 2, open.length + close.length);
    const flat = ![open, ...entries].some((part) => part.includes('\n'));
    if (flat && width <= LINE) return `${open} ${entries.join(', ')} ${close}`;
    const lines = isList && flat && entries.length > 6 ? fill(entries) : entries;
    return `${open}\n  ${lines.map((line) => line.replaceAll('\n', '\n  ')).join(',\n  ')}\n${close}`;
  }

  // Many short items, such as numbers, share lines.
  function fill(entries) {
    const lines = [];
    for (const entry of entries) {
      const last = lines.length - 1;
      if (last >= 0 && lines[last].length + entry.length + 2 <= LINE) lines[last] += `, ${entry}`;
      else lines.push(entry);
    }
    return lines;
  }

  native.isObject = isObject;
  native.inspect = (value, depth = DEPTH) => new Inspection(depth).text(value);
  native.describeError = (error) => {
    try {
      return isObject(error) ? native.inspect(error) : primitive(error);
    } catch {
      return 'unknown error';
    }
  };
})
