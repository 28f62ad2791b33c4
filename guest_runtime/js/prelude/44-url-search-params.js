// URLSearchParams, and the application/x-www-form-urlencoded format (WHATWG URL standard, sections 5 and 6).
(function (native) {
  'use strict';
  const { percentEncode, percentDecode, sets } = native.url;
  const { isObject } = native;

  const text = (value) => `${value}`.toWellFormed();
  const decodeField = (field) => percentDecode(field.replaceAll('+', ' '));
  const encodeField = (field) => percentEncode(field, sets.FORM).replaceAll('%20', '+');

  function parseForm(query) {
    return query.split('&').filter((part) => part !== '').map((part) => {
      const at = part.indexOf('=');
      return at < 0 ? [decodeField(part), ''] : [decodeField(part.slice(0, at)), decodeField(part.slice(at + 1))];
    });
  }

  function pairsOf(init) {
    if (typeof init[Symbol.iterator] === 'function') {
      return Array.from(init, (entry) => {
        const pair = isObject(entry) ? Array.from(entry) : [];
        if (pair.length !== 2) throw new TypeError('URLSearchParams: each entry must be a [name, value] pair');
        return pair.map(text);
      });
    }
    return Object.keys(init).map((name) => [text(name), text(init[name])]);
  }

  const need = (args, count, method) => {
    if (args.length < count) throw new TypeError(`URLSearchParams.${method}: ${count} argument(s) required`);
  };

  let link;
  let replace;

  class URLSearchParams {
    #list;
    #changed = null;

    static {
      // For URL: parameters whose changes reach the URL, and the way back when its query is set.
      link = (query, changed) => {
        const params = new URLSearchParams();
        params.#list = parseForm(query);
        params.#changed = changed;
        return params;
      };
      replace = (params, query) => {
        params.#list = parseForm(query);
      };
    }

    constructor(init = '') {
      if (isObject(init)) this.#list = pairsOf(init);
      else {
        const query = text(init);
        this.#list = parseForm(query[0] === '?' ? query.slice(1) : query);
      }
    }

    get size() {
      return this.#list.length;
    }

    append(name, value) {
      need(arguments, 2, 'append');
      this.#list.push([text(name), text(value)]);
      this.#changed?.(this.toString());
    }

    delete(name, value = undefined) {
      need(arguments, 1, 'delete');
      const matches = this.#matcher(name, value);
      this.#list = this.#list.filter((pair) => !matches(pair));
      this.#changed?.(this.toString());
    }

    get(name) {
      need(arguments, 1, 'get');
      return this.#list.find(this.#matcher(name))?.[1] ?? null;
    }

    getAll(name) {
      need(arguments, 1, 'getAll');
      return this.#list.filter(this.#matcher(name)).map((pair) => pair[1]);
    }

    has(name, value = undefined) {
      need(arguments, 1, 'has');
      return this.#list.some(this.#matcher(name, value));
    }

    set(name, value) {
      need(arguments, 2, 'set');
      const matches = this.#matcher(name);
      const first = this.#list.findIndex(matches);
      const pair = [text(name), text(value)];
      if (first < 0) this.#list.push(pair);
      else {
        this.#list[first] = pair;
        this.#list = this.#list.filter((other, i) => i <= first || !matches(other));
      }
      this.#changed?.(this.toString());
    }

    sort() {
      this.#list.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
      this.#changed?.(this.toString());
    }

    forEach(callback, thisArg = undefined) {
      if (typeof callback !== 'function') throw new TypeError('URLSearchParams.forEach: the callback must be a function');
      for (let i = 0; i < this.#list.length; i++) {
        Reflect.apply(callback, thisArg, [this.#list[i][1], this.#list[i][0], this]);
      }
    }

    // By index, so that entries added while iterating are seen, as the standard has it.
    *entries() {
      for (let i = 0; i < this.#list.length; i++) yield [...this.#list[i]];
    }

    *keys() {
      for (let i = 0; i < this.#list.length; i++) yield this.#list[i][0];
    }

    *values() {
      for (let i = 0; i < this.#list.length; i++) yield this.#list[i][1];
    }

    toString() {
      return this.#list.map(([name, value]) => `${encodeField(name)}=${encodeField(value)}`).join('&');
    }

    #matcher(name, value) {
      const wanted = text(name);
      if (value === undefined) return ([key]) => key === wanted;
      const wantedValue = text(value);
      return ([key, item]) => key === wanted && item === wantedValue;
    }
  }

  Object.defineProperty(URLSearchParams.prototype, Symbol.iterator, {
    value: URLSearchParams.prototype.entries, writable: true, configurable: true,
  });
  native.tag(URLSearchParams.prototype, 'URLSearchParams');
  native.inspectAs(URLSearchParams, (params) => Object.fromEntries(params.entries()));
  Object.assign(native.url, { linkParams: link, replaceParams: replace });
  native.defineGlobals({ URLSearchParams });
})
