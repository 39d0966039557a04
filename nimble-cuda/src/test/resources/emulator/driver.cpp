// The emulated CUDA driver: its work, its handles, its faults, and the tests' hold on it.
//
// Work is a DAG. Whatever a program enqueues becomes a piece of work that depends on what its stream
// held before and on the events that the stream waits for; a pool of threads runs any piece that is
// ready, in an order drawn at random. So two pieces that no event orders do run in either order, and
// a missing wait shows.
#include "driver.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <random>
#include <sstream>

namespace emu {
// Nothing here is destroyed at exit, for the pool's threads go on until the process ends.
std::mutex& lock = *new std::mutex();
std::condition_variable& changed = *new std::condition_variable();
std::map<uintptr_t, Allocation>& allocations = *new std::map<uintptr_t, Allocation>();
std::map<std::shared_ptr<Capture>, int>& captures = *new std::map<std::shared_ptr<Capture>, int>();
std::vector<Context*>& contexts = *new std::vector<Context*>();
bool initialized = false;
int device_count = 1;
long memory_limit = 8L << 30;
bool empty_kernels = false;
bool packed_arguments = false;
long launches_made = 0;
std::atomic<long long>& host_bytes = *new std::atomic<long long>(0);
thread_local std::vector<Context*> current;
thread_local Context* executing = nullptr;
thread_local int thread_mode = MODE_GLOBAL;

namespace {
typedef std::map<std::string, long, std::less<>> Counts;

struct Fault {
  std::string function;
  long nth;
  int status;
};

std::vector<WorkRef>& ready = *new std::vector<WorkRef>();
std::condition_variable& work_ready = *new std::condition_variable();
int pool_size = 0;
std::mt19937_64 chance(1);
int delay_micros = 0;
bool starving = false;  // one piece at a time, by rank: a chain waits until all before it have ended
int running = 0;

Counts& calls = *new Counts();
unsigned long calls_epoch = 1;
std::vector<Fault>& faults = *new std::vector<Fault>();
std::map<std::string, long>& open_handles = *new std::map<std::string, long>();
std::map<std::string, long>& abandoned = *new std::map<std::string, long>();
struct Handle {
  std::string kind;
  bool counted;
};
std::map<void*, Handle>& live = *new std::map<void*, Handle>();
std::set<std::string>& unknown = *new std::set<std::string>();
std::vector<std::string>& reasons = *new std::vector<std::string>();
long allocations_made = 0;
long kernels_run = 0;
long oom_at = -1;
long kernel_failure_at = -1;
int kernel_failure = 0;

struct ThreadCalls {
  unsigned long epoch = 0;
  Counts counts;
};
thread_local ThreadCalls thread_calls;

void finish(const WorkRef& work) {
  work->done = true;
  for (WorkRef& next : work->dependents) {
    if (--next->pending == 0) {
      ready.push_back(next);
      work_ready.notify_one();
    }
  }
  work->dependents.clear();
  work->run = nullptr;
  changed.notify_all();
}

size_t first_by_rank() {
  size_t first = 0;
  for (size_t i = 1; i < ready.size(); i++) {
    if (ready[i]->rank < ready[first]->rank) first = i;
  }
  return first;
}

// A piece of work goes on with the rank of the chain that it continues; sometimes it draws another.
void give_rank(Work& work, const std::vector<WorkRef>& after) {
  work.rank = chance();
  for (const WorkRef& previous : after) {
    if (!previous->has_heir) {
      previous->has_heir = true;
      if (chance() % 16) work.rank = previous->rank;
      return;
    }
  }
}

void pool_main() {
  Guard guard(lock);
  while (true) {
    work_ready.wait(guard, [] { return !ready.empty() && !(starving && running > 0); });
    size_t pick = starving ? first_by_rank() : chance() % ready.size();
    WorkRef work = ready[pick];
    ready[pick] = ready.back();
    ready.pop_back();
    int delay = delay_micros && work->run ? (int)(chance() % (unsigned)delay_micros) : 0;
    std::function<void()> run = std::move(work->run);
    if (run) {
      running++;
      guard.unlock();
      if (delay) usleep((useconds_t)delay);
      run();
      run = nullptr;
      guard.lock();
      running--;
    }
    finish(work);
    if (starving && !ready.empty()) work_ready.notify_one();
  }
}

std::string lines_of(const Counts& map) {
  std::ostringstream text;
  for (auto& entry : map) {
    if (entry.second) text << entry.first << '=' << entry.second << '\n';
  }
  return text.str();
}
}  // namespace

void start_pool() {
  for (; pool_size < 6; pool_size++) std::thread(pool_main).detach();
}

WorkRef submit(const std::vector<WorkRef>& after, std::function<void()> run) {
  WorkRef work = std::make_shared<Work>();
  work->run = std::move(run);
  if (starving) give_rank(*work, after);
  for (const WorkRef& previous : after) {
    if (!previous->done) {
      previous->dependents.push_back(work);
      work->pending++;
    }
  }
  if (work->pending == 0) {
    ready.push_back(work);
    work_ready.notify_one();
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

int wait_for(Guard& guard, const std::vector<WorkRef>& works, Context* context) {
  changed.wait(guard, [&works] {
    return std::all_of(works.begin(), works.end(), [](const WorkRef& w) { return w->done; });
  });
  return context ? context->error : SUCCESS;
}

std::vector<WorkRef> everything(Context* context) {
  std::vector<WorkRef> all = context->legacy.tail;
  for (Stream* stream : context->streams) add(all, stream->tail);
  add(all, context->orphans);
  return all;
}

// On a pool thread: turns the nodes into work; `last` waits for all of them.
void run_graph(Exec* exec, const WorkRef& last) {
  Guard guard(lock);
  if (empty_kernels) return;
  std::vector<WorkRef> works;
  works.reserve(exec->nodes.size());
  for (GraphNode& node : exec->nodes) {
    std::vector<WorkRef> after;
    for (size_t d : node.dependencies) after.push_back(works[d]);
    works.push_back(submit(after, node.run));
  }
  for (const WorkRef& work : works) {
    if (!work->done) {
      work->dependents.push_back(last);
      last->pending++;
    }
  }
}

int count_call(const char* function) {
  auto found = calls.find(function);
  if (found == calls.end()) found = calls.emplace(function, 0).first;
  found->second++;
  if (thread_calls.epoch != calls_epoch) {
    thread_calls.epoch = calls_epoch;
    thread_calls.counts.clear();
  }
  auto mine = thread_calls.counts.find(function);
  if (mine == thread_calls.counts.end()) mine = thread_calls.counts.emplace(function, 0).first;
  mine->second++;
  int status = SUCCESS;
  for (Fault& f : faults) {
    if (f.function == function && --f.nth == 0) status = f.status;
  }
  return status;
}

bool allocation_fails() { return ++allocations_made == oom_at; }

int kernel_fails() { return ++kernels_run == kernel_failure_at ? kernel_failure : SUCCESS; }

void poison(Context* context, int error, const std::string& reason) {
  reasons.push_back(reason);
  std::fprintf(stderr, "emulator: %s\n", reason.c_str());
  if (context && context->error == 0) context->error = error;
}

int not_emulated(const std::string& what, int status) {
  unknown.insert(what);
  std::fprintf(stderr, "emulator: %s is not emulated\n", what.c_str());
  return status;
}

void open_handle(void* handle, const char* kind, bool counted) {
  live[handle] = {kind, counted};
  if (counted) open_handles[kind]++;
}

bool close_handle(void* handle, const char* kind) {
  if (!is_live(handle, kind)) return false;
  if (live[handle].counted) open_handles[kind]--;
  live.erase(handle);
  return true;
}

bool is_live(void* handle, const char* kind) {
  auto found = live.find(handle);
  return found != live.end() && found->second.kind == kind;
}

void count_handle(const char* kind, long change) { open_handles[kind] += change; }

std::vector<std::pair<void*, std::string>> live_handles() {
  std::vector<std::pair<void*, std::string>> all;
  for (auto& entry : live) all.emplace_back(entry.first, entry.second.kind);
  return all;
}

void abandon(const std::string& kind) { abandoned[kind]++; }
}  // namespace emu

using namespace emu;

// For the other emulated libraries.
int emu_enqueue(void* handle, const char* name, std::function<void()> body) {
  Guard guard(lock);
  STREAM(handle);
  launches_made++;
  Context* context = stream->context;
  std::string what = name;
  return enqueue(stream, KERNEL, name, [context, what, body] {
    {
      Guard inner(lock);
      if (int status = kernel_fails()) {
        poison(context, status, "injected failure of " + what);
        return;
      }
    }
    body();
  });
}
bool emu_check_range(const void* address, size_t bytes, const char* what) {
  Guard guard(lock);
  Context* context = executing ? executing : context_now();
  if (bytes == 0 || in_range(address, bytes, context)) return true;
  poison(context, ILLEGAL_ADDRESS, describe(address, bytes, what));
  return false;
}
bool emu_capturing(void* handle) {
  Guard guard(lock);
  Stream* stream = stream_of(handle);
  return stream && stream->capture;
}
bool emu_unsafe_call(const char*) {
  Guard guard(lock);
  return unsafe() != SUCCESS;
}
int emu_call(const char* function) {
  Guard guard(lock);
  return count_call(function);
}
void* emu_context() {
  Guard guard(lock);
  return context_now();
}
int emu_synchronize(void* handle) {
  Guard guard(lock);
  STREAM(handle);
  if (stream->capture) {
    invalidate(stream->capture.get());
    return CAPTURE_UNSUPPORTED;
  }
  return wait_for(guard, before(stream), stream->context);
}
void emu_open(const char* kind) {
  Guard guard(lock);
  count_handle(kind, 1);
}
void emu_close(const char* kind) {
  Guard guard(lock);
  count_handle(kind, -1);
}
int emu_unknown(const char* function, int status) {
  Guard guard(lock);
  count_call(function);
  return not_emulated(function, status);
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
    calls.clear();
    calls_epoch++;
    unknown.clear();
    reasons.clear();
    abandoned.clear();
    allocations_made = launches_made = kernels_run = 0;
    oom_at = kernel_failure_at = -1;
    memory_limit = 8L << 30;
    device_count = 1;
    empty_kernels = packed_arguments = false;
    delay_micros = 0;
    starving = false;
    work_ready.notify_all();
  } else if (verb == "seed") {
    unsigned long long seed;
    in >> seed >> delay_micros;
    chance.seed(seed);
    starving = seed % 2;
    work_ready.notify_all();
  } else if (verb == "empty") {
    in >> empty_kernels;
  } else if (verb == "packed") {
    in >> packed_arguments;
  } else if (verb == "devices") {
    in >> device_count;
  } else if (verb == "fault") {
    Fault f;
    in >> f.function >> f.nth >> f.status;
    faults.push_back(f);
  } else if (verb == "oom") {
    in >> oom_at;
    allocations_made = 0;
  } else if (verb == "kernelfault") {
    in >> kernel_failure_at >> kernel_failure;
    kernels_run = 0;
  } else if (verb == "memory") {
    in >> memory_limit;
  } else if (verb == "calls") {
    answer = lines_of(calls);
  } else if (verb == "threadcalls") {
    answer = thread_calls.epoch == calls_epoch ? lines_of(thread_calls.counts) : "";
  } else if (verb == "forget") {
    calls.clear();
    calls_epoch++;
    host_bytes = 0;
  } else if (verb == "hostbytes") {
    answer = std::to_string(host_bytes.load());
  } else if (verb == "leaks") {
    Counts all(open_handles.begin(), open_handles.end());
    for (auto& entry : abandoned) all[entry.first] += entry.second;
    answer = lines_of(all);
  } else if (verb == "disown") {
    open_handles.clear();
    abandoned.clear();
  } else if (verb == "unknown") {
    for (auto& name : unknown) answer += name + "\n";
  } else if (verb == "reasons") {
    for (auto& reason : reasons) answer += reason + "\n";
  } else if (verb == "forgive") {
    for (Context* context : contexts) context->error = 0;
  } else if (verb == "launches") {
    answer = std::to_string(launches_made);
  } else if (verb == "graph") {
    unsigned long long handle;
    in >> std::hex >> handle;
    if (graph_text((void*)(uintptr_t)handle, answer) != SUCCESS) answer = "?";
  } else {
    answer = "?";
  }
  return answer.c_str();
}
