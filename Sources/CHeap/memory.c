// Memory of the frozen process: large pieces as they come, single words by way of a cache of pages. See heap.h.
#include "lifespan_platform.h"
#if LIFESPAN_RECORDS_HERE

#include "heap.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGES_LOG2 13u // 32 MiB at most
struct heap_pages {
  uint64_t numbers[1u << PAGES_LOG2]; // + 1, 0: free
  uint8_t *bytes[1u << PAGES_LOG2];
};

bool heap_memory_begin(struct heap_memory *memory, pid_t pid) {
  char path[64], whole[64];
  snprintf(path, sizeof path, "/proc/%d/pagemap", (int)pid);
  snprintf(whole, sizeof whole, "/proc/%d/mem", (int)pid);
  *memory = (struct heap_memory){.pid = pid, .pagemap = open(path, O_RDONLY | O_CLOEXEC), .file = open(whole, O_RDONLY | O_CLOEXEC), .pages = heap_own_cleared(1, sizeof(struct heap_pages))};
  return memory->pages;
}

void heap_memory_end(struct heap_memory *memory) {
  if (memory->pagemap >= 0) close(memory->pagemap);
  if (memory->file >= 0) close(memory->file);
  if (memory->pages)
    for (size_t i = 0; i < 1u << PAGES_LOG2; i++) heap_own_free(memory->pages->bytes[i]);
  heap_own_free(memory->pages);
}

size_t heap_memory_read(struct heap_memory *memory, uint64_t address, void *bytes, size_t length) {
  size_t done = 0;
  while (done < length) {
    struct iovec own = {(uint8_t *)bytes + done, length - done}, theirs = {(void *)(uintptr_t)(address + done), length - done};
    ssize_t got = process_vm_readv(memory->pid, &own, 1, &theirs, 1, 0);
    // Where that call is filtered.
    if (got < 0 && (errno == EPERM || errno == ENOSYS)) got = pread(memory->file, own.iov_base, own.iov_len, (off_t)(address + done));
    if (got <= 0) break;
    done += (size_t)got;
  }
  memory->bytes += done;
  return done;
}

static const uint8_t *page_at(struct heap_memory *memory, uint64_t number) {
  size_t slot = (size_t)((number * 0x9e3779b97f4a7c15ull) >> (64 - PAGES_LOG2));
  struct heap_pages *pages = memory->pages;
  if (pages->numbers[slot] == number + 1) return pages->bytes[slot];
  if (!pages->bytes[slot]) pages->bytes[slot] = heap_own(HEAP_PAGE);
  pages->numbers[slot] = 0;
  if (!pages->bytes[slot] || heap_memory_read(memory, number * HEAP_PAGE, pages->bytes[slot], HEAP_PAGE) != HEAP_PAGE) return NULL;
  pages->numbers[slot] = number + 1;
  return pages->bytes[slot];
}

bool heap_memory_small(struct heap_memory *memory, uint64_t address, void *bytes, size_t length) {
  uint8_t *to = bytes;
  while (length) {
    size_t within = address % HEAP_PAGE, piece = HEAP_PAGE - within < length ? HEAP_PAGE - within : length;
    const uint8_t *page = address >> 47 ? NULL : page_at(memory, address / HEAP_PAGE);
    if (!page) return false;
    memcpy(to, page + within, piece);
    to += piece;
    address += piece;
    length -= piece;
  }
  return true;
}

// A page that is neither in memory nor swapped out holds zeros, or what its file says.
void heap_memory_touched(struct heap_memory *memory, uint64_t start, uint64_t end, void (*take)(void *, uint64_t, uint64_t), void *context) {
  uint64_t entries[512], open_at = 0;
  if (memory->pagemap < 0) return take(context, start, end);
  for (uint64_t page = start / HEAP_PAGE; page < end / HEAP_PAGE;) {
    uint64_t left = end / HEAP_PAGE - page, most = left < 512 ? left : 512;
    ssize_t got = pread(memory->pagemap, entries, most * 8, (off_t)(page * 8));
    if (got < 8) {
      if (!open_at) open_at = page * HEAP_PAGE;
      break;
    }
    for (uint64_t i = 0; i < (uint64_t)got / 8; i++, page++) {
      bool there = entries[i] >> 62;
      if (there && !open_at) open_at = page * HEAP_PAGE;
      if (!there && open_at) {
        take(context, open_at, page * HEAP_PAGE);
        open_at = 0;
      }
    }
  }
  if (open_at) take(context, open_at, end);
}

#endif
