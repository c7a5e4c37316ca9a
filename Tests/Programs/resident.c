// Blocks, in all so many MB: `freed` frees all but every 500th of 128 bytes, `grows` keeps them all, `returned` frees all of 1 MB, which go back to the
// system. The blocks lie in a list, so that nothing else is as large. Linked with the Swift runtime, so that it is recorded.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct block {
  struct block *next;
};

int main(int count, char **arguments) {
  if (count < 3) return 64;
  size_t size = strcmp(arguments[1], "returned") == 0 ? 1000000 : 128;
  size_t blocks = (size_t)atol(arguments[2]) * 1000000 / size, kept = 0;
  struct block *first = NULL;
  for (size_t i = 0; i < blocks; i++) {
    struct block *block = malloc(size);
    memset(block, 1, size);
    block->next = first;
    first = block;
  }
  int every = strcmp(arguments[1], "freed") == 0 ? 500 : strcmp(arguments[1], "returned") == 0 ? 0 : 1;
  struct block **at = &first;
  for (size_t i = 0; *at; i++) {
    if (every && i % (size_t)every == 0) {
      kept++;
      at = &(*at)->next;
      continue;
    }
    struct block *gone = *at;
    *at = gone->next;
    free(gone);
  }
  printf("%zu of %zu kept\n", kept, blocks);
  return 0;
}
