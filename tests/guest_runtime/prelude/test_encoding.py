"""TextEncoder, TextDecoder, atob and btoa as the standards have them."""

from collections.abc import Awaitable, Callable
from itertools import pairwise

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sandbox_host import Completed

Run = Callable[..., Awaitable[Completed]]

# `run` makes a fresh sandbox at each call, so examples may share the fixture.
SETTINGS = settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@SETTINGS
@given(data=st.binary(max_size=24), cuts=st.lists(st.integers(0, 24), max_size=4))
async def test_chunks_decode_to_the_same_text_as_the_whole(
    run: Run, data: bytes, cuts: list[int]
) -> None:
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    chunks = [list(data[start:end]) for start, end in pairwise(edges)]
    outcome = await run(
        f"""
        const decoder = new TextDecoder('utf-8', {{ignoreBOM: true}});
        let text = '';
        for (const chunk of {chunks}) {{
          text += decoder.decode(new Uint8Array(chunk), {{stream: true}});
        }}
        text + decoder.decode()
        """
    )
    assert outcome.value == data.decode("utf-8", errors="replace")


async def test_labels_options_and_inputs(run: Run) -> None:
    outcome = await run(
        r"""
        const nameOf = (act) => { try { act(); return null } catch (error) { return error.name } };
        const bom = new Uint8Array([0xef, 0xbb, 0xbf]);
        [
          new TextDecoder(' UTF8\n').encoding,
          nameOf(() => new TextDecoder('latin1')),
          nameOf(() => new TextDecoder('utf-8', {fatal: true}).decode(new Uint8Array([255]))),
          nameOf(() => new TextDecoder().decode('text')),
          new TextDecoder().decode(new DataView(new Uint8Array([65, 66]).buffer, 1)),
          new TextDecoder().decode(new Uint8Array([...bom, 65])),
          new TextDecoder('utf-8', {ignoreBOM: true}).decode(bom).length,
        ]
        """
    )
    assert outcome.value == ["utf-8", "RangeError", "TypeError", "TypeError", "B", "A", 1]


async def test_encode_into_never_splits_a_character(run: Run) -> None:
    outcome = await run(
        """
        const target = new Uint8Array(6);
        const {read, written} = new TextEncoder().encodeInto('aé€😀', target);
        [read, written, [...target], [...new TextEncoder().encode('\\ud800')]]
        """
    )
    assert outcome.value == [3, 6, [97, 195, 169, 226, 130, 172], [239, 191, 189]]


async def test_base64(run: Run) -> None:
    outcome = await run(
        """
        const nameOf = (act) => { try { return act() } catch (error) { return error.name } };
        [
          btoa('é'), atob(' aGVs bG8 '), atob('YQ'), atob('YWI='),
          ...['YWI==', 'a', 'ab=c', 'a-_b'].map((text) => nameOf(() => atob(text))),
          nameOf(() => btoa('€')),
          atob(btoa('x'.repeat(3000) + 'y'.repeat(3000))).length,
        ]
        """
    )
    refused = "InvalidCharacterError"
    assert outcome.value == ["6Q==", "hello", "a", "ab", *[refused] * 5, 6000]
