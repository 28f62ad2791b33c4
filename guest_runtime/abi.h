/* The contract between a reactor guest and its host, written down once.
 *
 * README.md beside this file tells it in words; sandbox_host/abi.py repeats the numbers and a test
 * compares the two. Anything that changes here changes PML_ABI_VERSION.
 *
 * The guest never blocks in the host. It exports pml_start and pml_settle; each reads frames from the
 * inbox, runs until no job is runnable, leaves frames in the outbox and returns. At rest it has no stack.
 */
#ifndef PML_ABI_H
#define PML_ABI_H

#define PML_ABI_VERSION 1

/* The exchange block: one fixed address per guest build, told by pml_exchange(). Little-endian u32s
 * at these offsets, then one f64. */
#define PML_EXCHANGE_INBOX_POINTER 0   /* where the host writes frames for the guest */
#define PML_EXCHANGE_INBOX_BYTES 4     /* how much fits there; pml_reserve(n) makes room for more */
#define PML_EXCHANGE_OUTBOX_POINTER 8  /* where the guest left its frames */
#define PML_EXCHANGE_OUTBOX_BYTES 12   /* and how many bytes they take */
#define PML_EXCHANGE_STATE 16          /* one of PML_STATE_* */
#define PML_EXCHANGE_TIMER_MS 20       /* milliseconds until the next timer is due, or PML_NO_TIMER */
#define PML_EXCHANGE_FILES 24          /* not 0: the program waits for a FILES frame to use its mounts */
#define PML_EXCHANGE_RESERVED 28
#define PML_EXCHANGE_NOW_MS 32         /* f64, written by the host before each entry: the program's clock */
#define PML_EXCHANGE_BYTES 40

#define PML_NO_TIMER 0xFFFFFFFF

#define PML_STATE_WAITING 0  /* the program waits for calls or timers */
#define PML_STATE_FINISHED 1 /* a DONE or FAIL frame was left; no answer will change it */

/* A frame, in both directions: six u32s (kind, id, bytes of a, bytes of b, line, column), then a, then b.
 * No padding, but in the inbox a and b are each followed by one NUL byte. Line and column are 0 except in CALL: where in the program the call stands. */
#define PML_FRAME_HEADER_BYTES 24

/* host -> guest */
#define PML_FRAME_CONFIG 1  /* a: three u32 limits (log bytes, output bytes, calls), a u32 of 0, u64 seed; b: cwd */
#define PML_FRAME_RUN 2     /* a: source, UTF-8; b: arguments, JSON */
#define PML_FRAME_ENTRY 3   /* a: name of the exported function to call */
#define PML_FRAME_RESOLVE 4 /* id: call; a: value, JSON, empty for undefined */
#define PML_FRAME_REJECT 5  /* id: call; a: error, JSON object {name, message, code, tool, data} */
#define PML_FRAME_TICK 6    /* run the timers that are due */
#define PML_FRAME_FILES 7   /* this entry may block on files: go on with what waited for it */

/* guest -> host */
#define PML_FRAME_CALL 16 /* id: call; a: "server:tool"; b: arguments, JSON */
#define PML_FRAME_LOG 17  /* id: PML_LEVEL_*; a: text */
#define PML_FRAME_DONE 18 /* a: the program's value, JSON */
#define PML_FRAME_FAIL 19 /* id: PML_FAIL_*; a: error, JSON object {name, message, stack, tool, toolCode, code} */

/* Who ended the program. Only of LIMIT does the host believe the code: the rest is the program's own word. */
#define PML_FAIL_UNCAUGHT 0   /* it threw */
#define PML_FAIL_LIMIT 1      /* the guest runtime stopped it: code is the limit's name */
#define PML_FAIL_SYNTAX 2     /* it does not compile */
#define PML_FAIL_NOT_JSON 3   /* its value has no JSON form */
#define PML_FAIL_ARGUMENTS 4  /* its arguments could not be read */

#define PML_LOG_LINE_BYTES 16 /* what a line costs of the log limit beside its text: empty lines are not free */

#define PML_LEVEL_DEBUG 0
#define PML_LEVEL_LOG 1
#define PML_LEVEL_INFO 2
#define PML_LEVEL_WARN 3
#define PML_LEVEL_ERROR 4
#define PML_LEVEL_REJECTION 5 /* a rejection that nobody handled; the text is an error as in FAIL */

#endif
