// `console`: every call becomes one line for the host through native.log. Never throws into guest code.
(function (native) {
  'use strict';
  const { inspect, isObject, readData, kindOf, uncurry } = native;
  const { getOwnPropertyDescriptor, keys } = Object;
  const { isArray } = Array;
  const { stringify } = JSON;
  const replace = uncurry(String.prototype.replace);
  const replaceAll = uncurry(String.prototype.replaceAll);
  const join = uncurry(Array.prototype.join);
  const map = uncurry(Array.prototype.map);
  const slice = uncurry(Array.prototype.slice);
  const forEachOfMap = uncurry(Map.prototype.forEach);
  const repeat = uncurry(String.prototype.repeat);
  const objectToString = Object.prototype.toString;
  const [DEBUG, LOG, INFO, WARN, ERROR] = [0, 1, 2, 3, 4];
  // A guest that opens groups for ever must not make each line longer for ever.
  const DEEPEST_INDENT = 20;

  let indent = 0;
  native.onBegin(() => {
    indent = 0;
  });
  const counts = { __proto__: null };
  const starts = { __proto__: null };

  function write(level, text) {
    const margin = repeat('  ', indent < DEEPEST_INDENT ? indent : DEEPEST_INDENT);
    native.log(level, indent === 0 ? text : margin + replaceAll(text, '\n', `\n${margin}`));
  }

  const show = (value) => (typeof value === 'string' ? value : inspect(value));

  // %s uses an object's own toString, if it has one that is more than Object's, and falls back to inspection.
  function asString(value) {
    if (typeof value === 'bigint') return `${value}n`;
    if (!isObject(value)) return typeof value === 'string' ? value : inspect(value);
    try {
      const own = readData(value, 'toString');
      if (kindOf(value) === 'Object' && typeof own === 'function' && own !== objectToString) return `${value}`;
    } catch { /* inspected below */ }
    return inspect(value, 1);
  }

  function asNumber(value, convert) {
    if (typeof value === 'bigint') return `${value}n`;
    try {
      return inspect(convert(value));
    } catch {
      return 'NaN';
    }
  }

  function asJson(value) {
    try {
      return `${stringify(value)}`;
    } catch {
      return '[not representable as JSON]';
    }
  }

  const directives = {
    __proto__: null,
    s: asString,
    d: (value) => asNumber(value, Number),
    i: (value) => asNumber(value, parseInt),
    f: (value) => asNumber(value, parseFloat),
    j: asJson,
    o: (value) => inspect(value),
    O: (value) => inspect(value),
    c: () => '',
  };
  const { Number, parseInt, parseFloat } = globalThis;

  function format(args) {
    let used = 0;
    let first = '';
    if (args.length > 1 && typeof args[0] === 'string') {
      used = 1;
      first = replace(args[0], /%[sdifjoOc%]/g, (mark) => {
        if (mark === '%%') return '%';
        return used < args.length ? directives[mark[1]](args[used++]) : mark;
      });
    }
    const rest = join(map(slice(args, used), show), ' ');
    return used === 0 ? rest : used < args.length ? `${first} ${rest}` : first;
  }

  // A guest may have broken the built-ins that formatting uses; its own program goes on all the same.
  function emit(level, args, prefix = '') {
    try {
      write(level, prefix + format(args));
    } catch {
      native.log(level, `${prefix}[could not be shown]`);
    }
  }

  const labelOf = (label) => (label === undefined ? 'default' : asString(label));

  function elapsed(label) {
    if (starts[label] === undefined) {
      write(WARN, `Timer '${label}' does not exist`);
      return null;
    }
    return `${label}: ${(native.now() - starts[label]).toFixed(3)}ms`;
  }

  // [[index, row], ...] of an array, a Map or an object; getters stay unread.
  function rowsOf(data) {
    const rows = [];
    if (kindOf(data) === 'Map') forEachOfMap(data, (value, key) => rows.push([show(key), value]));
    else for (const key of keys(data)) rows.push([key, getOwnPropertyDescriptor(data, key)?.value]);
    return rows.slice(0, 1000);
  }

  function table(data, columns) {
    const names = isArray(columns) ? columns.map(show) : [];
    let hasValues = false;
    const rows = rowsOf(data).map(([index, row]) => {
      const cells = { __proto__: null };
      if (!isObject(row)) {
        hasValues = true;
        return { index, cells, value: inspect(row) };
      }
      for (const key of keys(row)) {
        if (!names.includes(key)) {
          if (isArray(columns)) continue;
          names.push(key);
        }
        cells[key] = inspect(getOwnPropertyDescriptor(row, key)?.value, 1);
      }
      return { index, cells, value: '' };
    });
    const lines = rows.map(({ index, cells, value }) => [
      index, ...names.map((name) => cells[name] ?? ''), ...(hasValues ? [value] : []),
    ]);
    return draw(['(index)', ...names, ...(hasValues ? ['Values'] : [])], lines);
  }

  function draw(head, lines) {
    const widths = head.map((_, column) => Math.max(...[head, ...lines].map((line) => line[column].length)));
    const rule = (left, middle, right) => left + widths.map((width) => '─'.repeat(width + 2)).join(middle) + right;
    const row = (cells) => `│${cells.map((cell, column) => ` ${cell.padEnd(widths[column])} `).join('│')}│`;
    return [rule('┌', '┬', '┐'), row(head), rule('├', '┼', '┤'), ...lines.map(row), rule('└', '┴', '┘')].join('\n');
  }

  const methods = {
    debug: (...args) => emit(DEBUG, args),
    log: (...args) => emit(LOG, args),
    info: (...args) => emit(INFO, args),
    warn: (...args) => emit(WARN, args),
    error: (...args) => emit(ERROR, args),
    dir: (value) => emit(LOG, [inspect(value)]),
    trace: (...args) => {
      const stack = readData(new Error(), 'stack');
      // The frames up to the last one of this file are console's own.
      const frames = typeof stack === 'string' ? replace(stack, /^[^]*20-console\.js[^\n]*\n|\n$/g, '') : '';
      emit(LOG, [`Trace${args.length > 0 ? `: ${format(args)}` : ''}\n${frames}`]);
    },
    assert: (condition, ...args) => {
      if (!condition) emit(ERROR, args, args.length > 0 ? 'Assertion failed: ' : 'Assertion failed');
    },
    table: (data, columns) => {
      emit(LOG, [isObject(data) ? table(data, columns) : show(data)]);
    },
    count: (label) => {
      const name = labelOf(label);
      counts[name] = (counts[name] ?? 0) + 1;
      write(LOG, `${name}: ${counts[name]}`);
    },
    countReset: (label) => {
      delete counts[labelOf(label)];
    },
    time: (label) => {
      const name = labelOf(label);
      if (starts[name] === undefined) starts[name] = native.now();
      else write(WARN, `Timer '${name}' already exists`);
    },
    timeLog: (label, ...args) => {
      const text = elapsed(labelOf(label));
      if (text !== null) emit(LOG, args, args.length > 0 ? `${text} ` : text);
    },
    timeEnd: (label) => {
      const name = labelOf(label);
      const text = elapsed(name);
      delete starts[name];
      if (text !== null) write(LOG, text);
    },
    group: (...args) => {
      if (args.length > 0) emit(LOG, args);
      indent++;
    },
    groupEnd: () => {
      if (indent > 0) indent--;
    },
  };
  methods.groupCollapsed = methods.group;

  const { apply } = Reflect;
  const console = {};
  for (const name of keys(methods)) {
    const method = methods[name];
    // One guard for all of them: a value that fights back costs its own line, not the program.
    console[name] = { [name](...args) {
      try {
        apply(method, undefined, args);
      } catch {
        native.log(ERROR, `console.${name}: the value could not be shown`);
      }
    } }[name];
  }
  native.tag(console, 'console');
  native.defineGlobals({ console });
})
