// Percent-encoding and hosts of the WHATWG URL standard (https://url.spec.whatwg.org/, sections 1.3 and 3).
// International names are mapped with NFKC and lower case and written in Punycode; the tables of UTS 46 are not here.
(function (native) {
  'use strict';
  const { encode, decode } = native;
  const { encodeURIComponent, parseInt } = globalThis;

  // The percent-encode sets, each the one before it plus some ASCII. Non-ASCII and controls belong to all of them.
  const setOf = (chars) => new Set(chars);
  const FRAGMENT = setOf(' "<>`');
  const QUERY = setOf(' "#<>');
  const SPECIAL_QUERY = setOf([...QUERY, "'"]);
  const PATH = setOf([...QUERY, ...'?^`{}']);
  const USERINFO = setOf([...PATH, ...'/:;=@[\\]|']);
  const FORM = setOf([...USERINFO, ...'$%&+,!\'()~']);
  const C0 = setOf('');

  function percentEncodeChar(char, set) {
    if (char > '~') return char === '\x7f' ? '%7F' : encodeURIComponent(char);
    if (char >= ' ' && !set.has(char)) return char;
    const code = char.charCodeAt(0);
    return `%${code < 16 ? '0' : ''}${code.toString(16).toUpperCase()}`;
  }

  function percentEncode(text, set) {
    let out = '';
    for (const char of text) out += percentEncodeChar(char, set);
    return out;
  }

  function percentDecode(text) {
    if (!text.includes('%')) return text;
    const bytes = encode(text);
    let length = 0;
    for (let i = 0; i < bytes.length; i++) {
      const hex = bytes[i] === 0x25 ? String.fromCharCode(bytes[i + 1], bytes[i + 2]) : '';
      if (/^[0-9A-Fa-f]{2}$/.test(hex)) {
        bytes[length++] = parseInt(hex, 16);
        i += 2;
      } else bytes[length++] = bytes[i];
    }
    return decode(bytes.subarray(0, length), false);
  }

  // Punycode, RFC 3492 section 6.3, with its parameters.
  const [BASE, T_MIN, T_MAX, SKEW, DAMP, FIRST_BIAS] = [36, 1, 26, 38, 700, 72];
  const digit = (value) => String.fromCharCode(value < 26 ? 97 + value : 22 + value);

  function adapt(delta, points, isFirst) {
    let rest = isFirst ? Math.floor(delta / DAMP) : delta >> 1;
    rest += Math.floor(rest / points);
    let k = 0;
    for (; rest > ((BASE - T_MIN) * T_MAX) >> 1; k += BASE) rest = Math.floor(rest / (BASE - T_MIN));
    return k + Math.floor(((BASE - T_MIN + 1) * rest) / (rest + SKEW));
  }

  function punycode(label) {
    const points = Array.from(label, (char) => char.codePointAt(0));
    let out = String.fromCharCode(...points.filter((point) => point < 128));
    const basic = out.length;
    let handled = basic;
    if (basic > 0) out += '-';
    let [next, delta, bias] = [128, 0, FIRST_BIAS];
    while (handled < points.length) {
      const least = Math.min(...points.filter((point) => point >= next));
      delta += (least - next) * (handled + 1);
      next = least;
      for (const point of points) {
        if (point < next) delta++;
        if (point !== next) continue;
        let rest = delta;
        for (let k = BASE; ; k += BASE) {
          const threshold = k <= bias ? T_MIN : k >= bias + T_MAX ? T_MAX : k - bias;
          if (rest < threshold) break;
          out += digit(threshold + ((rest - threshold) % (BASE - threshold)));
          rest = Math.floor((rest - threshold) / (BASE - threshold));
        }
        out += digit(rest);
        bias = adapt(delta, ++handled, handled - 1 === basic);
        delta = 0;
      }
      delta++;
      next++;
    }
    return out;
  }

  const NON_ASCII = /[^\x00-\x7f]/;
  // A label longer than this is in no DNS; refusing it keeps the quadratic Punycode cheap.
  const LONGEST_LABEL = 1_000;

  function domainToAscii(domain) {
    if (!NON_ASCII.test(domain)) return domain.toLowerCase();
    const mapped = Array.from(domain.replace(/[\u3002\uff61]/g, '.').replace(/[\u00ad\u200b\u2060\ufeff\ufe00-\ufe0f]/g, '')
      .normalize('NFKC'), (char) => char.toLowerCase()).join('').normalize('NFC');
    const labels = mapped.split('.');
    if (labels.some((label) => label.length > LONGEST_LABEL || label.includes('\ufffd'))) return null;
    return labels.map((label) => (NON_ASCII.test(label) ? `xn--${punycode(label)}` : label)).join('.');
  }

  function parseIpv4Number(text) {
    if (text === '') return NaN;
    if (/^0[xX][0-9A-Fa-f]*$/.test(text)) return text.length === 2 ? 0 : parseInt(text.slice(2), 16);
    if (/^0[0-7]+$/.test(text)) return parseInt(text, 8);
    return /^(0|[1-9]\d*)$/.test(text) ? parseInt(text, 10) : NaN;
  }

  function endsInNumber(domain) {
    const parts = domain.split('.');
    if (parts.at(-1) === '') {
      if (parts.length === 1) return false;
      parts.pop();
    }
    return /^(\d+|0[xX][0-9A-Fa-f]*)$/.test(parts.at(-1));
  }

  function parseIpv4(domain) {
    const parts = domain.split('.');
    if (parts.at(-1) === '' && parts.length > 1) parts.pop();
    if (parts.length > 4) return null;
    const numbers = parts.map(parseIpv4Number);
    const last = numbers.pop();
    // A failed part is NaN, which fails both comparisons.
    if (!numbers.every((number) => number <= 255) || !(last < 256 ** (4 - numbers.length))) return null;
    const address = numbers.reduce((sum, number, i) => sum + number * 256 ** (3 - i), last);
    return [24, 16, 8, 0].map((shift) => Math.floor(address / 2 ** shift) % 256).join('.');
  }

  // The IPv4 tail of an IPv6 address as two pieces: plain decimals only, no leading zeros.
  function ipv4Pieces(text) {
    const match = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text);
    if (!match) return null;
    const bytes = match.slice(1);
    if (bytes.some((byte) => Number(byte) > 255 || (byte.length > 1 && byte[0] === '0'))) return null;
    const [a, b, c, d] = bytes.map(Number);
    return [a * 256 + b, c * 256 + d];
  }

  function ipv6Pieces(text) {
    if (text === '') return [];
    const pieces = [];
    const parts = text.split(':');
    for (const [i, part] of parts.entries()) {
      if (i === parts.length - 1 && part.includes('.')) {
        const tail = ipv4Pieces(part);
        if (!tail) return null;
        pieces.push(...tail);
      } else if (/^[0-9A-Fa-f]{1,4}$/.test(part)) pieces.push(parseInt(part, 16));
      else return null;
    }
    return pieces;
  }

  function parseIpv6(text) {
    const halves = text.split('::');
    if (halves.length > 2) return null;
    const [left, right] = halves.map(ipv6Pieces);
    if (!left || right === null) return null;
    if (right === undefined) return left.length === 8 ? left : null;
    // An IPv4 tail may only end the address, not the half before "::".
    if (left.length + right.length > 7 || halves[0].includes('.')) return null;
    return [...left, ...Array(8 - left.length - right.length).fill(0), ...right];
  }

  // The first longest run of two or more zero pieces is written "::".
  function serializeIpv6(pieces) {
    let [start, length] = [-1, 1];
    for (let i = 0; i < 8; i++) {
      let end = i;
      while (end < 8 && pieces[end] === 0) end++;
      if (end - i > length) [start, length] = [i, end - i];
      if (end > i) i = end;
    }
    const hex = pieces.map((piece) => piece.toString(16));
    if (start < 0) return `[${hex.join(':')}]`;
    return `[${hex.slice(0, start).join(':')}::${hex.slice(start + length).join(':')}]`;
  }

  const FORBIDDEN_HOST = /[\0\t\n\r #/:<>?@[\\\]^|]/;
  const FORBIDDEN_DOMAIN = /[\x00-\x20#%/:<>?@[\\\]^|\x7f]/;

  // The serialized host, or null when it is not one.
  function parseHost(text, isOpaque) {
    if (text[0] === '[') {
      const pieces = text.at(-1) === ']' ? parseIpv6(text.slice(1, -1)) : null;
      return pieces && serializeIpv6(pieces);
    }
    if (isOpaque) return FORBIDDEN_HOST.test(text) ? null : percentEncode(text, C0);
    const domain = domainToAscii(percentDecode(text));
    if (!domain || FORBIDDEN_DOMAIN.test(domain)) return null;
    return endsInNumber(domain) ? parseIpv4(domain) : domain;
  }

  native.url = {
    parseHost, percentEncode, percentEncodeChar, percentDecode,
    sets: { FRAGMENT, QUERY, SPECIAL_QUERY, PATH, USERINFO, FORM, C0 },
  };
})
