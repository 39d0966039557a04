// Reductions: dev.nimble.op.Reduce, ArgReduce, GlobalPool. Sums of f32 are kept in double where a
// thread adds serially, so that long rows stay as exact as the reference.

#define FOR_EACH_TYPE(KERNEL)  \
  KERNEL(f32, float)           \
  KERNEL(f64, double)          \
  KERNEL(f16, half16)          \
  KERNEL(bf16, bfloat16)       \
  KERNEL(i64, long long)       \
  KERNEL(i32, int)             \
  KERNEL(i16, short)           \
  KERNEL(i8, signed char)      \
  KERNEL(u64, unsigned long long) \
  KERNEL(u32, unsigned int)    \
  KERNEL(u16, unsigned short)  \
  KERNEL(u8, unsigned char)

// Order as dev.nimble.op.Reduce.Function.
enum { SUM, MEAN, MAX, MIN, PROD, L1, L2, LOG_SUM, LOG_SUM_EXP, SUM_SQUARE };

__device__ inline double seed(int function, double) {
  return function == PROD  ? 1.0
         : function == MAX ? -(double)INFINITE
         : function == MIN ? (double)INFINITE
                           : 0.0;
}

__device__ inline double combine(int function, double held, double x, double largest) {
  switch (function) {
    case PROD: return held * x;
    case MAX: return larger(held, x);
    case MIN: return smaller(held, x);
    case L1: return held + fabs(x);
    case L2:
    case SUM_SQUARE: return held + x * x;
    case LOG_SUM_EXP: return held + exp(x - largest);
    default: return held + x;
  }
}

__device__ inline double merge(int function, double a, double b) {
  switch (function) {
    case PROD: return a * b;
    case MAX: return larger(a, b);
    case MIN: return smaller(a, b);
    default: return a + b;
  }
}

__device__ inline double finish(int function, double held, long long count, double largest) {
  switch (function) {
    case MEAN: return held / (double)count;
    case L2: return sqrt(held);
    case LOG_SUM: return log(held);
    case LOG_SUM_EXP: return log(held) + largest;
    default: return held;
  }
}

__device__ inline long long combine(int function, long long held, long long x) {
  unsigned long long a = (unsigned long long)held;  // which wraps where signed integers may not
  unsigned long long b = (unsigned long long)x;
  switch (function) {
    case PROD: return (long long)(a * b);
    case MAX: return held > x ? held : x;
    case MIN: return held < x ? held : x;
    case L1: return (long long)(a + (unsigned long long)m_abs(x));
    case SUM_SQUARE: return (long long)(a + b * b);
    default: return (long long)(a + b);
  }
}

template <typename C> struct IsFloating { enum { value = 0 }; };
template <> struct IsFloating<float> { enum { value = 1 }; };
template <> struct IsFloating<double> { enum { value = 1 }; };

// One thread for each result: few elements each, or many results. `least` and `greatest` are the
// bounds of an integer type.
template <typename T>
__device__ inline void reduce_serially(long long n, int rank, const Axes& extents,
                                       const Axes& strides, long long count, int inner_rank,
                                       const Axes& inner_extents, const Axes& inner_strides,
                                       int function, long long least, long long greatest,
                                       const T* in, T* out) {
  typedef typename Computed<T>::type C;
  GRID_STRIDE(i, n) {
    long long start = offset_of(i, rank, extents, strides);
    if (IsFloating<C>::value) {
      double largest = 0;
      if (function == LOG_SUM_EXP) {
        largest = -(double)INFINITE;
        for (long long k = 0; k < count; k++) {
          largest = larger(largest, (double)load(
              in + start + offset_of(k, inner_rank, inner_extents, inner_strides)));
        }
        if (fabs(largest) == (double)INFINITE) largest = 0;
      }
      double held = seed(function, 0.0);
      for (long long k = 0; k < count; k++) {
        double x = (double)load(
            in + start + offset_of(k, inner_rank, inner_extents, inner_strides));
        held = combine(function, held, x, largest);
      }
      store(out + i, finish(function, held, count, largest));
    } else {
      long long held = function == PROD  ? 1
                       : function == MAX ? least
                       : function == MIN ? greatest
                                         : 0;
      for (long long k = 0; k < count; k++) {
        long long x = (long long)load(
            in + start + offset_of(k, inner_rank, inner_extents, inner_strides));
        held = combine(function, held, x);
      }
      if (function == MEAN) held = count == 0 ? 0 : held / count;
      store(out + i, held);
    }
  }
}
#define SERIAL(NAME, T)                                                                      \
  extern "C" __global__ void reduce_##NAME(                                                  \
      long long n, int rank, Axes extents, Axes strides, long long count, int inner_rank,    \
      Axes inner_extents, Axes inner_strides, int function, long long least,                 \
      long long greatest, const T* in, T* out) {                                             \
    reduce_serially(n, rank, extents, strides, count, inner_rank, inner_extents,             \
                    inner_strides, function, least, greatest, in, out);                      \
  }
FOR_EACH_TYPE(SERIAL)

// One block for each result; partial results meet in shared memory. Floating types only.
#define THREADS 256
__device__ inline double in_block(int function, double held, double* partial) {
  partial[threadIdx.x] = held;
  __syncthreads();
  for (int half = THREADS / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) {
      partial[threadIdx.x] = merge(function, partial[threadIdx.x], partial[threadIdx.x + half]);
    }
    __syncthreads();
  }
  double result = partial[0];
  __syncthreads();
  return result;
}

template <typename T>
__device__ inline void reduce_in_block(int rank, const Axes& extents, const Axes& strides,
                                       long long count, int inner_rank, const Axes& inner_extents,
                                       const Axes& inner_strides, int function, const T* in,
                                       T* out, double* partial) {
  long long start = offset_of(blockIdx.x, rank, extents, strides);
  double largest = 0;
  if (function == LOG_SUM_EXP) {
    largest = -(double)INFINITE;
    for (long long k = threadIdx.x; k < count; k += THREADS) {
      largest = larger(largest, (double)load(
          in + start + offset_of(k, inner_rank, inner_extents, inner_strides)));
    }
    largest = in_block(MAX, largest, partial);
    if (fabs(largest) == (double)INFINITE) largest = 0;
  }
  double held = seed(function, 0.0);
  for (long long k = threadIdx.x; k < count; k += THREADS) {
    double x = (double)load(in + start + offset_of(k, inner_rank, inner_extents, inner_strides));
    held = combine(function, held, x, largest);
  }
  held = in_block(function, held, partial);
  if (threadIdx.x == 0) store(out + blockIdx.x, finish(function, held, count, largest));
}
#define BLOCK(NAME, T)                                                                       \
  extern "C" __global__ void block_reduce_##NAME(                                            \
      int rank, Axes extents, Axes strides, long long count, int inner_rank,                 \
      Axes inner_extents, Axes inner_strides, int function, const T* in, T* out) {           \
    __shared__ double partial[THREADS];                                                      \
    reduce_in_block(rank, extents, strides, count, inner_rank, inner_extents, inner_strides, \
                    function, in, out, partial);                                             \
  }
BLOCK(f32, float)
BLOCK(f64, double)
BLOCK(f16, half16)
BLOCK(bf16, bfloat16)

// Where along an axis the largest or smallest element is; NaN never, unless there is nothing else.
template <typename C> __device__ inline bool better(C x, C held, int largest, int last) {
  bool beyond = largest ? x > held : x < held;
  return beyond || (last && x == held) || (held != held && x == x);
}
#define ARGUMENT(NAME, T)                                                                  \
  extern "C" __global__ void arg_reduce_##NAME(long long n, int extent, long long inner,   \
                                               int largest, int last, const T* in,         \
                                               long long* out) {                           \
    GRID_STRIDE(i, n) {                                                                    \
      const T* row = in + i / inner * extent * inner + i % inner;                          \
      int best = 0;                                                                        \
      for (int k = 1; k < extent; k++) {                                                   \
        if (better(load(row + k * inner), load(row + best * inner), largest, last)) best = k; \
      }                                                                                    \
      out[i] = best;                                                                       \
    }                                                                                      \
  }
FOR_EACH_TYPE(ARGUMENT)
