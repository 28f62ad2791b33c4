"""Timers run in order of their due time, with promises settling in between."""

from collections.abc import Awaitable, Callable

from sandbox_host import Completed

Run = Callable[..., Awaitable[Completed]]


async def test_order_is_by_due_time_then_by_creation(run: Run) -> None:
    outcome = await run(
        """
        const order = [];
        await new Promise((done) => {
          setTimeout((...args) => { order.push(...args); done() }, 30, 'c', 'd');
          setTimeout(() => order.push('b'), 10);
          setTimeout(() => order.push('a1')); setTimeout(() => order.push('a2'), 0);
        });
        order
        """
    )
    assert outcome.value == ["a1", "a2", "b", "c", "d"]


async def test_microtasks_run_between_timers(run: Run) -> None:
    outcome = await run(
        """
        const order = [];
        await new Promise((done) => {
          setTimeout(() => { order.push('first'); queueMicrotask(() => order.push('micro')) }, 0);
          setTimeout(() => { order.push('second'); done() }, 0);
        });
        order
        """
    )
    assert outcome.value == ["first", "micro", "second"]


async def test_a_cleared_timer_does_not_run(run: Run) -> None:
    outcome = await run(
        """
        const seen = [];
        clearTimeout(setTimeout(() => seen.push('never'), 0));
        clearTimeout(undefined); clearInterval({}); clearTimeout(12345);
        await new Promise((done) => setTimeout(done, 5));
        seen
        """
    )
    assert outcome.value == []


async def test_an_interval_repeats_until_it_clears_itself(run: Run) -> None:
    outcome = await run(
        """
        let n = 0;
        await new Promise((done) => {
          const id = setInterval(() => { if (++n === 3) { clearInterval(id); done() } }, 1);
        });
        n
        """
    )
    assert outcome.value == 3


async def test_a_throwing_callback_is_logged_and_stops_nothing(run: Run) -> None:
    outcome = await run(
        """
        setTimeout(() => { throw new Error('boom') }, 0);
        queueMicrotask(() => { throw new Error('bang') });
        await new Promise((done) => setTimeout(done, 0));
        'alive'
        """
    )
    assert outcome.value == "alive"
    assert [(log.level, log.text.splitlines()[0]) for log in outcome.logs] == [
        ("error", "uncaught error in microtask: Error: bang"),
        ("error", "uncaught error in timer: Error: boom"),
    ]


async def test_ids_are_positive_integers_and_callbacks_are_functions(run: Run) -> None:
    outcome = await run(
        """
        const a = setTimeout(() => {}, 0), b = setInterval(() => {}, NaN);
        clearInterval(b);
        let refused; try { setTimeout('code') } catch (error) { refused = error.name }
        [Number.isInteger(a) && a > 0, b > a, refused]
        """
    )
    assert outcome.value == [True, True, "TypeError"]


async def test_ten_thousand_timers_keep_their_order(run: Run) -> None:
    outcome = await run(
        """
        const seen = [];
        const delayOf = (i) => (i * 7919) % 50;
        const start = (_, i) => setTimeout(() => seen.push(i), delayOf(i));
        const ids = Array.from({length: 10_000}, start);
        for (let i = 0; i < ids.length; i += 2) clearTimeout(ids[i]);
        await new Promise((done) => setTimeout(done, 100));
        seen.length
        """
    )
    assert outcome.value == 5_000


async def test_a_loop_of_zero_delays_lets_the_host_answer(run: Run) -> None:
    # A program that polls with zero delays must not keep the host out for ever.
    outcome = await run(
        """
        let ready = false;
        setTimeout(() => { ready = true }, 20);
        let turns = 0;
        while (!ready) { turns++; await new Promise((done) => setTimeout(done, 0)) }
        turns < 100
        """
    )
    assert outcome.value is True
