/* The small services behind console, timers, crypto and text encoding. */
#include "guest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BEGINNERS 4 /* prelude files that keep state of a run */
#define RANDOM_BYTES_AT_ONCE 256 /* what getentropy gives in one call */

static uint64_t logged_bytes;
static JSValue run_timer;
static JSValue beginners[BEGINNERS];
static uint32_t beginner_count;
static double timer_due = INFINITY;
static uint64_t random_state;
static double entered_at; /* monotonic clock when this slice began */

static double monotonic_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* The program's clock: the host's word at entry, plus what this slice has taken. It stands still while the
 * program is suspended and goes on after a restore, whatever clock the new machine has. */
static double program_now(void)
{
    if (entered_at == 0)
        entered_at = monotonic_ms();
    return pml_block.now_ms + (monotonic_ms() - entered_at);
}

void pml_enter_clock(void)
{
    entered_at = 0;
}

uint32_t pml_timer_ms(void)
{
    double left;

    if (isinf(timer_due))
        return PML_NO_TIMER;
    left = ceil(timer_due - program_now());
    return left <= 0 ? 0 : left >= PML_NO_TIMER ? PML_NO_TIMER - 1 : (uint32_t)left;
}

/* Runs at most one due timer; true when another is due, so that jobs run between them. */
bool pml_run_one_timer(void)
{
    JSContext *ctx = pml_context;
    JSValue more;
    bool again;

    if (timer_due > program_now())
        return false;
    more = JS_Call(ctx, run_timer, JS_UNDEFINED, 0, NULL);
    if (JS_IsException(more)) {
        JS_FreeValue(ctx, JS_GetException(ctx));
        return false;
    }
    again = JS_ToBool(ctx, more);
    JS_FreeValue(ctx, more);
    return again;
}

/* A new program: nothing that the last one left running goes on in it. */
void pml_natives_begin(void)
{
    uint32_t i;

    logged_bytes = 0;
    random_state = pml_limits.seed | 1;
    for (i = 0; i < beginner_count; i++)
        JS_FreeValue(pml_context, JS_Call(pml_context, beginners[i], JS_UNDEFINED, 0, NULL));
}

bool pml_log(uint32_t level, const char *text, size_t bytes)
{
    pml_frame frame = {PML_FRAME_LOG, level, (uint32_t)bytes, 0, 0, 0};

    logged_bytes += bytes + PML_LOG_LINE_BYTES;
    return logged_bytes <= pml_limits.log_bytes && pml_emit(frame, text, NULL);
}

static JSValue native_log(JSContext *ctx, JSValueConst this_value, int argc, JSValueConst *argv)
{
    uint32_t level;
    size_t bytes;
    const char *text;
    bool kept;

    (void)this_value;
    (void)argc;
    if (JS_ToUint32(ctx, &level, argv[0]))
        return JS_EXCEPTION;
    text = JS_ToCStringLen(ctx, &bytes, argv[1]);
    if (!text)
        return JS_EXCEPTION;
    kept = pml_log(level, text, bytes);
    JS_FreeCString(ctx, text);
    if (!kept)
        return pml_stop(ctx, "log_limit", "the console output is larger than the log limit");
    return JS_UNDEFINED;
}

static JSValue native_now(JSContext *ctx, JSValueConst this_value, int argc, JSValueConst *argv)
{
    (void)this_value;
    (void)argc;
    (void)argv;
    return JS_NewFloat64(ctx, program_now());
}

static JSValue native_arm(JSContext *ctx, JSValueConst this_value, int argc, JSValueConst *argv)
{
    (void)this_value;
    (void)argc;
    if (JS_ToFloat64(ctx, &timer_due, argv[0]))
        return JS_EXCEPTION;
    if (isnan(timer_due))
        timer_due = INFINITY;
    return JS_UNDEFINED;
}

static JSValue native_on_tick(JSContext *ctx, JSValueConst this_value, int argc, JSValueConst *argv)
{
    (void)this_value;
    (void)argc;
    run_timer = JS_DupValue(ctx, argv[0]);
    return JS_UNDEFINED;
}

static JSValue native_on_begin(JSContext *ctx, JSValueConst this_value, int argc, JSValueConst *argv)
{
    (void)this_value;
    (void)argc;
    if (beginner_count == BEGINNERS)
        return JS_ThrowInternalError(ctx, "too many files keep state of a run");
    beginners[beginner_count++] = JS_DupValue(ctx, argv[0]);
    return JS_UNDEFINED;
}

static JSValue native_random(JSContext *ctx, JSValueConst this_value, int argc, JSValueConst *argv)
{
    size_t bytes, done, part;
    uint8_t *into = JS_GetUint8Array(ctx, &bytes, argv[0]);

    (void)this_value;
    (void)argc;
    if (!into)
        return JS_EXCEPTION;
    for (done = 0; done < bytes; done += part) {
        part = bytes - done < RANDOM_BYTES_AT_ONCE ? bytes - done : RANDOM_BYTES_AT_ONCE;
        if (getentropy(into + done, part))
            return JS_ThrowInternalError(ctx, "no source of randomness");
    }
    return JS_UNDEFINED;
}

/* Math.random: QuickJS seeds its own when the context is made, which for us is when the guest was built. */
static JSValue math_random(JSContext *ctx, JSValueConst this_value, int argc, JSValueConst *argv)
{
    uint64_t x = random_state;

    (void)this_value;
    (void)argc;
    (void)argv;
    x ^= x >> 12; /* xorshift64* */
    x ^= x << 25;
    x ^= x >> 27;
    random_state = x;
    return JS_NewFloat64(ctx, (double)((x * 0x2545F4914F6CDD1DULL) >> 11) * 0x1p-53);
}

static JSValue native_encode(JSContext *ctx, JSValueConst this_value, int argc, JSValueConst *argv)
{
    size_t bytes, i;
    const char *text = JS_ToCStringLen(ctx, &bytes, argv[0]);
    JSValue array;
    uint8_t *out;

    (void)this_value;
    (void)argc;
    if (!text)
        return JS_EXCEPTION;
    array = JS_NewUint8ArrayCopy(ctx, (const uint8_t *)text, bytes);
    JS_FreeCString(ctx, text);
    if (JS_IsException(array))
        return array;
    out = JS_GetUint8Array(ctx, &bytes, array);
    for (i = 0; i + 2 < bytes; i++) { /* a lone surrogate comes as ED A0..BF xx: make it U+FFFD */
        if (out[i] == 0xED && out[i + 1] >= 0xA0) {
            out[i] = 0xEF;
            out[i + 1] = 0xBF;
            out[i + 2] = 0xBD;
        }
    }
    return array;
}

/* Length of the well-formed sequence at `at`, or minus the length of the ill-formed part to replace. */
static int sequence(const uint8_t *at, size_t left)
{
    uint8_t lead = at[0], low = 0x80, high = 0xBF;
    int length, i;

    if (lead < 0x80)
        return 1;
    length = lead >= 0xC2 && lead <= 0xDF ? 2 : (lead & 0xF0) == 0xE0 ? 3 : lead >= 0xF0 && lead <= 0xF4 ? 4 : 0;
    if (!length)
        return -1;
    if (lead == 0xE0)
        low = 0xA0;
    if (lead == 0xED)
        high = 0x9F;
    if (lead == 0xF0)
        low = 0x90;
    if (lead == 0xF4)
        high = 0x8F;
    for (i = 1; i < length; i++) {
        if ((size_t)i >= left || at[i] < low || at[i] > high)
            return -i;
        low = 0x80;
        high = 0xBF;
    }
    return length;
}

static JSValue native_decode(JSContext *ctx, JSValueConst this_value, int argc, JSValueConst *argv)
{
    size_t bytes, at, out_bytes = 0;
    uint8_t *from = JS_GetUint8Array(ctx, &bytes, argv[0]);
    int fatal = JS_ToBool(ctx, argv[1]), length;
    char *out;
    JSValue text;

    (void)this_value;
    (void)argc;
    if (!from)
        return JS_EXCEPTION;
    out = malloc(bytes * 3 + 1);
    if (!out)
        return pml_no_memory(ctx);
    for (at = 0; at < bytes;) {
        length = sequence(from + at, bytes - at);
        if (length < 0 && fatal) {
            free(out);
            return JS_ThrowTypeError(ctx, "the encoded data is not valid UTF-8");
        }
        if (length < 0) {
            memcpy(out + out_bytes, "\xEF\xBF\xBD", 3);
            out_bytes += 3;
            at += (size_t)-length;
        } else {
            memcpy(out + out_bytes, from + at, (size_t)length);
            out_bytes += (size_t)length;
            at += (size_t)length;
        }
    }
    text = JS_NewStringLen(ctx, out, out_bytes);
    free(out);
    return text;
}

void pml_natives(JSContext *ctx, JSValue native)
{
    JSValue global = JS_GetGlobalObject(ctx), math = JS_GetPropertyStr(ctx, global, "Math");

    run_timer = JS_UNDEFINED;
    JS_DefinePropertyValueStr(ctx, math, "random", JS_NewCFunction(ctx, math_random, "random", 0),
                              JS_PROP_WRITABLE | JS_PROP_CONFIGURABLE);
    JS_FreeValue(ctx, math);
    JS_FreeValue(ctx, global);
    pml_define(ctx, native, "log", native_log, 2);
    pml_define(ctx, native, "now", native_now, 0);
    pml_define(ctx, native, "arm", native_arm, 1);
    pml_define(ctx, native, "onTick", native_on_tick, 1);
    pml_define(ctx, native, "onBegin", native_on_begin, 1);
    pml_define(ctx, native, "random", native_random, 1);
    pml_define(ctx, native, "encode", native_encode, 1);
    pml_define(ctx, native, "decode", native_decode, 2);
}
