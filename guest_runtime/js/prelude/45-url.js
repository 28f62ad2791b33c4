// The URL class: getters and setters over a record of 43-url-parser.js.
(function (native) {
  'use strict';
  const { parse, parseInto, serialize, serializePath, isSpecial, isOpaque, percentEncode, sets } = native.url;
  const { linkParams, replaceParams } = native.url;

  const cannotHaveCredentialsOrPort = (url) => !url.host || url.scheme === 'file';

  function parseWithBase(input, base) {
    if (base === undefined) return parse(`${input}`);
    const record = parse(`${base}`);
    return record && parse(`${input}`, record);
  }

  function originOf(url) {
    if (url.scheme === 'blob') {
      const inner = isOpaque(url) ? parse(url.path) : null;
      return inner?.scheme === 'http' || inner?.scheme === 'https' ? originOf(inner) : 'null';
    }
    if (!isSpecial(url) || url.scheme === 'file') return 'null';
    return `${url.scheme}://${url.host}${url.port === null ? '' : `:${url.port}`}`;
  }

  class URL {
    #url;
    #params = null;

    static canParse(input, base = undefined) {
      return parseWithBase(input, base) !== null;
    }

    static parse(input, base = undefined) {
      return URL.canParse(input, base) ? new URL(input, base) : null;
    }

    constructor(input, base = undefined) {
      if (arguments.length === 0) throw new TypeError('URL: 1 argument required');
      this.#url = parseWithBase(input, base);
      if (this.#url === null) {
        throw new TypeError(`Invalid URL: '${input}'${base === undefined ? '' : ` with base '${base}'`}`);
      }
    }

    #setQuery(query) {
      this.#url.query = query;
      if (this.#params) replaceParams(this.#params, query ?? '');
    }

    get href() {
      return serialize(this.#url);
    }

    set href(value) {
      const url = parse(`${value}`);
      if (url === null) throw new TypeError(`Invalid URL: '${value}'`);
      this.#url = url;
      this.#setQuery(url.query);
    }

    get origin() {
      return originOf(this.#url);
    }

    get protocol() {
      return `${this.#url.scheme}:`;
    }

    set protocol(value) {
      parseInto(this.#url, `${value}:`, 'schemeStart');
    }

    get username() {
      return this.#url.username;
    }

    set username(value) {
      if (!cannotHaveCredentialsOrPort(this.#url)) {
        this.#url.username = percentEncode(`${value}`.toWellFormed(), sets.USERINFO);
      }
    }

    get password() {
      return this.#url.password;
    }

    set password(value) {
      if (!cannotHaveCredentialsOrPort(this.#url)) {
        this.#url.password = percentEncode(`${value}`.toWellFormed(), sets.USERINFO);
      }
    }

    get host() {
      const { host, port } = this.#url;
      return `${host ?? ''}${port === null ? '' : `:${port}`}`;
    }

    set host(value) {
      if (!isOpaque(this.#url)) parseInto(this.#url, `${value}`, 'host');
    }

    get hostname() {
      return this.#url.host ?? '';
    }

    set hostname(value) {
      if (!isOpaque(this.#url)) parseInto(this.#url, `${value}`, 'hostname');
    }

    get port() {
      return this.#url.port === null ? '' : `${this.#url.port}`;
    }

    set port(value) {
      if (cannotHaveCredentialsOrPort(this.#url)) return;
      const port = `${value}`;
      if (port === '') this.#url.port = null;
      else parseInto(this.#url, port, 'port');
    }

    get pathname() {
      return serializePath(this.#url);
    }

    set pathname(value) {
      if (isOpaque(this.#url)) return;
      const path = `${value}`;
      this.#url.path = [];
      parseInto(this.#url, path, 'pathStart');
    }

    get search() {
      return this.#url.query ? `?${this.#url.query}` : '';
    }

    set search(value) {
      const search = `${value}`;
      if (search === '') return this.#setQuery(null);
      this.#url.query = '';
      parseInto(this.#url, search[0] === '?' ? search.slice(1) : search, 'query');
      return this.#setQuery(this.#url.query);
    }

    get searchParams() {
      this.#params ??= linkParams(this.#url.query ?? '', (query) => {
        this.#url.query = query === '' ? null : query;
      });
      return this.#params;
    }

    get hash() {
      return this.#url.fragment ? `#${this.#url.fragment}` : '';
    }

    set hash(value) {
      const hash = `${value}`;
      if (hash === '') {
        this.#url.fragment = null;
        return;
      }
      this.#url.fragment = '';
      parseInto(this.#url, hash[0] === '#' ? hash.slice(1) : hash, 'fragment');
    }

    toString() {
      return serialize(this.#url);
    }

    toJSON() {
      return serialize(this.#url);
    }
  }

  const PARTS = ['href', 'origin', 'protocol', 'username', 'password', 'host', 'hostname', 'port', 'pathname', 'search', 'hash'];
  native.tag(URL.prototype, 'URL');
  native.inspectAs(URL, (url) => Object.fromEntries(PARTS.map((part) => [part, url[part]])));
  native.defineGlobals({ URL });
})
