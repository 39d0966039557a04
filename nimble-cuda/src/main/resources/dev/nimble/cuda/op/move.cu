// Kernels that move elements without looking at them: one for each element size.

#define FOR_EACH_SIZE(KERNEL)   \
  KERNEL(1, unsigned char)      \
  KERNEL(2, unsigned short)     \
  KERNEL(4, unsigned int)       \
  KERNEL(8, unsigned long long)

// Element i of `extents` goes from one strided tensor to another.
#define COPY(SIZE, T)                                                                       \
  extern "C" __global__ void copy_##SIZE(                                                   \
      long long n, int rank, Axes extents, const T* in, long long in_start, Axes in_strides, \
      T* out, long long out_start, Axes out_strides) {                                      \
    GRID_STRIDE(i, n) {                                                                     \
      out[out_start + offset_of(i, rank, extents, out_strides)] =                           \
          in[in_start + offset_of(i, rank, extents, in_strides)];                           \
    }                                                                                       \
  }
FOR_EACH_SIZE(COPY)

__device__ inline int floor_mod(int a, int b) {
  int remainder = a % b;
  return remainder < 0 ? remainder + b : remainder;
}

// Where an element of a padded axis comes from, or -1 for the fill. Modes as in dev.nimble.op.Pad:
// 0 constant, 1 reflect, 2 edge, 3 wrap.
__device__ inline int pad_source(int mode, int at, int extent) {
  if (at >= 0 && at < extent) return at;
  if (mode == 0) return -1;
  if (mode == 2) return at < 0 ? 0 : extent - 1;
  if (mode == 3) return floor_mod(at, extent);
  int period = extent > 1 ? 2 * (extent - 1) : 1;
  int within = floor_mod(at, period);
  return within < extent ? within : period - within;
}

#define PAD(SIZE, T)                                                                          \
  extern "C" __global__ void pad_##SIZE(                                                      \
      long long n, int rank, Axes extents, Axes in_extents, Axes in_strides, Axes before,     \
      int mode, const T* in, const T* fill, T* out) {                                         \
    GRID_STRIDE(i, n) {                                                                       \
      long long rest = i;                                                                     \
      long long offset = 0;                                                                   \
      bool inside = true;                                                                     \
      for (int axis = rank - 1; axis >= 0; axis--) {                                          \
        long long next = rest / extents.of[axis];                                             \
        int position = (int)(rest - next * extents.of[axis]);                                 \
        int at = pad_source(mode, position - before.of[axis], in_extents.of[axis]);           \
        inside = inside && at >= 0;                                                           \
        offset += (long long)at * in_strides.of[axis];                                        \
        rest = next;                                                                          \
      }                                                                                       \
      out[i] = inside ? in[offset] : fill ? *fill : (T)0;                                     \
    }                                                                                         \
  }
FOR_EACH_SIZE(PAD)

// Rows of `inner` elements, chosen by index out of `extent`. An index out of range takes nothing
// and is reported.
template <typename T, typename I>
__device__ inline void gather(long long n, long long count, long long inner, long long extent,
                              const T* in, const I* indices, T* out, int node,
                              unsigned long long* report) {
  GRID_STRIDE(i, n) {
    long long within = i % inner;
    long long row = i / inner;
    long long index = (long long)indices[row % count];
    if (index < -extent || index >= extent) {
      report_index(node, index, report);
      continue;
    }
    long long at = index < 0 ? index + extent : index;
    out[i] = in[(row / count * extent + at) * inner + within];
  }
}
#define GATHER(SIZE, T)                                                                      \
  extern "C" __global__ void gather_##SIZE##_i32(                                            \
      long long n, long long count, long long inner, long long extent, const T* in,          \
      const int* indices, T* out, int node, unsigned long long* report) {                    \
    gather(n, count, inner, extent, in, indices, out, node, report);                         \
  }                                                                                          \
  extern "C" __global__ void gather_##SIZE##_i64(                                            \
      long long n, long long count, long long inner, long long extent, const T* in,          \
      const long long* indices, T* out, int node, unsigned long long* report) {              \
    gather(n, count, inner, extent, in, indices, out, node, report);                         \
  }
FOR_EACH_SIZE(GATHER)

extern "C" __global__ void fill_i64(long long value, long long* out) { *out = value; }
