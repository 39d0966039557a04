// The emulated driver: memory. Device memory is host memory with guards round it: filled with a
// pattern when it is allocated and with another when it is freed, and kept from reuse for a while.
#include "driver.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sstream>

namespace emu {
namespace {
const size_t GUARD = 512;
const unsigned char CANARY = 0xC5;
const unsigned char FRESH = 0xCB;
const unsigned char FREED = 0xDD;
const size_t QUARANTINE = 64u << 20;

std::deque<std::pair<char*, size_t>>& quarantine = *new std::deque<std::pair<char*, size_t>>();
size_t quarantined = 0;
unsigned long long made = 0;

const char* kind_of(Place place) {
  return place == DEVICE ? "allocation" : place == PINNED ? "pinned" : "registered";
}

bool intact(const Allocation& a) {
  if (!a.raw) return true;
  for (size_t i = 0; i < GUARD; i++) {
    if ((unsigned char)a.raw[i] != CANARY) return false;
    if ((unsigned char)a.raw[GUARD + a.size + i] != CANARY) return false;
  }
  return true;
}

void report(const Allocation& a) {
  std::ostringstream text;
  text << "a kernel wrote outside an allocation of " << a.size << " bytes";
  poison(a.context, ILLEGAL_ADDRESS, text.str());
}

void* allocate(size_t size, Place place, Context* context, unsigned int flags) {
  char* raw = nullptr;
  if (posix_memalign((void**)&raw, 512, size + 2 * GUARD) != 0) return nullptr;
  std::memset(raw, CANARY, GUARD);
  std::memset(raw + GUARD, FRESH, size);
  std::memset(raw + GUARD + size, CANARY, GUARD);
  allocations[(uintptr_t)(raw + GUARD)] = {size, raw, place, context, flags, ++made};
  if (place == DEVICE) context->used += (long)size;
  count_handle(kind_of(place), 1);
  return raw + GUARD;
}

void drop(std::map<uintptr_t, Allocation>::iterator found) {
  Allocation a = found->second;
  if (!intact(a)) report(a);
  allocations.erase(found);
  if (a.place != GLOBAL) count_handle(kind_of(a.place), -1);
  if (a.place == DEVICE) a.context->used -= (long)a.size;
  if (!a.raw) return;
  std::memset(a.raw, FREED, a.size + 2 * GUARD);
  quarantine.emplace_back(a.raw, a.size + 2 * GUARD);
  quarantined += a.size + 2 * GUARD;
  while (quarantined > QUARANTINE) {
    quarantined -= quarantine.front().second;
    std::free(quarantine.front().first);
    quarantine.pop_front();
  }
}

std::map<uintptr_t, Allocation>::iterator containing(const void* address) {
  auto next = allocations.upper_bound((uintptr_t)address);
  if (next == allocations.begin()) return allocations.end();
  --next;
  return (uintptr_t)address < next->first + next->second.size ? next : allocations.end();
}

// Frees at `address`; the device's work is waited for, as the driver does.
int release(Guard& guard, void* address, Place place) {
  auto found = allocations.find((uintptr_t)address);
  if (found == allocations.end() || found->second.place != place) return INVALID_VALUE;
  Context* context = found->second.context;
  wait_for(guard, everything(context), context);
  found = allocations.find((uintptr_t)address);          // another thread may have been here
  if (found == allocations.end()) return INVALID_VALUE;
  drop(found);
  return context->error;
}

// For work that runs: what was in range when it was enqueued may have been freed since. Copies may
// cross devices.
bool still_there(const void* address, size_t bytes, const char* what) {
  Guard guard(lock);
  if (in_range(address, bytes, nullptr)) return true;
  poison(executing, ILLEGAL_ADDRESS, describe(address, bytes, what));
  return false;
}

enum Side { HOST_SIDE, DEVICE_SIDE, EITHER_SIDE };

// Whether a copy's end is pageable host memory; -1 if it should be the device's and is not.
int pageable(const void* address, size_t bytes, Side side) {
  bool known = in_range(address, bytes, nullptr);
  if (known) return 0;
  if (side == DEVICE_SIDE || containing(address) != allocations.end()) return -1;
  for (auto& freed : quarantine) {
    if ((char*)address >= freed.first && (char*)address < freed.first + freed.second) return -1;
  }
  return 1;
}

// A copy in stream order. Host memory that is not pinned is staged: read before the call returns
// (to the device), or waited for (to the host). CUDA driver API, "API synchronization behavior".
int copy(Guard& guard, void* handle, void* to, Side to_side, const void* from, Side from_side,
         size_t bytes, bool synchronous) {
  STREAM(handle);
  if (synchronous) {
    if (int status = implicit(stream)) return status;
    if (int status = unsafe()) return status;
  }
  if (stream->capture && stream->capture->invalid) return CAPTURE_INVALIDATED;
  if (bytes == 0) return SUCCESS;
  int pageable_source = pageable(from, bytes, from_side);
  int pageable_target = pageable(to, bytes, to_side);
  if (pageable_source < 0 || pageable_target < 0) return INVALID_VALUE;
  if ((pageable_source || pageable_target) && stream->capture) {
    invalidate(stream->capture.get());         // it would have to wait, or to read now
    return CAPTURE_UNSUPPORTED;
  }
  std::shared_ptr<std::vector<char>> staged;
  if (pageable_source) {
    staged = std::make_shared<std::vector<char>>((const char*)from, (const char*)from + bytes);
  }
  bool check_source = !pageable_source, check_target = !pageable_target;
  int status = enqueue(stream, MEMCPY, "memcpy", [=] {
    const void* source = staged ? staged->data() : from;
    if (check_source && !still_there(from, bytes, "a copy's read")) return;
    if (check_target && !still_there(to, bytes, "a copy's write")) return;
    std::memmove(to, source, bytes);
    if (from_side == HOST_SIDE || to_side == HOST_SIDE) host_bytes += bytes;
  });
  if (status || stream->capture) return status;
  // One to the host that is synchronous, or into pageable memory, returns when it is done.
  auto source = allocations.end();
  if (check_source) source = containing(from);
  bool from_device = source != allocations.end() && source->second.place == DEVICE;
  auto target = check_target ? containing(to) : allocations.end();
  bool to_device = target != allocations.end() && target->second.place == DEVICE;
  bool to_host = from_device && !to_device;
  bool pinned_up = !from_device && to_device && !staged;
  if ((synchronous && (to_host || pinned_up)) || pageable_target) {
    Context* context = stream->context;
    return wait_for(guard, before(stream), context);
  }
  return SUCCESS;
}

template <typename T>
int fill(void* handle, void* to, T value, size_t count, bool synchronous) {
  STREAM(handle);
  if (synchronous) {
    if (int status = implicit(stream)) return status;
    if (int status = unsafe()) return status;
  }
  if (stream->capture && stream->capture->invalid) return CAPTURE_INVALIDATED;
  if (count == 0) return SUCCESS;
  if ((uintptr_t)to % sizeof(T) || !in_range(to, count * sizeof(T), nullptr)) return INVALID_VALUE;
  return enqueue(stream, MEMSET, "memset", [=] {
    if (still_there(to, count * sizeof(T), "a fill")) std::fill_n((T*)to, count, value);
  });
}
}  // namespace

// Whether [address, address + bytes) is within one live allocation that `context` may touch: its
// own, or the host's. Null for any context: copies may cross devices.
bool in_range(const void* address, size_t bytes, Context* context) {
  auto found = containing(address);
  if (found == allocations.end()) return false;
  const Allocation& a = found->second;
  if ((uintptr_t)address + bytes > found->first + a.size) return false;
  return !context || a.place == PINNED || a.place == REGISTERED || a.context == context;
}

std::string describe(const void* address, size_t bytes, const std::string& what) {
  std::ostringstream text;
  text << what;
  if (bytes) text << " of " << bytes << " bytes";
  text << " at " << address;
  auto found = containing(address);
  if (found != allocations.end()) {
    const Allocation& a = found->second;
    if ((uintptr_t)address + bytes <= found->first + a.size) {
      text << ", in memory of another context";
    } else {
      text << ", at offset " << (uintptr_t)address - found->first << " of an allocation of "
           << a.size << " bytes";
    }
    return text.str();
  }
  for (auto& freed : quarantine) {
    if ((char*)address >= freed.first && (char*)address < freed.first + freed.second) {
      text << ", in memory that was freed";
      return text.str();
    }
  }
  text << ", outside any live allocation";
  return text.str();
}

// Guards are looked at whenever the host waits for the device.
void check_canaries(Context* context) {
  if (empty_kernels) return;
  for (auto& entry : allocations) {
    const Allocation& a = entry.second;
    if (a.context == context && !intact(a)) {
      std::memset(a.raw, CANARY, GUARD);
      std::memset(a.raw + GUARD + a.size, CANARY, GUARD);
      report(a);
    }
  }
}

// Memory dies with its context; what a program left behind is a leak, unless that is forgiven.
void release_all(Context* context, bool forgiven) {
  for (auto i = allocations.begin(); i != allocations.end();) {
    auto next = std::next(i);
    if (i->second.context == context && i->second.place != GLOBAL) {
      if (!forgiven) abandon(kind_of(i->second.place));
      drop(i);
    }
    i = next;
  }
}

void register_global(void* address, size_t size, Context* context) {
  allocations[(uintptr_t)address] = {size, nullptr, GLOBAL, context, 0, ++made};
}

void forget_global(uintptr_t address) { allocations.erase(address); }
}  // namespace emu

using namespace emu;

EXPORT int cuMemAlloc_v2(void** out, size_t size) {
  ENTER("cuMemAlloc");
  CONTEXT;
  if (int status = unsafe()) return status;
  if (size == 0) return INVALID_VALUE;
  if (allocation_fails()) return OUT_OF_MEMORY;
  long used = 0;
  for (Context* other : contexts) {
    if (other->device == context->device) used += other->used;
  }
  if (used + (long)size > memory_limit) return OUT_OF_MEMORY;
  *out = allocate(size, DEVICE, context, 0);
  return *out ? SUCCESS : OUT_OF_MEMORY;
}
EXPORT int cuMemFree_v2(void* address) {
  ENTER("cuMemFree");
  if (int status = unsafe()) return status;
  if (!address) return SUCCESS;
  return release(guard, address, DEVICE);
}
EXPORT int cuMemGetInfo_v2(size_t* free, size_t* total) {
  ENTER("cuMemGetInfo");
  CONTEXT;
  long used = 0;
  for (Context* other : contexts) {
    if (other->device == context->device) used += other->used;
  }
  *free = (size_t)std::max(0L, memory_limit - used);
  *total = (size_t)memory_limit;
  return SUCCESS;
}
EXPORT int cuMemGetAddressRange_v2(void** base, size_t* size, void* address) {
  ENTER("cuMemGetAddressRange");
  CONTEXT;
  auto found = containing(address);
  if (found == allocations.end()) return NOT_FOUND;
  if (base) *base = (void*)found->first;
  if (size) *size = found->second.size;
  return SUCCESS;
}

// Host memory.
EXPORT int cuMemHostAlloc(void** out, size_t size, unsigned int flags) {
  ENTER("cuMemHostAlloc");
  CONTEXT;
  if (int status = unsafe()) return status;
  if (size == 0) return INVALID_VALUE;
  if (allocation_fails()) return OUT_OF_MEMORY;
  *out = allocate(size, PINNED, context, flags);
  return *out ? SUCCESS : OUT_OF_MEMORY;
}
EXPORT int cuMemAllocHost_v2(void** out, size_t size) {
  ENTER("cuMemAllocHost");
  CONTEXT;
  if (int status = unsafe()) return status;
  if (size == 0) return INVALID_VALUE;
  if (allocation_fails()) return OUT_OF_MEMORY;
  *out = allocate(size, PINNED, context, 0);
  return *out ? SUCCESS : OUT_OF_MEMORY;
}
EXPORT int cuMemFreeHost(void* address) {
  ENTER("cuMemFreeHost");
  if (int status = unsafe()) return status;
  return release(guard, address, PINNED);
}
EXPORT int cuMemHostGetDevicePointer_v2(void** out, void* host, unsigned int flags) {
  ENTER("cuMemHostGetDevicePointer");
  CONTEXT;
  auto found = containing(host);
  if (flags || found == allocations.end() || found->second.place == DEVICE) return INVALID_VALUE;
  *out = host;
  return SUCCESS;
}
EXPORT int cuMemHostGetFlags(unsigned int* flags, void* host) {
  ENTER("cuMemHostGetFlags");
  CONTEXT;
  auto found = containing(host);
  if (found == allocations.end() || found->second.place == DEVICE) return INVALID_VALUE;
  *flags = found->second.flags;
  return SUCCESS;
}
EXPORT int cuMemHostRegister_v2(void* host, size_t size, unsigned int flags) {
  ENTER("cuMemHostRegister");
  CONTEXT;
  if (int status = unsafe()) return status;
  if (!host || size == 0) return INVALID_VALUE;
  if (containing(host) != allocations.end()) return HOST_MEMORY_ALREADY_REGISTERED;
  allocations[(uintptr_t)host] = {size, nullptr, REGISTERED, context, flags, ++made};
  count_handle("registered", 1);
  return SUCCESS;
}
EXPORT int cuMemHostUnregister(void* host) {
  ENTER("cuMemHostUnregister");
  if (int status = unsafe()) return status;
  auto found = allocations.find((uintptr_t)host);
  if (found == allocations.end() || found->second.place != REGISTERED) {
    return HOST_MEMORY_NOT_REGISTERED;
  }
  Context* context = found->second.context;
  wait_for(guard, everything(context), context);
  drop(allocations.find((uintptr_t)host));
  return context->error;
}

// What the driver knows of a pointer.
EXPORT int cuPointerGetAttribute(void* data, int attribute, void* address) {
  ENTER("cuPointerGetAttribute");
  CONTEXT;
  auto found = containing(address);
  if (found == allocations.end()) return INVALID_VALUE;
  const Allocation& a = found->second;
  bool device = a.place == DEVICE || a.place == GLOBAL;
  switch (attribute) {
    case 1: *(void**)data = a.context; return SUCCESS;               // context
    case 2: *(int*)data = device ? 2 : 1; return SUCCESS;            // memory type
    case 3: *(void**)data = address; return SUCCESS;                 // device pointer
    case 4:                                                          // host pointer
      if (device) return INVALID_VALUE;
      *(void**)data = address;
      return SUCCESS;
    case 6: *(int*)data = 1; return SUCCESS;                         // synchronous memory operations
    case 7: *(unsigned long long*)data = a.id; return SUCCESS;       // buffer id
    case 8: *(int*)data = 0; return SUCCESS;                         // managed
    case 9: *(int*)data = a.context->device; return SUCCESS;         // device ordinal
    case 11: *(void**)data = (void*)found->first; return SUCCESS;    // range start
    case 12: *(size_t*)data = a.size; return SUCCESS;                // range size
    case 13: *(int*)data = 1; return SUCCESS;                        // mapped
    default:
      return not_emulated("cuPointerGetAttribute(" + std::to_string(attribute) + ")",
                          INVALID_VALUE);
  }
}

// Copies.
EXPORT int cuMemcpyHtoD_v2(void* to, const void* from, size_t bytes) {
  ENTER("cuMemcpyHtoD");
  return copy(guard, nullptr, to, DEVICE_SIDE, from, HOST_SIDE, bytes, true);
}
EXPORT int cuMemcpyDtoH_v2(void* to, const void* from, size_t bytes) {
  ENTER("cuMemcpyDtoH");
  return copy(guard, nullptr, to, HOST_SIDE, from, DEVICE_SIDE, bytes, true);
}
EXPORT int cuMemcpyDtoD_v2(void* to, const void* from, size_t bytes) {
  ENTER("cuMemcpyDtoD");
  return copy(guard, nullptr, to, DEVICE_SIDE, from, DEVICE_SIDE, bytes, true);
}
EXPORT int cuMemcpy(void* to, const void* from, size_t bytes) {
  ENTER("cuMemcpy");
  return copy(guard, nullptr, to, EITHER_SIDE, from, EITHER_SIDE, bytes, true);
}
EXPORT int cuMemcpyAsync(void* to, const void* from, size_t bytes, void* stream) {
  ENTER("cuMemcpyAsync");
  return copy(guard, stream, to, EITHER_SIDE, from, EITHER_SIDE, bytes, false);
}
EXPORT int cuMemcpyHtoDAsync_v2(void* to, const void* from, size_t bytes, void* stream) {
  ENTER("cuMemcpyHtoDAsync");
  return copy(guard, stream, to, DEVICE_SIDE, from, HOST_SIDE, bytes, false);
}
EXPORT int cuMemcpyDtoHAsync_v2(void* to, const void* from, size_t bytes, void* stream) {
  ENTER("cuMemcpyDtoHAsync");
  return copy(guard, stream, to, HOST_SIDE, from, DEVICE_SIDE, bytes, false);
}
EXPORT int cuMemcpyDtoDAsync_v2(void* to, const void* from, size_t bytes, void* stream) {
  ENTER("cuMemcpyDtoDAsync");
  return copy(guard, stream, to, DEVICE_SIDE, from, DEVICE_SIDE, bytes, false);
}
EXPORT int cuMemcpyPeer(void* to, void*, const void* from, void*, size_t bytes) {
  ENTER("cuMemcpyPeer");
  return copy(guard, nullptr, to, DEVICE_SIDE, from, DEVICE_SIDE, bytes, true);
}
EXPORT int cuMemcpyPeerAsync(void* to, void*, const void* from, void*, size_t bytes,
                             void* stream) {
  ENTER("cuMemcpyPeerAsync");
  return copy(guard, stream, to, DEVICE_SIDE, from, DEVICE_SIDE, bytes, false);
}

// Fills.
EXPORT int cuMemsetD8_v2(void* to, unsigned char value, size_t count) {
  ENTER("cuMemsetD8");
  return fill(nullptr, to, value, count, true);
}
EXPORT int cuMemsetD16_v2(void* to, unsigned short value, size_t count) {
  ENTER("cuMemsetD16");
  return fill(nullptr, to, value, count, true);
}
EXPORT int cuMemsetD32_v2(void* to, unsigned int value, size_t count) {
  ENTER("cuMemsetD32");
  return fill(nullptr, to, value, count, true);
}
EXPORT int cuMemsetD8Async(void* to, unsigned char value, size_t count, void* stream) {
  ENTER("cuMemsetD8Async");
  return fill(stream, to, value, count, false);
}
EXPORT int cuMemsetD16Async(void* to, unsigned short value, size_t count, void* stream) {
  ENTER("cuMemsetD16Async");
  return fill(stream, to, value, count, false);
}
EXPORT int cuMemsetD32Async(void* to, unsigned int value, size_t count, void* stream) {
  ENTER("cuMemsetD32Async");
  return fill(stream, to, value, count, false);
}
