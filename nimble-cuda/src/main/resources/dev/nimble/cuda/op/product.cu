// Matrix products that cuBLAS does not offer: integers, and 16-bit storage with float sums. Tiles
// of 16 by 16 in shared memory. C [batch, m, n] = A * B; each matrix of the batch finds its A and B
// by strides over the batch's axes.

#define TILE 16

// What sums are kept in: an unsigned integer wraps where a signed one may not.
template <typename C> struct Wrapping { typedef C type; };
template <> struct Wrapping<long long> { typedef unsigned long long type; };

#define PRODUCT(NAME, T)                                                                      \
  extern "C" __global__ void product_##NAME(int m, int k, int n, int trans_a, int trans_b,    \
                                            int rank, Axes extents, Axes a_strides,           \
                                            Axes b_strides, float alpha, const T* a_base,     \
                                            const T* b_base, T* c_base) {                     \
    typedef Wrapping<Computed<T>::type>::type C;                                              \
    __shared__ C a_tile[TILE][TILE];                                                          \
    __shared__ C b_tile[TILE][TILE];                                                          \
    const T* a = a_base + offset_of(blockIdx.z, rank, extents, a_strides) * (long long)m * k; \
    const T* b = b_base + offset_of(blockIdx.z, rank, extents, b_strides) * (long long)k * n; \
    T* c = c_base + (long long)blockIdx.z * m * n;                                            \
    for (int rows = blockIdx.y * TILE; rows < m; rows += gridDim.y * TILE) {                  \
      int row = rows + threadIdx.y;                                                           \
      int column = blockIdx.x * TILE + threadIdx.x;                                           \
      C sum = 0;                                                                              \
      for (int start = 0; start < k; start += TILE) {                                         \
        int p = start + threadIdx.x;                                                          \
        int q = start + threadIdx.y;                                                          \
        a_tile[threadIdx.y][threadIdx.x] =                                                    \
            row < m && p < k                                                                  \
                ? (C)load(a + (trans_a ? (long long)p * m + row : (long long)row * k + p))       \
                : (C)0;                                                                       \
        b_tile[threadIdx.y][threadIdx.x] =                                                    \
            q < k && column < n                                                               \
                ? (C)load(b + (trans_b ? (long long)column * k + q : (long long)q * n + column)) \
                : (C)0;                                                                       \
        __syncthreads();                                                                      \
        for (int t = 0; t < TILE; t++) sum += a_tile[threadIdx.y][t] * b_tile[t][threadIdx.x]; \
        __syncthreads();                                                                      \
      }                                                                                       \
      if (row < m && column < n) store(c + (long long)row * n + column, sum * (C)alpha);      \
    }                                                                                         \
  }
PRODUCT(f32, float)
PRODUCT(f64, double)
PRODUCT(f16, half16)
PRODUCT(bf16, bfloat16)
PRODUCT(i64, long long)
PRODUCT(i32, int)
PRODUCT(i16, short)
PRODUCT(i8, signed char)
PRODUCT(u64, unsigned long long)
PRODUCT(u32, unsigned int)
PRODUCT(u16, unsigned short)
PRODUCT(u8, unsigned char)
