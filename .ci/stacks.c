// For LD_PRELOAD. loom maps a stack for each thread of each schedule and unmaps it afterwards, which is half of the time of
// a model. Here a thread keeps the stacks that it unmaps, with their guard pages, and its next mmap returns one of them. So the use of
// a stack whose thread has ended does not crash. Miri and AddressSanitizer notice such a use.
#define _GNU_SOURCE
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static __thread void *kept[16];
static __thread int count;
static __thread size_t size; // of a stack

void *mmap(void *at, size_t len, int protection, int flags, int file, off_t offset) {
    if (flags & MAP_STACK) {
        if (len == size && count > 0) return kept[--count];
        if (count == 0) size = len;
    }
    return (void *)syscall(SYS_mmap, at, len, protection, flags, file, offset);
}

int munmap(void *at, size_t len) {
    if (len == size && count < 16) {
        kept[count++] = at;
        return 0;
    }
    return (int)syscall(SYS_munmap, at, len);
}
