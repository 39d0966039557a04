// Kernels that slide a window over one to three spatial axes: pooling, and the convolutions that
// cuDNN does badly (depthwise) or not at all.

#define FOR_EACH_FLOAT(KERNEL) \
  KERNEL(f32, float)           \
  KERNEL(f64, double)          \
  KERNEL(f16, half16)          \
  KERNEL(bf16, bfloat16)

struct Three { int of[3]; };

struct Window {
  Three in, kernel, out, strides, dilations, before, after;
};

// Products and sums: f32 and 16-bit types in float, f64 in double.
template <typename T> struct Tap { typedef typename Computed<T>::type type; };

// MAX and AVERAGE over windows of `planes` images. Divides by the elements inside the operand, or
// inside the operand and its padding.
#define POOL(NAME, T)                                                                         \
  extern "C" __global__ void pool_##NAME(long long n, Window w, int average, int include_pad, \
                                         const T* in, T* out) {                               \
    typedef Computed<T>::type C;                                                              \
    long long area = (long long)w.out.of[0] * w.out.of[1] * w.out.of[2];                      \
    long long in_area = (long long)w.in.of[0] * w.in.of[1] * w.in.of[2];                      \
    GRID_STRIDE(i, n) {                                                                       \
      const T* plane = in + i / area * in_area;                                               \
      int v = (int)(i % w.out.of[2]);                                                         \
      int h = (int)(i / w.out.of[2] % w.out.of[1]);                                           \
      int d = (int)(i / w.out.of[2] / w.out.of[1] % w.out.of[0]);                             \
      C held = 0;                                                                             \
      bool any = false;                                                                       \
      int count = 0;                                                                          \
      for (int a = 0; a < w.kernel.of[0]; a++) {                                              \
        int p = d * w.strides.of[0] + a * w.dilations.of[0] - w.before.of[0];                 \
        if (p >= w.in.of[0] + w.after.of[0]) break;                                           \
        for (int b = 0; b < w.kernel.of[1]; b++) {                                            \
          int q = h * w.strides.of[1] + b * w.dilations.of[1] - w.before.of[1];               \
          if (q >= w.in.of[1] + w.after.of[1]) break;                                         \
          for (int e = 0; e < w.kernel.of[2]; e++) {                                          \
            int r = v * w.strides.of[2] + e * w.dilations.of[2] - w.before.of[2];             \
            if (r >= w.in.of[2] + w.after.of[2]) break;                                       \
            bool inside = p >= 0 && p < w.in.of[0] && q >= 0 && q < w.in.of[1] && r >= 0 &&   \
                          r < w.in.of[2];                                                     \
            if (inside) {                                                                     \
              C x = load(plane + ((long long)p * w.in.of[1] + q) * w.in.of[2] + r);           \
              held = average ? held + x : any ? larger(held, x) : x;                          \
              any = true;                                                                     \
            }                                                                                 \
            count += inside || include_pad;                                                   \
          }                                                                                   \
        }                                                                                     \
      }                                                                                       \
      if (average) {                                                                          \
        store(out + i, held / (C)count);                                                      \
      } else if (any) {                                                                       \
        store(out + i, held);                                                                 \
      } else {                                                                                \
        store(out + i, -INFINITE);                                                            \
      }                                                                                       \
    }                                                                                         \
  }
FOR_EACH_FLOAT(POOL)
POOL(i64, long long)
POOL(i32, int)
POOL(i16, short)
POOL(i8, signed char)
POOL(u64, unsigned long long)
POOL(u32, unsigned int)
POOL(u16, unsigned short)
POOL(u8, unsigned char)

// Where the elements are that MAX takes, as offsets into the whole operand; within a plane counted
// from the last spatial axis, or from the first.
#define POOL_INDICES(NAME, T)                                                                 \
  extern "C" __global__ void pool_indices_##NAME(long long n, Window w, int column_major,     \
                                                 const T* in, long long* out) {               \
    typedef Computed<T>::type C;                                                              \
    long long area = (long long)w.out.of[0] * w.out.of[1] * w.out.of[2];                      \
    long long in_area = (long long)w.in.of[0] * w.in.of[1] * w.in.of[2];                      \
    GRID_STRIDE(i, n) {                                                                       \
      const T* plane = in + i / area * in_area;                                               \
      int v = (int)(i % w.out.of[2]);                                                         \
      int h = (int)(i / w.out.of[2] % w.out.of[1]);                                           \
      int d = (int)(i / w.out.of[2] / w.out.of[1] % w.out.of[0]);                             \
      C held = 0;                                                                             \
      long long best = -1;                                                                    \
      for (int a = 0; a < w.kernel.of[0]; a++) {                                              \
        int p = d * w.strides.of[0] + a * w.dilations.of[0] - w.before.of[0];                 \
        if (p < 0 || p >= w.in.of[0]) continue;                                               \
        for (int b = 0; b < w.kernel.of[1]; b++) {                                            \
          int q = h * w.strides.of[1] + b * w.dilations.of[1] - w.before.of[1];               \
          if (q < 0 || q >= w.in.of[1]) continue;                                             \
          for (int e = 0; e < w.kernel.of[2]; e++) {                                          \
            int r = v * w.strides.of[2] + e * w.dilations.of[2] - w.before.of[2];             \
            if (r < 0 || r >= w.in.of[2]) continue;                                           \
            C x = load(plane + ((long long)p * w.in.of[1] + q) * w.in.of[2] + r);             \
            if (best < 0 || x > held || (x != x && held == held)) {                           \
              held = x;                                                                       \
              best = column_major ? ((long long)r * w.in.of[1] + q) * w.in.of[0] + p          \
                                  : ((long long)p * w.in.of[1] + q) * w.in.of[2] + r;         \
            }                                                                                 \
          }                                                                                   \
        }                                                                                     \
      }                                                                                       \
      out[i] = i / area * in_area + (best < 0 ? 0 : best);                                    \
    }                                                                                         \
  }
FOR_EACH_FLOAT(POOL_INDICES)
POOL_INDICES(i64, long long)
POOL_INDICES(i32, int)
POOL_INDICES(i16, short)
POOL_INDICES(i8, signed char)
POOL_INDICES(u32, unsigned int)
POOL_INDICES(u16, unsigned short)
POOL_INDICES(u8, unsigned char)

// Convolution, a thread an output: X [N, C, in], W [M, C / group, kernel]; bias may be null.
template <typename T>
__device__ inline void convolve(long long n, const Window& w, int filters, int channels,
                                int groups, const T* x, const T* weights, const T* bias, T* out) {
  typedef typename Tap<T>::type C;
  long long area = (long long)w.out.of[0] * w.out.of[1] * w.out.of[2];
  long long in_area = (long long)w.in.of[0] * w.in.of[1] * w.in.of[2];
  int volume = w.kernel.of[0] * w.kernel.of[1] * w.kernel.of[2];
  GRID_STRIDE(i, n) {
    int v = (int)(i % w.out.of[2]);
    int h = (int)(i / w.out.of[2] % w.out.of[1]);
    int d = (int)(i / w.out.of[2] / w.out.of[1] % w.out.of[0]);
    int m = (int)(i / area % filters);
    long long image = i / area / filters;
    const T* planes =
        x + (image * channels * groups + (long long)(m / (filters / groups)) * channels) * in_area;
    const T* filter = weights + (long long)m * channels * volume;
    C sum = 0;
    for (int c = 0; c < channels; c++) {
      int tap = c * volume;
      for (int a = 0; a < w.kernel.of[0]; a++) {
        int p = d * w.strides.of[0] + a * w.dilations.of[0] - w.before.of[0];
        for (int b = 0; b < w.kernel.of[1]; b++) {
          int q = h * w.strides.of[1] + b * w.dilations.of[1] - w.before.of[1];
          for (int e = 0; e < w.kernel.of[2]; e++, tap++) {
            int r = v * w.strides.of[2] + e * w.dilations.of[2] - w.before.of[2];
            if (p >= 0 && p < w.in.of[0] && q >= 0 && q < w.in.of[1] && r >= 0 &&
                r < w.in.of[2]) {
              sum += load(planes + c * in_area + ((long long)p * w.in.of[1] + q) * w.in.of[2] +
                          r) *
                     load(filter + tap);
            }
          }
        }
      }
    }
    if (bias) sum += load(bias + m);
    store(out + i, sum);
  }
}
#define CONVOLVE(NAME, T)                                                                 \
  extern "C" __global__ void conv_##NAME(long long n, Window w, int filters,              \
                                         int channels, int groups, const T* x,            \
                                         const T* weights, const T* bias, T* out) {       \
    convolve(n, w, filters, channels, groups, x, weights, bias, out);                     \
  }
FOR_EACH_FLOAT(CONVOLVE)

// Depthwise convolution over two axes, one filter a channel: the filter's weights are read once by
// a block, which works on one plane.
#define DEPTHWISE(NAME, T)                                                                   \
  extern "C" __global__ void depthwise_##NAME(Window w, int filters, int multiplier,         \
                                              const T* x, const T* weights, const T* bias,   \
                                              T* out) {                                      \
    typedef Tap<T>::type C;                                                                  \
    extern __shared__ double taps_memory[];                                                  \
    C* taps = (C*)taps_memory;                                                               \
    int volume = w.kernel.of[1] * w.kernel.of[2];                                            \
    long long plane = blockIdx.y;                                                            \
    int m = (int)(plane % filters);                                                          \
    for (int k = threadIdx.x; k < volume; k += blockDim.x) {                                 \
      taps[k] = load(weights + (long long)m * volume + k);                                   \
    }                                                                                        \
    __syncthreads();                                                                         \
    int channels = filters / multiplier;                                                     \
    const T* image = x + (plane / filters * channels + m / multiplier) *                     \
                             ((long long)w.in.of[1] * w.in.of[2]);                           \
    C shift = bias ? load(bias + m) : (C)0;                                                  \
    int area = w.out.of[1] * w.out.of[2];                                                    \
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < area;                            \
         i += gridDim.x * blockDim.x) {                                                      \
      int top = i / w.out.of[2] * w.strides.of[1] - w.before.of[1];                          \
      int left = i % w.out.of[2] * w.strides.of[2] - w.before.of[2];                         \
      C sum = 0;                                                                             \
      for (int b = 0; b < w.kernel.of[1]; b++) {                                             \
        int q = top + b * w.dilations.of[1];                                                 \
        if (q < 0 || q >= w.in.of[1]) continue;                                              \
        for (int e = 0; e < w.kernel.of[2]; e++) {                                           \
          int r = left + e * w.dilations.of[2];                                              \
          if (r >= 0 && r < w.in.of[2]) {                                                    \
            sum += load(image + (long long)q * w.in.of[2] + r) * taps[b * w.kernel.of[2] + e]; \
          }                                                                                  \
        }                                                                                    \
      }                                                                                      \
      store(out + plane * area + i, sum + shift);                                            \
    }                                                                                        \
  }
FOR_EACH_FLOAT(DEPTHWISE)

// Transposed convolution, a thread an output: X [N, C, in], W [C, M / group, kernel].
template <typename T>
__device__ inline void convolve_transposed(long long n, const Window& w, int filters,
                                           int channels, int groups, const T* x, const T* weights,
                                           const T* bias, T* out) {
  typedef typename Tap<T>::type C;
  long long area = (long long)w.out.of[0] * w.out.of[1] * w.out.of[2];
  long long in_area = (long long)w.in.of[0] * w.in.of[1] * w.in.of[2];
  int volume = w.kernel.of[0] * w.kernel.of[1] * w.kernel.of[2];
  GRID_STRIDE(i, n) {
    int v = (int)(i % w.out.of[2]);
    int h = (int)(i / w.out.of[2] % w.out.of[1]);
    int d = (int)(i / w.out.of[2] / w.out.of[1] % w.out.of[0]);
    int m = (int)(i / area % ((long long)filters * groups));
    long long image = i / area / ((long long)filters * groups);
    int first = m / filters * channels;
    C sum = 0;
    for (int tap = 0; tap < volume; tap++) {
      int p = d + w.before.of[0] -
              tap / (w.kernel.of[1] * w.kernel.of[2]) * w.dilations.of[0];
      int q = h + w.before.of[1] - tap / w.kernel.of[2] % w.kernel.of[1] * w.dilations.of[1];
      int r = v + w.before.of[2] - tap % w.kernel.of[2] * w.dilations.of[2];
      if (p % w.strides.of[0] || q % w.strides.of[1] || r % w.strides.of[2]) continue;
      p /= w.strides.of[0];
      q /= w.strides.of[1];
      r /= w.strides.of[2];
      if (p < 0 || p >= w.in.of[0] || q < 0 || q >= w.in.of[1] || r < 0 || r >= w.in.of[2]) {
        continue;
      }
      long long at = ((long long)p * w.in.of[1] + q) * w.in.of[2] + r;
      for (int c = first; c < first + channels; c++) {
        sum += load(x + (image * channels * groups + c) * in_area + at) *
               load(weights + ((long long)c * filters + m % filters) * volume + tap);
      }
    }
    if (bias) sum += load(bias + m);
    store(out + i, sum);
  }
}
#define CONVOLVE_TRANSPOSED(NAME, T)                                                        \
  extern "C" __global__ void conv_transpose_##NAME(long long n, Window w, int filters,      \
                                                   int channels, int groups, const T* x,    \
                                                   const T* weights, const T* bias,         \
                                                   T* out) {                                \
    convolve_transposed(n, w, filters, channels, groups, x, weights, bias, out);            \
  }
FOR_EACH_FLOAT(CONVOLVE_TRANSPOSED)
