/* A program's life: compiled as a function body or as a module, run, and ended by one DONE or FAIL frame. */
#include "guest.h"

#include <stdlib.h>
#include <string.h>

#define ENTRY_BYTES 128      /* of an exported function's name */
#define REJECTIONS_KEPT 16   /* unhandled rejections told per slice; a flood of them is not news */

bool pml_halted;
static JSValue describe, pick_entry;
static char entry[ENTRY_BYTES + 1];
static JSValue rejected[REJECTIONS_KEPT], reasons[REJECTIONS_KEPT];
static uint32_t rejected_count;

void pml_set_entry(const char *name, size_t bytes)
{
    if (bytes > ENTRY_BYTES)
        bytes = ENTRY_BYTES;
    memcpy(entry, name, bytes);
    entry[bytes] = 0;
}

static void finish(uint32_t kind, uint32_t reason, const char *json, size_t bytes)
{
    pml_frame frame = {kind, reason, (uint32_t)bytes, 0, 0, 0};

    if (pml_block.state == PML_STATE_FINISHED)
        return;
    if (!pml_emit(frame, json, NULL)) {
        static const char no_room[] = "{\"code\":\"memory_limit\",\"message\":\"out of memory\"}";
        pml_outbox_clear();
        frame.kind = PML_FRAME_FAIL;
        frame.id = PML_FAIL_LIMIT;
        frame.a_bytes = sizeof no_room - 1;
        pml_emit(frame, no_room, NULL);
    }
    pml_halted = frame.kind == PML_FRAME_FAIL;
    pml_block.state = PML_STATE_FINISHED;
}

/* Ends the run for a reason of the sandbox. Code and message are literals without characters to escape. */
void pml_fail(const char *code, const char *message)
{
    char json[256] = "{\"code\":\"";

    strcat(json, code);
    strcat(json, "\",\"message\":\"");
    strcat(json, message);
    strcat(json, "\"}");
    finish(PML_FRAME_FAIL, PML_FAIL_LIMIT, json, strlen(json));
}

/* As pml_fail, from inside a native function: the exception passes every catch and finally. */
JSValue pml_stop(JSContext *ctx, const char *code, const char *message)
{
    JSValue error;

    pml_fail(code, message);
    JS_ThrowInternalError(ctx, "%s", message);
    error = JS_GetException(ctx);
    JS_SetUncatchableError(ctx, error);
    return JS_Throw(ctx, error);
}

/* The facts of a thrown value as a JSON string value, or an exception. */
static JSValue facts_of(JSContext *ctx, JSValueConst thrown)
{
    JSValue facts = JS_Call(ctx, describe, JS_UNDEFINED, 1, &thrown), json;

    if (JS_IsException(facts))
        return facts;
    json = JS_JSONStringify(ctx, facts, JS_UNDEFINED, JS_UNDEFINED);
    JS_FreeValue(ctx, facts);
    return json;
}

static void finish_with_json(JSContext *ctx, uint32_t kind, uint32_t reason, JSValue json)
{
    size_t bytes;
    const char *text = JS_ToCStringLen(ctx, &bytes, json);

    JS_FreeValue(ctx, json);
    if (!text)
        return pml_fail("memory_limit", "out of memory");
    if (bytes > pml_limits.output_bytes)
        pml_fail("output_limit", "the result is larger than the output limit");
    else
        finish(kind, reason, text, bytes);
    JS_FreeCString(ctx, text);
}

/* Whether a thrown value is the engine's word that memory is out: where there is not even room for an error, it is
 * null. Believed only if an allocation did fail. */
static bool is_out_of_memory(JSContext *ctx, JSValueConst thrown)
{
    const char *text;
    bool found;

    if (!pml_allocation_failed)
        return false;
    if (JS_IsNull(thrown) || !JS_IsError(thrown))
        return JS_IsNull(thrown);
    text = JS_ToCString(ctx, thrown);
    found = !text || !strncmp(text, "InternalError:", 14); /* the message itself may have found no room */
    if (text)
        JS_FreeCString(ctx, text);
    else
        JS_FreeValue(ctx, JS_GetException(ctx));
    return found;
}

static void fail_with(JSContext *ctx, JSValueConst thrown, uint32_t reason)
{
    static const char unshown[] = "{\"name\":\"Error\",\"message\":\"an error that cannot be shown\"}";
    JSValue json;

    if (pml_block.state == PML_STATE_FINISHED)
        return;
    if (is_out_of_memory(ctx, thrown))
        return pml_fail("memory_limit", "out of memory");
    json = facts_of(ctx, thrown);
    if (JS_IsString(json))
        return finish_with_json(ctx, PML_FRAME_FAIL, reason, json);
    JS_FreeValue(ctx, JS_IsException(json) ? JS_GetException(ctx) : json);
    finish(PML_FRAME_FAIL, reason, unshown, sizeof unshown - 1);
}

static void fail_with_exception(JSContext *ctx, uint32_t reason)
{
    JSValue thrown = JS_GetException(ctx);

    fail_with(ctx, thrown, reason);
    JS_FreeValue(ctx, thrown);
}

static JSValue on_value(JSContext *ctx, JSValueConst this_value, int argc, JSValueConst *argv)
{
    JSValue json;

    (void)this_value;
    (void)argc;
    json = JS_JSONStringify(ctx, argv[0], JS_UNDEFINED, JS_UNDEFINED);
    if (JS_IsException(json))
        fail_with_exception(ctx, PML_FAIL_NOT_JSON);
    else if (JS_IsString(json))
        finish_with_json(ctx, PML_FRAME_DONE, 0, json);
    else
        finish(PML_FRAME_DONE, 0, "null", 4);
    return JS_UNDEFINED;
}

static JSValue on_error(JSContext *ctx, JSValueConst this_value, int argc, JSValueConst *argv)
{
    (void)this_value;
    (void)argc;
    fail_with(ctx, argv[0], PML_FAIL_UNCAUGHT);
    return JS_UNDEFINED;
}

/* Calls `then` when the promise resolves, on_error when it rejects. Consumes the promise. */
static void when(JSContext *ctx, JSValue promise, JSCFunction *then)
{
    JSValue resolved = JS_NewCFunction(ctx, then, "", 1), rejected_with = JS_NewCFunction(ctx, on_error, "", 1), result;

    result = JS_PromiseThen(ctx, promise, resolved, rejected_with);
    if (JS_IsException(result))
        fail_with_exception(ctx, PML_FAIL_UNCAUGHT);
    JS_FreeValue(ctx, result);
    JS_FreeValue(ctx, resolved);
    JS_FreeValue(ctx, rejected_with);
    JS_FreeValue(ctx, promise);
}

/* The program's value may itself be a promise: the run ends with what that becomes. Consumes the value. */
static void await_value(JSContext *ctx, JSValue value)
{
    JSValue capability[2], promise = JS_NewPromiseCapability(ctx, capability), result;

    if (JS_IsException(promise)) {
        fail_with_exception(ctx, PML_FAIL_UNCAUGHT);
    } else {
        result = JS_Call(ctx, capability[0], JS_UNDEFINED, 1, &value);
        JS_FreeValue(ctx, result);
        JS_FreeValue(ctx, capability[0]);
        JS_FreeValue(ctx, capability[1]);
        when(ctx, promise, on_value);
    }
    JS_FreeValue(ctx, value);
}

/* A function body resolves to {value}: what it returned, or its last expression. */
static JSValue on_body(JSContext *ctx, JSValueConst this_value, int argc, JSValueConst *argv)
{
    JSValue value = JS_GetPropertyStr(ctx, argv[0], "value");

    (void)this_value;
    (void)argc;
    if (JS_IsException(value))
        fail_with_exception(ctx, PML_FAIL_UNCAUGHT);
    else
        await_value(ctx, value);
    return JS_UNDEFINED;
}

static JSValue module_namespace;

static JSValue on_module(JSContext *ctx, JSValueConst this_value, int argc, JSValueConst *argv)
{
    JSValue global = JS_GetGlobalObject(ctx), arguments[3], value;

    (void)this_value;
    (void)argc;
    (void)argv;
    arguments[0] = module_namespace;
    arguments[1] = JS_NewString(ctx, entry);
    arguments[2] = JS_GetPropertyStr(ctx, global, "args");
    value = JS_Call(ctx, pick_entry, JS_UNDEFINED, 3, (JSValueConst *)arguments);
    JS_FreeValue(ctx, arguments[1]);
    JS_FreeValue(ctx, arguments[2]);
    JS_FreeValue(ctx, global);
    if (JS_IsException(value))
        fail_with_exception(ctx, PML_FAIL_UNCAUGHT);
    else
        await_value(ctx, value);
    return JS_UNDEFINED;
}

/* A function body is compiled inside a block, so that its declarations end with the run. The block's brace
 * stands on line -1 (0 would mean the default), so that every position is the program's own. */
static JSValue compile_body(JSContext *ctx, const char *source, size_t bytes)
{
    JSEvalOptions options = {.version = JS_EVAL_OPTIONS_VERSION,
                             .eval_flags = JS_EVAL_TYPE_GLOBAL | JS_EVAL_FLAG_ASYNC | JS_EVAL_FLAG_STRICT |
                                           JS_EVAL_FLAG_COMPILE_ONLY,
                             .filename = PML_PROGRAM_NAME,
                             .line_num = -1};
    char *block = malloc(bytes + 6);
    JSValue compiled;

    if (!block)
        return pml_no_memory(ctx);
    memcpy(block, "{\n\n", 3);
    memcpy(block + 3, source, bytes);
    memcpy(block + 3 + bytes, "\n}", 3);
    compiled = JS_Eval2(ctx, block, bytes + 5, &options);
    free(block);
    return compiled;
}

static JSValue compile_module(JSContext *ctx, const char *source, size_t bytes)
{
    return JS_Eval(ctx, source, bytes, PML_PROGRAM_NAME, JS_EVAL_TYPE_MODULE | JS_EVAL_FLAG_COMPILE_ONLY);
}

static void run_module(JSContext *ctx, JSValue compiled)
{
    JSModuleDef *module = JS_VALUE_GET_PTR(compiled);
    JSValue promise = JS_EvalFunction(ctx, compiled);

    if (JS_IsException(promise))
        return fail_with_exception(ctx, PML_FAIL_UNCAUGHT);
    JS_FreeValue(ctx, module_namespace);
    module_namespace = JS_GetModuleNamespace(ctx, module);
    when(ctx, promise, on_module);
}

static bool set_arguments(JSContext *ctx, const char *json, size_t bytes)
{
    JSValue global = JS_GetGlobalObject(ctx), arguments = JS_ParseJSON(ctx, json, bytes, "<arguments>");
    bool good = !JS_IsException(arguments) &&
                JS_DefinePropertyValueStr(ctx, global, "args", arguments,
                                          JS_PROP_WRITABLE | JS_PROP_CONFIGURABLE) >= 0;

    JS_FreeValue(ctx, global);
    if (!good)
        fail_with_exception(ctx, PML_FAIL_ARGUMENTS);
    return good;
}

/* Source and arguments are followed by a NUL, which the parser needs; the caller sees to it. */
void pml_run(const char *source, size_t source_bytes, const char *arguments, size_t arguments_bytes)
{
    JSContext *ctx = pml_context;
    JSValue compiled, promise, first_error;

    if (!set_arguments(ctx, arguments, arguments_bytes))
        return;
    if (entry[0]) { /* only a module has exports to call */
        compiled = compile_module(ctx, source, source_bytes);
        if (JS_IsException(compiled))
            return fail_with_exception(ctx, PML_FAIL_SYNTAX);
        return run_module(ctx, compiled);
    }
    compiled = compile_body(ctx, source, source_bytes);
    if (!JS_IsException(compiled)) {
        promise = JS_EvalFunction(ctx, compiled);
        if (JS_IsException(promise))
            return fail_with_exception(ctx, PML_FAIL_UNCAUGHT);
        return when(ctx, promise, on_body);
    }
    first_error = JS_GetException(ctx);
    compiled = compile_module(ctx, source, source_bytes);
    if (!JS_IsException(compiled)) {
        run_module(ctx, compiled);
    } else if (memmem(source, source_bytes, "export", 6) || memmem(source, source_bytes, "import", 6)) {
        fail_with_exception(ctx, PML_FAIL_SYNTAX);
    } else {
        JS_FreeValue(ctx, JS_GetException(ctx));
        fail_with(ctx, first_error, PML_FAIL_SYNTAX);
    }
    JS_FreeValue(ctx, first_error);
}

static void on_rejection(JSContext *ctx, JSValueConst promise, JSValueConst reason, bool handled, void *opaque)
{
    uint32_t i;

    (void)opaque;
    if (!handled) {
        if (rejected_count < REJECTIONS_KEPT) {
            rejected[rejected_count] = JS_DupValue(ctx, promise);
            reasons[rejected_count++] = JS_DupValue(ctx, reason);
        }
        return;
    }
    for (i = 0; i < rejected_count; i++) {
        if (JS_VALUE_GET_PTR(rejected[i]) != JS_VALUE_GET_PTR(promise))
            continue;
        JS_FreeValue(ctx, rejected[i]);
        JS_FreeValue(ctx, reasons[i]);
        rejected[i] = rejected[--rejected_count];
        reasons[i] = reasons[rejected_count];
        return;
    }
}

/* A rejection that nobody handled by the end of a slice is told in the log: it would be lost otherwise. */
void pml_report_rejections(void)
{
    JSContext *ctx = pml_context;

    while (rejected_count > 0) {
        JSValue reason = reasons[--rejected_count], json = facts_of(ctx, reason);
        const char *text = NULL;
        size_t bytes;

        JS_FreeValue(ctx, rejected[rejected_count]);
        JS_FreeValue(ctx, reason);
        if (JS_IsString(json))
            text = JS_ToCStringLen(ctx, &bytes, json);
        if (text)
            pml_log(PML_LEVEL_REJECTION, text, bytes);
        else
            JS_FreeValue(ctx, JS_GetException(ctx));
        if (text)
            JS_FreeCString(ctx, text);
        JS_FreeValue(ctx, json);
    }
}

static JSValue native_describe(JSContext *ctx, JSValueConst this_value, int argc, JSValueConst *argv)
{
    (void)this_value;
    (void)argc;
    describe = JS_DupValue(ctx, argv[0]);
    return JS_UNDEFINED;
}

static JSValue native_entry(JSContext *ctx, JSValueConst this_value, int argc, JSValueConst *argv)
{
    (void)this_value;
    (void)argc;
    pick_entry = JS_DupValue(ctx, argv[0]);
    return JS_UNDEFINED;
}

void pml_program_natives(JSContext *ctx, JSValue native)
{
    module_namespace = describe = pick_entry = JS_UNDEFINED;
    pml_define(ctx, native, "describe", native_describe, 1);
    pml_define(ctx, native, "entry", native_entry, 1);
    JS_SetHostPromiseRejectionTracker(JS_GetRuntime(ctx), on_rejection, NULL);
}
