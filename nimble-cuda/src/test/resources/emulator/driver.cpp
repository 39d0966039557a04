// The emulated CUDA driver: contexts, memory, modules, streams, events, capture and graphs.
//
// Work is a DAG. Whatever a program enqueues becomes a piece of work that depends on what its stream
// held before and on the events that the stream waits for; a pool of threads runs any piece that is
// ready, in an order drawn at random. So two pieces that no event orders do run in either order, and
// a missing wait shows.
#include "emulator.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {
enum {
  SUCCESS = 0,
  INVALID_VALUE = 1,
  OUT_OF_MEMORY = 2,
  NOT_INITIALIZED = 3,
  INVALID_DEVICE = 101,
  INVALID_CONTEXT = 201,
  INVALID_SOURCE = 300,
  INVALID_HANDLE = 400,
  ILLEGAL_STATE = 401,
  NOT_FOUND = 500,
  NOT_READY = 600,
  ILLEGAL_ADDRESS = 700,
  LAUNCH_OUT_OF_RESOURCES = 701,
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

struct Work {
  std::function<void()> run;
  std::vector<std::shared_ptr<Work>> dependents;
  int pending = 0;
  bool done = false;
};
typedef std::shared_ptr<Work> WorkRef;

enum NodeKind { KERNEL = 0, MEMCPY = 1, MEMSET = 2, HOST = 3, EMPTY = 5 };

struct GraphNode {
  NodeKind kind;
  std::string name;
  std::function<void()> run;
  std::vector<size_t> dependencies;
  struct Graph* graph;
  size_t index;
};

struct Graph {
  std::deque<GraphNode> nodes;
};

struct Context;

struct Capture {
  struct Stream* origin;
  int mode;
  std::thread::id thread;
  bool invalid = false;
  bool ended = false;
  std::unique_ptr<Graph> graph;
};

struct Stream {
  Context* context;
  bool blocking;
  int priority;
  std::vector<WorkRef> tail;
  std::shared_ptr<Capture> capture;
  std::set<size_t> captured;          // nodes that the next node depends on
};

struct Event {
  Context* context;
  bool timed;
  bool recorded = false;
  std::vector<WorkRef> works;
  std::shared_ptr<std::chrono::steady_clock::time_point> time;
  std::shared_ptr<Capture> capture;
  std::set<size_t> captured;
};

struct Function {
  std::string name;
  void (*run)(void**, const unsigned int*, void*);
  std::vector<size_t> sizes;
  struct Module* module;
};

struct Module {
  void* library;
  std::map<std::string, std::unique_ptr<Function>> functions;
};

struct Exec {
  std::vector<GraphNode> nodes;
  std::vector<WorkRef> last;          // its previous launch: it never runs beside itself
};

struct Context {
  int device;
  int references = 0;
  int error = 0;                      // sticky
  std::string reason;
  Stream legacy;
  std::set<Stream*> streams;
};

struct Allocation {
  size_t size;
  char* raw;
  bool pinned;
  Context* context;
};

const size_t GUARD = 512;
const unsigned char CANARY = 0xC5;
const unsigned char FRESH = 0xCB;
const unsigned char FREED = 0xDD;
const size_t QUARANTINE = 64u << 20;

// One lock for all state: an emulator need not scale. Nothing here is destroyed at exit, for the pool
// threads go on until the process ends.
std::mutex& lock = *new std::mutex();
std::condition_variable& changed = *new std::condition_variable();
std::vector<WorkRef>& ready = *new std::vector<WorkRef>();
std::vector<std::thread>& pool = *new std::vector<std::thread>();
int running = 0;
bool initialized = false;
int device_count = 1;
std::vector<std::unique_ptr<Context>>& contexts = *new std::vector<std::unique_ptr<Context>>();
std::map<uintptr_t, Allocation>& allocations = *new std::map<uintptr_t, Allocation>();
std::deque<std::pair<char*, size_t>>& quarantine = *new std::deque<std::pair<char*, size_t>>();
size_t quarantined = 0;
std::map<std::string, long>& calls = *new std::map<std::string, long>();
std::map<std::string, long>& open_handles = *new std::map<std::string, long>();
std::set<std::string>& unknown = *new std::set<std::string>();
std::set<void*>& live = *new std::set<void*>();                 // every handle that may be used
struct Fault { std::string function; long nth; int status; };
std::vector<Fault>& faults = *new std::vector<Fault>();
std::map<std::string, long>& fault_counts = *new std::map<std::string, long>();
long allocations_made = 0;
long launches_made = 0;
long kernels_run = 0;
long oom_at = -1;
long launch_failure_at = -1;
long memory_limit = 8L << 30;
long memory_used = 0;
bool empty_kernels = false;
int delay_micros = 0;
std::mt19937_64 chance(1);
std::map<std::shared_ptr<Capture>, int>& captures = *new std::map<std::shared_ptr<Capture>, int>();
thread_local std::vector<Context*> current;
thread_local Context* executing = nullptr;  // of the work that this pool thread runs

typedef std::unique_lock<std::mutex> Guard;

void poison(Context* context, int error, const std::string& reason) {
  if (context && context->error == 0) {
    context->error = error;
    context->reason = reason;
    std::fprintf(stderr, "emulator: %s\n", reason.c_str());
  }
}

void finish(const WorkRef& work) {
  work->done = true;
  for (WorkRef& next : work->dependents) {
    if (--next->pending == 0) ready.push_back(next);
  }
  work->dependents.clear();
  work->run = nullptr;
  changed.notify_all();
}

void pool_main() {
  Guard guard(lock);
  while (true) {
    changed.wait(guard, [] { return !ready.empty(); });
    size_t pick = chance() % ready.size();
    WorkRef work = ready[pick];
    ready[pick] = ready.back();
    ready.pop_back();
    int delay = delay_micros ? (int)(chance() % (unsigned)delay_micros) : 0;
    std::function<void()> run = work->run;
    running++;
    guard.unlock();
    if (delay) usleep((useconds_t)delay);
    if (run) run();
    guard.lock();
    running--;
    finish(work);
  }
}

void start_pool() {
  while (pool.size() < 6) {
    pool.emplace_back(pool_main);
    pool.back().detach();
  }
}

WorkRef submit(const std::vector<WorkRef>& after, std::function<void()> run) {
  WorkRef work = std::make_shared<Work>();
  work->run = std::move(run);
  for (const WorkRef& before : after) {
    if (!before->done) {
      before->dependents.push_back(work);
      work->pending++;
    }
  }
  if (work->pending == 0) {
    ready.push_back(work);
    changed.notify_all();
  }
  return work;
}

void add(std::vector<WorkRef>& to, const std::vector<WorkRef>& more) {
  for (const WorkRef& work : more) {
    if (!work->done && std::find(to.begin(), to.end(), work) == to.end()) to.push_back(work);
  }
  to.erase(std::remove_if(to.begin(), to.end(), [](const WorkRef& w) { return w->done; }),
           to.end());
}

Context* context_now() { return current.empty() ? nullptr : current.back(); }

Stream* stream_of(void* handle) {
  if (handle == nullptr || handle == (void*)1) {
    Context* context = context_now();
    return context ? &context->legacy : nullptr;
  }
  return live.count(handle) ? (Stream*)handle : nullptr;
}

bool is_legacy(Stream* stream) { return stream == &stream->context->legacy; }

// What new work of a stream must wait for: its own past, and by the legacy rules that of others.
std::vector<WorkRef> before(Stream* stream) {
  std::vector<WorkRef> all;
  add(all, stream->tail);
  if (is_legacy(stream)) {
    for (Stream* other : stream->context->streams) {
      if (other->blocking) add(all, other->tail);
    }
  } else if (stream->blocking) {
    add(all, stream->context->legacy.tail);
  }
  return all;
}

void invalidate(Capture* capture) { capture->invalid = true; }

// The capture that forbids this thread unsafe calls, if any.
Capture* forbidding() {
  for (auto& entry : captures) {
    Capture* capture = entry.first.get();
    if (capture->mode == 2) continue;                                   // relaxed
    if (capture->mode == 1 && capture->thread != std::this_thread::get_id()) continue;
    return capture;
  }
  return nullptr;
}

int unsafe() {
  if (Capture* capture = forbidding()) {
    invalidate(capture);
    return CAPTURE_UNSUPPORTED;
  }
  return SUCCESS;
}

// Legacy default stream while a blocking stream captures.
int implicit(Stream* stream) {
  if (!is_legacy(stream)) return SUCCESS;
  for (Stream* other : stream->context->streams) {
    if (other->blocking && other->capture) {
      invalidate(other->capture.get());
      return CAPTURE_IMPLICIT;
    }
  }
  return SUCCESS;
}

size_t add_node(Stream* stream, NodeKind kind, const char* name, std::function<void()> run) {
  Graph* graph = stream->capture->graph.get();
  size_t index = graph->nodes.size();
  GraphNode node;
  node.kind = kind;
  node.name = name;
  node.run = std::move(run);
  node.dependencies.assign(stream->captured.begin(), stream->captured.end());
  node.graph = graph;
  node.index = index;
  graph->nodes.push_back(std::move(node));
  stream->captured = {index};
  return index;
}

int enqueue(Stream* stream, NodeKind kind, const char* name, std::function<void()> run) {
  Context* context = stream->context;
  std::function<void()> body = [context, run] {
    Guard guard(lock);
    if (context->error) return;                                         // nothing runs any more
    if (empty_kernels) return;
    guard.unlock();
    executing = context;
    run();
    executing = nullptr;
  };
  if (stream->capture) {
    if (stream->capture->invalid) return CAPTURE_INVALIDATED;
    add_node(stream, kind, name, std::move(body));
    return SUCCESS;
  }
  int status = implicit(stream);
  if (status) return status;
  stream->tail = {submit(before(stream), std::move(body))};
  return SUCCESS;
}

int wait_for(Guard& guard, const std::vector<WorkRef>& works, Context* context) {
  changed.wait(guard, [&works] {
    return std::all_of(works.begin(), works.end(), [](const WorkRef& w) { return w->done; });
  });
  return context ? context->error : SUCCESS;
}

bool intact(const Allocation& a) {
  for (size_t i = 0; i < GUARD; i++) {
    if ((unsigned char)a.raw[i] != CANARY) return false;
    if ((unsigned char)a.raw[GUARD + a.size + i] != CANARY) return false;
  }
  return true;
}

void check_canaries(Context* context) {
  for (auto& entry : allocations) {
    if (!intact(entry.second)) {
      std::ostringstream text;
      text << "a kernel wrote outside an allocation of " << entry.second.size << " bytes";
      std::memset(entry.second.raw, CANARY, GUARD);
      std::memset(entry.second.raw + GUARD + entry.second.size, CANARY, GUARD);
      poison(context, ILLEGAL_ADDRESS, text.str());
    }
  }
}

void* allocate(size_t size, bool pinned, Context* context) {
  char* raw = nullptr;
  if (posix_memalign((void**)&raw, 512, size + 2 * GUARD) != 0) return nullptr;
  std::memset(raw, CANARY, GUARD);
  std::memset(raw + GUARD, FRESH, size);
  std::memset(raw + GUARD + size, CANARY, GUARD);
  allocations[(uintptr_t)(raw + GUARD)] = {size, raw, pinned, context};
  return raw + GUARD;
}

int release(void* address, bool pinned) {
  auto found = allocations.find((uintptr_t)address);
  if (found == allocations.end() || found->second.pinned != pinned) return INVALID_VALUE;
  Allocation a = found->second;
  if (!intact(a)) poison(a.context, ILLEGAL_ADDRESS, "a kernel wrote outside an allocation");
  allocations.erase(found);
  if (!pinned) memory_used -= (long)a.size;
  std::memset(a.raw, FREED, a.size + 2 * GUARD);
  quarantine.emplace_back(a.raw, a.size + 2 * GUARD);
  quarantined += a.size + 2 * GUARD;
  while (quarantined > QUARANTINE) {
    quarantined -= quarantine.front().second;
    std::free(quarantine.front().first);
    quarantine.pop_front();
  }
  return SUCCESS;
}

bool in_range(const void* address, size_t bytes) {
  auto next = allocations.upper_bound((uintptr_t)address);
  if (next == allocations.begin()) return false;
  --next;
  return (uintptr_t)address + bytes <= next->first + next->second.size;
}

std::string describe(const void* address, size_t bytes, const char* what) {
  std::ostringstream text;
  text << what << " of " << bytes << " bytes at " << address << ", outside any live allocation";
  return text.str();
}

int fault(const char* function) {
  calls[function]++;
  long count = ++fault_counts[function];
  for (const Fault& f : faults) {
    if (f.function == function && f.nth == count) return f.status;
  }
  return SUCCESS;
}

// Every entry point: count, injected fault, initialisation, sticky error.
#define ENTER(NAME)                            \
  Guard guard(lock);                           \
  if (int injected = fault(NAME)) return injected; \
  if (!initialized) return NOT_INITIALIZED
#define CONTEXT                                \
  Context* context = context_now();            \
  if (!context) return INVALID_CONTEXT;        \
  if (context->error) return context->error
#define STREAM(HANDLE)                         \
  Stream* stream = stream_of(HANDLE);          \
  if (!stream) return HANDLE ? INVALID_HANDLE : INVALID_CONTEXT; \
  if (stream->context->error) return stream->context->error

template <typename T> void* opened(T* handle, const char* kind) {
  live.insert(handle);
  open_handles[kind]++;
  return handle;
}

template <typename T> bool closed(void* handle, const char* kind) {
  if (!live.erase(handle)) return false;
  open_handles[kind]--;
  delete (T*)handle;
  return true;
}

void run_graph(Exec* exec, WorkRef final) {
  // Called on a pool thread: turns the nodes into work; `final` waits for all of them.
  Guard guard(lock);
  if (empty_kernels) return;
  std::vector<WorkRef> works;
  for (GraphNode& node : exec->nodes) {
    std::vector<WorkRef> after;
    for (size_t d : node.dependencies) after.push_back(works[d]);
    works.push_back(submit(after, node.run));
  }
  for (const WorkRef& work : works) {
    if (!work->done) {
      work->dependents.push_back(final);
      final->pending++;
    }
  }
}

std::string line_of(const std::map<std::string, long>& map) {
  std::ostringstream text;
  for (auto& entry : map) {
    if (entry.second) text << entry.first << '=' << entry.second << '\n';
  }
  return text.str();
}
}  // namespace

// For the other emulated libraries.
__attribute__((visibility("default"))) int emu_enqueue(void* handle, const char* name,
                                                       std::function<void()> body) {
  Guard guard(lock);
  STREAM(handle);
  launches_made++;
  return enqueue(stream, KERNEL, name, std::move(body));
}
__attribute__((visibility("default"))) bool emu_check_range(const void* address, size_t bytes,
                                                            const char* what) {
  Guard guard(lock);
  if (bytes == 0 || in_range(address, bytes)) return true;
  poison(executing ? executing : context_now(), ILLEGAL_ADDRESS, describe(address, bytes, what));
  return false;
}
__attribute__((visibility("default"))) bool emu_capturing(void* handle) {
  Guard guard(lock);
  Stream* stream = stream_of(handle);
  return stream && stream->capture;
}
__attribute__((visibility("default"))) bool emu_unsafe_call(const char*) {
  Guard guard(lock);
  return unsafe() != SUCCESS;
}
__attribute__((visibility("default"))) int emu_call(const char* function) {
  Guard guard(lock);
  return fault(function);
}
__attribute__((visibility("default"))) void* emu_context() {
  Guard guard(lock);
  return context_now();
}
__attribute__((visibility("default"))) int emu_synchronize(void* handle) {
  Guard guard(lock);
  STREAM(handle);
  if (stream->capture) {
    invalidate(stream->capture.get());
    return CAPTURE_UNSUPPORTED;
  }
  std::vector<WorkRef> works = before(stream);
  return wait_for(guard, works, stream->context);
}
__attribute__((visibility("default"))) void emu_open(const char* kind) {
  Guard guard(lock);
  open_handles[kind]++;
}
__attribute__((visibility("default"))) void emu_close(const char* kind) {
  Guard guard(lock);
  open_handles[kind]--;
}
__attribute__((visibility("default"))) int emu_unknown(const char* function, int status) {
  Guard guard(lock);
  unknown.insert(function);
  std::fprintf(stderr, "emulator: %s is not emulated\n", function);
  return status;
}

// Control, by lines of text; see the Java class Emulator.
EXPORT const char* emu_command(const char* line) {
  static thread_local std::string answer;
  std::istringstream in(line);
  std::string verb;
  in >> verb;
  Guard guard(lock);
  answer.clear();
  if (verb == "reset") {                                // faults, delays and counters
    faults.clear();
    fault_counts.clear();
    calls.clear();
    unknown.clear();
    allocations_made = launches_made = kernels_run = 0;
    oom_at = launch_failure_at = -1;
    memory_limit = 8L << 30;
    empty_kernels = false;
    delay_micros = 0;
  } else if (verb == "seed") {
    unsigned long long seed;
    in >> seed >> delay_micros;
    chance.seed(seed);
  } else if (verb == "empty") {
    in >> empty_kernels;
  } else if (verb == "devices") {
    in >> device_count;
  } else if (verb == "fault") {
    Fault f;
    in >> f.function >> f.nth >> f.status;
    faults.push_back(f);
    fault_counts[f.function] = 0;
  } else if (verb == "oom") {
    in >> oom_at;
    allocations_made = 0;
  } else if (verb == "launchfailure") {
    in >> launch_failure_at;
    kernels_run = 0;
  } else if (verb == "memory") {
    in >> memory_limit;
  } else if (verb == "calls") {
    answer = line_of(calls);
  } else if (verb == "forget") {
    calls.clear();
  } else if (verb == "leaks") {
    std::map<std::string, long> all = open_handles;
    for (auto& entry : allocations) all[entry.second.pinned ? "pinned" : "allocation"]++;
    answer = line_of(all);
  } else if (verb == "unknown") {
    for (auto& name : unknown) answer += name + "\n";
  } else if (verb == "launches") {
    answer = std::to_string(launches_made);
  } else {
    answer = "?";
  }
  return answer.c_str();
}

// Initialisation, devices, errors.
EXPORT int cuInit(unsigned int) {
  Guard guard(lock);
  if (int injected = fault("cuInit")) return injected;
  if (!initialized) {
    std::fprintf(stderr, "emulator: this is an emulated CUDA driver, never a measure of speed\n");
  }
  initialized = true;
  start_pool();
  return SUCCESS;
}
EXPORT int cuDriverGetVersion(int* version) {
  Guard guard(lock);
  if (int injected = fault("cuDriverGetVersion")) return injected;
  *version = 12060;
  return SUCCESS;
}
EXPORT int cuDeviceGetCount(int* count) {
  ENTER("cuDeviceGetCount");
  *count = device_count;
  return SUCCESS;
}
EXPORT int cuDeviceGet(int* device, int ordinal) {
  ENTER("cuDeviceGet");
  if (ordinal < 0 || ordinal >= device_count) return INVALID_DEVICE;
  *device = ordinal;
  return SUCCESS;
}
EXPORT int cuDeviceGetName(char* name, int length, int device) {
  ENTER("cuDeviceGetName");
  std::snprintf(name, (size_t)length, "Emulated GPU %d", device);
  return SUCCESS;
}
EXPORT int cuDeviceTotalMem_v2(size_t* bytes, int) {
  ENTER("cuDeviceTotalMem");
  *bytes = (size_t)memory_limit;
  return SUCCESS;
}
EXPORT int cuDeviceGetUuid(char* uuid, int device) {
  ENTER("cuDeviceGetUuid");
  std::memset(uuid, device + 1, 16);
  return SUCCESS;
}
EXPORT int cuDeviceGetAttribute(int* value, int attribute, int device) {
  ENTER("cuDeviceGetAttribute");
  if (device < 0 || device >= device_count) return INVALID_DEVICE;
  static const std::map<int, int> values = {
      {1, 1024}, {2, 1024}, {3, 1024}, {4, 64}, {5, 2147483647}, {6, 65535}, {7, 65535},
      {8, 49152}, {10, 32}, {12, 65536}, {13, 1980000}, {16, 132}, {31, 1}, {39, 2048},
      {41, 1}, {75, 9}, {76, 0}, {78, 1}, {81, 233472}, {82, 65536}, {97, 232448}};
  auto found = values.find(attribute);
  *value = found == values.end() ? 0 : found->second;
  return SUCCESS;
}
EXPORT int cuGetErrorName(int error, const char** name) {
  static const std::map<int, const char*> names = {
      {0, "CUDA_SUCCESS"}, {1, "CUDA_ERROR_INVALID_VALUE"}, {2, "CUDA_ERROR_OUT_OF_MEMORY"},
      {3, "CUDA_ERROR_NOT_INITIALIZED"}, {100, "CUDA_ERROR_NO_DEVICE"},
      {101, "CUDA_ERROR_INVALID_DEVICE"}, {201, "CUDA_ERROR_INVALID_CONTEXT"},
      {218, "CUDA_ERROR_INVALID_PTX"}, {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"},
      {300, "CUDA_ERROR_INVALID_SOURCE"}, {400, "CUDA_ERROR_INVALID_HANDLE"},
      {401, "CUDA_ERROR_ILLEGAL_STATE"}, {500, "CUDA_ERROR_NOT_FOUND"},
      {600, "CUDA_ERROR_NOT_READY"}, {700, "CUDA_ERROR_ILLEGAL_ADDRESS"},
      {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"}, {719, "CUDA_ERROR_LAUNCH_FAILED"},
      {800, "CUDA_ERROR_NOT_PERMITTED"}, {801, "CUDA_ERROR_NOT_SUPPORTED"},
      {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"},
      {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"},
      {901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"}, {902, "CUDA_ERROR_STREAM_CAPTURE_MERGE"},
      {903, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED"}, {904, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED"},
      {905, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION"}, {906, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT"},
      {907, "CUDA_ERROR_CAPTURED_EVENT"}, {908, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD"},
      {999, "CUDA_ERROR_UNKNOWN"}};
  auto found = names.find(error);
  *name = found == names.end() ? nullptr : found->second;
  return found == names.end() ? INVALID_VALUE : SUCCESS;
}
EXPORT int cuGetErrorString(int error, const char** text) { return cuGetErrorName(error, text); }

// Contexts.
EXPORT int cuDevicePrimaryCtxRetain(void** out, int device) {
  ENTER("cuDevicePrimaryCtxRetain");
  if (device < 0 || device >= device_count) return INVALID_DEVICE;
  for (auto& context : contexts) {
    if (context->device == device && context->references > 0) {
      context->references++;
      *out = context.get();
      return SUCCESS;
    }
  }
  Context* made = nullptr;
  for (auto& context : contexts) {
    if (context->device == device) made = context.get();                // was released: use again
  }
  if (!made) {
    contexts.emplace_back(new Context());
    made = contexts.back().get();
  }
  made->device = device;
  made->references = 1;
  made->error = 0;
  made->legacy.context = made;
  made->legacy.blocking = true;
  open_handles["context"]++;
  *out = made;
  return SUCCESS;
}
EXPORT int cuDevicePrimaryCtxRelease_v2(int device) {
  ENTER("cuDevicePrimaryCtxRelease");
  for (auto& context : contexts) {
    if (context->device == device && context->references > 0) {
      if (--context->references == 0) open_handles["context"]--;
      return SUCCESS;
    }
  }
  return INVALID_CONTEXT;
}
EXPORT int cuDevicePrimaryCtxReset_v2(int device) {
  ENTER("cuDevicePrimaryCtxReset");
  for (auto& context : contexts) {
    if (context->device == device) context->error = 0;
  }
  return SUCCESS;
}
EXPORT int cuDevicePrimaryCtxGetState(int device, unsigned int* flags, int* active) {
  ENTER("cuDevicePrimaryCtxGetState");
  *flags = 0;
  *active = 0;
  for (auto& context : contexts) {
    if (context->device == device && context->references > 0) *active = 1;
  }
  return SUCCESS;
}
EXPORT int cuCtxGetCurrent(void** out) {
  ENTER("cuCtxGetCurrent");
  *out = context_now();
  return SUCCESS;
}
EXPORT int cuCtxSetCurrent(void* context) {
  ENTER("cuCtxSetCurrent");
  if (!current.empty()) current.pop_back();
  if (context) current.push_back((Context*)context);
  return SUCCESS;
}
EXPORT int cuCtxPushCurrent_v2(void* context) {
  ENTER("cuCtxPushCurrent");
  if (!context) return INVALID_CONTEXT;
  current.push_back((Context*)context);
  return SUCCESS;
}
EXPORT int cuCtxPopCurrent_v2(void** context) {
  ENTER("cuCtxPopCurrent");
  if (current.empty()) return INVALID_CONTEXT;
  if (context) *context = current.back();
  current.pop_back();
  return SUCCESS;
}
EXPORT int cuCtxGetDevice(int* device) {
  ENTER("cuCtxGetDevice");
  CONTEXT;
  *device = context->device;
  return SUCCESS;
}
EXPORT int cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  ENTER("cuCtxGetStreamPriorityRange");
  CONTEXT;
  if (least) *least = 0;
  if (greatest) *greatest = -5;
  return SUCCESS;
}
EXPORT int cuCtxSynchronize() {
  ENTER("cuCtxSynchronize");
  CONTEXT;
  for (Stream* stream : context->streams) {
    if (stream->capture) {
      invalidate(stream->capture.get());
      return CAPTURE_UNSUPPORTED;
    }
  }
  std::vector<WorkRef> all;
  add(all, context->legacy.tail);
  for (Stream* stream : context->streams) add(all, stream->tail);
  wait_for(guard, all, context);
  check_canaries(context);
  return context->error;
}

// Memory.
EXPORT int cuMemAlloc_v2(void** out, size_t size) {
  ENTER("cuMemAlloc");
  CONTEXT;
  if (int status = unsafe()) return status;
  if (size == 0) return INVALID_VALUE;
  if (++allocations_made == oom_at || memory_used + (long)size > memory_limit) {
    return OUT_OF_MEMORY;
  }
  *out = allocate(size, false, context);
  if (!*out) return OUT_OF_MEMORY;
  memory_used += (long)size;
  return SUCCESS;
}
EXPORT int cuMemFree_v2(void* address) {
  ENTER("cuMemFree");
  if (int status = unsafe()) return status;
  Context* context = context_now();
  if (context) {                                         // cuMemFree waits for the device
    std::vector<WorkRef> all;
    add(all, context->legacy.tail);
    for (Stream* stream : context->streams) add(all, stream->tail);
    wait_for(guard, all, context);
  }
  int status = release(address, false);
  return status ? status : context ? context->error : SUCCESS;
}
EXPORT int cuMemGetInfo_v2(size_t* free, size_t* total) {
  ENTER("cuMemGetInfo");
  CONTEXT;
  *free = (size_t)(memory_limit - memory_used);
  *total = (size_t)memory_limit;
  return SUCCESS;
}
EXPORT int cuMemHostAlloc(void** out, size_t size, unsigned int) {
  ENTER("cuMemHostAlloc");
  CONTEXT;
  if (int status = unsafe()) return status;
  if (size == 0) return INVALID_VALUE;
  if (++allocations_made == oom_at) return OUT_OF_MEMORY;
  *out = allocate(size, true, context);
  return *out ? SUCCESS : OUT_OF_MEMORY;
}
EXPORT int cuMemAllocHost_v2(void** out, size_t size) { return cuMemHostAlloc(out, size, 0); }
EXPORT int cuMemFreeHost(void* address) {
  ENTER("cuMemFreeHost");
  if (int status = unsafe()) return status;
  return release(address, true);
}
EXPORT int cuMemHostGetDevicePointer_v2(void** out, void* host, unsigned int) {
  ENTER("cuMemHostGetDevicePointer");
  auto found = allocations.find((uintptr_t)host);
  if (found == allocations.end() || !found->second.pinned) return INVALID_VALUE;
  *out = host;
  return SUCCESS;
}

namespace {
// A copy in stream order. Host memory that is not pinned is staged: read before the call returns
// (to the device), or waited for (to the host).
int copy(Guard& guard, void* handle, void* to, const void* from, size_t bytes, bool to_device,
         bool from_device, bool wait) {
  STREAM(handle);
  if (wait) {
    if (int status = unsafe()) return status;
  }
  if ((to_device && !in_range(to, bytes)) || (from_device && !in_range(from, bytes))) {
    return INVALID_VALUE;
  }
  std::shared_ptr<std::vector<char>> staged;
  bool pageable_source = !from_device && !in_range(from, bytes);
  bool pageable_target = !to_device && !in_range(to, bytes);
  if ((pageable_source || pageable_target) && stream->capture) {
    invalidate(stream->capture.get());                   // as the driver does for unpinned memory
    return CAPTURE_UNSUPPORTED;
  }
  if (pageable_source) staged.reset(new std::vector<char>((const char*)from, (const char*)from + bytes));
  int status = enqueue(stream, MEMCPY, "memcpy", [=] {
    const void* source = staged ? staged->data() : from;
    bool fits = (staged || !from_device || emu_check_range(from, bytes, "a copy")) &&
                (!to_device || emu_check_range(to, bytes, "a copy"));
    if (fits) std::memcpy(to, source, bytes);
  });
  // A copy from pageable memory returns once it is staged; one to the host, once it is done.
  bool waits = (wait && from_device) || pageable_target;
  if (status || !waits || stream->capture) return status;
  std::vector<WorkRef> works = before(stream);
  return wait_for(guard, works, stream->context);
}
}  // namespace

EXPORT int cuMemcpyHtoD_v2(void* to, const void* from, size_t bytes) {
  ENTER("cuMemcpyHtoD");
  return copy(guard, nullptr, to, from, bytes, true, false, true);
}
EXPORT int cuMemcpyDtoH_v2(void* to, const void* from, size_t bytes) {
  ENTER("cuMemcpyDtoH");
  return copy(guard, nullptr, to, from, bytes, false, true, true);
}
EXPORT int cuMemcpyDtoD_v2(void* to, const void* from, size_t bytes) {
  ENTER("cuMemcpyDtoD");
  return copy(guard, nullptr, to, from, bytes, true, true, false);
}
EXPORT int cuMemcpyHtoDAsync_v2(void* to, const void* from, size_t bytes, void* stream) {
  ENTER("cuMemcpyHtoDAsync");
  return copy(guard, stream, to, from, bytes, true, false, false);
}
EXPORT int cuMemcpyDtoHAsync_v2(void* to, const void* from, size_t bytes, void* stream) {
  ENTER("cuMemcpyDtoHAsync");
  return copy(guard, stream, to, from, bytes, false, true, false);
}
EXPORT int cuMemcpyDtoDAsync_v2(void* to, const void* from, size_t bytes, void* stream) {
  ENTER("cuMemcpyDtoDAsync");
  return copy(guard, stream, to, from, bytes, true, true, false);
}

namespace {
template <typename T> int fill(void* handle, void* to, T value, size_t count) {
  STREAM(handle);
  if (!in_range(to, count * sizeof(T))) return INVALID_VALUE;
  return enqueue(stream, MEMSET, "memset", [=] {
    if (emu_check_range(to, count * sizeof(T), "a fill")) std::fill_n((T*)to, count, value);
  });
}
}  // namespace

EXPORT int cuMemsetD8_v2(void* to, unsigned char value, size_t count) {
  ENTER("cuMemsetD8");
  return fill(nullptr, to, value, count);
}
EXPORT int cuMemsetD8Async(void* to, unsigned char value, size_t count, void* stream) {
  ENTER("cuMemsetD8Async");
  return fill(stream, to, value, count);
}
EXPORT int cuMemsetD32_v2(void* to, unsigned int value, size_t count) {
  ENTER("cuMemsetD32");
  return fill(nullptr, to, value, count);
}
EXPORT int cuMemsetD32Async(void* to, unsigned int value, size_t count, void* stream) {
  ENTER("cuMemsetD32Async");
  return fill(stream, to, value, count);
}

// Modules: the token that the emulated NVRTC makes of a source.
extern "C" const char* emu_compile(const char* token, char* log, size_t log_size);

EXPORT int cuModuleLoadData(void** out, const void* image) {
  Guard guard(lock);
  if (int injected = fault("cuModuleLoadData")) return injected;
  if (!initialized) return NOT_INITIALIZED;
  CONTEXT;
  if (int status = unsafe()) return status;
  guard.unlock();                                        // may compile
  char log[1024] = "";
  const char* file = emu_compile((const char*)image, log, sizeof log);
  void* library = file ? dlopen(file, RTLD_NOW | RTLD_LOCAL) : nullptr;
  if (file && !library) std::fprintf(stderr, "emulator: %s\n", dlerror());
  guard.lock();
  if (!library) return 218;                              // CUDA_ERROR_INVALID_PTX
  Module* module = new Module();
  module->library = library;
  *out = opened(module, "module");
  return SUCCESS;
}
EXPORT int cuModuleLoadDataEx(void** out, const void* image, unsigned int, int*, void**) {
  return cuModuleLoadData(out, image);
}
EXPORT int cuModuleUnload(void* handle) {
  ENTER("cuModuleUnload");
  if (int status = unsafe()) return status;
  if (!live.count(handle)) return INVALID_HANDLE;
  for (auto& entry : ((Module*)handle)->functions) live.erase(entry.second.get());
  closed<Module>(handle, "module");                      // the code stays mapped: works may hold it
  return SUCCESS;
}
EXPORT int cuModuleGetFunction(void** out, void* handle, const char* name) {
  ENTER("cuModuleGetFunction");
  CONTEXT;
  if (!live.count(handle)) return INVALID_HANDLE;
  Module* module = (Module*)handle;
  std::unique_ptr<Function>& function = module->functions[name];
  if (!function) {
    void* run = dlsym(module->library, (std::string("emu_run_") + name).c_str());
    int (*sizes)(size_t*) =
        (int (*)(size_t*))dlsym(module->library, (std::string("emu_sizes_") + name).c_str());
    if (!run || !sizes) {
      module->functions.erase(name);
      return NOT_FOUND;
    }
    function.reset(new Function());
    function->name = name;
    function->run = (void (*)(void**, const unsigned int*, void*))run;
    function->module = module;
    size_t all[256];
    int count = sizes(all);
    function->sizes.assign(all, all + count);
    live.insert(function.get());
  }
  *out = function.get();
  return SUCCESS;
}
EXPORT int cuFuncGetAttribute(int* value, int attribute, void* handle) {
  ENTER("cuFuncGetAttribute");
  if (!live.count(handle)) return INVALID_HANDLE;
  *value = attribute == 0 ? 1024 : attribute == 4 ? 32 : attribute == 5 ? 90 : 0;
  return SUCCESS;
}
EXPORT int cuFuncSetAttribute(void* handle, int, int) {
  ENTER("cuFuncSetAttribute");
  return live.count(handle) ? SUCCESS : INVALID_HANDLE;
}

EXPORT int cuLaunchKernel(void* handle, unsigned int gx, unsigned int gy, unsigned int gz,
                          unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared,
                          void* stream_handle, void** parameters, void** extra) {
  ENTER("cuLaunchKernel");
  CONTEXT;
  if (!live.count(handle)) return INVALID_HANDLE;
  STREAM(stream_handle);
  if (stream->context != context) return INVALID_CONTEXT;
  if (extra || !gx || !gy || !gz || !bx || !by || !bz || gy > 65535 || gz > 65535 || bz > 64 ||
      gx > 2147483647u || (unsigned long)bx * by * bz > 1024 || shared > 49152) {
    return INVALID_VALUE;
  }
  Function* function = (Function*)handle;
  launches_made++;
  // Arguments are copied now: the caller's memory may go.
  auto bytes = std::make_shared<std::vector<std::vector<char>>>();
  for (size_t i = 0; i < function->sizes.size(); i++) {
    if (!parameters || !parameters[i]) return INVALID_VALUE;
    char* p = (char*)parameters[i];
    bytes->emplace_back(p, p + function->sizes[i]);
  }
  auto run = function->run;
  std::string name = function->name;
  return enqueue(stream, KERNEL, function->name.c_str(), [=] {
    {
      Guard inner(lock);
      if (++kernels_run == launch_failure_at) {
        poison(executing, LAUNCH_FAILED, "injected launch failure in " + name);
        return;
      }
    }
    std::vector<void*> arguments;
    for (auto& argument : *bytes) arguments.push_back(argument.data());
    unsigned int size[6] = {gx, gy, gz, bx, by, bz};
    std::vector<double> memory((shared + 7) / 8 + 1);
    run(arguments.data(), size, memory.data());
  });
}

// Streams.
EXPORT int cuStreamCreateWithPriority(void** out, unsigned int flags, int priority) {
  ENTER("cuStreamCreateWithPriority");
  CONTEXT;
  Stream* stream = new Stream();
  stream->context = context;
  stream->blocking = !(flags & 1);
  stream->priority = std::max(-5, std::min(0, priority));
  context->streams.insert(stream);
  *out = opened(stream, "stream");
  return SUCCESS;
}
EXPORT int cuStreamCreate(void** out, unsigned int flags) {
  return cuStreamCreateWithPriority(out, flags, 0);
}
EXPORT int cuStreamGetPriority(void* handle, int* priority) {
  ENTER("cuStreamGetPriority");
  STREAM(handle);
  *priority = stream->priority;
  return SUCCESS;
}
EXPORT int cuStreamGetFlags(void* handle, unsigned int* flags) {
  ENTER("cuStreamGetFlags");
  STREAM(handle);
  *flags = stream->blocking ? 0 : 1;
  return SUCCESS;
}
EXPORT int cuStreamGetCtx(void* handle, void** out) {
  ENTER("cuStreamGetCtx");
  STREAM(handle);
  *out = stream->context;
  return SUCCESS;
}
EXPORT int cuStreamDestroy_v2(void* handle) {
  ENTER("cuStreamDestroy");
  if (!handle || !live.count(handle)) return INVALID_HANDLE;
  Stream* stream = (Stream*)handle;
  if (stream->capture) {
    invalidate(stream->capture.get());
    return CAPTURE_UNSUPPORTED;
  }
  stream->context->streams.erase(stream);
  int error = stream->context->error;
  closed<Stream>(handle, "stream");
  return error;
}
EXPORT int cuStreamSynchronize(void* handle) {
  ENTER("cuStreamSynchronize");
  STREAM(handle);
  if (stream->capture) {
    invalidate(stream->capture.get());
    return CAPTURE_UNSUPPORTED;
  }
  if (int status = implicit(stream)) return status;
  std::vector<WorkRef> works = before(stream);
  int status = wait_for(guard, works, stream->context);
  if (!status && !empty_kernels) {
    check_canaries(stream->context);
    status = stream->context->error;
  }
  return status;
}
EXPORT int cuStreamQuery(void* handle) {
  ENTER("cuStreamQuery");
  STREAM(handle);
  if (stream->capture) {
    invalidate(stream->capture.get());
    return CAPTURE_UNSUPPORTED;
  }
  for (const WorkRef& work : before(stream)) {
    if (!work->done) return NOT_READY;
  }
  return SUCCESS;
}
EXPORT int cuStreamWaitEvent(void* handle, void* event_handle, unsigned int) {
  ENTER("cuStreamWaitEvent");
  STREAM(handle);
  if (!event_handle || !live.count(event_handle)) return INVALID_HANDLE;
  Event* event = (Event*)event_handle;
  if (event->capture && !event->capture->ended) {
    if (!stream->capture) {
      if (is_legacy(stream)) {
        invalidate(event->capture.get());
        return CAPTURE_IMPLICIT;
      }
      stream->capture = event->capture;
      stream->captured = event->captured;
      return SUCCESS;
    }
    if (stream->capture != event->capture) {
      invalidate(stream->capture.get());
      invalidate(event->capture.get());
      return CAPTURE_MERGE;
    }
    stream->captured.insert(event->captured.begin(), event->captured.end());
    return SUCCESS;
  }
  if (stream->capture) {                                 // an event of uncaptured work
    if (!event->recorded) return SUCCESS;
    invalidate(stream->capture.get());
    return CAPTURE_ISOLATION;
  }
  if (event->recorded) add(stream->tail, event->works);
  return SUCCESS;
}

// Events.
EXPORT int cuEventCreate(void** out, unsigned int flags) {
  ENTER("cuEventCreate");
  CONTEXT;
  Event* event = new Event();
  event->context = context;
  event->timed = !(flags & 2);
  *out = opened(event, "event");
  return SUCCESS;
}
EXPORT int cuEventDestroy_v2(void* handle) {
  ENTER("cuEventDestroy");
  if (!handle || !live.count(handle)) return INVALID_HANDLE;
  int error = ((Event*)handle)->context->error;
  closed<Event>(handle, "event");
  return error;
}
EXPORT int cuEventRecord(void* handle, void* stream_handle) {
  ENTER("cuEventRecord");
  STREAM(stream_handle);
  if (!handle || !live.count(handle)) return INVALID_HANDLE;
  Event* event = (Event*)handle;
  if (event->context != stream->context) return INVALID_HANDLE;
  if (stream->capture) {
    if (stream->capture->invalid) return CAPTURE_INVALIDATED;
    event->capture = stream->capture;
    event->captured = stream->captured;
    event->recorded = false;
    return SUCCESS;
  }
  if (int status = implicit(stream)) return status;
  event->capture = nullptr;
  event->recorded = true;
  if (event->timed) {
    auto time = std::make_shared<std::chrono::steady_clock::time_point>();
    event->time = time;
    WorkRef work = submit(before(stream), [time] { *time = std::chrono::steady_clock::now(); });
    stream->tail = {work};
    event->works = {work};
  } else {
    event->works = before(stream);
  }
  return SUCCESS;
}
EXPORT int cuEventQuery(void* handle) {
  ENTER("cuEventQuery");
  if (!handle || !live.count(handle)) return INVALID_HANDLE;
  Event* event = (Event*)handle;
  if (int status = unsafe()) return status;
  if (event->capture && !event->capture->ended) {
    invalidate(event->capture.get());
    return CAPTURED_EVENT;
  }
  for (const WorkRef& work : event->works) {
    if (!work->done) return NOT_READY;
  }
  return event->context->error;
}
EXPORT int cuEventSynchronize(void* handle) {
  ENTER("cuEventSynchronize");
  if (!handle || !live.count(handle)) return INVALID_HANDLE;
  Event* event = (Event*)handle;
  if (int status = unsafe()) return status;
  if (event->capture && !event->capture->ended) {
    invalidate(event->capture.get());
    return CAPTURED_EVENT;
  }
  std::vector<WorkRef> works = event->works;
  return wait_for(guard, works, event->context);
}
EXPORT int cuEventElapsedTime(float* millis, void* from, void* to) {
  ENTER("cuEventElapsedTime");
  if (!live.count(from) || !live.count(to)) return INVALID_HANDLE;
  Event* a = (Event*)from;
  Event* b = (Event*)to;
  if (!a->timed || !b->timed || !a->recorded || !b->recorded) return INVALID_HANDLE;
  for (Event* event : {a, b}) {
    for (const WorkRef& work : event->works) {
      if (!work->done) return NOT_READY;
    }
  }
  *millis = std::chrono::duration<float, std::milli>(*b->time - *a->time).count();
  return SUCCESS;
}

// Capture.
EXPORT int cuStreamBeginCapture_v2(void* handle, int mode) {
  ENTER("cuStreamBeginCapture");
  STREAM(handle);
  if (is_legacy(stream)) return CAPTURE_UNSUPPORTED;
  if (stream->capture) return ILLEGAL_STATE;
  auto capture = std::make_shared<Capture>();
  capture->origin = stream;
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->graph.reset(new Graph());
  stream->capture = capture;
  stream->captured.clear();
  captures[capture] = 1;
  return SUCCESS;
}
EXPORT int cuStreamIsCapturing(void* handle, int* status) {
  ENTER("cuStreamIsCapturing");
  STREAM(handle);
  *status = !stream->capture ? 0 : stream->capture->invalid ? 2 : 1;
  return SUCCESS;
}
EXPORT int cuThreadExchangeStreamCaptureMode(int* mode) {
  ENTER("cuThreadExchangeStreamCaptureMode");
  static thread_local int held = 0;
  std::swap(held, *mode);
  return SUCCESS;
}
EXPORT int cuStreamEndCapture(void* handle, void** out) {
  ENTER("cuStreamEndCapture");
  *out = nullptr;
  STREAM(handle);
  std::shared_ptr<Capture> capture = stream->capture;
  if (!capture) return ILLEGAL_STATE;
  if (capture->origin != stream) {
    invalidate(capture.get());
    return CAPTURE_UNMATCHED;
  }
  if (capture->mode == 1 && capture->thread != std::this_thread::get_id()) {
    return CAPTURE_WRONG_THREAD;
  }
  // Every node must be an ancestor of what the origin stream ended with.
  std::vector<char> reached(capture->graph->nodes.size(), 0);
  std::vector<size_t> left(stream->captured.begin(), stream->captured.end());
  while (!left.empty()) {
    size_t node = left.back();
    left.pop_back();
    if (reached[node]) continue;
    reached[node] = 1;
    for (size_t d : capture->graph->nodes[node].dependencies) left.push_back(d);
  }
  bool joined = std::all_of(reached.begin(), reached.end(), [](char r) { return r != 0; });
  capture->ended = true;
  captures.erase(capture);
  for (Stream* other : stream->context->streams) {
    if (other->capture == capture) {
      // A fork without work of its own must be joined too.
      for (size_t node : other->captured) joined = joined && reached[node];
      if (other != stream) other->capture = nullptr;
    }
  }
  stream->capture = nullptr;
  if (capture->invalid) return CAPTURE_INVALIDATED;
  if (!joined) return CAPTURE_UNJOINED;
  *out = opened(capture->graph.release(), "graph");
  return SUCCESS;
}

// Graphs.
EXPORT int cuGraphDestroy(void* handle) {
  ENTER("cuGraphDestroy");
  if (!handle || !live.count(handle)) return INVALID_HANDLE;
  for (GraphNode& node : ((Graph*)handle)->nodes) live.erase(&node);
  closed<Graph>(handle, "graph");
  return SUCCESS;
}
EXPORT int cuGraphGetNodes(void* handle, void** nodes, size_t* count) {
  ENTER("cuGraphGetNodes");
  if (!handle || !live.count(handle)) return INVALID_HANDLE;
  Graph* graph = (Graph*)handle;
  if (nodes) {
    for (size_t i = 0; i < *count; i++) {
      nodes[i] = i < graph->nodes.size() ? &graph->nodes[i] : nullptr;
      if (nodes[i]) live.insert(nodes[i]);
    }
  }
  *count = graph->nodes.size();
  return SUCCESS;
}
EXPORT int cuGraphGetEdges(void* handle, void** from, void** to, size_t* count) {
  ENTER("cuGraphGetEdges");
  if (!handle || !live.count(handle)) return INVALID_HANDLE;
  Graph* graph = (Graph*)handle;
  size_t edges = 0;
  for (GraphNode& node : graph->nodes) {
    for (size_t d : node.dependencies) {
      if (from && edges < *count) from[edges] = &graph->nodes[d];
      if (to && edges < *count) to[edges] = &node;
      edges++;
    }
  }
  *count = edges;
  return SUCCESS;
}
EXPORT int cuGraphNodeGetType(void* handle, int* type) {
  ENTER("cuGraphNodeGetType");
  if (!handle || !live.count(handle)) return INVALID_HANDLE;
  *type = ((GraphNode*)handle)->kind;
  return SUCCESS;
}
EXPORT int cuGraphInstantiateWithFlags(void** out, void* handle, unsigned long long) {
  ENTER("cuGraphInstantiate");
  CONTEXT;
  if (int status = unsafe()) return status;
  if (!handle || !live.count(handle)) return INVALID_HANDLE;
  Exec* exec = new Exec();
  for (GraphNode& node : ((Graph*)handle)->nodes) exec->nodes.push_back(node);
  *out = opened(exec, "exec");
  return SUCCESS;
}
EXPORT int cuGraphUpload(void* handle, void* stream_handle) {
  ENTER("cuGraphUpload");
  STREAM(stream_handle);
  return handle && live.count(handle) ? SUCCESS : INVALID_HANDLE;
}
EXPORT int cuGraphLaunch(void* handle, void* stream_handle) {
  ENTER("cuGraphLaunch");
  CONTEXT;
  STREAM(stream_handle);
  if (stream->context != context) return INVALID_CONTEXT;
  if (!handle || !live.count(handle)) return INVALID_HANDLE;
  if (stream->capture) {
    invalidate(stream->capture.get());
    return CAPTURE_UNSUPPORTED;
  }
  Exec* exec = (Exec*)handle;
  std::vector<WorkRef> after = before(stream);
  add(after, exec->last);
  WorkRef final = std::make_shared<Work>();
  final->pending = 1;
  WorkRef expand = submit(after, nullptr);
  expand->run = [exec, final] { run_graph(exec, final); };
  expand->dependents.push_back(final);
  stream->tail = {final};
  exec->last = {final};
  return SUCCESS;
}
EXPORT int cuGraphExecDestroy(void* handle) {
  ENTER("cuGraphExecDestroy");
  if (!handle || !live.count(handle)) return INVALID_HANDLE;
  std::vector<WorkRef> last = ((Exec*)handle)->last;
  wait_for(guard, last, nullptr);
  closed<Exec>(handle, "exec");
  return SUCCESS;
}
