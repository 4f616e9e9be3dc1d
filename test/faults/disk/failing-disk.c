/*
 * Preloaded into a process: fails or shortens the n-th write, fsync or truncation of a file below a directory. What to do
 * is read from a page of memory that is a file, so that the process itself can say it: see failing-disk.ts.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

enum { FAILS = 1, FULL = 2, SHORT = 3 };

static struct control {
  volatile int how; /* 0: nothing fails */
  volatile int from; /* the first call that fails, counted from 1 */
  volatile int times; /* so many calls in a row fail */
  volatile int seen;
  volatile int failed;
} *control;

static char below[4096];

__attribute__((constructor)) static void begin(void) {
  const char *path = getenv("FAILING_DISK");
  const char *directory = getenv("FAILING_DISK_BELOW");
  int file = path ? open(path, O_RDWR) : -1;
  if (file < 0 || !directory) return;
  strncpy(below, directory, sizeof below - 1);
  control = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (control == MAP_FAILED) control = NULL;
  close(file);
}

/* What happens to this call: 0, or FAILS … */
static int fate(int file) {
  char link[64], path[4096];
  int errno_before = errno;
  if (!control || !control->how) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, sizeof path - 1);
  errno = errno_before;
  if (length <= 0) return 0;
  path[length] = 0;
  /* The index in shared memory is no durable file. */
  if (strncmp(path, below, strlen(below)) || (length > 4 && !strcmp(path + length - 4, "-shm"))) return 0;
  int call = __sync_add_and_fetch(&control->seen, 1);
  if (call < control->from || call >= control->from + control->times) return 0;
  __sync_add_and_fetch(&control->failed, 1);
  /* What is left of a write that was cut short finds no room. */
  return control->how == SHORT && call > control->from ? FULL : control->how;
}

static int refuse(int how) {
  errno = how == FAILS ? EIO : ENOSPC;
  return -1;
}

#define REAL(name) (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

#define WRITES(name, parameters, all, half)            \
  ssize_t name parameters {                            \
    __typeof__(name) *real = REAL(name);               \
    int how = fate(file);                              \
    if (!how) return real all;                         \
    if (how != SHORT || size < 2) return refuse(how);  \
    return real half;                                  \
  }

WRITES(write, (int file, const void *bytes, size_t size), (file, bytes, size), (file, bytes, size / 2))
WRITES(pwrite, (int file, const void *bytes, size_t size, off_t at), (file, bytes, size, at), (file, bytes, size / 2, at))
WRITES(pwrite64, (int file, const void *bytes, size_t size, off64_t at), (file, bytes, size, at), (file, bytes, size / 2, at))

#define ALTERS(name, parameters, all)                  \
  int name parameters {                                \
    __typeof__(name) *real = REAL(name);               \
    int how = fate(file);                              \
    return how ? refuse(how) : real all;               \
  }

ALTERS(fsync, (int file), (file))
ALTERS(fdatasync, (int file), (file))
ALTERS(ftruncate, (int file, off_t size), (file, size))
ALTERS(ftruncate64, (int file, off64_t size), (file, size))
