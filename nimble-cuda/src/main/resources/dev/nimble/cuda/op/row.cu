// Kernels over the rows of a tensor: softmax along any axis, layer normalisation, batch
// normalisation. One block a row.

#define THREADS 128
#define FOR_EACH_TYPE(KERNEL) \
  KERNEL(f32, float)          \
  KERNEL(f64, double)         \
  KERNEL(f16, half16)         \
  KERNEL(bf16, bfloat16)

template <typename F> __device__ inline F block_sum(F x, F* partial) {
  partial[threadIdx.x] = x;
  __syncthreads();
  for (int half = THREADS / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
    __syncthreads();
  }
  F result = partial[0];
  __syncthreads();
  return result;
}

template <typename F> __device__ inline F block_max(F x, F* partial) {
  partial[threadIdx.x] = x;
  __syncthreads();
  for (int half = THREADS / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) {
      partial[threadIdx.x] = larger(partial[threadIdx.x], partial[threadIdx.x + half]);
    }
    __syncthreads();
  }
  F result = partial[0];
  __syncthreads();
  return result;
}

// Rows of `extent` elements, `inner` apart.
#define SOFTMAX(NAME, T)                                                                    \
  extern "C" __global__ void softmax_##NAME(int extent, long long inner, int logarithm,     \
                                            const T* in, T* out) {                          \
    typedef Computed<T>::type F;                                                            \
    __shared__ F partial[THREADS];                                                          \
    long long row = blockIdx.x;                                                             \
    long long start = row / inner * extent * inner + row % inner;                           \
    F largest = -(F)INFINITE;                                                               \
    for (int k = threadIdx.x; k < extent; k += THREADS) {                                   \
      largest = larger(largest, load(in + start + k * inner));                              \
    }                                                                                       \
    largest = block_max(largest, partial);                                                  \
    F sum = 0;                                                                              \
    for (int k = threadIdx.x; k < extent; k += THREADS) {                                   \
      sum += m_exp(load(in + start + k * inner) - largest);                                 \
    }                                                                                       \
    sum = block_sum(sum, partial);                                                          \
    F log_sum = m_log(sum);                                                                 \
    for (int k = threadIdx.x; k < extent; k += THREADS) {                                   \
      F x = load(in + start + k * inner) - largest;                                         \
      store(out + start + k * inner, logarithm ? x - log_sum : m_exp(x) / sum);             \
    }                                                                                       \
  }
FOR_EACH_TYPE(SOFTMAX)

// Rows of `extent` neighbouring elements; scale and bias broadcast to the row, bias may be null.
#define LAYER_NORM(NAME, T)                                                                    \
  extern "C" __global__ void layer_norm_##NAME(int extent, int rank, Axes extents,             \
                                               Axes scale_strides, Axes bias_strides,          \
                                               float epsilon, const T* in, const T* scale,     \
                                               const T* bias, T* out) {                        \
    typedef Computed<T>::type F;                                                               \
    __shared__ F partial[THREADS];                                                             \
    const T* row = in + (long long)blockIdx.x * extent;                                        \
    T* result = out + (long long)blockIdx.x * extent;                                          \
    F sum = 0;                                                                                 \
    for (int k = threadIdx.x; k < extent; k += THREADS) sum += load(row + k);                  \
    F mean = block_sum(sum, partial) / (F)extent;                                              \
    F squares = 0;                                                                             \
    for (int k = threadIdx.x; k < extent; k += THREADS) {                                      \
      F difference = load(row + k) - mean;                                                     \
      squares += difference * difference;                                                      \
    }                                                                                          \
    F inverse = (F)1 / m_sqrt(block_sum(squares, partial) / (F)extent + (F)epsilon);           \
    for (int k = threadIdx.x; k < extent; k += THREADS) {                                      \
      F y = (load(row + k) - mean) * inverse *                                                 \
            load(scale + offset_of(k, rank, extents, scale_strides));                          \
      if (bias) y += load(bias + offset_of(k, rank, extents, bias_strides));                   \
      store(result + k, y);                                                                    \
    }                                                                                          \
  }
FOR_EACH_TYPE(LAYER_NORM)

// x of [N, C, area] with fixed statistics.
#define BATCH_NORM(NAME, T)                                                                  \
  extern "C" __global__ void batch_norm_##NAME(long long n, int channels, long long area,    \
                                               float epsilon, const T* in, const T* scale,   \
                                               const T* bias, const T* mean,                 \
                                               const T* variance, T* out) {                  \
    typedef Computed<T>::type F;                                                             \
    GRID_STRIDE(i, n) {                                                                      \
      int c = (int)(i / area % channels);                                                    \
      F inverse = (F)1 / m_sqrt(load(variance + c) + (F)epsilon);                            \
      store(out + i, (load(in + i) - load(mean + c)) * inverse * load(scale + c) +           \
                         load(bias + c));                                                    \
    }                                                                                        \
  }
FOR_EACH_TYPE(BATCH_NORM)
