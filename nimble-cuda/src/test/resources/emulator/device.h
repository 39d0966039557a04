// CUDA C for g++: what kernels may use. Included before every kernel source by the emulated NVRTC.
// Each thread of a block runs on a stack of its own until it ends or waits at a barrier, so shared
// memory, barriers and warp functions mean what they mean on a GPU. A block never leaves its host
// thread, so shared memory is thread-local memory.
#include <math.h>

#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>
#include <sys/mman.h>

#define __device__
#define __host__
#define __forceinline__ inline
#define __noinline__
#define __launch_bounds__(...)
#define __restrict__
#define __constant__

struct uint3 { unsigned int x, y, z; };
struct dim3 {
  unsigned int x, y, z;
  dim3(unsigned int x = 1, unsigned int y = 1, unsigned int z = 1) : x(x), y(y), z(z) {}
};

namespace emu {
inline thread_local uint3 thread_index, block_index;
inline thread_local dim3 block_size, grid_size;
inline thread_local void* dynamic_shared;

// Stack switching: saves the callee-saved registers and the stack pointer.
extern "C" void emu_switch(void** save, void* load);
asm(R"(
  .text
  .weak emu_switch
  .type emu_switch, @function
emu_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size emu_switch, .-emu_switch
)");

const size_t STACK = 128 << 10;
enum State : char { READY, AT_BARRIER, AT_WARP, DONE };

struct Thread {
  void* saved;                        // stack pointer
  uint3 index;
  unsigned int mask;                  // of the warp function that it waits in
  State state;
};

struct Warp {
  unsigned int alive;
  unsigned int arrived;
};

struct Block {
  void (*body)(void*);
  void* arguments;
  std::vector<char*> stacks;          // kept for later blocks
  std::vector<Thread> threads;
  std::vector<Warp> warps;
  void* scheduler = nullptr;
  size_t running = 0;
  size_t arrived = 0;                 // at the barrier
  size_t live = 0;
  int votes = 0;
  unsigned long long slots[1024];     // what each thread gives to its warp
};
inline thread_local Block block;

inline char* stack_of(size_t i) {
  while (block.stacks.size() <= i) {
    void* memory = mmap(nullptr, STACK, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) { std::perror("emulator: thread stack"); std::abort(); }
    block.stacks.push_back((char*)memory);
  }
  return block.stacks[i];
}

inline void wait_as(State state) {
  Thread& self = block.threads[block.running];
  self.state = state;
  emu_switch(&self.saved, block.scheduler);
}

inline void open_barrier() {
  block.arrived = 0;
  for (Thread& thread : block.threads) {
    if (thread.state == AT_BARRIER) thread.state = READY;
  }
}

// Lets go the threads of warp `w` that wait together under `mask`, if all of them are there.
inline bool open_warp(size_t w, unsigned int mask) {
  Warp& warp = block.warps[w];
  unsigned int wanted = mask & warp.alive;
  if ((warp.arrived & wanted) != wanted) return false;
  warp.arrived &= ~wanted;
  for (size_t lane = 0; lane < 32; lane++) {
    size_t i = w * 32 + lane;
    if (wanted >> lane & 1 && block.threads[i].state == AT_WARP) block.threads[i].state = READY;
  }
  return true;
}

// A barrier opens when every thread that has not ended is there.
inline void barrier() {
  if (++block.arrived == block.live) {
    open_barrier();
  } else {
    wait_as(AT_BARRIER);
  }
}

inline void warp_barrier(unsigned int mask) {
  size_t self = block.running;
  block.warps[self / 32].arrived |= 1u << self % 32;
  if (open_warp(self / 32, mask)) return;
  block.threads[self].mask = mask;
  wait_as(AT_WARP);
}

inline void fiber_main() {
  block.body(block.arguments);
  size_t self = block.running;
  Warp& warp = block.warps[self / 32];
  warp.alive &= ~(1u << self % 32);
  for (size_t lane = 0; lane < 32 && warp.arrived; lane++) {
    if (warp.arrived >> lane & 1) open_warp(self / 32, block.threads[self / 32 * 32 + lane].mask);
  }
  if (--block.live > 0 && block.arrived == block.live) open_barrier();
  wait_as(DONE);
  std::abort();
}

inline void resume(size_t i) {
  block.running = i;
  thread_index = block.threads[i].index;
  emu_switch(&block.scheduler, block.threads[i].saved);
}

inline void start(size_t i, char* stack) {
  void** sp = (void**)((uintptr_t)(stack + STACK) & ~(uintptr_t)15);
  *--sp = nullptr;                    // keeps the stack aligned as after a call
  *--sp = (void*)&fiber_main;
  for (int r = 0; r < 6; r++) *--sp = nullptr;
  block.threads[i].saved = sp;
  resume(i);
}

// Makes the block's threads known, once a launch.
inline void prepare_threads() {
  size_t n = (size_t)block_size.x * block_size.y * block_size.z;
  block.threads.resize(n);
  for (size_t i = 0; i < n; i++) {
    block.threads[i].index = {(unsigned)(i % block_size.x),
                              (unsigned)(i / block_size.x % block_size.y),
                              (unsigned)(i / block_size.x / block_size.y)};
  }
}

// Runs the threads of one block of a kernel in which no thread can wait for another.
inline void run_plain_block() {
  for (const Thread& thread : block.threads) {
    thread_index = thread.index;
    block.body(block.arguments);
  }
}

// Runs the threads of one block. A stack is used again once its thread ends, so that where nothing
// waits one stack serves all. Returns -1 if threads wait for others that never come.
inline int run_block() {
  size_t n = block.threads.size();
  for (Thread& thread : block.threads) thread.state = READY;
  block.warps.assign((n + 31) / 32, {~0u, 0});
  if (n % 32) block.warps.back().alive = (1u << n % 32) - 1;
  block.live = n;
  block.arrived = 0;
  block.votes = 0;
  size_t used = 0;
  for (size_t i = 0; i < n; i++) {
    start(i, stack_of(used));
    if (block.threads[i].state != DONE) used++;
  }
  while (block.live > 0) {
    bool any = false;
    for (size_t i = 0; i < n; i++) {
      if (block.threads[i].state == READY) {
        any = true;
        resume(i);
      }
    }
    if (!any) return -1;
  }
  return 0;
}

template <typename... A>
struct Kernel {
  typedef void (*Function)(A...);
  struct Call { Function function; void** arguments; };
  template <size_t... I>
  static void apply(const Call& call, std::index_sequence<I...>) {
    call.function(*(typename std::remove_cv<A>::type*)call.arguments[I]...);
  }
  static void body(void* call) {
    apply(*(Call*)call, std::index_sequence_for<A...>());
  }
};

template <typename... A>
int launch(void (*function)(A...), void** arguments, const unsigned int* size, void* shared,
           bool plain) {
  typename Kernel<A...>::Call call = {function, arguments};
  grid_size = dim3(size[0], size[1], size[2]);
  block_size = dim3(size[3], size[4], size[5]);
  dynamic_shared = shared;
  block.body = &Kernel<A...>::body;
  block.arguments = &call;
  prepare_threads();
  for (unsigned z = 0; z < size[2]; z++) {
    for (unsigned y = 0; y < size[1]; y++) {
      for (unsigned x = 0; x < size[0]; x++) {
        block_index = {x, y, z};
        if (plain) run_plain_block();
        else if (int status = run_block()) return status;
      }
    }
  }
  return 0;
}

struct Parameter { unsigned int size, alignment, pointer; };

template <typename... A>
int parameters(void (*)(A...), Parameter* out) {
  Parameter all[] = {{sizeof(A), alignof(A), std::is_pointer<A>::value}..., {0, 0, 0}};
  for (size_t i = 0; i < sizeof...(A); i++) out[i] = all[i];
  return (int)sizeof...(A);
}
}  // namespace emu

#define threadIdx (emu::thread_index)
#define blockIdx (emu::block_index)
#define blockDim (emu::block_size)
#define gridDim (emu::grid_size)
#define warpSize 32

// Barriers and votes of a block.
inline void __syncthreads() { emu::barrier(); }
inline int __syncthreads_count(int predicate) {
  emu::block.votes += predicate != 0;
  emu::barrier();
  int votes = emu::block.votes;
  emu::barrier();
  emu::block.votes = 0;
  emu::barrier();
  return votes;
}
inline int __syncthreads_or(int predicate) { return __syncthreads_count(predicate) != 0; }
inline int __syncthreads_and(int predicate) { return __syncthreads_count(!predicate) == 0; }
inline void __threadfence() { std::atomic_thread_fence(std::memory_order_seq_cst); }
inline void __threadfence_block() {}
inline void __threadfence_system() { std::atomic_thread_fence(std::memory_order_seq_cst); }
inline void __nanosleep(unsigned int) {}

// Functions of a warp: each thread of `mask` gives a value; when all have, each takes.
inline void __syncwarp(unsigned int mask = 0xffffffffu) { emu::warp_barrier(mask); }
inline unsigned int __activemask() { return emu::block.warps[emu::block.running / 32].alive; }
namespace emu {
template <typename T> T shuffle(unsigned int mask, T value, int lane, int width, bool inside) {
  static_assert(sizeof(T) <= 8, "a warp shuffle moves at most 8 bytes");
  size_t self = block.running;
  std::memcpy(&block.slots[self], &value, sizeof value);
  warp_barrier(mask);
  int own = (int)(self % 32);
  int from = inside ? (own & ~(width - 1)) + (lane & (width - 1)) : own;
  if (!(mask >> from & 1)) from = own;
  T taken;
  std::memcpy(&taken, &block.slots[self / 32 * 32 + (size_t)from], sizeof taken);
  warp_barrier(mask);
  return taken;
}
}  // namespace emu
template <typename T>
T __shfl_sync(unsigned int mask, T value, int lane, int width = 32) {
  return emu::shuffle(mask, value, lane, width, true);
}
template <typename T>
T __shfl_xor_sync(unsigned int mask, T value, int lanes, int width = 32) {
  int lane = ((int)(emu::block.running % 32) & (width - 1)) ^ lanes;
  return emu::shuffle(mask, value, lane, width, lane < width);
}
template <typename T>
T __shfl_down_sync(unsigned int mask, T value, unsigned int by, int width = 32) {
  int lane = ((int)(emu::block.running % 32) & (width - 1)) + (int)by;
  return emu::shuffle(mask, value, lane, width, lane < width);
}
template <typename T>
T __shfl_up_sync(unsigned int mask, T value, unsigned int by, int width = 32) {
  int lane = ((int)(emu::block.running % 32) & (width - 1)) - (int)by;
  return emu::shuffle(mask, value, lane, width, lane >= 0);
}
inline unsigned int __ballot_sync(unsigned int mask, int predicate) {
  size_t self = emu::block.running;
  emu::block.slots[self] = predicate != 0;
  emu::warp_barrier(mask);
  unsigned int votes = 0;
  unsigned int voters = mask & emu::block.warps[self / 32].alive;
  for (size_t lane = 0; lane < 32; lane++) {
    if (voters >> lane & 1 && emu::block.slots[self / 32 * 32 + lane]) votes |= 1u << lane;
  }
  emu::warp_barrier(mask);
  return votes;
}
inline int __any_sync(unsigned int mask, int predicate) {
  return __ballot_sync(mask, predicate) != 0;
}
inline int __all_sync(unsigned int mask, int predicate) {
  return __ballot_sync(mask, !predicate) == 0;
}

// Conversions of bits.
inline unsigned int __float_as_uint(float x) { unsigned int y; std::memcpy(&y, &x, 4); return y; }
inline float __uint_as_float(unsigned int x) { float y; std::memcpy(&y, &x, 4); return y; }
inline int __float_as_int(float x) { int y; std::memcpy(&y, &x, 4); return y; }
inline float __int_as_float(int x) { float y; std::memcpy(&y, &x, 4); return y; }
inline long long __double_as_longlong(double x) { long long y; std::memcpy(&y, &x, 8); return y; }
inline double __longlong_as_double(long long x) { double y; std::memcpy(&y, &x, 8); return y; }

// Arithmetic that CUDA adds to C. The C library has some of these names for itself.
#define __expf emu_expf
#define __logf emu_logf
#define __sinf emu_sinf
#define __cosf emu_cosf
#define __powf emu_powf
#define __exp10f emu_exp10f
#define __log2f emu_log2f
inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
inline double rsqrt(double x) { return 1.0 / std::sqrt(x); }
inline float __expf(float x) { return std::exp(x); }
inline float __exp10f(float x) { return std::pow(10.0f, x); }
inline float __logf(float x) { return std::log(x); }
inline float __log2f(float x) { return std::log2(x); }
inline float __sinf(float x) { return std::sin(x); }
inline float __cosf(float x) { return std::cos(x); }
inline float __powf(float x, float y) { return std::pow(x, y); }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
inline float __frcp_rn(float a) { return 1.0f / a; }
inline float __fsqrt_rn(float a) { return std::sqrt(a); }
inline float __frsqrt_rn(float a) { return 1.0f / std::sqrt(a); }
inline float __fdividef(float a, float b) { return a / b; }
inline float __saturatef(float x) { return x >= 1.0f ? 1.0f : x > 0.0f ? x : 0.0f; }
inline int __float2int_rz(float x) { return (int)x; }
inline int __float2int_rn(float x) { return (int)std::nearbyint(x); }
inline int __float2int_rd(float x) { return (int)std::floor(x); }
inline int __float2int_ru(float x) { return (int)std::ceil(x); }
inline float __int2float_rn(int x) { return (float)x; }
inline float __uint2float_rn(unsigned int x) { return (float)x; }
template <typename T> inline T __ldg(const T* p) { return *p; }
inline int __popc(unsigned int x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x ? __builtin_clz((unsigned int)x) : 32; }
inline int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline unsigned int __brev(unsigned int x) {
  unsigned int y = 0;
  for (int i = 0; i < 32; i++) y |= (x >> i & 1) << (31 - i);
  return y;
}
inline int __mulhi(int a, int b) { return (int)((long long)a * b >> 32); }
inline unsigned int __umulhi(unsigned int a, unsigned int b) {
  return (unsigned int)((unsigned long long)a * b >> 32);
}
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned long long)((unsigned __int128)a * b >> 64);
}
inline unsigned int __umul24(unsigned int a, unsigned int b) {
  return (a & 0xffffff) * (b & 0xffffff);
}
inline int min(int a, int b) { return a < b ? a : b; }
inline int max(int a, int b) { return a > b ? a : b; }
inline unsigned int min(unsigned int a, unsigned int b) { return a < b ? a : b; }
inline unsigned int max(unsigned int a, unsigned int b) { return a > b ? a : b; }
inline long min(long a, long b) { return a < b ? a : b; }
inline long max(long a, long b) { return a > b ? a : b; }
inline long long min(long long a, long long b) { return a < b ? a : b; }
inline long long max(long long a, long long b) { return a > b ? a : b; }
inline unsigned long long min(unsigned long long a, unsigned long long b) { return a < b ? a : b; }
inline unsigned long long max(unsigned long long a, unsigned long long b) { return a > b ? a : b; }
inline float min(float a, float b) { return fminf(a, b); }
inline float max(float a, float b) { return fmaxf(a, b); }
inline double min(double a, double b) { return fmin(a, b); }
inline double max(double a, double b) { return fmax(a, b); }

// Vectors.
#define EMU_VECTORS(T, NAME)                                                                   \
  struct alignas(2 * sizeof(T)) NAME##2 { T x, y; };                                           \
  struct alignas(4 * sizeof(T) > 16 ? 16 : 4 * sizeof(T)) NAME##4 { T x, y, z, w; };           \
  inline NAME##2 make_##NAME##2(T x, T y) { return {x, y}; }                                   \
  inline NAME##4 make_##NAME##4(T x, T y, T z, T w) { return {x, y, z, w}; }
EMU_VECTORS(float, float)
EMU_VECTORS(double, double)
EMU_VECTORS(int, int)
EMU_VECTORS(unsigned int, uint)
struct float3 { float x, y, z; };
struct int3 { int x, y, z; };
inline float3 make_float3(float x, float y, float z) { return {x, y, z}; }
inline int3 make_int3(int x, int y, int z) { return {x, y, z}; }
inline uint3 make_uint3(unsigned int x, unsigned int y, unsigned int z) { return {x, y, z}; }

// Atomics: real ones, since blocks of other kernels run on other host threads.
namespace emu {
template <typename T> struct Same { typedef T Type; };
template <typename T, typename F> inline T atomic(T* p, F next) {
  T held, wanted;
  do {
    held = *(volatile T*)p;
    wanted = next(held);
  } while (!__atomic_compare_exchange(p, &held, &wanted, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
  return held;
}
}  // namespace emu
#define EMU_ATOMIC(NAME, NEXT)                                               \
  template <typename T> inline T NAME(T* p, typename emu::Same<T>::Type x) { \
    return emu::atomic(p, [x](T a) -> T { return NEXT; });                   \
  }
EMU_ATOMIC(atomicAdd, a + x)
EMU_ATOMIC(atomicSub, a - x)
EMU_ATOMIC(atomicMax, a > x ? a : x)
EMU_ATOMIC(atomicMin, a < x ? a : x)
EMU_ATOMIC(atomicAnd, a & x)
EMU_ATOMIC(atomicOr, a | x)
EMU_ATOMIC(atomicXor, a ^ x)
EMU_ATOMIC(atomicExch, x)
EMU_ATOMIC(atomicInc, a >= x ? 0 : a + 1)
EMU_ATOMIC(atomicDec, a == 0 || a > x ? x : a - 1)
template <typename T>
inline T atomicCAS(T* p, typename emu::Same<T>::Type compare, typename emu::Same<T>::Type x) {
  __atomic_compare_exchange(p, &compare, &x, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  return compare;
}
