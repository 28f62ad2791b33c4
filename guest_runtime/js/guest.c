/* The QuickJS guest: made once by pml_init when it is built, then entered by pml_start and pml_settle. */
#include "guest.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "prelude.h"

#define STACK_BYTES (512 * 1024) /* of the shadow stack's 1 MiB: deeper recursion is a RangeError */
#define GC_THRESHOLD (8 * 1024 * 1024) /* bytes in use before cycles are first collected: each collection writes to
                                        * every object, so it un-shares the whole image */

#define SPARE_HEAP_BYTES (512 * 1024) /* free at the end of the heap, so that a small program need not grow it */

JSRuntime *pml_runtime;
JSContext *pml_context;
pml_config pml_limits;
bool pml_allocation_failed;

/* The allocator of libc, which also remembers that it failed: the program may not even get an error object then. */
static void *tell(void *memory)
{
    if (!memory)
        pml_allocation_failed = true;
    return memory;
}

static void *new_zeroed(void *opaque, size_t count, size_t size)
{
    (void)opaque;
    return tell(calloc(count, size));
}

static void *new_bytes(void *opaque, size_t size)
{
    (void)opaque;
    return tell(malloc(size));
}

static void free_bytes(void *opaque, void *memory)
{
    (void)opaque;
    free(memory);
}

static void *resize_bytes(void *opaque, void *memory, size_t size)
{
    (void)opaque;
    return tell(realloc(memory, size));
}

static size_t usable_bytes(const void *memory)
{
    return malloc_usable_size((void *)memory);
}

static const JSMallocFunctions allocator = {new_zeroed, new_bytes, free_bytes, resize_bytes, usable_bytes};

static JSModuleDef *refuse_import(JSContext *ctx, const char *name, void *opaque)
{
    (void)opaque;
    JS_ThrowReferenceError(ctx, "cannot import '%s': a program is one file, and reaches the outside through mcp", name);
    return NULL;
}

static bool run_prelude(JSContext *ctx, JSValueConst native)
{
    unsigned i;

    for (i = 0; i < PML_PRELUDE_COUNT; i++) {
        JSValue function = JS_Eval(ctx, (const char *)PML_PRELUDE[i].text, PML_PRELUDE[i].len, PML_PRELUDE[i].name,
                                   JS_EVAL_TYPE_GLOBAL);
        JSValue result = JS_IsException(function) ? JS_EXCEPTION : JS_Call(ctx, function, JS_UNDEFINED, 1, &native);
        JS_FreeValue(ctx, function);
        if (JS_IsException(result))
            return false;
        JS_FreeValue(ctx, result);
    }
    return true;
}

/* Tells the builder why the prelude failed: its first line goes to standard error. */
static int tell_failure(JSContext *ctx)
{
    JSValue error = JS_GetException(ctx), stack = JS_GetPropertyStr(ctx, error, "stack");
    const char *message = JS_ToCString(ctx, error), *where = JS_ToCString(ctx, stack);

    fprintf(stderr, "prelude: %s\n%s\n", message ? message : "?", where ? where : "?");
    return 1;
}

__attribute__((export_name("pml_init"))) int pml_init(void)
{
    JSContext *ctx;
    JSValue native;

    pml_exchange_init();
    pml_runtime = JS_NewRuntime2(&allocator, NULL);
    JS_SetMaxStackSize(pml_runtime, STACK_BYTES);
    JS_SetGCThreshold(pml_runtime, GC_THRESHOLD);
    JS_SetModuleLoaderFunc(pml_runtime, NULL, refuse_import, NULL);
    pml_context = ctx = JS_NewContext(pml_runtime);
    native = JS_NewObject(ctx);
    pml_natives(ctx, native);
    pml_calls_natives(ctx, native);
    pml_program_natives(ctx, native);
    pml_files_natives(ctx, native);
    if (!run_prelude(ctx, native))
        return tell_failure(ctx);
    JS_FreeValue(ctx, native);
    while (JS_ExecutePendingJob(pml_runtime, &ctx) > 0)
        continue;
    JS_RunGC(pml_runtime);
    pml_files_init();
    free(malloc(SPARE_HEAP_BYTES));
    return 0;
}

static void run_jobs(void)
{
    JSContext *ctx;

    while (!pml_halted && JS_ExecutePendingJob(pml_runtime, &ctx) != 0)
        continue; /* a job that threw was a promise's own affair */
}

static void apply(const pml_frame *frame, char *a, char *b)
{
    switch (frame->kind) {
    case PML_FRAME_CONFIG:
        memcpy(&pml_limits, a, sizeof pml_limits);
        pml_set_cwd(b, frame->b_bytes);
        pml_set_entry("", 0);
        pml_natives_begin();
        pml_calls_begin();
        break;
    case PML_FRAME_ENTRY:
        pml_set_entry(a, frame->a_bytes);
        break;
    case PML_FRAME_RUN:
        pml_run(a, frame->a_bytes, b, frame->b_bytes);
        break;
    case PML_FRAME_RESOLVE:
    case PML_FRAME_REJECT:
        pml_settle_call(frame->kind == PML_FRAME_RESOLVE, frame->id, a, frame->a_bytes);
        break;
    case PML_FRAME_TICK:
        while (!pml_halted && pml_run_one_timer())
            run_jobs();
        break;
    case PML_FRAME_FILES:
        pml_files_turn();
        break;
    default:
        break;
    }
}

/* Reads the frames in the inbox's first `bytes`. A and b are each followed by a NUL, which the parsers need. */
static void read_inbox(uint32_t bytes)
{
    char *at = (char *)(uintptr_t)pml_block.inbox, *end = at + bytes;

    while ((size_t)(end - at) >= sizeof(pml_frame)) {
        pml_frame frame;
        char *a, *b;

        memcpy(&frame, at, sizeof frame);
        a = at + sizeof frame;
        b = a + frame.a_bytes + 1;
        at = b + frame.b_bytes + 1;
        if (at > end)
            return;
        apply(&frame, a, b);
        run_jobs();
    }
}

static uint32_t enter(uint32_t bytes)
{
    pml_enter_clock();
    pml_outbox_clear();
    read_inbox(bytes);
    run_jobs();
    pml_files_close();
    pml_report_rejections();
    pml_block.timer_ms = pml_timer_ms();
    return pml_block.state;
}

__attribute__((export_name("pml_start"))) uint32_t pml_start(uint32_t bytes)
{
    pml_block.state = PML_STATE_WAITING;
    pml_halted = false;
    pml_allocation_failed = false;
    return enter(bytes);
}

__attribute__((export_name("pml_settle"))) uint32_t pml_settle(uint32_t bytes)
{
    return enter(bytes);
}
