// setTimeout and setInterval over the program's clock, and queueMicrotask. A binary heap ordered by due time, then by creation; the host is told
// only of the earliest. The C side calls the tick function again while it returns true, draining jobs in between, so
// that promises settle between two timers.
(function (native) {
  'use strict';
  const { apply } = Reflect;
  const { uncurry, describeError } = native;
  const lookUp = uncurry(Map.prototype.get);
  const remember = uncurry(Map.prototype.set);
  const forget = uncurry(Map.prototype.delete);
  const { Number, isNaN } = globalThis;
  const { trunc } = Math;

  const ERROR = 4;
  const LONGEST_DELAY_MS = 2 ** 31 - 1;
  // As in HTML: timers that keep starting timers wait 4 ms from the sixth on. Without it a loop of zero delays would
  // never give the host its turn, and the answers that the loop waits for would never come.
  const FREE_NESTING = 5;
  const NESTED_DELAY_MS = 4;

  // Elements are written by index only: Array.prototype.push and pop belong to the guest. A timer knows its place,
  // so clearing one is as cheap as starting it.
  const heap = { __proto__: null };
  let size = 0;
  const timers = new Map();
  let lastId = 0;
  let lastSequence = 0;
  let nesting = 0;

  const isBefore = (a, b) => a.due < b.due || (a.due === b.due && a.sequence < b.sequence);

  function place(timer, index) {
    heap[index] = timer;
    timer.index = index;
  }

  function rise(timer, from) {
    let index = from;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!isBefore(timer, heap[parent])) break;
      place(heap[parent], index);
      index = parent;
    }
    place(timer, index);
  }

  function sink(timer, from) {
    let index = from;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= size) break;
      if (child + 1 < size && isBefore(heap[child + 1], heap[child])) child++;
      if (!isBefore(heap[child], timer)) break;
      place(heap[child], index);
      index = child;
    }
    place(timer, index);
  }

  function enqueue(timer) {
    const least = timer.nesting > FREE_NESTING ? NESTED_DELAY_MS : 0;
    timer.due = native.now() + (timer.delay < least ? least : timer.delay);
    timer.sequence = ++lastSequence;
    rise(timer, size++);
  }

  function dequeue(timer) {
    const last = heap[--size];
    delete heap[size];
    if (last === timer) return;
    rise(last, timer.index);
    sink(last, last.index);
  }

  const arm = () => native.arm(size > 0 ? heap[0].due : Infinity);

  function delayOf(value) {
    const delay = trunc(Number(value));
    if (isNaN(delay) || delay < 0) return 0;
    return delay > LONGEST_DELAY_MS ? LONGEST_DELAY_MS : delay;
  }

  function start(name, callback, delay, args, repeats) {
    if (typeof callback !== 'function') throw new TypeError(`${name}: the callback must be a function`);
    const timer = {
      __proto__: null, id: ++lastId, callback, args, repeats, delay: delayOf(delay), nesting: nesting + 1,
      due: 0, sequence: 0, index: -1,
    };
    remember(timers, timer.id, timer);
    enqueue(timer);
    arm();
    return timer.id;
  }

  function clear(id) {
    const timer = lookUp(timers, Number(id));
    if (!timer) return;
    forget(timers, timer.id);
    // A timer whose callback is running is not in the heap.
    if (timer.index >= 0) dequeue(timer);
    arm();
  }

  native.onBegin(() => {
    while (size > 0) {
      forget(timers, heap[0].id);
      dequeue(heap[0]);
    }
    nesting = 0;
    arm();
  });

  function report(error, where) {
    native.log(ERROR, `uncaught error in ${where}: ${describeError(error)}`);
  }

  function run(timer) {
    dequeue(timer);
    timer.index = -1;
    if (!timer.repeats) forget(timers, timer.id);
    nesting = timer.nesting;
    try {
      apply(timer.callback, undefined, timer.args);
    } catch (error) {
      report(error, 'timer');
    }
    if (timer.repeats && lookUp(timers, timer.id)) {
      timer.nesting++;
      enqueue(timer);
    }
  }

  native.onTick(() => {
    const isDue = () => size > 0 && heap[0].due <= native.now();
    if (isDue()) run(heap[0]);
    arm();
    return isDue();
  });

  const { queueMicrotask: enqueueJob } = globalThis;

  native.defineGlobals({
    // The engine's own drops what its callback throws.
    queueMicrotask: function queueMicrotask(callback) {
      if (typeof callback !== 'function') throw new TypeError('queueMicrotask: the callback must be a function');
      enqueueJob(() => {
        try {
          callback();
        } catch (error) {
          report(error, 'microtask');
        }
      });
    },
    setTimeout: function setTimeout(callback, delay, ...args) {
      return start('setTimeout', callback, delay, args, false);
    },
    setInterval: function setInterval(callback, delay, ...args) {
      return start('setInterval', callback, delay, args, true);
    },
    clearTimeout: function clearTimeout(id) {
      clear(id);
    },
    clearInterval: function clearInterval(id) {
      clear(id);
    },
  });
})
