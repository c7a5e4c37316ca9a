// What the programs of this folder share: Swift objects that C makes and counts, and the truth for the runner
// (Tests/Behaviour/life*.py). Everything here but making and dropping is async-signal-safe.
#ifndef PROGRAM_LIFE_H
#define PROGRAM_LIFE_H

#ifdef __cplusplus
extern "C" {
#endif

// Program.Thing and Program.Later: two types, so that what comes after something else can be told apart.
void *thing_make(void);
void thing_drop(void *thing);
void *later_make(void);
void later_drop(void *later);
// Makes `count` of them and keeps the first `keep` for ever.
void things(long count, long keep);
void laters(long count, long keep);
// Objects made and not dropped, of both types.
long things_living(void);

// One line on stdout by one write: no buffer is left behind for a child or a sudden end.
void say(const char *format, ...);
// TRUTH {"types":{"Program.Thing":{"total":…,"living":…,"destroyed":…},"Program.Later":{…}}}
void truth(void);

// Ends with a message and status 99: the program could not do what it is for.
void need(int condition, const char *what);

// Waits for a child and says how it ended.
void say_child(const char *what, int child);

// Each program: what it does by its first argument. `end` names the last mode by NULL.
struct mode {
  const char *name;
  void (*run)(int argc, char **argv);
};
int run_mode(const struct mode *modes, int argc, char **argv);

void swift_trap(long number);

#ifdef __cplusplus
}
#endif
#endif
