// What the files of the emulated driver share: handles, work, captures, and one lock for all state.
#pragma once
#include "emulator.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace emu {

// CUresult, as the driver API documents it.
enum {
  SUCCESS = 0,
  INVALID_VALUE = 1,
  OUT_OF_MEMORY = 2,
  NOT_INITIALIZED = 3,
  INVALID_DEVICE = 101,
  INVALID_CONTEXT = 201,
  INVALID_PTX = 218,
  INVALID_HANDLE = 400,
  ILLEGAL_STATE = 401,
  NOT_FOUND = 500,
  NOT_READY = 600,
  ILLEGAL_ADDRESS = 700,
  LAUNCH_OUT_OF_RESOURCES = 701,
  PRIMARY_CONTEXT_ACTIVE = 708,
  CONTEXT_IS_DESTROYED = 709,
  HOST_MEMORY_ALREADY_REGISTERED = 712,
  HOST_MEMORY_NOT_REGISTERED = 713,
  LAUNCH_FAILED = 719,
  NOT_PERMITTED = 800,
  NOT_SUPPORTED = 801,
  CAPTURE_UNSUPPORTED = 900,
  CAPTURE_INVALIDATED = 901,
  CAPTURE_MERGE = 902,
  CAPTURE_UNMATCHED = 903,
  CAPTURE_UNJOINED = 904,
  CAPTURE_ISOLATION = 905,
  CAPTURE_IMPLICIT = 906,
  CAPTURED_EVENT = 907,
  CAPTURE_WRONG_THREAD = 908
};

// A piece of work on a device: runs once all that it waits for is done.
struct Work {
  std::function<void()> run;
  std::vector<std::shared_ptr<Work>> dependents;
  int pending = 0;
  bool done = false;
  unsigned long long rank = 0;    // how soon it goes, where one chain of work may starve another
  bool has_heir = false;          // a later piece of its chain has taken its rank
};
typedef std::shared_ptr<Work> WorkRef;

// CUgraphNodeType.
enum NodeKind { KERNEL = 0, MEMCPY = 1, MEMSET = 2, HOST = 3, EMPTY = 5 };

// A kernel's launch: what cuGraphKernelNodeGetParams tells of a node.
struct Launch {
  void* function = nullptr;
  unsigned int grid[3] = {0, 0, 0};
  unsigned int block[3] = {0, 0, 0};
  unsigned int shared = 0;
  std::vector<std::vector<char>> arguments;    // copied when launched or captured
  std::vector<void*> pointers;                 // to them
};

struct GraphNode {
  NodeKind kind;
  std::string name;
  std::function<void()> run;
  std::vector<size_t> dependencies;
  size_t index;
  std::shared_ptr<Launch> launch;              // of kernels launched by cuLaunchKernel
};

struct Context;

struct Graph {
  static constexpr const char* KIND = "graph";
  Context* context = nullptr;                  // graphs belong to no context
  std::deque<GraphNode> nodes;
};

struct Stream;

// One capture sequence: a stream where it began, and those that joined it.
struct Capture {
  Stream* origin;
  int mode;                                    // CUstreamCaptureMode
  std::thread::id thread;
  bool invalid = false;
  bool ended = false;
  std::set<Stream*> streams;
  std::unique_ptr<Graph> graph;
};
enum { MODE_GLOBAL = 0, MODE_THREAD_LOCAL = 1, MODE_RELAXED = 2 };

struct Stream {
  static constexpr const char* KIND = "stream";
  Context* context;
  bool blocking;                               // waits for the legacy stream, and it for this
  int priority;
  std::vector<WorkRef> tail;
  std::shared_ptr<Capture> capture;
  std::set<size_t> captured;                   // nodes that the next node depends on
};

struct Event {
  static constexpr const char* KIND = "event";
  Context* context;
  bool timed;
  bool recorded = false;
  std::vector<WorkRef> works;
  std::shared_ptr<std::chrono::steady_clock::time_point> time;
  std::shared_ptr<Capture> capture;            // that the last record was part of
  std::set<size_t> captured;
};

// A parameter of a kernel; the compiled kernel describes its own (device.h).
struct Parameter {
  unsigned int size;
  unsigned int alignment;
  unsigned int pointer;
};

struct Function {
  static constexpr const char* KIND = "function";
  Context* context;
  std::string name;
  int (*run)(void**, const unsigned int*, void*);
  std::vector<Parameter> parameters;
  struct Module* module;
  unsigned int dynamic_shared = 49152;         // limit; cuFuncSetAttribute raises it
  int carveout = -1;
};

struct Module {
  static constexpr const char* KIND = "module";
  Context* context;
  void* library;
  std::map<std::string, std::unique_ptr<Function>> functions;
  std::map<std::string, uintptr_t> globals;
};

struct Exec {
  static constexpr const char* KIND = "exec";
  Context* context;
  std::vector<GraphNode> nodes;
  std::vector<WorkRef> last;                   // its previous launch: it never runs beside itself
};

struct Context {
  static constexpr const char* KIND = "context";
  Context* context = nullptr;                  // itself; null once destroyed
  int device = 0;
  bool primary = false;
  int references = 0;
  int error = 0;                               // sticky
  unsigned int flags = 0;
  unsigned long long id = 0;
  long used = 0;                               // bytes of device memory
  Stream legacy;
  std::set<Stream*> streams;
  std::vector<WorkRef> orphans;                // work of destroyed streams
};

enum Place { DEVICE, PINNED, REGISTERED, GLOBAL };

struct Allocation {
  size_t size;
  char* raw;                                   // with guards; null if the memory is not ours
  Place place;
  Context* context;
  unsigned int flags;
  unsigned long long id;
};

typedef std::unique_lock<std::mutex> Guard;
extern std::mutex& lock;
extern std::condition_variable& changed;
extern std::map<uintptr_t, Allocation>& allocations;
extern std::map<std::shared_ptr<Capture>, int>& captures;
extern std::vector<Context*>& contexts;        // never freed: stale handles must be recognised
extern bool initialized;
extern int device_count;
extern long memory_limit;                      // of each device
extern std::atomic<long long>& host_bytes;       // moved by copies between host and devices
extern bool empty_kernels;
extern bool packed_arguments;                  // whether launches must have them in one buffer
extern long launches_made;
extern thread_local std::vector<Context*> current;
extern thread_local Context* executing;        // of the work that this pool thread runs
extern thread_local int thread_mode;           // cuThreadExchangeStreamCaptureMode

// Work (driver.cpp).
void start_pool();
WorkRef submit(const std::vector<WorkRef>& after, std::function<void()> run);
void add(std::vector<WorkRef>& to, const std::vector<WorkRef>& more);
int wait_for(Guard& guard, const std::vector<WorkRef>& works, Context* context);
void run_graph(Exec* exec, const WorkRef& last);
// All the work of a context.
std::vector<WorkRef> everything(Context* context);

// Faults (driver.cpp).
int count_call(const char* function);          // and the status to be injected, or 0
bool allocation_fails();
int kernel_fails();                            // the status to poison with, or 0
void poison(Context* context, int error, const std::string& reason);
int not_emulated(const std::string& what, int status);

// Handles (driver.cpp): a handle is good while it is in here, under its kind.
void open_handle(void* handle, const char* kind, bool counted);
bool close_handle(void* handle, const char* kind);
bool is_live(void* handle, const char* kind);
void count_handle(const char* kind, long change);
std::vector<std::pair<void*, std::string>> live_handles();
void abandon(const std::string& kind);         // counts a leak: it died with its context

template <typename T> T* opened(T* handle) {
  open_handle(handle, T::KIND, true);
  return handle;
}
template <typename T> T* as(void* handle) {
  return handle && is_live(handle, T::KIND) ? (T*)handle : nullptr;
}
template <typename T> bool closed(T* handle) {
  if (!close_handle(handle, T::KIND)) return false;
  delete handle;
  return true;
}

// Streams and capture (stream.cpp).
Context* context_now();
Stream* stream_of(void* handle);
std::vector<WorkRef> before(Stream* stream);
void invalidate(Capture* capture);
int unsafe();                                  // 900 where a capture forbids such calls
int implicit(Stream* stream);                  // 906 where the legacy stream would meet a capture
int enqueue(Stream* stream, NodeKind kind, const std::string& name, std::function<void()> run,
            std::shared_ptr<Launch> launch = nullptr);
// Work as the context runs it: not at all once the context has failed.
std::function<void()> in_context(Context* context, NodeKind kind, std::function<void()> run);
void drop_from_capture(Stream* stream);
int graph_text(void* handle, std::string& out);

// Memory (memory.cpp).
bool in_range(const void* address, size_t bytes, Context* context);
void check_canaries(Context* context);
void release_all(Context* context, bool forgiven);
std::string describe(const void* address, size_t bytes, const std::string& what);
void register_global(void* address, size_t size, Context* context);
void forget_global(uintptr_t address);

// Modules (module.cpp).
void forget_module(Module* module);
// Checks a kernel launch, copies its arguments, and makes the work of it. Returns a CUresult.
int make_launch(Function* function, const unsigned int* grid, const unsigned int* block,
                unsigned int shared, void** parameters, void** extra,
                std::shared_ptr<Launch>& launch, std::function<void()>& body);

}  // namespace emu

// Every entry point: count, injected fault, initialisation.
#define ENTER(NAME)                                      \
  Guard guard(lock);                                     \
  if (int injected = count_call(NAME)) return injected;  \
  if (!initialized) return NOT_INITIALIZED
// The current context; one that is destroyed or has failed refuses.
#define CONTEXT                                          \
  Context* context = context_now();                      \
  if (!context) return INVALID_CONTEXT;                  \
  if (!context->context) return CONTEXT_IS_DESTROYED;    \
  if (context->error) return context->error
#define STREAM(HANDLE)                                   \
  Stream* stream = stream_of(HANDLE);                    \
  if (!stream) return (uintptr_t)(HANDLE) < 2 ? INVALID_CONTEXT : INVALID_HANDLE; \
  if (!stream->context->context) return CONTEXT_IS_DESTROYED; \
  if (stream->context->error) return stream->context->error
