/* What the rooms of the QuickJS guest share: one runtime, one context, one exchange block.
 *
 * A guest instance runs one program at a time and no two threads, so plain statics are its state. All of
 * it lives in linear memory: a copy of that memory is a copy of the paused program.
 */
#ifndef PML_GUEST_H
#define PML_GUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi.h"
#include "quickjs.h"

#define PML_PROGRAM_NAME "program" /* the file name of user code in stack traces */

extern JSRuntime *pml_runtime;
extern JSContext *pml_context;

extern bool pml_allocation_failed; /* since the program began */

static inline JSValue pml_no_memory(JSContext *ctx)
{
    pml_allocation_failed = true;
    return JS_ThrowOutOfMemory(ctx);
}

typedef struct {
    uint32_t kind, id, a_bytes, b_bytes, line, column;
} pml_frame;

/* exchange.c: the block of abi.h, the inbox and the outbox */
typedef struct {
    uint32_t inbox, inbox_bytes, outbox, outbox_bytes, state, timer_ms, files, reserved;
    double now_ms;
} pml_exchange_block;
extern pml_exchange_block pml_block;
void pml_exchange_init(void);
void pml_outbox_clear(void);
bool pml_emit(pml_frame frame, const char *a, const char *b);

/* limits and clock of the run */
typedef struct {
    uint32_t log_bytes, output_bytes, calls, reserved;
    uint64_t seed;
} pml_config;
extern pml_config pml_limits;

/* program.c: how a run begins and ends */
extern bool pml_halted; /* the program failed: nothing of it may go on */
void pml_run(const char *source, size_t source_bytes, const char *arguments, size_t arguments_bytes);
void pml_set_entry(const char *name, size_t bytes);
void pml_fail(const char *code, const char *message);
JSValue pml_stop(JSContext *ctx, const char *code, const char *message);
void pml_report_rejections(void);
void pml_program_natives(JSContext *ctx, JSValue native);

/* calls.c: mcp.* calls that wait for the host */
void pml_settle_call(bool ok, uint32_t id, const char *json, size_t bytes);
void pml_calls_begin(void);
void pml_calls_natives(JSContext *ctx, JSValue native);

/* files.c: the mounts */
extern char pml_cwd[];
void pml_set_cwd(const char *path, size_t bytes);
void pml_files_turn(void);
void pml_files_close(void);
void pml_files_init(void);
void pml_files_natives(JSContext *ctx, JSValue native);

/* natives.c: console, clock, randomness, text */
void pml_natives_begin(void);
bool pml_log(uint32_t level, const char *text, size_t bytes);
bool pml_run_one_timer(void);
void pml_natives(JSContext *ctx, JSValue native);
uint32_t pml_timer_ms(void);
void pml_enter_clock(void);

static inline void pml_define(JSContext *ctx, JSValueConst table, const char *name, JSCFunction *function, int arguments)
{
    JS_SetPropertyStr(ctx, table, name, JS_NewCFunction(ctx, function, name, arguments));
}

#endif
