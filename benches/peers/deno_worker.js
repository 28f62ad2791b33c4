// Measures Workers from inside Deno; prints {figure: [seconds or bytes]}. See deno_worker.py.
const [name, countText, extra] = Deno.args;
const count = Number(countText);

// The worker runs what it is sent as the body of an async function, with `mcp(tool, args)`.
const SOURCE = `
const waiting = new Map();
let last = 0;
const mcp = (tool, args) => new Promise((resolve) => {
  waiting.set(++last, resolve);
  postMessage({call: last, tool, args});
});
const AsyncFunction = (async () => {}).constructor;
onmessage = async ({data}) => {
  if (data.answer !== undefined) {
    waiting.get(data.answer)(data.value);
    waiting.delete(data.answer);
    return;
  }
  postMessage({value: await new AsyncFunction("mcp", "args", data.code)(mcp, data.args)});
};`;
const URL_OF_WORKER = "data:application/javascript," + encodeURIComponent(SOURCE);

const open = () => new Worker(URL_OF_WORKER, { type: "module", deno: { permissions: "none" } });

const run = (worker, code, args, host) =>
  new Promise((resolve, reject) => {
    worker.onerror = reject;
    worker.onmessage = async ({ data }) => {
      if (data.call === undefined) return resolve(data.value);
      worker.postMessage({ answer: data.call, value: await host(data.tool, data.args) });
    };
    worker.postMessage({ code, args });
  });

const now = () => performance.now() / 1000;
const sleep = (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));
const expect = (found, wanted) => {
  if (found !== wanted) throw new Error(`${found} instead of ${wanted}`);
};

async function timed(warmUp, work) {
  for (let i = 0; i < warmUp; i++) await work();
  const samples = [];
  for (let i = 0; i < count; i++) {
    const began = now();
    await work();
    samples.push(now() - began);
  }
  return samples;
}

function resident() {
  const text = Deno.readTextFileSync("/proc/self/smaps_rollup");
  const of = (field) => Number(text.match(new RegExp(`^${field}:\\s+(\\d+)`, "m"))[1]) * 1024;
  return [of("Pss"), of("Private_Clean") + of("Private_Dirty")];
}

async function longestGap(work) {
  let before = now(), longest = 0, on = true;
  const beat = () => {
    longest = Math.max(longest, now() - before);
    before = now();
    if (on) setTimeout(beat, 1);
  };
  setTimeout(beat, 1);
  await work();
  await sleep(0.01);
  on = false;
  return longest;
}

const measures = {
  async fresh() {
    const once = async () => {
      const worker = open();
      expect(await run(worker, "return 1+1"), 2);
      worker.terminate();
    };
    return { fresh: await timed(5, once) };
  },

  async warm() {
    const worker = open();
    const samples = await timed(20, async () => expect(await run(worker, "return 1+1"), 2));
    worker.terminate();
    return { warm: samples };
  },

  async hostCall() {
    const worker = open();
    const code = `let total = 0;
      for (let i = 0; i < 1000; i++) total += (await mcp("math:add", {a: i, b: 1})).sum;
      return total`;
    const host = async (_, args) => ({ sum: args.a + args.b });
    const once = async () => expect(await run(worker, code, {}, host), 500500);
    const samples = (await timed(2, once)).map((seconds) => seconds / 1000);
    worker.terminate();
    return { host_call: samples };
  },

  async parallel() {
    const worker = open();
    const code = `const calls = Array.from({length: 20}, (_, i) => mcp("slow:echo", {i}));
      return (await Promise.all(calls)).length`;
    const host = async (_, args) => (await sleep(0.05), args.i);
    const samples = await timed(1, async () => expect(await run(worker, code, {}, host), 20));
    worker.terminate();
    return { parallel: samples };
  },

  async json() {
    const rows = JSON.parse(Deno.readTextFileSync(extra));
    const worker = open();
    const code = "return args.sort((one, other) => one.score - other.score)";
    const once = async () => expect((await run(worker, code, rows)).length, rows.length);
    const samples = await timed(2, once);
    worker.terminate();
    return { json: samples };
  },

  async memory() {
    const workers = [];
    const more = async (number) => {
      for (let i = 0; i < number; i++) {
        workers.push(open());
        expect(await run(workers.at(-1), "return 1+1"), 2);
      }
    };
    await more(5);
    const before = resident();
    await more(count);
    const after = resident();
    for (const worker of workers) worker.terminate();
    return {
      idle_pss: [(after[0] - before[0]) / count],
      idle_uss: [(after[1] - before[1]) / count],
    };
  },

  async heartbeat() {
    const loops = [], floods = [], times = [];
    for (let i = 0; i < count; i++) {
      const worker = open();
      loops.push(await longestGap(async () => {
        run(worker, "while (true) {}");
        await sleep(0.3);
        worker.terminate();
      }));
    }
    for (let i = 0; i < Number(extra); i++) {
      const worker = open();
      let answered = 0;
      const began = now();
      floods.push(await longestGap(() =>
        new Promise((resolve) => {
          const host = async (_, args) => {
            if (++answered === 100000) resolve();
            return { sum: args.a + args.b };
          };
          const code = `for (let i = 0; i < 100000; i++) mcp("math:add", {a: i, b: 1}); return 1`;
          run(worker, code, {}, host);
        })
      ));
      times.push(now() - began);
      worker.terminate();
    }
    return floods.length ? { loop_gap: loops, flood_gap: floods, flood: times } : { loop_gap: loops };
  },

  async first() {
    const worker = open();
    expect(await run(worker, "return 1+1"), 2);
    worker.terminate();
    return now(); // since the process began
  },
};

console.log(JSON.stringify(await measures[name]()));
Deno.exit(0);
