// Reads an arithmetic expression and computes as it reads, with whatever numbers it is given. Nothing of it is ever code.
// From weak to strong: + -, * / %, a sign, ^ (also written **), which binds to the right: -2^2 is -4, 2^3^2 is 2^9.

type Arithmetic<N> = {
  literal(text: string): N;
  names: Map<string, N>;
  functions: Record<string, Func<N>>;
  negative(value: N): N;
  binary: Record<string, (left: N, right: N) => N>;
};
type Func<N> = { least: number; most: number; of: (...values: N[]) => N };
type Token = { kind: 'number' | 'name' | 'sign' | 'end'; text: string; at: number };

const MOST_DEPTH = 100; // of brackets, signs and powers within each other

const one = <N>(of: (value: N) => N): Func<N> => ({ least: 1, most: 1, of });
const two = <N>(of: (left: N, right: N) => N): Func<N> => ({ least: 2, most: 2, of: of as Func<N>['of'] });
const many = <N>(of: (left: N, right: N) => N): Func<N> => ({ least: 1, most: 1000, of: (...values) => values.reduce(of) });

function tokensOf(text: string): Token[] {
  const token = /\s*(?:((?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|([\p{L}_][\p{L}\p{N}_]*)|(\*\*|[-+*/%^(),]))/uy;
  const tokens: Token[] = [];
  const end = text.trimEnd().length;
  while (token.lastIndex < end) {
    const from = token.lastIndex;
    const match = token.exec(text);
    if (match === null) {
      const at = from + (/^\s*/u.exec(text.slice(from)) as RegExpExecArray)[0].length;
      throw misread(text, at, `${JSON.stringify(String.fromCodePoint(text.codePointAt(at) as number))} is not understood`);
    }
    const [, number, name, sign] = match;
    const at = token.lastIndex - (number ?? name ?? sign).length;
    tokens.push({ kind: number !== undefined ? 'number' : name !== undefined ? 'name' : 'sign', text: sign === '**' ? '^' : number ?? name ?? sign, at });
  }
  tokens.push({ kind: 'end', text: 'the end', at: end });
  return tokens;
}

function misread(text: string, at: number, what: string): Error {
  const [from, to] = [Math.max(0, at - 30), at + 30];
  return new Error(`${what}, at position ${at + 1}: ${from > 0 ? '...' : ''}${text.slice(from, at)} <HERE> ${text.slice(at, to)}${to < text.length ? '...' : ''}`);
}

function evaluated<N>(text: string, numbers: Arithmetic<N>): N {
  const tokens = tokensOf(text);
  let [next, depth] = [0, 0];
  const peek = (...signs: string[]) => tokens[next].kind === 'sign' && signs.includes(tokens[next].text);
  const refuse = (token: Token, what: string) => misread(text, token.at, what);
  // what goes wrong in computing is told with the place of the sign or function
  const computed = (token: Token, work: () => N): N => {
    try {
      return work();
    } catch (error) {
      throw refuse(token, (error as Error).message);
    }
  };
  const binary = (operand: () => N, ...signs: string[]): N => {
    let value = operand();
    while (peek(...signs)) {
      const [sign, left] = [tokens[next++], value];
      const right = operand();
      value = computed(sign, () => numbers.binary[sign.text](left, right));
    }
    return value;
  };
  const sum = (): N => binary(product, '+', '-');
  const product = (): N => binary(signed, '*', '/', '%');
  const signed = (): N => {
    if (++depth > MOST_DEPTH) throw refuse(tokens[next], `Nested deeper than ${MOST_DEPTH}`);
    const sign = peek('-', '+') ? tokens[next++] : null;
    const value = sign === null ? power() : signed();
    depth--;
    return sign?.text === '-' ? computed(sign, () => numbers.negative(value)) : value;
  };
  const power = (): N => {
    const base = atom();
    if (!peek('^')) return base;
    const sign = tokens[next++];
    const exponent = signed();
    return computed(sign, () => numbers.binary['^'](base, exponent));
  };
  const expect = (sign: string, open: Token) => {
    if (!peek(sign)) throw refuse(tokens[next], `"${sign}" is expected for the "(" at position ${open.at + 1}, not ${shown(tokens[next])}`);
    next++;
  };
  const atom = (): N => {
    const token = tokens[next++];
    if (token.kind === 'number') return computed(token, () => numbers.literal(token.text));
    if (token.kind === 'name') return peek('(') ? called(token) : named(token);
    if (token.kind === 'end' || token.text !== '(') throw refuse(token, `A value is expected, not ${shown(token)}`);
    const value = sum();
    expect(')', token);
    return value;
  };
  const named = (token: Token): N => {
    const value = numbers.names.get(token.text);
    if (value !== undefined) return value;
    const isFunction = Object.hasOwn(numbers.functions, token.text);
    throw refuse(token, isFunction ? `"${token.text}" is a function: "(" is expected after it` : `"${token.text}" has no value; there are ${[...numbers.names.keys()].join(', ')}`);
  };
  const called = (token: Token): N => {
    const open = tokens[next++];
    const values: N[] = [];
    if (!peek(')')) do values.push(sum()); while (peek(',') && next++);
    expect(')', open);
    if (!Object.hasOwn(numbers.functions, token.text)) {
      throw refuse(token, `There is no function "${token.text}"; there are ${Object.keys(numbers.functions).join(', ')}`);
    }
    const { least, most, of } = numbers.functions[token.text];
    if (values.length < least || values.length > most) throw refuse(token, `"${token.text}" takes ${least === most ? least : `${least} to ${most}`} values, not ${values.length}`);
    return computed(token, () => of(...values));
  };
  const value = sum();
  if (tokens[next].kind !== 'end') throw refuse(tokens[next], `${shown(tokens[next])} is not expected: a sign such as * is missing`);
  return value;
}

const shown = (token: Token) => (token.kind === 'end' ? 'the end' : JSON.stringify(token.text));
