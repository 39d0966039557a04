// The emulated driver: devices, errors, contexts.
#include "driver.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace emu {
Context* context_now() { return current.empty() ? nullptr : current.back(); }

namespace {
bool is_device(int device) { return device >= 0 && device < device_count; }

Context* make_context(int device, bool primary) {
  static unsigned long long made = 0;
  Context* context = new Context();
  context->context = context;
  context->device = device;
  context->primary = primary;
  context->id = ++made;
  context->legacy.context = context;
  context->legacy.blocking = true;
  context->legacy.priority = 0;
  contexts.push_back(context);
  count_handle(Context::KIND, 1);
  return context;
}

Context* primary_of(int device) {
  for (Context* context : contexts) {
    if (context->context && context->primary && context->device == device) return context;
  }
  return nullptr;
}

// What a context still holds dies with it, after its work. `forgiven`: the program asked for that
// (a reset); otherwise what it left behind stays in the count of leaks.
void destroy_contents(Guard& guard, Context* context, bool forgiven) {
  wait_for(guard, everything(context), nullptr);
  context->orphans.clear();
  context->legacy.tail.clear();
  for (auto& entry : live_handles()) {
    const std::string& kind = entry.second;
    void* handle = entry.first;
    Context* owner = kind == Stream::KIND     ? ((Stream*)handle)->context
                     : kind == Event::KIND    ? ((Event*)handle)->context
                     : kind == Module::KIND   ? ((Module*)handle)->context
                     : kind == Exec::KIND     ? ((Exec*)handle)->context
                                              : nullptr;
    if (owner != context) continue;
    if (kind == Module::KIND) forget_module((Module*)handle);
    if (kind == Stream::KIND) drop_from_capture((Stream*)handle);
    close_handle(handle, kind.c_str());
    if (!forgiven) abandon(kind);
  }
  context->streams.clear();
  release_all(context, forgiven);
}

void destroy(Guard& guard, Context* context, bool forgiven) {
  destroy_contents(guard, context, forgiven);
  context->context = nullptr;
  count_handle(Context::KIND, -1);
}
}  // namespace
}  // namespace emu

using namespace emu;

EXPORT int cuInit(unsigned int flags) {
  Guard guard(lock);
  if (int injected = count_call("cuInit")) return injected;
  if (flags != 0) return INVALID_VALUE;
  if (!initialized) {
    std::fprintf(stderr, "emulator: this is an emulated CUDA driver, never a measure of speed\n");
  }
  initialized = true;
  start_pool();
  return SUCCESS;
}
EXPORT int cuDriverGetVersion(int* version) {
  Guard guard(lock);
  if (int injected = count_call("cuDriverGetVersion")) return injected;
  *version = 12060;
  return SUCCESS;
}

// Devices.
EXPORT int cuDeviceGetCount(int* count) {
  ENTER("cuDeviceGetCount");
  *count = device_count;
  return SUCCESS;
}
EXPORT int cuDeviceGet(int* device, int ordinal) {
  ENTER("cuDeviceGet");
  if (!is_device(ordinal)) return INVALID_DEVICE;
  *device = ordinal;
  return SUCCESS;
}
EXPORT int cuDeviceGetName(char* name, int length, int device) {
  ENTER("cuDeviceGetName");
  if (!is_device(device)) return INVALID_DEVICE;
  std::snprintf(name, (size_t)length, "Emulated GPU %d", device);
  return SUCCESS;
}
EXPORT int cuDeviceTotalMem_v2(size_t* bytes, int device) {
  ENTER("cuDeviceTotalMem");
  if (!is_device(device)) return INVALID_DEVICE;
  *bytes = (size_t)memory_limit;
  return SUCCESS;
}
EXPORT int cuDeviceGetUuid(char* uuid, int device) {
  ENTER("cuDeviceGetUuid");
  if (!is_device(device)) return INVALID_DEVICE;
  std::memset(uuid, device + 1, 16);
  return SUCCESS;
}
EXPORT int cuDeviceGetPCIBusId(char* id, int length, int device) {
  ENTER("cuDeviceGetPCIBusId");
  if (!is_device(device)) return INVALID_DEVICE;
  std::snprintf(id, (size_t)length, "0000:%02X:00.0", device + 1);
  return SUCCESS;
}
EXPORT int cuDeviceComputeCapability(int* major, int* minor, int device) {
  ENTER("cuDeviceComputeCapability");
  if (!is_device(device)) return INVALID_DEVICE;
  *major = 9;
  *minor = 0;
  return SUCCESS;
}
EXPORT int cuDeviceCanAccessPeer(int* can, int device, int peer) {
  ENTER("cuDeviceCanAccessPeer");
  if (!is_device(device) || !is_device(peer)) return INVALID_DEVICE;
  *can = 0;
  return SUCCESS;
}
EXPORT int cuDeviceGetAttribute(int* value, int attribute, int device) {
  ENTER("cuDeviceGetAttribute");
  if (!is_device(device)) return INVALID_DEVICE;
  // As for a GPU of compute capability 9.0; the numbers are those of CUdevice_attribute.
  static const std::map<int, int> values = {
      {1, 1024},       // threads per block
      {2, 1024},       {3, 1024}, {4, 64},            // block dimensions
      {5, 2147483647}, {6, 65535}, {7, 65535},        // grid dimensions
      {8, 49152},      // shared memory per block
      {9, 65536},      // constant memory
      {10, 32},        // warp size
      {11, 2147483647},  // pitch
      {12, 65536},     // registers per block
      {13, 1980000},   // clock, kHz
      {14, 512},       // texture alignment
      {15, 1},         // overlaps copies with kernels
      {16, 132},       // multiprocessors
      {17, 0},         // no run time limit
      {18, 0},         // not integrated
      {19, 1},         // maps host memory
      {20, 0},         // default compute mode
      {30, 512},       // surface alignment
      {31, 1},         // concurrent kernels
      {32, 1},         // ECC
      {33, 0},         {34, 0}, {35, 0},              // PCI bus, device; TCC
      {36, 2619000},   // memory clock, kHz
      {37, 5120},      // memory bus width
      {38, 52428800},  // L2 bytes
      {39, 2048},      // threads per multiprocessor
      {40, 3},         // copy engines
      {41, 1},         // unified addressing
      {75, 9},         {76, 0},                       // compute capability
      {78, 1},         // stream priorities
      {79, 1},         {80, 1},                       // caches
      {81, 233472},    // shared memory per multiprocessor
      {82, 65536},     // registers per multiprocessor
      {83, 0},         // no managed memory
      {84, 0},         {85, 0},                       // boards
      {86, 0},         {87, 2},
      {88, 0},         {89, 0},                       // pageable and managed access
      {90, 1},         {91, 0},
      {95, 0},         // no cooperative launch
      {97, 232448},    // shared memory per block, opt-in
      {106, 32},       // blocks per multiprocessor
      {111, 1024},     // reserved shared memory per block
      {115, 0}};       // no memory pools
  auto found = values.find(attribute);
  if (found == values.end()) {
    *value = 0;
    return not_emulated("cuDeviceGetAttribute(" + std::to_string(attribute) + ")", INVALID_VALUE);
  }
  *value = attribute == 33 ? device + 1 : found->second;
  return SUCCESS;
}

// Errors.
EXPORT int cuGetErrorName(int error, const char** name) {
  static const std::map<int, const char*> names = {
      {0, "CUDA_SUCCESS"},
      {1, "CUDA_ERROR_INVALID_VALUE"},
      {2, "CUDA_ERROR_OUT_OF_MEMORY"},
      {3, "CUDA_ERROR_NOT_INITIALIZED"},
      {4, "CUDA_ERROR_DEINITIALIZED"},
      {34, "CUDA_ERROR_STUB_LIBRARY"},
      {46, "CUDA_ERROR_DEVICE_UNAVAILABLE"},
      {100, "CUDA_ERROR_NO_DEVICE"},
      {101, "CUDA_ERROR_INVALID_DEVICE"},
      {200, "CUDA_ERROR_INVALID_IMAGE"},
      {201, "CUDA_ERROR_INVALID_CONTEXT"},
      {209, "CUDA_ERROR_NO_BINARY_FOR_GPU"},
      {214, "CUDA_ERROR_ECC_UNCORRECTABLE"},
      {218, "CUDA_ERROR_INVALID_PTX"},
      {221, "CUDA_ERROR_JIT_COMPILER_NOT_FOUND"},
      {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"},
      {300, "CUDA_ERROR_INVALID_SOURCE"},
      {301, "CUDA_ERROR_FILE_NOT_FOUND"},
      {303, "CUDA_ERROR_SHARED_OBJECT_INIT_FAILED"},
      {304, "CUDA_ERROR_OPERATING_SYSTEM"},
      {400, "CUDA_ERROR_INVALID_HANDLE"},
      {401, "CUDA_ERROR_ILLEGAL_STATE"},
      {500, "CUDA_ERROR_NOT_FOUND"},
      {600, "CUDA_ERROR_NOT_READY"},
      {700, "CUDA_ERROR_ILLEGAL_ADDRESS"},
      {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"},
      {702, "CUDA_ERROR_LAUNCH_TIMEOUT"},
      {708, "CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE"},
      {709, "CUDA_ERROR_CONTEXT_IS_DESTROYED"},
      {710, "CUDA_ERROR_ASSERT"},
      {712, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED"},
      {713, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED"},
      {714, "CUDA_ERROR_HARDWARE_STACK_ERROR"},
      {715, "CUDA_ERROR_ILLEGAL_INSTRUCTION"},
      {716, "CUDA_ERROR_MISALIGNED_ADDRESS"},
      {717, "CUDA_ERROR_INVALID_ADDRESS_SPACE"},
      {718, "CUDA_ERROR_INVALID_PC"},
      {719, "CUDA_ERROR_LAUNCH_FAILED"},
      {800, "CUDA_ERROR_NOT_PERMITTED"},
      {801, "CUDA_ERROR_NOT_SUPPORTED"},
      {802, "CUDA_ERROR_SYSTEM_NOT_READY"},
      {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"},
      {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"},
      {901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"},
      {902, "CUDA_ERROR_STREAM_CAPTURE_MERGE"},
      {903, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED"},
      {904, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED"},
      {905, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION"},
      {906, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT"},
      {907, "CUDA_ERROR_CAPTURED_EVENT"},
      {908, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD"},
      {999, "CUDA_ERROR_UNKNOWN"}};
  auto found = names.find(error);
  *name = found == names.end() ? nullptr : found->second;
  return found == names.end() ? INVALID_VALUE : SUCCESS;
}
EXPORT int cuGetErrorString(int error, const char** text) { return cuGetErrorName(error, text); }

// The primary context of a device: one, shared, counted.
EXPORT int cuDevicePrimaryCtxRetain(void** out, int device) {
  ENTER("cuDevicePrimaryCtxRetain");
  if (!is_device(device)) return INVALID_DEVICE;
  Context* context = primary_of(device);
  if (!context) context = make_context(device, true);
  context->references++;
  *out = context;
  return SUCCESS;
}
EXPORT int cuDevicePrimaryCtxRelease_v2(int device) {
  ENTER("cuDevicePrimaryCtxRelease");
  if (!is_device(device)) return INVALID_DEVICE;
  Context* context = primary_of(device);
  if (!context || context->references == 0) return INVALID_CONTEXT;
  if (--context->references == 0) destroy(guard, context, context->error != 0);
  return SUCCESS;
}
// Destroys all that the context holds, and its error; those who retained it may go on with it.
EXPORT int cuDevicePrimaryCtxReset_v2(int device) {
  ENTER("cuDevicePrimaryCtxReset");
  if (!is_device(device)) return INVALID_DEVICE;
  if (Context* context = primary_of(device)) {
    destroy_contents(guard, context, true);
    context->error = 0;
  }
  return SUCCESS;
}
EXPORT int cuDevicePrimaryCtxGetState(int device, unsigned int* flags, int* active) {
  ENTER("cuDevicePrimaryCtxGetState");
  if (!is_device(device)) return INVALID_DEVICE;
  Context* context = primary_of(device);
  *flags = context ? context->flags : 0;
  *active = context ? 1 : 0;
  return SUCCESS;
}
EXPORT int cuDevicePrimaryCtxSetFlags_v2(int device, unsigned int flags) {
  ENTER("cuDevicePrimaryCtxSetFlags");
  if (!is_device(device)) return INVALID_DEVICE;
  if (Context* context = primary_of(device)) context->flags = flags;
  return SUCCESS;
}

// Contexts of a program's own, and each thread's stack of them.
EXPORT int cuCtxCreate_v2(void** out, unsigned int flags, int device) {
  ENTER("cuCtxCreate");
  if (!is_device(device)) return INVALID_DEVICE;
  Context* context = make_context(device, false);
  context->flags = flags;
  context->references = 1;
  current.push_back(context);
  *out = context;
  return SUCCESS;
}
namespace {
Context* context_of(void* handle) {
  auto found = std::find(contexts.begin(), contexts.end(), (Context*)handle);
  return found == contexts.end() ? nullptr : *found;
}
}  // namespace
EXPORT int cuCtxDestroy_v2(void* handle) {
  ENTER("cuCtxDestroy");
  Context* context = context_of(handle);
  if (!context || !context->context || context->primary) return INVALID_CONTEXT;
  destroy(guard, context, context->error != 0);
  if (context_now() == context) current.pop_back();
  return SUCCESS;
}
EXPORT int cuCtxGetCurrent(void** out) {
  ENTER("cuCtxGetCurrent");
  *out = context_now();
  return SUCCESS;
}
EXPORT int cuCtxSetCurrent(void* handle) {
  ENTER("cuCtxSetCurrent");
  if (handle && !context_of(handle)) return INVALID_CONTEXT;
  if (handle && !context_of(handle)->context) return CONTEXT_IS_DESTROYED;
  if (!current.empty()) current.pop_back();
  if (handle) current.push_back((Context*)handle);
  return SUCCESS;
}
EXPORT int cuCtxPushCurrent_v2(void* handle) {
  ENTER("cuCtxPushCurrent");
  if (!handle || !context_of(handle)) return INVALID_CONTEXT;
  if (!context_of(handle)->context) return CONTEXT_IS_DESTROYED;
  current.push_back((Context*)handle);
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
  Context* context = context_now();
  if (!context) return INVALID_CONTEXT;
  *device = context->device;
  return SUCCESS;
}
EXPORT int cuCtxGetFlags(unsigned int* flags) {
  ENTER("cuCtxGetFlags");
  CONTEXT;
  *flags = context->flags;
  return SUCCESS;
}
EXPORT int cuCtxGetId(void* handle, unsigned long long* id) {
  ENTER("cuCtxGetId");
  Context* context = handle ? context_of(handle) : context_now();
  if (!context) return INVALID_CONTEXT;
  if (!context->context) return CONTEXT_IS_DESTROYED;
  *id = context->id;
  return SUCCESS;
}
EXPORT int cuCtxGetApiVersion(void*, unsigned int* version) {
  ENTER("cuCtxGetApiVersion");
  *version = 3020;
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
  bool capturing = false;
  for (auto& entry : captures) {
    for (Stream* stream : entry.first->streams) {
      if (stream->context == context) {
        invalidate(entry.first.get());
        capturing = true;
        break;
      }
    }
  }
  if (capturing) return CAPTURE_UNSUPPORTED;
  if (int status = unsafe()) return status;
  wait_for(guard, everything(context), context);
  check_canaries(context);
  return context->error;
}
