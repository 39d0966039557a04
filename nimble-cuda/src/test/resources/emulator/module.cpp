// The emulated driver: modules, functions, kernel launches.
#include "driver.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <sstream>

extern "C" const char* emu_compile(const char* token, char* log, size_t log_size);

namespace emu {
namespace {
// A kernel that touches an unmapped address, or divides by zero, must end itself and not the
// process. Signals from elsewhere go to whoever had them before: the Java machine needs its own.
__attribute__((tls_model("initial-exec"))) thread_local sigjmp_buf* escape = nullptr;
struct sigaction former[3];
const int SIGNALS[] = {SIGSEGV, SIGBUS, SIGFPE};

void on_signal(int number, siginfo_t* info, void* context) {
  if (escape) siglongjmp(*escape, number);
  for (int i = 0; i < 3; i++) {
    if (SIGNALS[i] != number) continue;
    if (former[i].sa_flags & SA_SIGINFO) {
      former[i].sa_sigaction(number, info, context);
    } else if (former[i].sa_handler == SIG_DFL) {
      signal(number, SIG_DFL);                           // happens again, and ends the process
    } else if (former[i].sa_handler != SIG_IGN) {
      former[i].sa_handler(number);
    }
  }
}

void catch_signals() {
  static std::once_flag once;
  std::call_once(once, [] {
    for (int i = 0; i < 3; i++) {
      struct sigaction action;
      std::memset(&action, 0, sizeof action);
      action.sa_sigaction = on_signal;
      action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
      sigaction(SIGNALS[i], &action, &former[i]);
    }
  });
}

// Runs the blocks of a kernel. 0, a signal's number, or -1 for a barrier that never opens.
int run_blocks(int (*run)(void**, const unsigned int*, void*), void** arguments,
               const unsigned int* size, void* shared) {
  sigjmp_buf here;
  int met = sigsetjmp(here, 0);
  if (met == 0) {
    escape = &here;
    met = run(arguments, size, shared);
  }
  escape = nullptr;
  return met;
}

// Whether the pointers among a kernel's arguments point into live memory of the context, or just
// past it. Pointers within structures are not seen.
std::string bad_pointer(const Launch& launch, const std::vector<Parameter>& parameters,
                        Context* context) {
  for (size_t i = 0; i < parameters.size(); i++) {
    if (!parameters[i].pointer) continue;
    char* address;
    std::memcpy(&address, launch.arguments[i].data(), sizeof address);
    if (!address || in_range(address, 0, context) || in_range(address - 1, 1, context)) continue;
    return describe(address, 0, "argument " + std::to_string(i) + " points");
  }
  return "";
}

void run_kernel(const Launch& launch, const std::string& name,
                int (*run)(void**, const unsigned int*, void*),
                const std::vector<Parameter>& parameters) {
  Context* context = executing;
  {
    Guard guard(lock);
    if (int status = kernel_fails()) {
      poison(context, status, "injected failure of kernel " + name);
      return;
    }
    std::string bad = bad_pointer(launch, parameters, context);
    if (!bad.empty()) {
      poison(context, ILLEGAL_ADDRESS, "kernel " + name + ": " + bad);
      return;
    }
  }
  catch_signals();
  unsigned int size[6] = {launch.grid[0],  launch.grid[1],  launch.grid[2],
                          launch.block[0], launch.block[1], launch.block[2]};
  const size_t margin = 64;                              // doubles; a canary behind shared memory
  std::vector<double> memory((launch.shared + 7) / 8 + margin, -6.2598534e18);
  std::vector<void*> pointers = launch.pointers;
  std::vector<std::vector<char>> own = launch.arguments;  // a kernel may change its parameters
  for (size_t i = 0; i < own.size(); i++) pointers[i] = own[i].data();
  int met = run_blocks(run, pointers.data(), size, memory.data());
  bool overrun = false;
  for (size_t i = memory.size() - margin + 1; i < memory.size(); i++) {
    overrun = overrun || memory[i] != -6.2598534e18;
  }
  if (met == 0 && !overrun) return;
  Guard guard(lock);
  if (met == SIGSEGV || met == SIGBUS) {
    poison(context, ILLEGAL_ADDRESS, "kernel " + name + " touched an unmapped address");
  } else if (met == SIGFPE) {
    poison(context, LAUNCH_FAILED, "kernel " + name + " divided an integer by zero");
  } else if (met != 0) {
    poison(context, LAUNCH_FAILED,
           "kernel " + name + ": not every thread of a block reached the same barrier");
  } else {
    poison(context, ILLEGAL_ADDRESS, "kernel " + name + " wrote outside dynamic shared memory");
  }
}

// What cuLaunchKernel and kernel nodes have in common: checks, and a copy of the arguments.
int prepare(Function* function, const unsigned int* grid, const unsigned int* block,
            unsigned int shared, void** parameters, void** extra, std::shared_ptr<Launch>& out) {
  for (int i = 0; i < 3; i++) {
    if (grid[i] == 0 || block[i] == 0) return INVALID_VALUE;
  }
  if (grid[0] > 2147483647u || grid[1] > 65535 || grid[2] > 65535 || block[0] > 1024 ||
      block[1] > 1024 || block[2] > 64 ||
      (unsigned long)block[0] * block[1] * block[2] > 1024 ||
      shared > function->dynamic_shared) {
    return INVALID_VALUE;
  }
  auto launch = std::make_shared<Launch>();
  launch->function = function;
  std::copy(grid, grid + 3, launch->grid);
  std::copy(block, block + 3, launch->block);
  launch->shared = shared;
  const char* buffer = nullptr;
  size_t buffer_size = 0;
  if (extra) {                                           // all arguments in one buffer
    if (parameters) return INVALID_VALUE;
    for (void** e = extra; *e; e += 2) {
      if ((uintptr_t)*e == 1) buffer = (const char*)e[1];
      else if ((uintptr_t)*e == 2) buffer_size = *(size_t*)e[1];
      else return INVALID_VALUE;
    }
    if (!buffer) return INVALID_VALUE;
  }
  size_t offset = 0;
  for (size_t i = 0; i < function->parameters.size(); i++) {
    const Parameter& p = function->parameters[i];
    const char* from;
    if (extra) {
      offset = (offset + p.alignment - 1) / p.alignment * p.alignment;
      if (offset + p.size > buffer_size) return INVALID_VALUE;
      from = buffer + offset;
      offset += p.size;
    } else {
      if (!parameters || !parameters[i]) return INVALID_VALUE;
      from = (const char*)parameters[i];
    }
    launch->arguments.emplace_back(from, from + p.size);
  }
  if (packed_arguments && parameters) {                  // as the kernel's own parameters would lie
    size_t end = 0;
    for (size_t i = 0; i < function->parameters.size(); i++) {
      const Parameter& p = function->parameters[i];
      end = (end + p.alignment - 1) / p.alignment * p.alignment;
      if ((const char*)parameters[i] != (const char*)parameters[0] + end) {
        poison(nullptr, 0, "argument " + std::to_string(i) +
                               " or one before it has another size than its parameter");
        return INVALID_VALUE;
      }
      end += p.size;
    }
  }
  for (auto& argument : launch->arguments) launch->pointers.push_back(argument.data());
  out = launch;
  return SUCCESS;
}
}  // namespace

int make_launch(Function* function, const unsigned int* grid, const unsigned int* block,
                unsigned int shared, void** parameters, void** extra,
                std::shared_ptr<Launch>& launch, std::function<void()>& body) {
  int status = prepare(function, grid, block, shared, parameters, extra, launch);
  if (status) return status;
  std::shared_ptr<Launch> held = launch;
  std::string name = function->name;
  auto run = function->run;
  std::vector<Parameter> described = function->parameters;
  body = [held, name, run, described] { run_kernel(*held, name, run, described); };
  return SUCCESS;
}

// The code stays mapped: work under way may still run it.
void forget_module(Module* module) {
  for (auto& entry : module->functions) close_handle(entry.second.get(), Function::KIND);
  for (auto& entry : module->globals) forget_global(entry.second);
}
}  // namespace emu

using namespace emu;

namespace {
// The token that the emulated NVRTC makes of a source, compiled again if its code is gone.
int load(Guard& guard, void** out, const void* image) {
  CONTEXT;
  if (int status = unsafe()) return status;
  if (!image) return INVALID_VALUE;
  guard.unlock();                                        // may compile
  std::vector<char> log(1 << 14);
  const char* file = emu_compile((const char*)image, log.data(), log.size());
  void* library = file ? dlopen(file, RTLD_NOW | RTLD_LOCAL) : nullptr;
  if (!file) std::fprintf(stderr, "emulator: cuModuleLoadData: %s\n", log.data());
  if (file && !library) std::fprintf(stderr, "emulator: %s\n", dlerror());
  guard.lock();
  if (!library) return INVALID_PTX;
  Module* module = new Module();
  module->context = context;
  module->library = library;
  *out = opened(module);
  return SUCCESS;
}
}  // namespace

EXPORT int cuModuleLoadData(void** out, const void* image) {
  ENTER("cuModuleLoadData");
  return load(guard, out, image);
}
EXPORT int cuModuleLoadDataEx(void** out, const void* image, unsigned int, int*, void**) {
  ENTER("cuModuleLoadDataEx");
  return load(guard, out, image);
}
EXPORT int cuModuleUnload(void* handle) {
  ENTER("cuModuleUnload");
  if (int status = unsafe()) return status;
  Module* module = as<Module>(handle);
  if (!module) return INVALID_HANDLE;
  Context* context = module->context;
  wait_for(guard, everything(context), nullptr);
  forget_module(module);
  closed(module);
  return context->error;
}
EXPORT int cuModuleGetFunction(void** out, void* handle, const char* name) {
  ENTER("cuModuleGetFunction");
  CONTEXT;
  Module* module = as<Module>(handle);
  if (!module) return INVALID_HANDLE;
  if (module->context != context) return INVALID_CONTEXT;
  std::unique_ptr<Function>& function = module->functions[name];
  if (!function) {
    void* run = dlsym(module->library, (std::string("emu_run_") + name).c_str());
    auto describe_parameters =
        (int (*)(Parameter*))dlsym(module->library, (std::string("emu_parameters_") + name).c_str());
    if (!run || !describe_parameters) {
      module->functions.erase(name);
      return NOT_FOUND;
    }
    function.reset(new Function());
    function->context = context;
    function->name = name;
    function->run = (int (*)(void**, const unsigned int*, void*))run;
    function->module = module;
    Parameter all[256];
    int count = describe_parameters(all);
    function->parameters.assign(all, all + count);
    open_handle(function.get(), Function::KIND, false);
  }
  *out = function.get();
  return SUCCESS;
}
EXPORT int cuModuleGetGlobal_v2(void** address, size_t* size, void* handle, const char* name) {
  ENTER("cuModuleGetGlobal");
  CONTEXT;
  Module* module = as<Module>(handle);
  if (!module) return INVALID_HANDLE;
  auto find = (void* (*)(size_t*))dlsym(module->library, (std::string("emu_global_") + name).c_str());
  if (!find) return NOT_FOUND;
  size_t bytes;
  void* found = find(&bytes);
  if (!module->globals.count(name)) {
    module->globals[name] = (uintptr_t)found;
    register_global(found, bytes, context);
  }
  if (address) *address = found;
  if (size) *size = bytes;
  return SUCCESS;
}

// Functions.
EXPORT int cuFuncGetAttribute(int* value, int attribute, void* handle) {
  ENTER("cuFuncGetAttribute");
  CONTEXT;
  Function* function = as<Function>(handle);
  if (!function) return INVALID_HANDLE;
  switch (attribute) {
    case 0: *value = 1024; return SUCCESS;               // threads per block
    case 1: *value = 0; return SUCCESS;                  // static shared memory: not known here
    case 2: *value = 0; return SUCCESS;                  // constant memory
    case 3: *value = 0; return SUCCESS;                  // local memory
    case 4: *value = 32; return SUCCESS;                 // registers
    case 5: *value = 90; return SUCCESS;                 // PTX version
    case 6: *value = 90; return SUCCESS;                 // binary version
    case 7: *value = 0; return SUCCESS;                  // cache mode
    case 8: *value = (int)function->dynamic_shared; return SUCCESS;
    case 9: *value = function->carveout; return SUCCESS;
    default:
      return not_emulated("cuFuncGetAttribute(" + std::to_string(attribute) + ")", INVALID_VALUE);
  }
}
EXPORT int cuFuncSetAttribute(void* handle, int attribute, int value) {
  ENTER("cuFuncSetAttribute");
  CONTEXT;
  Function* function = as<Function>(handle);
  if (!function) return INVALID_HANDLE;
  if (attribute == 8) {
    if (value < 0 || value > 232448) return INVALID_VALUE;
    function->dynamic_shared = (unsigned int)value;
    return SUCCESS;
  }
  if (attribute == 9) {
    if (value < -1 || value > 100) return INVALID_VALUE;
    function->carveout = value;
    return SUCCESS;
  }
  return INVALID_VALUE;
}
EXPORT int cuFuncGetModule(void** out, void* handle) {
  ENTER("cuFuncGetModule");
  CONTEXT;
  Function* function = as<Function>(handle);
  if (!function) return INVALID_HANDLE;
  *out = function->module;
  return SUCCESS;
}
EXPORT int cuFuncSetCacheConfig(void* handle, int) {
  ENTER("cuFuncSetCacheConfig");
  CONTEXT;
  return as<Function>(handle) ? SUCCESS : INVALID_HANDLE;
}

// Occupancy by the four limits of a multiprocessor: blocks, threads, registers, shared memory.
namespace {
int blocks_per_multiprocessor(int* blocks, void* handle, int size, size_t shared) {
  CONTEXT;
  if (!as<Function>(handle)) return INVALID_HANDLE;
  if (size <= 0) return INVALID_VALUE;
  long threads = (size + 31) / 32 * 32;
  long by_threads = 2048 / threads;
  long by_registers = 65536 / (32 * threads);
  long by_shared = 233472 / (long)(shared + 1024);
  *blocks = size > 1024 ? 0 : (int)std::min({32L, by_threads, by_registers, by_shared});
  return SUCCESS;
}
}  // namespace
EXPORT int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void* function, int size,
                                                       size_t shared) {
  ENTER("cuOccupancyMaxActiveBlocksPerMultiprocessor");
  return blocks_per_multiprocessor(blocks, function, size, shared);
}
EXPORT int cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, void* function,
                                                                int size, size_t shared,
                                                                unsigned int flags) {
  ENTER("cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags");
  if (flags > 1) return INVALID_VALUE;
  return blocks_per_multiprocessor(blocks, function, size, shared);
}
EXPORT int cuOccupancyMaxPotentialBlockSize(int* grid, int* block, void* handle,
                                            size_t (*shared_of)(int), size_t shared, int limit) {
  ENTER("cuOccupancyMaxPotentialBlockSize");
  if (shared_of) return not_emulated("cuOccupancyMaxPotentialBlockSize, by a function", NOT_SUPPORTED);
  int best = 0, best_blocks = 0;
  for (int size = limit > 0 ? std::min(limit, 1024) : 1024; size >= 32; size -= 32) {
    int blocks;
    if (int status = blocks_per_multiprocessor(&blocks, handle, size, shared)) return status;
    if (blocks * size > best_blocks * best) {
      best = size;
      best_blocks = blocks;
    }
  }
  *grid = best_blocks * 132;
  *block = best;
  return SUCCESS;
}

EXPORT int cuLaunchKernel(void* handle, unsigned int gx, unsigned int gy, unsigned int gz,
                          unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared,
                          void* stream_handle, void** parameters, void** extra) {
  ENTER("cuLaunchKernel");
  CONTEXT;
  Function* function = as<Function>(handle);
  if (!function) return INVALID_HANDLE;
  STREAM(stream_handle);
  if (stream->context != context || function->context != context) return INVALID_CONTEXT;
  unsigned int grid[] = {gx, gy, gz}, block[] = {bx, by, bz};
  std::shared_ptr<Launch> launch;
  std::function<void()> body;
  if (int status = make_launch(function, grid, block, shared, parameters, extra, launch, body)) {
    return status;
  }
  launches_made++;
  return enqueue(stream, KERNEL, function->name, std::move(body), launch);
}
