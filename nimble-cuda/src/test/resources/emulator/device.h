// CUDA C for g++: what kernels may use. Included before every kernel source by the emulated NVRTC.
// The threads of a block run one after the other; once a thread meets a barrier, every thread of the
// block gets a stack of its own and they take turns. A block never leaves its host thread, so shared
// memory is thread-local memory.
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

struct Block {
  void (*body)(void*);
  void* arguments;
  std::vector<char*> stacks;          // kept for later blocks
  std::vector<void*> saved;           // stack pointers of threads
  std::vector<char> finished;
  std::vector<uint3> indices;
  void* scheduler = nullptr;
  size_t running = 0;
  size_t arrived = 0;
  size_t live = 0;
  bool in_fiber = false;
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

inline void yield_to_scheduler() {
  size_t self = block.running;
  emu_switch(&block.saved[self], block.scheduler);
}

inline void fiber_main() {
  block.body(block.arguments);
  block.finished[block.running] = 1;
  block.live--;
  yield_to_scheduler();
  std::abort();
}

inline void resume(size_t i) {
  block.running = i;
  thread_index = block.indices[i];
  block.in_fiber = true;
  emu_switch(&block.scheduler, block.saved[i]);
  block.in_fiber = false;
}

inline void start(size_t i) {
  char* top = stack_of(i) + STACK;
  void** sp = (void**)((uintptr_t)top & ~(uintptr_t)15);
  *--sp = nullptr;                    // keeps the stack aligned as after a call
  *--sp = (void*)&fiber_main;
  for (int r = 0; r < 6; r++) *--sp = nullptr;
  block.saved[i] = sp;
  block.finished[i] = 0;
  resume(i);
}

// Runs the threads of one block. Every thread starts in a fiber; while none waits at a barrier, the
// first stack is used again and again.
inline void run_block() {
  size_t n = (size_t)block_size.x * block_size.y * block_size.z;
  block.saved.resize(n);
  block.finished.assign(n, 0);
  block.indices.resize(n);
  for (size_t i = 0; i < n; i++) {
    block.indices[i] = {(unsigned)(i % block_size.x), (unsigned)(i / block_size.x % block_size.y),
                        (unsigned)(i / block_size.x / block_size.y)};
  }
  block.live = n;
  start(0);
  if (block.finished[0]) {            // no barrier: the others run in plain calls
    for (size_t i = 1; i < n; i++) {
      thread_index = block.indices[i];
      block.running = i;
      block.body(block.arguments);
    }
    return;
  }
  for (size_t i = 1; i < n; i++) start(i);
  while (block.live > 0) {
    for (size_t i = 0; i < n; i++) {
      if (!block.finished[i]) resume(i);
    }
  }
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
void launch(void (*function)(A...), void** arguments, const unsigned int* size, void* shared) {
  typename Kernel<A...>::Call call = {function, arguments};
  grid_size = dim3(size[0], size[1], size[2]);
  block_size = dim3(size[3], size[4], size[5]);
  dynamic_shared = shared;
  block.body = &Kernel<A...>::body;
  block.arguments = &call;
  for (unsigned z = 0; z < size[2]; z++) {
    for (unsigned y = 0; y < size[1]; y++) {
      for (unsigned x = 0; x < size[0]; x++) {
        block_index = {x, y, z};
        run_block();
      }
    }
  }
}

template <typename... A>
int sizes(void (*)(A...), size_t* out) {
  size_t all[] = {sizeof(A)..., 0};
  for (size_t i = 0; i < sizeof...(A); i++) out[i] = all[i];
  return (int)sizeof...(A);
}
}  // namespace emu

#define threadIdx (emu::thread_index)
#define blockIdx (emu::block_index)
#define blockDim (emu::block_size)
#define gridDim (emu::grid_size)
#define warpSize 32

inline void __syncthreads() {
  if (!emu::block.in_fiber) {
    std::fprintf(stderr, "emulator: __syncthreads() was not reached by thread 0 of the block\n");
    std::abort();
  }
  emu::yield_to_scheduler();
}
inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __threadfence_system() {}

// Conversions of bits.
inline unsigned int __float_as_uint(float x) { unsigned int y; std::memcpy(&y, &x, 4); return y; }
inline float __uint_as_float(unsigned int x) { float y; std::memcpy(&y, &x, 4); return y; }
inline int __float_as_int(float x) { int y; std::memcpy(&y, &x, 4); return y; }
inline float __int_as_float(int x) { float y; std::memcpy(&y, &x, 4); return y; }
inline long long __double_as_longlong(double x) { long long y; std::memcpy(&y, &x, 8); return y; }
inline double __longlong_as_double(long long x) { double y; std::memcpy(&y, &x, 8); return y; }

// Arithmetic that CUDA adds to C.
inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
inline double rsqrt(double x) { return 1.0 / std::sqrt(x); }
inline float __expf(float x) { return std::exp(x); }
inline float __logf(float x) { return std::log(x); }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdividef(float a, float b) { return a / b; }
template <typename T> inline T __ldg(const T* p) { return *p; }
inline int min(int a, int b) { return a < b ? a : b; }
inline int max(int a, int b) { return a > b ? a : b; }
inline long long min(long long a, long long b) { return a < b ? a : b; }
inline long long max(long long a, long long b) { return a > b ? a : b; }
inline float min(float a, float b) { return fminf(a, b); }
inline float max(float a, float b) { return fmaxf(a, b); }

// Atomics: real ones, since blocks of other kernels run on other host threads.
template <typename T> inline T emu_atomic(T* p, T (*next)(T, T), T x) {
  T held, wanted;
  do {
    held = *(volatile T*)p;
    wanted = next(held, x);
  } while (!__atomic_compare_exchange(p, &held, &wanted, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
  return held;
}
template <typename T> inline T atomicAdd(T* p, T x) {
  return emu_atomic<T>(p, [](T a, T b) { return (T)(a + b); }, x);
}
template <typename T> inline T atomicMax(T* p, T x) {
  return emu_atomic<T>(p, [](T a, T b) { return a > b ? a : b; }, x);
}
template <typename T> inline T atomicMin(T* p, T x) {
  return emu_atomic<T>(p, [](T a, T b) { return a < b ? a : b; }, x);
}
template <typename T> inline T atomicExch(T* p, T x) {
  return emu_atomic<T>(p, [](T, T b) { return b; }, x);
}
template <typename T> inline T atomicCAS(T* p, T compare, T x) {
  __atomic_compare_exchange(p, &compare, &x, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  return compare;
}
