/* Files through the WASI preopens. Every function here may block, so it works only inside a file turn: an
 * entry that the host makes on a thread of its own. Permission is the host's affair; errors are passed on. */
#include "guest.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_BYTES 4096
#define MODE_APPEND 1
#define MODE_CREATE 2
#define MODE_NEW 4

void __wasilibc_reset_preopens(void); /* of wasi-libc, in no header */

char pml_cwd[PATH_BYTES] = "/";
static bool in_turn;
static JSValue *waiting;
static uint32_t waiting_count, waiting_room;

void pml_set_cwd(const char *path, size_t bytes)
{
    if (bytes == 0 || bytes >= PATH_BYTES) {
        strcpy(pml_cwd, "/");
        return;
    }
    memcpy(pml_cwd, path, bytes);
    pml_cwd[bytes] = 0;
}

static const char *errno_name(int number)
{
    static const struct {
        int number;
        const char *name;
    } names[] = {{ENOENT, "ENOENT"},   {EPERM, "EPERM"},     {EACCES, "EACCES"},     {EEXIST, "EEXIST"},
                 {ENOTDIR, "ENOTDIR"}, {EISDIR, "EISDIR"},   {ENOTEMPTY, "ENOTEMPTY"}, {EROFS, "EROFS"},
                 {EBADF, "EBADF"},     {ENOTCAPABLE, "ENOTCAPABLE"}, {ELOOP, "ELOOP"}, {EINVAL, "EINVAL"},
                 {ENAMETOOLONG, "ENAMETOOLONG"}, {ENOSPC, "ENOSPC"}, {EXDEV, "EXDEV"}, {ENOMEM, "ENOMEM"},
                 {ENOTSUP, "ENOTSUP"}, {EFBIG, "EFBIG"}, {EDQUOT, "EDQUOT"}, {EILSEQ, "EILSEQ"}};
    size_t i;

    for (i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].number == number)
            return names[i].name;
    return "EIO";
}

static JSValue fail(JSContext *ctx, int number)
{
    JSValue error = JS_NewError(ctx);

    if (JS_IsException(error))
        return error;
    JS_DefinePropertyValueStr(ctx, error, "errno", JS_NewString(ctx, errno_name(number)), JS_PROP_C_W_E);
    return JS_Throw(ctx, error);
}

/* The absolute path of a JavaScript string into `out`; false with an exception set. */
static bool path_of(JSContext *ctx, JSValueConst value, char *out)
{
    size_t bytes, used = 0;
    const char *path;
    int problem = 0;

    if (!in_turn) {
        JS_ThrowInternalError(ctx, "files are not open to this entry");
        return false;
    }
    path = JS_ToCStringLen(ctx, &bytes, value);
    if (!path)
        return false;
    if (memchr(path, 0, bytes))
        problem = EINVAL;
    else if (bytes == 0)
        problem = ENOENT;
    if (!problem && path[0] != '/') {
        used = strlen(pml_cwd);
        memcpy(out, pml_cwd, used);
        if (used && out[used - 1] != '/')
            out[used++] = '/';
    }
    if (!problem && used + bytes >= PATH_BYTES)
        problem = ENAMETOOLONG;
    if (!problem)
        memcpy(out + used, path, bytes + 1);
    JS_FreeCString(ctx, path);
    if (problem)
        fail(ctx, problem);
    return !problem;
}

/* The ArrayBuffer owns what was read: resized or, at size 0, freed by the engine. */
static void *resize_bytes(JSRuntime *runtime, void *opaque, void *bytes, size_t size)
{
    (void)runtime;
    (void)opaque;
    if (size)
        return realloc(bytes, size);
    free(bytes);
    return NULL;
}

static JSValue read_all(JSContext *ctx, int fd)
{
    struct stat facts;
    size_t room, used = 0;
    uint8_t *bytes, *larger;
    ssize_t got;

    if (fstat(fd, &facts))
        return fail(ctx, errno);
    room = facts.st_size > 0 && facts.st_size < UINT32_MAX / 2 ? (size_t)facts.st_size + 1 : 4096;
    bytes = malloc(room);
    while (bytes && (got = read(fd, bytes + used, room - used)) != 0) {
        if (got < 0) {
            free(bytes);
            return fail(ctx, errno);
        }
        used += (size_t)got;
        if (used == room) {
            larger = room > UINT32_MAX / 4 ? NULL : realloc(bytes, room *= 2);
            if (!larger)
                free(bytes);
            bytes = larger;
        }
    }
    if (!bytes)
        return pml_no_memory(ctx);
    return JS_NewUint8Array(ctx, bytes, used, resize_bytes, NULL, false);
}

static JSValue fs_read(JSContext *ctx, JSValueConst this_value, int argc, JSValueConst *argv)
{
    char path[PATH_BYTES];
    JSValue result;
    int fd;

    (void)this_value;
    (void)argc;
    if (!path_of(ctx, argv[0], path))
        return JS_EXCEPTION;
    fd = open(path, O_RDONLY);
    if (fd < 0)
        return fail(ctx, errno);
    result = read_all(ctx, fd);
    close(fd);
    return result;
}

static int open_for_writing(const char *path, uint32_t mode)
{
    int flags = O_WRONLY | (mode & MODE_APPEND ? O_APPEND : O_TRUNC);

    if (mode & MODE_CREATE)
        flags |= O_CREAT;
    if (mode & MODE_NEW)
        flags |= O_CREAT | O_EXCL;
    return open(path, flags, 0666);
}

static JSValue fs_write(JSContext *ctx, JSValueConst this_value, int argc, JSValueConst *argv)
{
    char path[PATH_BYTES];
    size_t bytes, done = 0;
    uint8_t *from;
    uint32_t mode;
    ssize_t wrote;
    int fd, problem = 0;

    (void)this_value;
    (void)argc;
    if (!path_of(ctx, argv[0], path) || JS_ToUint32(ctx, &mode, argv[2]))
        return JS_EXCEPTION;
    from = JS_GetUint8Array(ctx, &bytes, argv[1]);
    if (!from)
        return JS_EXCEPTION;
    fd = open_for_writing(path, mode);
    if (fd < 0)
        return fail(ctx, errno);
    while (done < bytes && !problem) {
        wrote = write(fd, from + done, bytes - done);
        if (wrote <= 0)
            problem = wrote < 0 ? errno : EIO;
        else
            done += (size_t)wrote;
    }
    if (close(fd) && !problem)
        problem = errno;
    return problem ? fail(ctx, problem) : JS_UNDEFINED;
}

static int kind_of_entry(unsigned char type)
{
    return type == DT_REG ? 1 : type == DT_DIR ? 2 : type == DT_LNK ? 3 : 0;
}

static int kind_of_mode(mode_t mode)
{
    return S_ISREG(mode) ? 1 : S_ISDIR(mode) ? 2 : S_ISLNK(mode) ? 3 : 0;
}

static JSValue fs_list(JSContext *ctx, JSValueConst this_value, int argc, JSValueConst *argv)
{
    char path[PATH_BYTES];
    struct dirent *one;
    JSValue list, pair;
    uint32_t count = 0;
    DIR *directory;

    (void)this_value;
    (void)argc;
    if (!path_of(ctx, argv[0], path))
        return JS_EXCEPTION;
    directory = opendir(path);
    if (!directory)
        return fail(ctx, errno);
    list = JS_NewArray(ctx);
    while (!JS_IsException(list) && (one = readdir(directory))) {
        if (!strcmp(one->d_name, ".") || !strcmp(one->d_name, ".."))
            continue;
        pair = JS_NewArray(ctx);
        JS_SetPropertyUint32(ctx, pair, 0, JS_NewString(ctx, one->d_name));
        JS_SetPropertyUint32(ctx, pair, 1, JS_NewInt32(ctx, kind_of_entry(one->d_type)));
        JS_SetPropertyUint32(ctx, list, count++, pair);
    }
    closedir(directory);
    return list;
}

static JSValue fs_stat(JSContext *ctx, JSValueConst this_value, int argc, JSValueConst *argv)
{
    char path[PATH_BYTES];
    struct stat facts;
    double numbers[5];
    JSValue list;
    uint32_t i;

    (void)this_value;
    (void)argc;
    if (!path_of(ctx, argv[0], path))
        return JS_EXCEPTION;
    if (JS_ToBool(ctx, argv[1]) ? stat(path, &facts) : lstat(path, &facts))
        return fail(ctx, errno);
    numbers[0] = kind_of_mode(facts.st_mode);
    numbers[1] = (double)facts.st_size;
    numbers[2] = (double)facts.st_mtim.tv_sec * 1e3 + (double)facts.st_mtim.tv_nsec / 1e6;
    numbers[3] = (double)facts.st_atim.tv_sec * 1e3 + (double)facts.st_atim.tv_nsec / 1e6;
    numbers[4] = (double)facts.st_ctim.tv_sec * 1e3 + (double)facts.st_ctim.tv_nsec / 1e6;
    list = JS_NewArray(ctx);
    for (i = 0; i < 5 && !JS_IsException(list); i++)
        JS_SetPropertyUint32(ctx, list, i, JS_NewFloat64(ctx, numbers[i]));
    return list;
}

enum { DO_MKDIR, DO_RMDIR, DO_UNLINK };

static JSValue fs_one_path(JSContext *ctx, JSValueConst this_value, int argc, JSValueConst *argv, int what)
{
    char path[PATH_BYTES];
    int result;

    (void)this_value;
    (void)argc;
    if (!path_of(ctx, argv[0], path))
        return JS_EXCEPTION;
    result = what == DO_MKDIR ? mkdir(path, 0777) : what == DO_RMDIR ? rmdir(path) : unlink(path);
    return result ? fail(ctx, errno) : JS_UNDEFINED;
}

static JSValue fs_rename(JSContext *ctx, JSValueConst this_value, int argc, JSValueConst *argv)
{
    char from[PATH_BYTES], to[PATH_BYTES];

    (void)this_value;
    (void)argc;
    if (!path_of(ctx, argv[0], from) || !path_of(ctx, argv[1], to))
        return JS_EXCEPTION;
    return rename(from, to) ? fail(ctx, errno) : JS_UNDEFINED;
}

static JSValue fs_cwd(JSContext *ctx, JSValueConst this_value, int argc, JSValueConst *argv)
{
    (void)this_value;
    (void)argc;
    (void)argv;
    return JS_NewString(ctx, pml_cwd);
}

static JSValue fs_turn(JSContext *ctx, JSValueConst this_value, int argc, JSValueConst *argv)
{
    JSValue capability[2], promise, *larger;

    (void)this_value;
    (void)argc;
    (void)argv;
    if (waiting_count == waiting_room) {
        larger = realloc(waiting, (waiting_room ? waiting_room * 2 : 16) * sizeof *waiting);
        if (!larger)
            return pml_no_memory(ctx);
        waiting = larger;
        waiting_room = waiting_room ? waiting_room * 2 : 16;
    }
    promise = JS_NewPromiseCapability(ctx, capability);
    if (JS_IsException(promise))
        return promise;
    JS_FreeValue(ctx, capability[1]);
    waiting[waiting_count++] = capability[0];
    pml_block.files = 1;
    return promise;
}

/* Lets everything that waits for files go on; the caller drains the jobs and ends the turn with pml_files_close. */
void pml_files_turn(void)
{
    JSContext *ctx = pml_context;
    uint32_t i, count = waiting_count;

    in_turn = true;
    waiting_count = 0;
    for (i = 0; i < count; i++) {
        JS_FreeValue(ctx, JS_Call(ctx, waiting[i], JS_UNDEFINED, 0, NULL));
        JS_FreeValue(ctx, waiting[i]);
    }
}

void pml_files_close(void)
{
    in_turn = false;
    pml_block.files = waiting_count != 0;
}

/* libc looked for folders when the guest was built and found none: it shall look again when it has some. */
void pml_files_init(void)
{
    __wasilibc_reset_preopens();
}

void pml_files_natives(JSContext *ctx, JSValue native)
{
    JSValue table = JS_NewObject(ctx);

    pml_define(ctx, table, "turn", fs_turn, 0);
    pml_define(ctx, table, "read", fs_read, 1);
    pml_define(ctx, table, "write", fs_write, 3);
    pml_define(ctx, table, "list", fs_list, 1);
    pml_define(ctx, table, "stat", fs_stat, 2);
    pml_define(ctx, table, "rename", fs_rename, 2);
    pml_define(ctx, table, "cwd", fs_cwd, 0);
    JS_SetPropertyStr(ctx, table, "mkdir", JS_NewCFunctionMagic(ctx, fs_one_path, "mkdir", 1, JS_CFUNC_generic_magic, DO_MKDIR));
    JS_SetPropertyStr(ctx, table, "rmdir", JS_NewCFunctionMagic(ctx, fs_one_path, "rmdir", 1, JS_CFUNC_generic_magic, DO_RMDIR));
    JS_SetPropertyStr(ctx, table, "unlink", JS_NewCFunctionMagic(ctx, fs_one_path, "unlink", 1, JS_CFUNC_generic_magic, DO_UNLINK));
    JS_SetPropertyStr(ctx, native, "fs", table);
}
