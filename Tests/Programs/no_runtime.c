// A program without a Swift runtime: it runs as it is, and one line on stderr says why nothing was recorded.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int count, char **words) {
  char *line = NULL;
  size_t room = 0;
  unsigned bytes = 0;
  for (int i = 0; i < 1000; i++) {
    char *block = malloc(100 + i);
    memset(block, i, 100 + i);
    block = realloc(block, 200 + i);
    bytes += (unsigned char)block[50];
    free(block);
  }
  while (getline(&line, &room, stdin) > 0) fputs(line, stdout);
  free(line);
  printf("bytes %u, %s\n", bytes, count > 1 ? words[1] : "-");
  return 5;
}
