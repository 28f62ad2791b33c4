// The second half of the basic URL parser: file hosts, paths, queries and fragments (WHATWG URL standard, section 4.4).
// A state is a method that gets one character, or undefined at the end; the first half is 43-url-parser.js.
(function (native) {
  'use strict';
  const { parseHost, percentEncode, percentEncodeChar, sets } = native.url;
  const DEFAULT_PORTS = { __proto__: null, http: 80, https: 443, ws: 80, wss: 443, ftp: 21, file: null };

  // What a state answers when the machine must stop; anything else means: go on.
  const [FAILURE, STOP] = [Symbol('failure'), Symbol('stop')];

  const isSpecial = (url) => url.scheme in DEFAULT_PORTS;
  const isDriveLetter = (text) => /^[A-Za-z][:|]$/.test(text);
  const startsWithDriveLetter = (chars, at) => /^[A-Za-z][:|]([/\\?#]|$)/.test(chars.slice(at, at + 3).join(''));
  const isSingleDot = (text) => /^(\.|%2e)$/i.test(text);
  const isDoubleDot = (text) => /^(\.|%2e){2}$/i.test(text);

  function shortenPath({ scheme, path }) {
    // "C:" of a file URL is never climbed over.
    if (scheme === 'file' && path.length === 1 && /^[A-Za-z]:$/.test(path[0])) return;
    path.pop();
  }

  class PathStates {
    // Switches state; `again` lets the new state see the same character.
    go(state, again = false) {
      this.state = state;
      if (again) this.at--;
    }

    startQuery() {
      this.url.query = '';
      this.state = 'query';
    }

    startFragment() {
      this.url.fragment = '';
      this.state = 'fragment';
    }

    copyFromBase(...fields) {
      for (const field of fields) {
        const value = this.base[field];
        this.url[field] = Array.isArray(value) ? [...value] : value;
      }
    }

    isSlash(char) {
      return char === '/' || (char === '\\' && isSpecial(this.url));
    }

    endsAuthority(char) {
      return char === undefined || char === '?' || char === '#' || this.isSlash(char);
    }

    takeHost() {
      const host = parseHost(this.buffer, !isSpecial(this.url));
      if (host === null) return FAILURE;
      this.url.host = host;
      this.buffer = '';
      return undefined;
    }

    file(char) {
      const { url, base } = this;
      url.scheme = 'file';
      url.host = '';
      if (char === '/' || char === '\\') return this.go('fileSlash');
      if (base?.scheme !== 'file') return this.go('path', true);
      this.copyFromBase('host', 'path', 'query');
      if (char === '?') return this.startQuery();
      if (char === '#') return this.startFragment();
      if (char === undefined) return undefined;
      url.query = null;
      if (startsWithDriveLetter(this.chars, this.at)) url.path = [];
      else shortenPath(url);
      return this.go('path', true);
    }

    fileSlash(char) {
      const { url, base } = this;
      if (char === '/' || char === '\\') return this.go('fileHost');
      if (base?.scheme === 'file') {
        url.host = base.host;
        const keepsDrive = !startsWithDriveLetter(this.chars, this.at) && /^[A-Za-z]:$/.test(base.path[0]);
        if (keepsDrive) url.path.push(base.path[0]);
      }
      return this.go('path', true);
    }

    fileHost(char) {
      if (char !== undefined && char !== '/' && char !== '\\' && char !== '?' && char !== '#') {
        this.buffer += char;
        return undefined;
      }
      // "file://C:/x": the drive letter stays in the buffer and becomes part of the path.
      if (!this.override && isDriveLetter(this.buffer)) return this.go('path', true);
      if (this.buffer === '') this.url.host = '';
      else if (this.takeHost() === FAILURE) return FAILURE;
      if (this.url.host === 'localhost') this.url.host = '';
      return this.override ? STOP : this.go('pathStart', true);
    }

    pathStart(char) {
      if (isSpecial(this.url)) return this.go('path', !this.isSlash(char));
      if (!this.override && char === '?') return this.startQuery();
      if (!this.override && char === '#') return this.startFragment();
      if (char !== undefined) return this.go('path', char !== '/');
      if (this.override && this.url.host === null) this.url.path.push('');
      return undefined;
    }

    path(char) {
      const isEnd = char === undefined || (!this.override && (char === '?' || char === '#'));
      if (!isEnd && !this.isSlash(char)) {
        this.buffer += percentEncodeChar(char, sets.PATH);
        return undefined;
      }
      this.addSegment(this.buffer, this.isSlash(char));
      this.buffer = '';
      if (char === '?') return this.startQuery();
      return char === '#' ? this.startFragment() : undefined;
    }

    addSegment(segment, isFollowed) {
      const { url } = this;
      if (isDoubleDot(segment)) {
        shortenPath(url);
        if (!isFollowed) url.path.push('');
      } else if (isSingleDot(segment)) {
        if (!isFollowed) url.path.push('');
      } else {
        const isDrive = url.scheme === 'file' && url.path.length === 0 && isDriveLetter(segment);
        url.path.push(isDrive ? `${segment[0]}:` : segment);
      }
    }

    opaquePath(char) {
      if (char === '?') return this.startQuery();
      if (char === '#') return this.startFragment();
      if (char === undefined) return undefined;
      const next = this.chars[this.at + 1];
      // A space that ends the path would be lost when the URL is parsed again without its query.
      this.url.path += char === ' ' && (next === '?' || next === '#') ? '%20' : percentEncodeChar(char, sets.C0);
      return undefined;
    }

    query(char) {
      if (char !== undefined && (this.override || char !== '#')) {
        this.buffer += char;
        return undefined;
      }
      this.url.query += percentEncode(this.buffer, isSpecial(this.url) ? sets.SPECIAL_QUERY : sets.QUERY);
      this.buffer = '';
      return char === '#' ? this.startFragment() : undefined;
    }

    fragment(char) {
      if (char !== undefined) this.url.fragment += percentEncodeChar(char, sets.FRAGMENT);
      return undefined;
    }
  }

  Object.assign(native.url, { PathStates, DEFAULT_PORTS, FAILURE, STOP, isSpecial, shortenPath });
})
