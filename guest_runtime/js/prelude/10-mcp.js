// The program's one exit, `mcp.<server>.<tool>(args)`, and the errors that pass through it.
(function (native) {
  'use strict';
  const { call } = native;
  const { create, defineProperty, keys } = Object;
  const NativeError = Error;
  const NativeProxy = Proxy;
  const text = String;

  class McpError extends Error {
    constructor(message, facts = {}) {
      super(message);
      this.tool = facts.tool;
      this.code = facts.code;
      this.data = facts.data;
    }
  }
  defineProperty(McpError.prototype, 'name', { value: 'McpError', writable: true, configurable: true });

  const refuse = () => {
    throw new TypeError('mcp cannot be changed');
  };
  // Without a prototype: a trap that is missing here must not be looked up in the program's Object.prototype.
  const frozen = { __proto__: null, set: refuse, defineProperty: refuse, deleteProperty: refuse, setPrototypeOf: refuse };

  // A server as an object of its tools. `await mcp.fs` asks for `then`: it gets the server without that name,
  // so that awaiting ends, while `mcp.fs.then({...})` still calls a tool named so.
  const server = (name) => {
    const tools = create(null);
    const settled = new NativeProxy(create(null), {
      __proto__: null,
      ...frozen,
      get: (_, tool) => (tool === 'then' ? undefined : toolOf(tool)),
    });
    const toolOf = (tool) => {
      if (typeof tool !== 'string') return undefined;
      return (tools[tool] ??= (args) => call(name, tool, args));
    };
    tools.then = (args, reject) => {
      if (typeof args === 'function' && typeof reject === 'function') return void args(settled);
      return call(name, 'then', args);
    };
    return new NativeProxy(create(null), { __proto__: null, ...frozen, get: (_, tool) => toolOf(tool) });
  };

  const servers = create(null);
  const mcp = new NativeProxy(create(null), {
    __proto__: null,
    ...frozen,
    get: (_, name) => (typeof name === 'string' ? (servers[name] ??= server(name)) : undefined),
  });
  defineProperty(globalThis, 'mcp', { value: mcp, writable: false, configurable: false, enumerable: false });
  defineProperty(globalThis, 'McpError', { value: McpError, writable: true, configurable: true, enumerable: false });

  native.reviveError((facts, line, column) => {
    const error = new McpError(facts.message, facts);
    defineProperty(error, 'stack', {
      value: line ? `    at program:${line}:${column}\n` : '',
      writable: true,
      configurable: true,
    });
    return error;
  });

  const part = (value, key) => {
    try {
      const found = value[key];
      return found === undefined || found === null ? undefined : found;
    } catch {
      return undefined;
    }
  };
  const textOf = (value) => {
    try {
      return text(value);
    } catch {
      return 'a value that cannot be shown';
    }
  };

  const isErrorLike = (thrown) => {
    try {
      return thrown instanceof NativeError || (typeof thrown === 'object' && thrown !== null && 'message' in thrown);
    } catch {
      return false; // a Proxy that does not want to be looked at
    }
  };
  const isMcpError = (thrown) => {
    try {
      return thrown instanceof McpError;
    } catch {
      return false;
    }
  };

  // What is told of a thrown value. Nothing here may throw, whatever the program did to its errors, and the facts
  // have no prototype: a toJSON of the program must not rewrite them.
  native.describe((thrown) => {
    if (!isErrorLike(thrown)) return { __proto__: null, name: 'Uncaught', message: textOf(thrown) };
    const facts = {
      __proto__: null,
      name: textOf(part(thrown, 'name') ?? 'Error'),
      message: textOf(part(thrown, 'message') ?? ''),
      stack: textOf(part(thrown, 'stack') ?? ''),
    };
    if (isMcpError(thrown)) {
      facts.tool = textOf(part(thrown, 'tool') ?? '');
      facts.toolCode = textOf(part(thrown, 'code') ?? '');
    }
    return facts;
  });

  // Which export of a module is the program: the one asked for, `callTool` for a module that answers for many,
  // the default, or the only function.
  native.entry((exports, wanted, args) => {
    const names = keys(exports);
    const functions = [];
    for (const name of names) if (typeof exports[name] === 'function') functions[functions.length] = name;
    if (wanted) {
      if (typeof exports[wanted] === 'function') return exports[wanted](args);
      if (typeof exports.callTool === 'function') return exports.callTool(wanted, args);
      throw new NativeError(`the module exports no function '${wanted}'; it exports: ${functions.join(', ') || 'none'}`);
    }
    if (typeof exports.default === 'function') return exports.default(args);
    if (functions.length === 1) return exports[functions[0]](args);
    if (functions.length === 0) return exports.default;
    throw new NativeError(`the module exports several functions; name the one to call: ${functions.join(', ')}`);
  });
})
