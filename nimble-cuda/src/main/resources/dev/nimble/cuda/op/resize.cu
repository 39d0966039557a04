// dev.nimble.op.Resize. Positions are computed in double precision, exactly as there.

struct Scales { double of[AXES]; };

// Order as dev.nimble.op.Resize.Transform.
enum {
  HALF_PIXEL,
  PYTORCH_HALF_PIXEL,
  ALIGN_CORNERS,
  ASYMMETRIC,
  TF_HALF_PIXEL_FOR_NN,
  HALF_PIXEL_SYMMETRIC
};

__device__ inline double source_of(int transform, int i, int in_extent, int out_extent,
                                   double scale) {
  switch (transform) {
    case ASYMMETRIC: return i / scale;
    case ALIGN_CORNERS: {
      double last = out_extent == 1 ? 0 : scale * in_extent - 1;
      return last == 0 ? 0 : (double)i * (in_extent - 1) / last;
    }
    case TF_HALF_PIXEL_FOR_NN: return (i + 0.5) / scale;
    case HALF_PIXEL_SYMMETRIC: {
      double kept = out_extent / (scale * in_extent);
      return in_extent / 2.0 * (1 - kept) + (i + 0.5) / scale - 0.5;
    }
    case PYTORCH_HALF_PIXEL: return out_extent > 1 ? (i + 0.5) / scale - 0.5 : 0;
    default: return (i + 0.5) / scale - 0.5;
  }
}

// rounding: 0 round_prefer_floor, 1 round_prefer_ceil, 2 floor, 3 ceil
__device__ inline int nearest_of(int rounding, double at, int extent) {
  double rounded = rounding == 2   ? floor(at)
                   : rounding == 3 ? ceil(at)
                   : rounding == 1 ? floor(at + 0.5)
                                   : ceil(at - 0.5);
  return (int)(rounded < 0 ? 0 : rounded > extent - 1 ? extent - 1 : rounded);
}

#define NEAREST(SIZE, T)                                                                       \
  extern "C" __global__ void resize_nearest_##SIZE(                                            \
      long long n, int rank, Axes extents, Axes in_extents, Axes in_strides, Scales scales,    \
      int transform, int rounding, const T* in, T* out) {                                      \
    GRID_STRIDE(i, n) {                                                                        \
      long long rest = i;                                                                      \
      long long offset = 0;                                                                    \
      for (int axis = rank - 1; axis >= 0; axis--) {                                           \
        long long next = rest / extents.of[axis];                                              \
        int position = (int)(rest - next * extents.of[axis]);                                  \
        double at = source_of(transform, position, in_extents.of[axis], extents.of[axis],      \
                              scales.of[axis]);                                                \
        offset += (long long)nearest_of(rounding, at, in_extents.of[axis]) * in_strides.of[axis]; \
        rest = next;                                                                           \
      }                                                                                        \
      out[i] = in[offset];                                                                     \
    }                                                                                          \
  }
NEAREST(1, unsigned char)
NEAREST(2, unsigned short)
NEAREST(4, unsigned int)
NEAREST(8, unsigned long long)

// Weights of the 2 (linear) or 4 (cubic) elements around a position; returns the first element.
__device__ inline int taps_of(double at, int taps, double a, int exclude_outside, int extent,
                              double* weights) {
  int floored = (int)floor(at);
  double t = at - floored;
  int first = taps == 2 ? floored : floored - 1;
  if (taps == 2) {
    weights[0] = 1 - t;
    weights[1] = t;
  } else {
    weights[0] = ((a * (t + 1) - 5 * a) * (t + 1) + 8 * a) * (t + 1) - 4 * a;
    weights[1] = ((a + 2) * t - (a + 3)) * t * t + 1;
    weights[2] = ((a + 2) * (1 - t) - (a + 3)) * (1 - t) * (1 - t) + 1;
    weights[3] = ((a * (2 - t) - 5 * a) * (2 - t) + 8 * a) * (2 - t) - 4 * a;
  }
  if (exclude_outside) {
    double sum = 0;
    for (int k = 0; k < taps; k++) {
      if (first + k < 0 || first + k >= extent) weights[k] = 0;
      sum += weights[k];
    }
    for (int k = 0; k < taps; k++) weights[k] /= sum;
  }
  return first;
}

// Interpolation along up to AXES axes; `taps` is 2 or 4, and axes that keep their extent have
// `resized` 0.
template <typename T>
__device__ inline void interpolate(long long n, int rank, const Axes& extents,
                                   const Axes& in_extents, const Axes& in_strides,
                                   const Axes& resized, const Scales& scales, int transform,
                                   int taps, float coefficient, int exclude_outside, const T* in,
                                   T* out) {
  GRID_STRIDE(i, n) {
    double weights[AXES][4];
    int first[AXES];
    long long start = 0;
    int combinations = 1;
    long long rest = i;
    for (int axis = rank - 1; axis >= 0; axis--) {
      long long next = rest / extents.of[axis];
      int position = (int)(rest - next * extents.of[axis]);
      rest = next;
      if (resized.of[axis]) {
        double at = source_of(transform, position, in_extents.of[axis], extents.of[axis],
                              scales.of[axis]);
        first[axis] = taps_of(at, taps, coefficient, exclude_outside, in_extents.of[axis],
                              weights[axis]);
        combinations *= taps;
      } else {
        start += (long long)position * in_strides.of[axis];
      }
    }
    double sum = 0;
    for (int c = 0; c < combinations; c++) {
      int code = c;
      double weight = 1;
      long long offset = start;
      for (int axis = rank - 1; axis >= 0; axis--) {
        if (resized.of[axis]) {
          int tap = code % taps;
          code /= taps;
          int at = first[axis] + tap;
          int last = in_extents.of[axis] - 1;
          at = at < 0 ? 0 : at > last ? last : at;
          weight *= weights[axis][tap];
          offset += (long long)at * in_strides.of[axis];
        }
      }
      if (weight != 0) sum += weight * load(in + offset);
    }
    store(out + i, sum);
  }
}
#define INTERPOLATE(NAME, T)                                                                 \
  extern "C" __global__ void interpolate_##NAME(                                             \
      long long n, int rank, Axes extents, Axes in_extents, Axes in_strides, Axes resized,   \
      Scales scales, int transform, int taps, float coefficient, int exclude_outside,        \
      const T* in, T* out) {                                                                 \
    interpolate(n, rank, extents, in_extents, in_strides, resized, scales, transform, taps,  \
                coefficient, exclude_outside, in, out);                                      \
  }
INTERPOLATE(f32, float)
INTERPOLATE(f64, double)
INTERPOLATE(f16, half16)
INTERPOLATE(bf16, bfloat16)
