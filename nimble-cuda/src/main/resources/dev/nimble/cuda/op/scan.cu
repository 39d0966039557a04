// Kernels along one axis in order: dev.nimble.op.CumSum and TopK. Elements of a line along the axis
// are `inner` apart.

#define THREADS 256

template <typename C> struct Sum { typedef unsigned long long type; };  // wraps
template <> struct Sum<float> { typedef double type; };
template <> struct Sum<double> { typedef double type; };

template <typename T> __device__ inline void store_sum(T* p, double sum) { store(p, sum); }
template <typename T> __device__ inline void store_sum(T* p, unsigned long long sum) {
  *p = (T)sum;
}

// Running sums, a block a line: a tile of THREADS elements at a time is summed up in shared memory
// [Hillis and Steele 1986], after the sum of all tiles before.
#define CUM_SUM(NAME, T)                                                                      \
  extern "C" __global__ void cum_sum_##NAME(int extent, long long inner, int exclusive,       \
                                            int reverse, const T* in, T* out) {               \
    typedef Sum<Computed<T>::type>::type S;                                                   \
    __shared__ S sums[THREADS];                                                               \
    long long line = blockIdx.x;                                                              \
    long long start = line / inner * extent * inner + line % inner;                           \
    S before = 0;                                                                             \
    for (int tile = 0; tile < extent; tile += THREADS) {                                      \
      int k = tile + threadIdx.x;                                                             \
      long long at = start + (long long)(reverse ? extent - 1 - k : k) * inner;               \
      sums[threadIdx.x] = k < extent ? (S)load(in + at) : (S)0;                               \
      __syncthreads();                                                                        \
      for (int reach = 1; reach < THREADS; reach *= 2) {                                      \
        S more = threadIdx.x >= reach ? sums[threadIdx.x - reach] : (S)0;                     \
        __syncthreads();                                                                      \
        if (threadIdx.x >= reach) sums[threadIdx.x] = more + sums[threadIdx.x];               \
        __syncthreads();                                                                      \
      }                                                                                       \
      if (k < extent) {                                                                       \
        S sum = exclusive ? (threadIdx.x > 0 ? before + sums[threadIdx.x - 1] : before)       \
                          : before + sums[threadIdx.x];                                       \
        store_sum(out + at, sum);                                                             \
      }                                                                                       \
      before = before + sums[THREADS - 1];                                                    \
      __syncthreads();                                                                        \
    }                                                                                         \
  }
CUM_SUM(f32, float)
CUM_SUM(f64, double)
CUM_SUM(f16, half16)
CUM_SUM(bf16, bfloat16)
CUM_SUM(i64, long long)
CUM_SUM(i32, int)
CUM_SUM(i16, short)
CUM_SUM(i8, signed char)
CUM_SUM(u64, unsigned long long)
CUM_SUM(u32, unsigned int)
CUM_SUM(u16, unsigned short)
CUM_SUM(u8, unsigned char)

// Whether element a, at position i, comes before b, at position j: a NaN is larger than every
// number, and of equal elements the first one wins.
template <typename C> __device__ inline bool before(C a, int i, C b, int j, int largest) {
  bool a_nan = a != a;
  bool b_nan = b != b;
  if (a == b || (a_nan && b_nan)) return i < j;
  bool above = a_nan || (!b_nan && a > b);
  return largest ? above : !above;
}

// A thread an element: its place in the result is the number of elements that come before it. Most
// elements of a long line soon meet k of these and are done.
#define TOP_K(NAME, T)                                                                      \
  extern "C" __global__ void top_k_##NAME(long long n, int extent, long long inner, int k,  \
                                          int largest, const T* in, T* values,              \
                                          long long* indices) {                             \
    GRID_STRIDE(i, n) {                                                                     \
      long long line = i / inner / extent;                                                  \
      int position = (int)(i / inner % extent);                                             \
      const T* first = in + line * extent * inner + i % inner;                              \
      Computed<T>::type x = load(in + i);                                                   \
      int place = 0;                                                                        \
      for (int j = 0; j < extent && place < k; j++) {                                       \
        place += before(load(first + j * inner), j, x, position, largest);                  \
      }                                                                                     \
      if (place < k) {                                                                      \
        long long at = (line * k + place) * inner + i % inner;                              \
        values[at] = in[i];                                                                 \
        indices[at] = position;                                                             \
      }                                                                                     \
    }                                                                                       \
  }
TOP_K(f32, float)
TOP_K(f64, double)
TOP_K(f16, half16)
TOP_K(bf16, bfloat16)
TOP_K(i64, long long)
TOP_K(i32, int)
TOP_K(i16, short)
TOP_K(i8, signed char)
TOP_K(u32, unsigned int)
TOP_K(u16, unsigned short)
TOP_K(u8, unsigned char)
