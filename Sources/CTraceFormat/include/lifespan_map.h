// The mapping: shared memory between a recorded process and whoever drains it.
//
// Written by the recorder (CRecorder) in the process under test, read by the drain (CDrain) in the `lifespan record`
// command or, in the linked door, in the same process. Plain data and inline arithmetic only; no allocation, no locks.
// Everything here is hostile input for the reader: it checks every offset, count and length before use.
//
//   offset 0                 struct lifespan_map            two pages
//   LIFESPAN_REQUEST_OFFSET  struct lifespan_request        questions from the program to the recording command
//   LIFESPAN_RINGS_OFFSET    struct lifespan_ring[LIFESPAN_RING_SLOTS]
//   LIFESPAN_DATA_OFFSET     ring buffers, handed out by map->next_free up to map->allocated
#ifndef LIFESPAN_MAP_H
#define LIFESPAN_MAP_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define LIFESPAN_ABI 9u                       // of this file: recorder and reader must agree exactly
#define LIFESPAN_MAP_MAGIC 0x3150414d4c53464cull  // "LFSLMAP1"
#define LIFESPAN_MAP_VIRTUAL (8ull << 30)     // address space reserved for the mapping; the file is grown below it
#define LIFESPAN_RING_SLOTS 2048u             // threads at once
#define LIFESPAN_OWN_RANGES 4u                // pieces of the recorder's private memory that are told
#define LIFESPAN_RING_SMALL_LOG2 12u          // a thread's first buffer: 4,096 cells of 16 bytes = 64 KiB
#define LIFESPAN_RING_LARGE_LOG2 16u          // a busy thread's buffer: 65,536 cells = 1 MiB
#define LIFESPAN_REQUEST_OFFSET 8192ull
#define LIFESPAN_RINGS_OFFSET (128ull << 10)
#define LIFESPAN_DATA_OFFSET (LIFESPAN_RINGS_OFFSET + LIFESPAN_RING_SLOTS * 512ull)

// ---- Cells -------------------------------------------------------------------------------------------------------
// A record is 1..255 cells of 16 bytes. Its first cell: word a (a stamp, mostly) and word b = kind:8 | cells:8 | value:48.
struct lifespan_cell {
  uint64_t a, b;
};
_Static_assert(sizeof(struct lifespan_cell) == 16, "cell");

#define LIFESPAN_VALUE_MASK 0x0000ffffffffffffull
static inline uint64_t lifespan_head_word(unsigned kind, unsigned cells, uint64_t value) {
  return (uint64_t)kind << 56 | (uint64_t)cells << 48 | (value & LIFESPAN_VALUE_MASK);
}
static inline unsigned lifespan_cell_kind(uint64_t b) { return (unsigned)(b >> 56); }
static inline unsigned lifespan_cell_count(uint64_t b) { return (unsigned)(b >> 48) & 0xff; }
static inline uint64_t lifespan_cell_value(uint64_t b) { return b & LIFESPAN_VALUE_MASK; }

// Kinds below LIFESPAN_RECORD_SIDE are events: word a is a stamp, value is the object's address. They are merged by
// stamp across rings. The others are side records: consumed in ring order, before anything published after them.
enum lifespan_record_kind {
  // name                          cells  word a     value     further cells (x = next cell)
  LIFESPAN_R_BIRTH = 1,         //  2     stamp      address   x.a = type:32 high | stack:32 low, x.b = flags:16 high | size:48
  LIFESPAN_R_DEATH = 2,         //  1/2   stamp      address   deinit has ended, the memory is freed at once; [x.a = stack]
  LIFESPAN_R_DEINIT = 3,        //  1/2   stamp      address   deinit has ended, the memory is kept by unowned references; [x.a = stack]
  LIFESPAN_R_FREE = 4,          //  1     stamp      address   free(): the kept memory of an object goes, or a living object
                                //                             dies behind the runtime's back, or no object of ours (ignored)
  LIFESPAN_R_RETAIN = 5,        //  2     stamp      address   x.a = amount:32 high | stack:32 low, x.b = flavour:8 high | count before
  LIFESPAN_R_RELEASE = 6,       //  2     stamp      address   the same
  LIFESPAN_R_DEINIT_START = 7,  //  1/2   stamp      address   [x.a = stack]
  LIFESPAN_R_MOVING = 8,        //  1     stamp      address   realloc of this block begins (before the call)
  LIFESPAN_R_MOVED = 9,         //  3     stamp      new address, x.a = old address, x.b = size:48, all ones: as it was (same address twice: resized in place, or known by its type now)
                                //                             x.a = type:32 high | stack:32 low, x.b = 0; type 0, stack 0: as it was
  LIFESPAN_R_MOVE_FAILED = 10,  //  1     stamp      address   the old block lives on
  LIFESPAN_R_TASK = 11,         //  2     stamp      task id:48 (0 none)   x.a = parent task id (0 none/unknown), x.b = 0
  LIFESPAN_R_MARK = 12,         //  n     stamp      name length (0 = unnamed)   x… = name, UTF-8, zero padded
  LIFESPAN_R_RECORDING = 13,    //  1     stamp      1 recording goes on, 0 paused
  LIFESPAN_R_FORK = 15,         //  1     stamp      number    this thread is about to fork (--children; struct lifespan_fork)
  // Regions (--vm): whole pages. A region is an object; what is left of one that was unmapped in part is the object still, a second piece another one.
  LIFESPAN_R_MAPPED = 16,       //  2/4   stamp      address   x.a = type:32 high (0: nothing is born, what was there ends) | stack:32 low, x.b = enum lifespan_mapped:16 high | bytes:48,
                                //                             [x.a = address before, x.b = bytes before, x.a = stamp after the call, x.b = 0]; word a: of the 4 before the call
  LIFESPAN_R_UNMAPPED = 17,     //  2     stamp before the call  address   x.a = stack (0 not recorded), x.b = bytes (0: all of the mapping that begins there, shmdt)
  LIFESPAN_R_MISUSE = 18,       //  2     stamp      address   a reference to an object that is over: x.a = enum lifespan_misuse:32 high | stack:32 low, x.b = its count then
  LIFESPAN_RECORD_SIDE = 64,
  LIFESPAN_R_NODE = 64,         //  2     pc         node id   x.a = parent node id (0 root), x.b = epoch:32 high | label:8 low
  LIFESPAN_R_TYPE = 65,         //  n     metadata   type id   x.a = superclass type id:32 high | object kind:32 low, x.b = instance size:32 high | name length:32 low,
                                //                             x.a = caller pc (closures, else 0), x.b = type flags, x… = name
  LIFESPAN_R_IMAGE = 66,        //  n     load bias  image id  x.a = start, x.b = end (exclusive), x.a = epoch:32 high | build id length:16 | path length:16, x.b = op (1 loaded, 0 unloaded),
                                //                             x… = build id bytes then path bytes, zero padded
  LIFESPAN_R_THREAD = 67,       //  n     stamp      thread number   x.a = tid:32 high | name length:32 low, x.b = enum lifespan_thread_op, x… = name (ended: empty where it was as before)
  LIFESPAN_R_THREAD_ORIGIN = 68, // 3   stamp      thread number   x.a = creator's thread number:32 high (0 unknown) | stack of the creation:32 low, x.b = start routine,
                                //                             x.a = bytes reserved for its stack (0 unknown), x.b = 0; word a: when it was created
};

enum lifespan_mapped {
  LIFESPAN_MAPPED_NEW = 0,
  LIFESPAN_MAPPED_MOVED = 1, // mremap: what lay there is here now, with these bytes; no birth
  LIFESPAN_MAPPED_COPY = 2,  // mremap that leaves the old one: a birth of what lies there
  LIFESPAN_MAPPED_MOVING = 3, // mremap of [address, + bytes) begins (2 cells, stamped and published before the call): MOVED or STAYED follows
  LIFESPAN_MAPPED_STAYED = 4, // it has failed (2 cells)
};

enum lifespan_thread_op {
  LIFESPAN_THREAD_SEEN = 1,
  LIFESPAN_THREAD_RENAMED = 2,
  LIFESPAN_THREAD_ENDED = 3, // its start routine has returned, or it exited or was cancelled: exact
  LIFESPAN_THREAD_GONE = 4,  // never in a ring: the consumer has found that there is no such thread any more, a moment later
};

// Why a stack ends (label of its root-most node).
enum lifespan_stack_end {
  LIFESPAN_END_WHOLE = 0,    // reached the outermost frame
  LIFESPAN_END_CUT = 1,      // deeper than --depth; the innermost frames are kept
  LIFESPAN_END_NO_ROW = 2,   // no unwind information for this frame
  LIFESPAN_END_NO_IMAGE = 3, // the address lies in no known image (JIT code, an image not seen yet)
  LIFESPAN_END_RANGE = 4,    // the next frame would lie outside the thread's stack
  LIFESPAN_END_FOREIGN = 5,  // the thread runs on a stack that is not its own (coroutine, signal stack)
  LIFESPAN_END_ASYNC = 6,    // went on through async contexts to the first one: whole as far as the task goes
};

// Ids of stacks that are no node.
#define LIFESPAN_STACK_NONE 0u  // not recorded
#define LIFESPAN_STACK_FULL 1u  // the stack table is full: counted, never a wrong stack
#define LIFESPAN_STACK_FIRST 2u // first real node id

// What a type's objects are. The same numbers stand in the trace.
enum lifespan_object_kind {
  LIFESPAN_KIND_CLASS = 1,
  LIFESPAN_KIND_CLOSURE = 2,
  LIFESPAN_KIND_BOX = 3,
  LIFESPAN_KIND_ARRAY = 4,
  LIFESPAN_KIND_DICTIONARY = 5,
  LIFESPAN_KIND_SET = 6,
  LIFESPAN_KIND_TASK = 7,
  LIFESPAN_KIND_THREAD = 8,
  LIFESPAN_KIND_MALLOC = 9,
  LIFESPAN_KIND_VM = 10,
  LIFESPAN_KIND_TOKEN = 11, // Allocations.Token: a value, not a heap object
};

// Flags of a type's record.
#define LIFESPAN_TYPE_COUNTED 1u // its refcounts are recorded
#define LIFESPAN_TYPE_TRACKED 2u // it conforms to Tracked, or was tracked by name
#define LIFESPAN_TYPE_ONE_VALUE 4u // a closure kind of one captured value: a closure's context, or the box of an indirect case, a variable or an existential
#define LIFESPAN_TYPE_TRACKED_LATE 8u // tracked after objects of it were born: their first retains and releases are not recorded

// Flavours of retain and release.
enum lifespan_refcount_flavour {
  LIFESPAN_REF_STRONG = 0,
  LIFESPAN_REF_WEAK_LOAD = 1,
  LIFESPAN_REF_UNOWNED_LOAD = 2,
  LIFESPAN_REF_TRY = 3,
  LIFESPAN_REF_DEVIRTUALISED = 4, // swift_setDeallocating
  LIFESPAN_REF_DEINITING = 0x80,  // besides: the object's deinit had begun
};

// What was done to an object whose deinit had begun, or that was gone.
enum lifespan_misuse {
  LIFESPAN_MISUSE_RETAIN = 1,   // retained after its deinit had ended
  LIFESPAN_MISUSE_RELEASE = 2,  // released after its deinit had ended
  LIFESPAN_MISUSE_UNOWNED = 3,  // an unowned reference to it was read after its deinit had ended: the runtime ends the program
  LIFESPAN_MISUSE_ESCAPED = 4,  // its deinit ended while `count` strong references to it were left
  LIFESPAN_MISUSE_BELOW_ZERO = 5, // released in its deinit more often than retained there
};

// Addresses with this bit belong to no memory: Allocations.Token numbers.
#define LIFESPAN_TOKEN_ADDRESS (1ull << 47)
// Threads: this and the thread's number. The address of its stack would be another's as soon as it has ended.
#define LIFESPAN_THREAD_ADDRESS (3ull << 46)

// ---- Ring --------------------------------------------------------------------------------------------------------
// Single producer (one thread at a time), single consumer (the drain). head and tail count cells for ever; cell i lies
// at i & (capacity - 1) of the buffer. A buffer is packed as offset | log2(cells); offsets are multiples of 64 KiB.
// Growing: the producer that finds its buffer full takes a larger one, writes `next` and `switch_at` (= its head), stores head
// as always, and goes on there. Cells below switch_at lie in `data`, from switch_at on in `next`. When tail has reached
// switch_at the consumer stores data = next and then next = 0.
enum lifespan_ring_state { LIFESPAN_RING_UNUSED = 0, LIFESPAN_RING_CLAIMED = 1 };

struct lifespan_ring {
  // written by the producer for every record
  _Alignas(128) _Atomic uint64_t head;
  // written by the consumer
  _Alignas(128) _Atomic uint64_t tail;
  // written rarely
  _Alignas(128) _Atomic uint32_t state; // enum lifespan_ring_state: CLAIMED by CAS of a thread, UNUSED again by the consumer when empty and the thread is gone
  uint32_t tid;                         // kernel's id in the program's pid namespace
  uint32_t thread_number;               // unique in the recording, 1 = main
  uint32_t reserved;
  _Atomic uint64_t data;                // offset | log2
  _Atomic uint64_t next;                // offset | log2, 0 none
  _Atomic uint64_t switch_at;
  // written by the producer, rarely: what it could not write
  _Alignas(128) _Atomic uint64_t lost_births;
  _Atomic uint64_t lost_deaths;
  _Atomic uint64_t lost_other;
  _Atomic uint64_t lost_from; // stamp of the first and the last lost event since the consumer looked
  _Atomic uint64_t lost_to;
  _Atomic uint64_t suppressed; // events inside our own code (a signal handler that allocates in a hook)
  _Atomic uint64_t waited;     // ticks that the program waited for a full ring
  _Atomic uint64_t waits;
};
_Static_assert(sizeof(struct lifespan_ring) == 512, "ring");

static inline uint64_t lifespan_buffer_offset(uint64_t buffer) { return buffer & ~63ull; }
static inline unsigned lifespan_buffer_log2(uint64_t buffer) { return (unsigned)(buffer & 63); }

// ---- Options, given by whoever starts the recording ---------------------------------------------------------------
enum lifespan_unwind_mode { LIFESPAN_UNWIND_AUTO = 0, LIFESPAN_UNWIND_FP = 1, LIFESPAN_UNWIND_LIBUNWIND = 2, LIFESPAN_UNWIND_NONE = 3 };
enum lifespan_when_full { LIFESPAN_FULL_WAIT = 0, LIFESPAN_FULL_DROP = 1 };
enum lifespan_scope { LIFESPAN_SCOPE_SWIFT = 0, LIFESPAN_SCOPE_TRACKED = 1 }; // all Swift objects | tracked types only

struct lifespan_options {
  uint32_t scope;        // enum lifespan_scope
  uint32_t refcounts;    // 1: retain and release of all recorded types; 0: of tracked types only
  uint32_t unwind;       // enum lifespan_unwind_mode
  uint32_t depth;        // frames kept
  uint32_t when_full;    // enum lifespan_when_full
  uint32_t paused;       // 1: begin paused
  uint32_t death_stacks; // 1: deaths carry stacks
  uint32_t check_every;  // n > 0: every n-th stack is compared with libunwind's
  uint32_t malloc_blocks; // 1: every block of malloc (preload door), 0: Swift objects alone
  uint32_t vm;           // 1: regions that the program maps
  uint32_t children;     // 1: fork children are recorded, each into a mapping of its own
  uint32_t rings_file;   // 1: the mapping is a file that is to survive, see struct lifespan_commit
  uint32_t mark_signal;  // signal number that marks a generation, 0 none
  uint32_t verify;       // 1: a program that ends waits until the command has compared its reference counts with ours
  uint32_t leaks;        // 1: new blocks are filled with zeros, and a program that calls exit waits until the command has a picture of its heap
  uint32_t rules_length; // bytes of `rules`
  char rules[2048];      // "+PATTERN\n" record / "-PATTERN\n" ignore, in order, last match wins
};

// ---- Header ------------------------------------------------------------------------------------------------------
enum lifespan_clock { LIFESPAN_CLOCK_TSC = 1, LIFESPAN_CLOCK_MONOTONIC = 2 };
enum lifespan_door { LIFESPAN_DOOR_PRELOAD = 1, LIFESPAN_DOOR_LINKED = 2 };
enum lifespan_capture { LIFESPAN_CAPTURE_NONE = 0, LIFESPAN_CAPTURE_COMPLETE = 1, LIFESPAN_CAPTURE_PARTIAL = 2, LIFESPAN_CAPTURE_COUNTS = 3 };
enum lifespan_recording {
  LIFESPAN_RECORDING_PAUSED = 0, // births are not recorded, deaths are
  LIFESPAN_RECORDING_ON = 1,
  LIFESPAN_RECORDING_ENDED = 2,  // another process is the program: off for good, nobody reads any more
};
enum lifespan_runtime_state {
  LIFESPAN_RUNTIME_THERE = 0, // from the start
  LIFESPAN_RUNTIME_NONE = 1,  // so far: blocks of malloc alone
  LIFESPAN_RUNTIME_LATE = 2,  // came while the program ran (dlopen)
};
enum lifespan_program_state { LIFESPAN_PROGRAM_NEW = 0, LIFESPAN_PROGRAM_RUNNING = 1, LIFESPAN_PROGRAM_ENDING = 2 };

struct lifespan_map {
  uint64_t magic;
  uint32_t abi;
  uint32_t door;                    // enum lifespan_door
  _Atomic uint64_t allocated;       // bytes of the file that exist; grown by the consumer only
  _Atomic uint64_t next_free;       // bump pointer below it, multiples of 64 KiB; by the program
  // written by the program's recorder before state = RUNNING
  uint32_t pid;
  uint32_t parent_pid;
  uint32_t clock;                   // enum lifespan_clock; both sides stamp with it
  uint32_t page_size;
  uint64_t start_stamp;             // ticks
  uint64_t start_monotonic_ns;      // at start_stamp, CLOCK_MONOTONIC
  uint64_t start_realtime_ns;       // at start_stamp, since 1970
  _Atomic uint32_t state;           // enum lifespan_program_state
  _Atomic uint32_t capture;         // enum lifespan_capture
  char capture_reason[256];         // zero terminated, why not complete
  char program[256];                // path of the executable, zero terminated
  uint32_t number;                  // of this recording in its session, by the command
  // switches, by the command
  _Atomic uint32_t recording;       // enum lifespan_recording
  // when the Swift runtime came: by the program's recorder
  _Atomic uint32_t runtime;         // enum lifespan_runtime_state
  _Atomic uint64_t runtime_stamp;   // LATE: since when Swift objects are recorded
  _Atomic uint32_t counts_missed;   // 1: a hook of retains and releases is missing, so that counts are not known
  // the consumer's life: a robust mutex held by the draining thread for as long as it drains (its word shows FUTEX_OWNER_DIED
  // at once when the consumer is killed), and a counter that moves in every round
  _Alignas(64) uint8_t consumer_mutex[64];  // pthread_mutex_t, PTHREAD_PROCESS_SHARED | PTHREAD_MUTEX_ROBUST, made when the consumer begins to drain
  _Atomic uint64_t consumer_beat;
  _Atomic uint32_t consumer_wake;   // futex word: a producer with a full ring adds 1 and wakes
  _Atomic uint32_t consumer_alive;  // 1 while a consumer is attached, 0 when it has said goodbye
  // a program that ends lets its memory be looked at: it adds 1, wakes the consumer and waits a moment until `done` is the same
  _Atomic uint32_t sample_wanted;
  _Atomic uint32_t sample_done;
  // counters by the recorder
  _Atomic uint64_t stacks_full;     // stacks not stored: table full
  _Atomic uint64_t stacks_checked;  // against libunwind
  _Atomic uint64_t stacks_equal;
  _Atomic uint64_t stacks_guessed;  // different from where libunwind has no unwind information and guesses
  _Atomic uint64_t rings_refused;   // events without a ring (more threads than slots, no memory)
  _Atomic uint32_t next_thread;     // numbers handed out so far
  _Atomic uint32_t marks;           // number handed out so far: unnamed marks are A, B, … by the reader
  // options.leaks: a program that enters exit adds 1, wakes the consumer and waits until `done` is the same
  _Atomic uint32_t picture_wanted;
  _Atomic uint32_t picture_done;
  _Atomic uint32_t asks;            // 1: the linked library is in the program, which may ask for histories
  // the recorder's private memory in the program that may hold words of the program's own: saved registers, arguments. No root of its heap
  struct lifespan_own {
    _Atomic uint64_t start, end; // 0: none
  } own[LIFESPAN_OWN_RANGES];
  struct lifespan_options options;
};
_Static_assert(sizeof(struct lifespan_map) <= 8192, "header");

// ---- Fork slot (options.children): first in the data ------------------------------------------------------------------
// One fork at a time. Before it the forking thread takes the slot, gives the fork a number, and puts a FORK record into its ring. The
// child's first act is to say how far its memory holds each ring; then it says hello with the number. The consumer frees the slot when it
// has taken every ring exactly so far, or when nobody has said anything for a second (the fork failed, the child was killed).
enum lifespan_fork_state { LIFESPAN_FORK_FREE = 0, LIFESPAN_FORK_PREPARED = 1, LIFESPAN_FORK_TOLD = 2 };
struct lifespan_fork {
  _Atomic uint32_t state; // enum lifespan_fork_state
  uint32_t reserved;
  uint64_t number;        // 1, 2, … in the life of the process
  uint64_t heads[LIFESPAN_RING_SLOTS]; // as a ring's head counts
};
#define LIFESPAN_FORK_BYTES 65536ull

// ---- Commits (options.rings_file): behind the fork slot's place -------------------------------------------------------------
// With --rings the mapping is a file that survives the death of both sides. The consumer then gives cells back only when what they became
// stands in the trace, and says here which is which: up to `bytes` of the trace holds every ring's cells below its tail. Two of these in
// turn: the one that `current` counts is whole. Read by whoever opens a trace that was cut (CDrain/commit.c).
struct lifespan_commit {
  _Atomic uint64_t current; // commits so far: that of the last one is sides[current % 2]; 0 none
  struct {
    uint64_t bytes; // of the trace
    uint64_t tails[LIFESPAN_RING_SLOTS];
    uint64_t tasks[LIFESPAN_RING_SLOTS]; // what the ring's thread was running there
  } sides[2];
};
#define LIFESPAN_COMMIT_OFFSET (LIFESPAN_DATA_OFFSET + LIFESPAN_FORK_BYTES)
#define LIFESPAN_COMMIT_BYTES 131072ull
_Static_assert(sizeof(struct lifespan_commit) <= LIFESPAN_COMMIT_BYTES, "commits");
static inline uint64_t lifespan_first_buffer(int children, int rings_file) {
  if (rings_file) return LIFESPAN_COMMIT_OFFSET + LIFESPAN_COMMIT_BYTES;
  return LIFESPAN_DATA_OFFSET + (children ? LIFESPAN_FORK_BYTES : 0);
}

// ---- Request slot: the linked library under `lifespan record` asks the command -------------------------------------
// Asker (one at a time, its own lock): writes op/length/data, state POSTED, adds 1 to consumer_wake and wakes. Consumer: runs a drain
// round, writes the answer, state ANSWERED. Asker takes it and stores IDLE. Payloads: "Questions" in lifespan_drain.h.
enum lifespan_request_state { LIFESPAN_REQUEST_IDLE = 0, LIFESPAN_REQUEST_POSTED = 1, LIFESPAN_REQUEST_ANSWERED = 2 };
#define LIFESPAN_REQUEST_BYTES (LIFESPAN_RINGS_OFFSET - LIFESPAN_REQUEST_OFFSET - 64)
struct lifespan_request {
  _Alignas(64) _Atomic uint32_t state;
  uint32_t op;
  uint32_t status; // of the answer: 0 ok, else an errno value
  uint32_t length; // bytes of data, question and answer
  uint32_t more;   // 1: the answer goes on, ask again with the same op and the continuation that stands first in the data
  uint8_t padding[44];
  uint8_t data[LIFESPAN_REQUEST_BYTES];
};
_Static_assert(sizeof(struct lifespan_request) + LIFESPAN_REQUEST_OFFSET == LIFESPAN_RINGS_OFFSET, "request slot");

// ---- Session socket (SOCK_SEQPACKET, path in LIFESPAN_SESSION) ------------------------------------------------------
// One message up, one message back. LIFESPAN_OP_HELLO is the recorder's; the answer may carry the mapping's descriptor (SCM_RIGHTS).
enum lifespan_op { LIFESPAN_OP_HELLO = 1, LIFESPAN_OP_MARK = 2, LIFESPAN_OP_START = 3, LIFESPAN_OP_STOP = 4, LIFESPAN_OP_STATUS = 5, LIFESPAN_OP_FLUSH = 6, LIFESPAN_OP_PICTURE = 7, LIFESPAN_OP_PICTURE_DONE = 8 };
enum lifespan_verdict {
  LIFESPAN_VERDICT_RECORD = 1, // you are the program: map the descriptor
  LIFESPAN_VERDICT_PASS = 2,   // not you: stay inert; children are asked
  LIFESPAN_VERDICT_OFF = 3,    // recorded already or not wanted: stay inert, and so do the children
  LIFESPAN_VERDICT_PERHAPS = 4, // the program as long as none with a Swift runtime turns up: map the descriptor; children are asked, too
};
struct lifespan_message {
  uint32_t abi;
  uint32_t op;
  uint32_t pid;      // sender
  uint32_t status;   // answer: enum lifespan_verdict for HELLO, else 0 ok or errno
  uint64_t number;   // free use by op; HELLO: the fork that made this process (0: it was executed), its parent's recording in `status`
  uint32_t runtime;  // HELLO: 1 there is a Swift runtime that can be hooked, 0 none, 2 there is one that can't (text says why)
  uint32_t length;   // bytes of text
  char text[1024];   // PICTURE: "mark" or empty; its answer's number: which one it will be. PICTURE_DONE: status EAGAIN until it is there. HELLO: path of the executable; MARK: name; MARK answer: nanoseconds, a blank, the name; STATUS answer: one line of JSON; not terminated
};

#endif
