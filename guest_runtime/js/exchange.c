/* The inbox and the outbox: two growing buffers whose addresses stand in the exchange block. */
#include "guest.h"

#include <stdlib.h>
#include <string.h>

#define INBOX_START 65536       /* most answers fit; larger ones ask for room with pml_reserve */
#define OUTBOX_START 16384      /* a few calls and log lines */
#define OUTBOX_KEEP (1u << 20)  /* a larger outbox is given back when the host has read it */

pml_exchange_block pml_block;
static uint32_t outbox_room;

void pml_exchange_init(void)
{
    pml_block.inbox = (uint32_t)(uintptr_t)malloc(INBOX_START);
    pml_block.inbox_bytes = INBOX_START;
    pml_block.outbox = (uint32_t)(uintptr_t)malloc(OUTBOX_START);
    outbox_room = OUTBOX_START;
    pml_block.timer_ms = PML_NO_TIMER;
}

__attribute__((export_name("pml_exchange"))) uint32_t pml_exchange(void)
{
    return (uint32_t)(uintptr_t)&pml_block;
}

/* Makes the inbox at least `bytes` large; 0 when memory is out. Its old content is lost. */
__attribute__((export_name("pml_reserve"))) uint32_t pml_reserve(uint32_t bytes)
{
    void *larger;

    if (bytes <= pml_block.inbox_bytes)
        return pml_block.inbox;
    larger = malloc(bytes);
    if (!larger)
        return 0;
    free((void *)(uintptr_t)pml_block.inbox);
    pml_block.inbox = (uint32_t)(uintptr_t)larger;
    pml_block.inbox_bytes = bytes;
    return pml_block.inbox;
}

void pml_outbox_clear(void)
{
    pml_block.outbox_bytes = 0;
    if (outbox_room > OUTBOX_KEEP) {
        void *smaller = realloc((void *)(uintptr_t)pml_block.outbox, OUTBOX_START);
        if (smaller) {
            pml_block.outbox = (uint32_t)(uintptr_t)smaller;
            outbox_room = OUTBOX_START;
        }
    }
}

static bool make_room(uint64_t bytes)
{
    uint64_t needed = (uint64_t)pml_block.outbox_bytes + bytes, room = outbox_room;
    void *larger;

    if (needed <= room)
        return true;
    while (room < needed)
        room *= 2;
    if (room > UINT32_MAX / 2)
        return false;
    larger = realloc((void *)(uintptr_t)pml_block.outbox, (size_t)room);
    if (!larger)
        return false;
    pml_block.outbox = (uint32_t)(uintptr_t)larger;
    outbox_room = (uint32_t)room;
    return true;
}

bool pml_emit(pml_frame frame, const char *a, const char *b)
{
    char *at;

    if (!make_room(sizeof frame + (uint64_t)frame.a_bytes + frame.b_bytes))
        return false;
    at = (char *)(uintptr_t)pml_block.outbox + pml_block.outbox_bytes;
    memcpy(at, &frame, sizeof frame);
    memcpy(at + sizeof frame, a, frame.a_bytes);
    if (frame.b_bytes)
        memcpy(at + sizeof frame + frame.a_bytes, b, frame.b_bytes);
    pml_block.outbox_bytes += (uint32_t)sizeof frame + frame.a_bytes + frame.b_bytes;
    return true;
}
