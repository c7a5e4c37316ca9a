// The frames below the benchmark's hook: a recursion with and without frame pointers, by this file's flags.
void bench_descend(int depth, void (*bottom)(void)) {
  volatile char room[40];
  room[0] = (char)depth;
  if (depth) bench_descend(depth - 1, bottom); else bottom();
  room[1] = room[0];
}
