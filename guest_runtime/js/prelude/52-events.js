// Event, CustomEvent, EventTarget, AbortController and AbortSignal (WHATWG DOM, sections 2 and 3), without a tree: an
// event has one target and no path.
(function (native) {
  'use strict';
  const { isObject, describeError } = native;
  const { DOMException, TypeError, setTimeout } = globalThis;
  const { apply } = Reflect;

  let startDispatch;
  let endDispatch;
  let isStopped;

  class Event {
    #type;
    #flags;
    #target = null;
    #isDispatching = false;
    #stopped = false;
    #prevented = false;
    #passive = false;
    #timeStamp = native.now();

    static {
      startDispatch = (event, target) => {
        if (event.#isDispatching) throw new DOMException('The event is already being dispatched', 'InvalidStateError');
        event.#isDispatching = true;
        event.#target = target;
      };
      endDispatch = (event) => {
        event.#isDispatching = false;
        event.#stopped = false;
        return !event.#prevented;
      };
      isStopped = (event, isPassive) => {
        event.#passive = isPassive;
        return event.#stopped;
      };
    }

    constructor(type, options = {}) {
      if (arguments.length === 0) throw new TypeError('Event: 1 argument required');
      this.#type = `${type}`;
      const { bubbles = false, cancelable = false, composed = false } = options ?? {};
      this.#flags = { bubbles: Boolean(bubbles), cancelable: Boolean(cancelable), composed: Boolean(composed) };
    }

    get type() { return this.#type; }
    get target() { return this.#target; }
    get currentTarget() { return this.#isDispatching ? this.#target : null; }
    get eventPhase() { return this.#isDispatching ? 2 : 0; }
    get bubbles() { return this.#flags.bubbles; }
    get cancelable() { return this.#flags.cancelable; }
    get composed() { return this.#flags.composed; }
    get defaultPrevented() { return this.#prevented; }
    get timeStamp() { return this.#timeStamp; }
    get isTrusted() { return false; }

    composedPath() {
      return this.#isDispatching ? [this.#target] : [];
    }

    preventDefault() {
      if (this.#flags.cancelable && !this.#passive) this.#prevented = true;
    }

    // There is nothing to propagate to; only the immediate kind has an effect.
    stopPropagation() {}

    stopImmediatePropagation() {
      this.#stopped = true;
    }
  }

  class CustomEvent extends Event {
    #detail;

    constructor(type, options = {}) {
      super(type, options);
      this.#detail = options?.detail ?? null;
    }

    get detail() { return this.#detail; }
  }

  function callListener(callback, target, event) {
    try {
      if (typeof callback === 'function') apply(callback, target, [event]);
      else callback.handleEvent(event);
    } catch (error) {
      native.log(4, `uncaught error in event listener: ${describeError(error)}`);
    }
  }

  class EventTarget {
    #listeners = [];

    addEventListener(type, callback, options = {}) {
      if (callback === null || callback === undefined) return;
      if (!isObject(callback)) throw new TypeError('addEventListener: the listener must be a function or an object');
      const { capture, once, passive, signal } = isObject(options) ? options : { capture: options };
      if (signal?.aborted) return;
      const listener = {
        type: `${type}`, callback, capture: Boolean(capture), once: Boolean(once), passive: Boolean(passive), removed: false,
      };
      if (this.#find(listener)) return;
      this.#listeners.push(listener);
      signal?.addEventListener('abort', () => this.#drop(listener), { once: true });
    }

    removeEventListener(type, callback, options = {}) {
      const capture = Boolean(isObject(options) ? options.capture : options);
      const listener = this.#find({ type: `${type}`, callback, capture });
      if (listener) this.#drop(listener);
    }

    dispatchEvent(event) {
      if (!(event instanceof Event)) throw new TypeError('dispatchEvent: an Event is required');
      startDispatch(event, this);
      // Listeners added meanwhile wait for the next event; those removed meanwhile are skipped.
      for (const listener of this.#listeners.filter(({ type }) => type === event.type)) {
        if (listener.removed) continue;
        if (isStopped(event, listener.passive)) break;
        if (listener.once) this.#drop(listener);
        callListener(listener.callback, this, event);
      }
      return endDispatch(event);
    }

    #find({ type, callback, capture }) {
      return this.#listeners.find((known) => (
        known.type === type && known.callback === callback && known.capture === capture));
    }

    #drop(listener) {
      listener.removed = true;
      this.#listeners = this.#listeners.filter((known) => known !== listener);
    }
  }

  // Only this file may make a signal, and only its controller may abort it.
  const MAKING = Symbol('making');
  let abort;

  class AbortSignal extends EventTarget {
    #aborted = false;
    #reason = undefined;
    #handler = null;
    #listensForHandler = false;
    #dependents = [];

    static {
      abort = (signal, reason = new DOMException('The operation was aborted', 'AbortError')) => {
        // All are marked before any listener runs, so that none sees a half-aborted family.
        const family = [signal, ...signal.#dependents].filter((member) => !member.#aborted);
        for (const member of family) {
          member.#aborted = true;
          member.#reason = reason;
          member.#dependents = [];
        }
        for (const member of family) member.dispatchEvent(new Event('abort'));
      };
    }

    static abort(reason = undefined) {
      const signal = new AbortSignal(MAKING);
      abort(signal, reason);
      return signal;
    }

    static timeout(milliseconds) {
      const signal = new AbortSignal(MAKING);
      setTimeout(() => abort(signal, new DOMException('The operation timed out', 'TimeoutError')), milliseconds);
      return signal;
    }

    static any(signals) {
      const sources = [...signals];
      const result = new AbortSignal(MAKING);
      const aborted = sources.find((source) => source.#aborted);
      if (aborted) abort(result, aborted.#reason);
      else for (const source of sources) source.#follow(result);
      return result;
    }

    constructor(token) {
      if (token !== MAKING) throw new TypeError('AbortSignal: use AbortController, AbortSignal.timeout() or AbortSignal.any()');
      super();
    }

    // Sources of sources are told too: a dependent hangs on every signal that can abort it.
    #follow(dependent) {
      this.#dependents.push(dependent);
      this.#sources?.forEach((source) => source.#follow(dependent));
      dependent.#sources = [...(dependent.#sources ?? []), this];
    }

    #sources = null;

    get aborted() { return this.#aborted; }
    get reason() { return this.#reason; }
    get onabort() { return this.#handler; }

    set onabort(handler) {
      this.#handler = typeof handler === 'function' ? handler : null;
      if (this.#listensForHandler) return;
      this.#listensForHandler = true;
      this.addEventListener('abort', (event) => this.#handler && apply(this.#handler, this, [event]));
    }

    throwIfAborted() {
      if (this.#aborted) throw this.#reason;
    }
  }

  class AbortController {
    #signal = new AbortSignal(MAKING);

    get signal() { return this.#signal; }

    abort(reason = undefined) {
      abort(this.#signal, reason);
    }
  }

  const classes = { Event, CustomEvent, EventTarget, AbortSignal, AbortController };
  for (const [name, value] of Object.entries(classes)) native.tag(value.prototype, name);
  native.inspectAs(Event, ({ type, defaultPrevented, cancelable, timeStamp }) => ({ type, defaultPrevented, cancelable, timeStamp }));
  native.inspectAs(AbortSignal, ({ aborted, reason }) => (aborted ? { aborted, reason } : { aborted }));
  native.inspectAs(AbortController, ({ signal }) => ({ signal }));
  native.defineGlobals(classes);
})
