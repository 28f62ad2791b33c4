// The basic URL parser: the state machine of the WHATWG URL standard, section 4.4, one method per state.
// A record is { scheme, username, password, host, port, path, query, fragment }; an opaque path is a string.
(function (native) {
  'use strict';
  const { PathStates, DEFAULT_PORTS, FAILURE, STOP, isSpecial, shortenPath, percentEncodeChar, sets } = native.url;

  const hasCredentials = (url) => url.username !== '' || url.password !== '';
  const isOpaque = (url) => typeof url.path === 'string';

  class Parser extends PathStates {
    constructor(chars, base, url, override) {
      super();
      this.chars = chars;
      this.base = base;
      this.url = url;
      this.override = override;
      this.state = override ?? 'schemeStart';
      this.at = 0;
      this.buffer = '';
      this.sawAt = false;
      this.inBrackets = false;
      this.sawPasswordToken = false;
    }

    run() {
      for (;; this.at++) {
        const char = this.chars[this.at];
        const answer = this[this.state](char);
        if (answer === FAILURE || answer === STOP) return answer !== FAILURE;
        if (this.at >= this.chars.length) return true;
      }
    }

    schemeStart(char) {
      if (/^[A-Za-z]$/.test(char)) {
        this.buffer = char.toLowerCase();
        return this.go('scheme');
      }
      return this.override ? FAILURE : this.go('noScheme', true);
    }

    scheme(char) {
      if (char !== undefined && /^[A-Za-z0-9+.-]$/.test(char)) this.buffer += char.toLowerCase();
      else if (char === ':') return this.override ? this.changeScheme() : this.afterScheme();
      else if (this.override) return FAILURE;
      else {
        this.buffer = '';
        this.state = 'noScheme';
        this.at = -1;
      }
      return undefined;
    }

    changeScheme() {
      const { url, buffer } = this;
      if (isSpecial(url) !== buffer in DEFAULT_PORTS) return STOP;
      if (buffer === 'file' && (hasCredentials(url) || url.port !== null)) return STOP;
      if (url.scheme === 'file' && !url.host) return STOP;
      url.scheme = buffer;
      if (url.port === DEFAULT_PORTS[buffer]) url.port = null;
      return STOP;
    }

    afterScheme() {
      const { url, base } = this;
      url.scheme = this.buffer;
      this.buffer = '';
      if (url.scheme === 'file') return this.go('file');
      if (isSpecial(url)) {
        return this.go(base?.scheme === url.scheme ? 'specialRelativeOrAuthority' : 'specialAuthoritySlashes');
      }
      if (this.chars[this.at + 1] === '/') {
        this.at++;
        return this.go('pathOrAuthority');
      }
      url.path = '';
      return this.go('opaquePath');
    }

    noScheme(char) {
      const { base } = this;
      if (!base || (isOpaque(base) && char !== '#')) return FAILURE;
      if (isOpaque(base)) {
        this.copyFromBase('scheme', 'path', 'query');
        return this.startFragment();
      }
      return this.go(base.scheme === 'file' ? 'file' : 'relative', true);
    }

    specialRelativeOrAuthority(char) {
      if (char === '/' && this.chars[this.at + 1] === '/') {
        this.at++;
        return this.go('specialAuthorityIgnoreSlashes');
      }
      return this.go('relative', true);
    }

    pathOrAuthority(char) {
      return char === '/' ? this.go('authority') : this.go('path', true);
    }

    relative(char) {
      this.url.scheme = this.base.scheme;
      if (this.isSlash(char)) return this.go('relativeSlash');
      this.copyFromBase('username', 'password', 'host', 'port', 'path', 'query');
      if (char === '?') return this.startQuery();
      if (char === '#') return this.startFragment();
      if (char === undefined) return undefined;
      this.url.query = null;
      shortenPath(this.url);
      return this.go('path', true);
    }

    relativeSlash(char) {
      if (isSpecial(this.url) && this.isSlash(char)) return this.go('specialAuthorityIgnoreSlashes');
      if (char === '/') return this.go('authority');
      this.copyFromBase('username', 'password', 'host', 'port');
      return this.go('path', true);
    }

    specialAuthoritySlashes(char) {
      if (char === '/' && this.chars[this.at + 1] === '/') {
        this.at++;
        return this.go('specialAuthorityIgnoreSlashes');
      }
      return this.go('specialAuthorityIgnoreSlashes', true);
    }

    specialAuthorityIgnoreSlashes(char) {
      return char === '/' || char === '\\' ? undefined : this.go('authority', true);
    }

    authority(char) {
      if (char === '@') {
        this.addCredentials(this.sawAt ? `%40${this.buffer}` : this.buffer);
        this.sawAt = true;
        this.buffer = '';
      } else if (this.endsAuthority(char)) {
        if (this.sawAt && this.buffer === '') return FAILURE;
        // Back to the first character of the host.
        this.at -= Array.from(this.buffer).length;
        this.buffer = '';
        return this.go('host', true);
      } else this.buffer += char;
      return undefined;
    }

    addCredentials(text) {
      for (const char of text) {
        if (char === ':' && !this.sawPasswordToken) this.sawPasswordToken = true;
        else this.url[this.sawPasswordToken ? 'password' : 'username'] += percentEncodeChar(char, sets.USERINFO);
      }
    }

    host(char) {
      const { url, override, buffer } = this;
      if (override && url.scheme === 'file') return this.go('fileHost', true);
      if (char === ':' && !this.inBrackets) {
        if (buffer === '' || override === 'hostname') return FAILURE;
        return this.takeHost() ?? this.go('port');
      }
      if (this.endsAuthority(char)) {
        if (isSpecial(url) && buffer === '') return FAILURE;
        if (override && buffer === '' && (hasCredentials(url) || url.port !== null)) return FAILURE;
        return this.takeHost() ?? (override ? STOP : this.go('pathStart', true));
      }
      if (char === '[') this.inBrackets = true;
      if (char === ']') this.inBrackets = false;
      this.buffer += char;
      return undefined;
    }

    // The hostname setter's entry: the host state, which asks `override` where the two differ.
    hostname(char) {
      return this.host(char);
    }

    port(char) {
      if (char !== undefined && /^\d$/.test(char)) {
        this.buffer += char;
        return undefined;
      }
      if (!this.endsAuthority(char) && !this.override) return FAILURE;
      if (this.buffer !== '') {
        const port = Number(this.buffer);
        if (port > 65535) return FAILURE;
        this.url.port = port === DEFAULT_PORTS[this.url.scheme] ? null : port;
        this.buffer = '';
        if (this.override) return STOP;
      }
      return this.override ? FAILURE : this.go('pathStart', true);
    }
  }

  const charsOf = (text) => Array.from(text.replace(/[\t\n\r]/g, ''));

  // A new record, or null. `base` is a record.
  function parse(text, base = null) {
    const url = { scheme: '', username: '', password: '', host: null, port: null, path: [], query: null, fragment: null };
    const whole = text.toWellFormed();
    let [start, end] = [0, whole.length];
    while (start < end && whole[start] <= ' ') start++;
    while (end > start && whole[end - 1] <= ' ') end--;
    return new Parser(charsOf(whole.slice(start, end)), base, url, null).run() ? url : null;
  }

  // Parses `text` as one part of an existing record, starting in state `part`, for the setters.
  function parseInto(url, text, part) {
    new Parser(charsOf(text.toWellFormed()), null, url, part).run();
  }

  function serializePath({ path }) {
    return typeof path === 'string' ? path : path.map((segment) => `/${segment}`).join('');
  }

  function serialize(url) {
    let out = `${url.scheme}:`;
    if (url.host !== null) {
      out += '//';
      if (hasCredentials(url)) out += `${url.username}${url.password ? `:${url.password}` : ''}@`;
      out += url.host + (url.port === null ? '' : `:${url.port}`);
    } else if (!isOpaque(url) && url.path.length > 1 && url.path[0] === '') {
      // Or the path would be read as a host the next time.
      out += '/.';
    }
    out += serializePath(url);
    if (url.query !== null) out += `?${url.query}`;
    return url.fragment !== null ? `${out}#${url.fragment}` : out;
  }

  Object.assign(native.url, { parse, parseInto, serialize, serializePath, isOpaque });
})
