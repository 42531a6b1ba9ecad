/* A disk that fails or remembers: loaded before libc, for files below one folder.
 *
 * disk_arm(n, kind, lasting)   let the n-th operation from now fail; kind 1 ENOSPC, 2 EIO, 3 a short write,
 *                              4 a failing sync, 5 the process is killed before it; lasting: and every later
 *                              one of that kind
 * disk_count()                 operations since disk_arm
 * disk_mark(number)            write a mark into the log
 *
 * DISK_ROOT is the folder. With DISK_LOG every operation is appended to that file:
 * kind, length of path, path, offset, length of data, data (integers of 8 bytes).
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static long fail_at, count;
static int fail_kind, lasting;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void disk_arm(long n, int kind, int last) { fail_at = n; fail_kind = kind; lasting = last; count = 0; }
long disk_count(void) { return count; }

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static int inside(const char *path) {
    const char *root = getenv("DISK_ROOT");
    return root && path && strncmp(path, root, strlen(root)) == 0;
}

static int path_of(int fd, char *path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, PATH_MAX - 1);
    if (n < 0) return 0;
    path[n] = 0;
    return inside(path);
}

static void record(char kind, const char *path, int64_t offset, const void *data, int64_t size) {
    static int log = -1;
    const char *name = getenv("DISK_LOG");
    if (!name) return;
    pthread_mutex_lock(&lock);
    if (log < 0) log = REAL(open)(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    int64_t length = (int64_t)strlen(path);
    char *block = malloc(1 + 24 + (size_t)length + (size_t)size), *at = block;
    *at++ = kind;
    memcpy(at, &length, 8); at += 8;
    memcpy(at, path, (size_t)length); at += length;
    memcpy(at, &offset, 8); at += 8;
    memcpy(at, &size, 8); at += 8;
    if (size) { memcpy(at, data, (size_t)size); at += size; }
    if (REAL(write)(log, block, (size_t)(at - block)) != at - block) abort();
    free(block);
    pthread_mutex_unlock(&lock);
}

void disk_mark(long number) { record('M', "", number, "", 0); }

/* 0: go on; 1: fail with errno; 2: write half. */
static int verdict(int is_write, int is_sync) {
    count++;
    if (!fail_at || count < fail_at || (count > fail_at && !lasting)) return 0;
    if (fail_kind == 1) { if (!is_write) return 0; errno = ENOSPC; return 1; }
    if (fail_kind == 2) { errno = EIO; return 1; }
    if (fail_kind == 3) return is_write ? 2 : 0;
    if (fail_kind == 4) { if (!is_sync) return 0; errno = EIO; return 1; }
    if (fail_kind == 5) raise(SIGKILL);
    return 0;
}

ssize_t write(int fd, const void *data, size_t size) {
    char path[PATH_MAX];
    if (!path_of(fd, path)) return REAL(write)(fd, data, size);
    int said = verdict(1, 0);
    if (said == 1) return -1;
    if (said == 2 && size > 1) size /= 2;
    int appends = fcntl(fd, F_GETFL) & O_APPEND;
    struct stat status;
    off_t at = appends && fstat(fd, &status) == 0 ? status.st_size : lseek(fd, 0, SEEK_CUR);
    ssize_t n = REAL(write)(fd, data, size);
    if (n > 0) record('W', path, at, data, n);
    return n;
}

static ssize_t place(int fd, const void *data, size_t size, off64_t at) {
    char path[PATH_MAX];
    if (!path_of(fd, path)) return REAL(pwrite64)(fd, data, size, at);
    int said = verdict(1, 0);
    if (said == 1) return -1;
    if (said == 2 && size > 1) size /= 2;
    ssize_t n = REAL(pwrite64)(fd, data, size, at);
    if (n > 0) record('W', path, at, data, n);
    return n;
}
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at) { return place(fd, data, size, at); }
ssize_t pwrite(int fd, const void *data, size_t size, off_t at) { return place(fd, data, size, at); }

static int sync_one(int fd, int (*real)(int)) {
    char path[PATH_MAX];
    if (!path_of(fd, path)) return real(fd);
    if (verdict(0, 1)) return -1;
    int done = real(fd);
    if (done == 0) record('S', path, 0, "", 0);
    return done;
}
int fsync(int fd) { return sync_one(fd, REAL(fsync)); }
int fdatasync(int fd) { return sync_one(fd, REAL(fdatasync)); }

static int cut(int fd, off64_t size) {
    char path[PATH_MAX];
    if (!path_of(fd, path)) return REAL(ftruncate64)(fd, size);
    if (verdict(0, 0)) return -1;
    int done = REAL(ftruncate64)(fd, size);
    if (done == 0) record('T', path, size, "", 0);
    return done;
}
int ftruncate64(int fd, off64_t size) { return cut(fd, size); }
int ftruncate(int fd, off_t size) { return cut(fd, size); }

int rename(const char *from, const char *to) {
    if (!inside(to)) return REAL(rename)(from, to);
    if (verdict(0, 0)) return -1;
    int done = REAL(rename)(from, to);
    if (done == 0) record('R', from, 0, to, (int64_t)strlen(to));
    return done;
}
int link(const char *from, const char *to) {
    if (!inside(to)) return REAL(link)(from, to);
    if (verdict(0, 0)) return -1;
    int done = REAL(link)(from, to);
    if (done == 0) record('L', from, 0, to, (int64_t)strlen(to));
    return done;
}
int unlink(const char *path) {
    if (!inside(path)) return REAL(unlink)(path);
    if (verdict(0, 0)) return -1;
    int done = REAL(unlink)(path);
    if (done == 0) record('U', path, 0, "", 0);
    return done;
}

static int made(int fd, const char *path, int flags, int existed) {
    if (fd >= 0 && inside(path)) {
        if ((flags & O_CREAT) && !existed) record('C', path, 0, "", 0);
        else if (flags & O_TRUNC) record('T', path, 0, "", 0);
    }
    return fd;
}
#define OPEN(name)                                                              \
    int name(const char *path, int flags, ...) {                                \
        __builtin_va_list more;                                                 \
        __builtin_va_start(more, flags);                                        \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? __builtin_va_arg(more, mode_t) : 0; \
        __builtin_va_end(more);                                                 \
        int existed = inside(path) && access(path, F_OK) == 0;                  \
        if ((flags & O_CREAT) && inside(path) && verdict(0, 0)) return -1;      \
        return made(REAL(name)(path, flags, mode), path, flags, existed);       \
    }
OPEN(open)
OPEN(open64)
