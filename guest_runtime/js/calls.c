/* Host calls: each is recorded in the outbox with its place in the program and a promise of its answer. */
#include "guest.h"

#include <stdlib.h>
#include <string.h>

#define NAME_BYTES 128      /* of a server or a tool: MCP itself allows 64, registries a little more */
#define TABLE_START 64      /* always a power of two */

typedef struct {
    uint32_t id; /* 0: free */
    uint32_t line, column;
    JSValue resolve, reject;
} pending_call;

static pending_call *table;
static uint32_t table_size, table_used, next_id = 1;
static uint32_t last_id; /* the highest id that the limit on calls allows in this run */
static JSValue revive_error;

/* added to quickjs.c by sources.toml */
void pml_call_site(JSContext *ctx, const char *file, int *line, int *column);

/* Ids are consecutive: spread them, or removing one would search through all its neighbours. */
static uint32_t home_of(uint32_t id)
{
    return (id * 2654435761u >> 7) & (table_size - 1);
}

static pending_call *find(uint32_t id)
{
    uint32_t at = home_of(id);

    while (table[at].id != id && table[at].id != 0)
        at = (at + 1) & (table_size - 1);
    return &table[at];
}

static bool grow(void)
{
    pending_call *old = table;
    uint32_t old_size = table_size, i;

    if (table && table_used * 2 < table_size)
        return true;
    table = calloc(old_size ? old_size * 2 : TABLE_START, sizeof *table);
    if (!table) {
        table = old;
        return false;
    }
    table_size = old_size ? old_size * 2 : TABLE_START;
    for (i = 0; i < old_size; i++)
        if (old[i].id)
            *find(old[i].id) = old[i];
    free(old);
    return true;
}

/* Takes an entry out and closes the gap, so that no search stops early at it. */
static void forget(pending_call *entry)
{
    uint32_t hole = (uint32_t)(entry - table), at = hole;

    table_used--;
    for (;;) {
        uint32_t home;
        at = (at + 1) & (table_size - 1);
        if (table[at].id == 0)
            break;
        home = home_of(table[at].id);
        if (((at - home) & (table_size - 1)) >= ((at - hole) & (table_size - 1))) {
            table[hole] = table[at];
            hole = at;
        }
    }
    table[hole].id = 0;
}

static bool name_is_good(const char *name, size_t bytes, bool server)
{
    size_t i;

    if (bytes == 0 || bytes > NAME_BYTES)
        return false;
    for (i = 0; i < bytes; i++) {
        unsigned char c = (unsigned char)name[i];
        if (c < 0x20 || c == 0x7f || (server && c == ':'))
            return false;
        if (c == 0xED && i + 1 < bytes && (unsigned char)name[i + 1] >= 0xA0)
            return false; /* a lone surrogate is no text */
    }
    return true;
}

static bool argument_is_good(JSContext *ctx, JSValueConst value)
{
    return JS_IsUndefined(value) ||
           (JS_IsObject(value) && !JS_IsFunction(ctx, value) && JS_IsArray(value) == 0);
}

/* "server:tool" into `out`, or a TypeError. */
static bool tool_id(JSContext *ctx, JSValueConst *argv, char *out, size_t *bytes)
{
    size_t server_bytes, tool_bytes;
    const char *server = JS_ToCStringLen(ctx, &server_bytes, argv[0]);
    const char *tool = JS_ToCStringLen(ctx, &tool_bytes, argv[1]);
    bool good = server && tool && name_is_good(server, server_bytes, true) && name_is_good(tool, tool_bytes, false);

    if (good) {
        memcpy(out, server, server_bytes);
        out[server_bytes] = ':';
        memcpy(out + server_bytes + 1, tool, tool_bytes);
        *bytes = server_bytes + 1 + tool_bytes;
    } else if (server && tool) {
        JS_ThrowTypeError(ctx, "not a tool name: mcp.<server>.<tool> takes 1 to %d bytes each, no control "
                               "characters, no lone surrogates, no colon in the server", NAME_BYTES);
    }
    if (server)
        JS_FreeCString(ctx, server);
    if (tool)
        JS_FreeCString(ctx, tool);
    return good;
}

static JSValue record(JSContext *ctx, const char *tool, size_t tool_bytes, JSValueConst arguments)
{
    pml_frame frame = {PML_FRAME_CALL, 0, (uint32_t)tool_bytes, 2, 0, 0};
    JSValue capability[2], promise, json = JS_UNDEFINED;
    const char *text = "{}";
    size_t bytes = 2;
    pending_call *entry;
    bool emitted;

    if (!JS_IsUndefined(arguments)) {
        json = JS_JSONStringify(ctx, arguments, JS_UNDEFINED, JS_UNDEFINED);
        if (JS_IsException(json))
            return json;
        if (!JS_IsString(json)) /* a toJSON that gave nothing */
            return JS_ThrowTypeError(ctx, "%.*s: the arguments have no JSON form", (int)tool_bytes, tool);
        text = JS_ToCStringLen(ctx, &bytes, json);
        JS_FreeValue(ctx, json);
        if (!text)
            return JS_EXCEPTION;
        if (bytes == 0 || text[0] != '{') {
            JS_FreeCString(ctx, text);
            return JS_ThrowTypeError(ctx, "%.*s: the arguments must become a JSON object", (int)tool_bytes, tool);
        }
    }
    if (bytes > pml_limits.output_bytes) {
        if (!JS_IsUndefined(arguments))
            JS_FreeCString(ctx, text);
        return pml_stop(ctx, "output_limit", "the arguments of a call are larger than the output limit");
    }
    /* counted only now: the arguments' getters may have made calls of their own */
    if (next_id > last_id) {
        if (!JS_IsUndefined(arguments))
            JS_FreeCString(ctx, text);
        return pml_stop(ctx, "call_limit", "the program made more calls than its limit allows");
    }
    frame.id = next_id;
    pml_call_site(ctx, PML_PROGRAM_NAME, (int *)&frame.line, (int *)&frame.column);
    frame.b_bytes = (uint32_t)bytes;
    emitted = grow() && pml_emit(frame, tool, text);
    if (!JS_IsUndefined(arguments))
        JS_FreeCString(ctx, text);
    if (!emitted)
        return pml_no_memory(ctx);
    promise = JS_NewPromiseCapability(ctx, capability);
    if (JS_IsException(promise))
        return pml_stop(ctx, "memory_limit", "out of memory");
    entry = find(next_id);
    *entry = (pending_call){next_id, frame.line, frame.column, capability[0], capability[1]};
    table_used++;
    next_id++;
    return promise;
}

static JSValue native_call(JSContext *ctx, JSValueConst this_value, int argc, JSValueConst *argv)
{
    char tool[2 * NAME_BYTES + 1];
    size_t tool_bytes;

    (void)this_value;
    (void)argc;
    if (!tool_id(ctx, argv, tool, &tool_bytes))
        return JS_EXCEPTION;
    if (!argument_is_good(ctx, argv[2]))
        return JS_ThrowTypeError(ctx, "%.*s: the arguments must be one plain object", (int)tool_bytes, tool);
    return record(ctx, tool, tool_bytes, argv[2]);
}

static JSValue error_of(JSContext *ctx, const pending_call *entry, const char *json, size_t bytes)
{
    JSValue facts = JS_ParseJSON(ctx, json, bytes, "<answer>"), error;
    JSValueConst arguments[3];

    if (JS_IsException(facts))
        return JS_GetException(ctx);
    arguments[0] = facts;
    arguments[1] = JS_NewUint32(ctx, entry->line);
    arguments[2] = JS_NewUint32(ctx, entry->column);
    error = JS_Call(ctx, revive_error, JS_UNDEFINED, 3, arguments);
    JS_FreeValue(ctx, facts);
    return JS_IsException(error) ? JS_GetException(ctx) : error;
}

void pml_settle_call(bool ok, uint32_t id, const char *json, size_t bytes)
{
    JSContext *ctx = pml_context;
    JSValue value, result;
    pending_call entry, *slot;

    if (id == 0 || !table)
        return;
    slot = find(id);
    if (slot->id != id)
        return;
    entry = *slot;
    forget(slot);
    value = JS_UNDEFINED;
    if (!ok) {
        value = error_of(ctx, &entry, json, bytes);
    } else if (bytes) {
        value = JS_ParseJSON(ctx, json, bytes, "<answer>");
        if (JS_IsException(value)) { /* too deep, or memory is out */
            value = JS_GetException(ctx);
            ok = false;
        }
    }
    result = JS_Call(ctx, ok ? entry.resolve : entry.reject, JS_UNDEFINED, 1, &value);
    JS_FreeValue(ctx, result);
    JS_FreeValue(ctx, value);
    JS_FreeValue(ctx, entry.resolve);
    JS_FreeValue(ctx, entry.reject);
}

static JSValue native_revive_error(JSContext *ctx, JSValueConst this_value, int argc, JSValueConst *argv)
{
    (void)this_value;
    (void)argc;
    revive_error = JS_DupValue(ctx, argv[0]);
    return JS_UNDEFINED;
}

void pml_calls_begin(void)
{
    last_id = pml_limits.calls < UINT32_MAX - next_id ? next_id - 1 + pml_limits.calls : UINT32_MAX - 1;
}

void pml_calls_natives(JSContext *ctx, JSValue native)
{
    revive_error = JS_UNDEFINED;
    pml_define(ctx, native, "call", native_call, 3);
    pml_define(ctx, native, "reviveError", native_revive_error, 1);
}
