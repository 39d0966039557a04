// What every kernel of nimble-java may use. Compiled by NVRTC, which brings no headers of its own.

struct half16 { unsigned short bits; };      // IEEE 754 half precision, for storage only
struct bfloat16 { unsigned short bits; };    // the upper half of a float, for storage only

#define AXES 8
struct Axes { int of[AXES]; };               // extents or strides, outermost first

__device__ inline float half_to_float(unsigned short h) {
  unsigned int sign = (unsigned int)(h & 0x8000u) << 16;
  unsigned int exponent = (h >> 10) & 31u;
  unsigned int fraction = h & 1023u;
  if (exponent == 31u) return __uint_as_float(sign | 0x7f800000u | (fraction << 13));
  if (exponent == 0u) {                      // zero or subnormal: fraction * 2^-24
    float magnitude = (float)fraction * 5.9604644775390625e-8f;
    return sign ? -magnitude : magnitude;
  }
  return __uint_as_float(sign | ((exponent + 112u) << 23) | (fraction << 13));
}

__device__ inline unsigned short float_to_half(float x) {  // round to nearest, ties to even
  unsigned int bits = __float_as_uint(x);
  unsigned int sign = (bits >> 16) & 0x8000u;
  unsigned int magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) {             // NaN: quiet, with what fits of its payload
    return (unsigned short)(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu));
  }
  if (magnitude >= 0x477ff000u) return (unsigned short)(sign | 0x7c00u);
  if (magnitude < 0x38800000u) {             // subnormal: adding 0.5 leaves it in the low bits
    float shifted = __uint_as_float(magnitude) + 0.5f;
    return (unsigned short)(sign | (__float_as_uint(shifted) - 0x3f000000u));
  }
  unsigned int odd = (magnitude >> 13) & 1u;
  return (unsigned short)(sign | ((magnitude + 0xc8000fffu + odd) >> 13));
}

__device__ inline unsigned short float_to_bfloat(float x) {
  unsigned int bits = __float_as_uint(x);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return (unsigned short)((bits >> 16) | 0x40u);
  return (unsigned short)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

// Elements as they are computed with: floating types in their own precision (16 bits: in float),
// integers and booleans in 64 bits, signed but for unsigned 64-bit integers.
__device__ inline float load(const float* p) { return *p; }
__device__ inline double load(const double* p) { return *p; }
__device__ inline float load(const half16* p) { return half_to_float(p->bits); }
__device__ inline float load(const bfloat16* p) {
  return __uint_as_float((unsigned int)p->bits << 16);
}
__device__ inline unsigned long long load(const unsigned long long* p) { return *p; }
template <typename T> __device__ inline long long load(const T* p) { return (long long)*p; }

__device__ inline long long to_long(double x) {  // as Java casts: truncates, saturates, NaN is 0
  if (x != x) return 0;
  if (x >= 9223372036854775808.0) return 9223372036854775807LL;
  if (x <= -9223372036854775808.0) return -9223372036854775807LL - 1;
  return (long long)x;
}
__device__ inline long long to_long(float x) { return to_long((double)x); }
__device__ inline long long to_long(long long x) { return x; }
__device__ inline long long to_long(unsigned long long x) { return (long long)x; }

// The same for unsigned 64 bits: below 2^63 as to_long, above it the upper half of the range.
__device__ inline unsigned long long to_unsigned(double x) {
  if (x < 9223372036854775808.0) return (unsigned long long)to_long(x);
  return (unsigned long long)to_long(x - 9223372036854775808.0) ^ 0x8000000000000000ULL;
}
__device__ inline unsigned long long to_unsigned(float x) { return to_unsigned((double)x); }
__device__ inline unsigned long long to_unsigned(long long x) { return (unsigned long long)x; }
__device__ inline unsigned long long to_unsigned(unsigned long long x) { return x; }

template <typename X> __device__ inline void store(float* p, X x) { *p = (float)x; }
template <typename X> __device__ inline void store(double* p, X x) { *p = (double)x; }
template <typename X> __device__ inline void store(half16* p, X x) {
  p->bits = float_to_half((float)x);
}
template <typename X> __device__ inline void store(bfloat16* p, X x) {
  p->bits = float_to_bfloat((float)x);
}
template <typename X> __device__ inline void store(unsigned long long* p, X x) {
  *p = to_unsigned(x);
}
template <typename T, typename X> __device__ inline void store(T* p, X x) {
  *p = (T)to_long(x);                        // integers keep their low bits
}

// The value that an element holds after being stored: every step of a fused kernel rounds as it
// would alone.
template <typename T, typename X> __device__ inline auto rounded(X x) {
  T element;
  store(&element, x);
  return load(&element);
}

template <typename T> struct Computed { typedef long long type; };
template <> struct Computed<unsigned long long> { typedef unsigned long long type; };
template <> struct Computed<float> { typedef float type; };
template <> struct Computed<double> { typedef double type; };
template <> struct Computed<half16> { typedef float type; };
template <> struct Computed<bfloat16> { typedef float type; };

#define GRID_STRIDE(i, n)                                                       \
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < (n); \
       i += (long long)blockDim.x * gridDim.x)

// The offset, in elements, of row-major position i of `rank` extents in an operand of `strides`.
__device__ inline long long offset_of(long long i, int rank, const Axes& extents,
                                      const Axes& strides) {
  long long offset = 0;
  for (int axis = rank - 1; axis > 0; axis--) {
    long long next = i / extents.of[axis];
    offset += (i - next * extents.of[axis]) * strides.of[axis];
    i = next;
  }
  return rank > 0 ? offset + i * strides.of[0] : 0;
}

// Says that a kernel met an index that it cannot use: report[0] becomes the node's number plus 1,
// report[1] the index. The first to say so is heard.
__device__ inline void report_index(int node, long long index, unsigned long long* report) {
  if (atomicCAS(report, 0ULL, (unsigned long long)(node + 1)) == 0ULL) {
    report[1] = (unsigned long long)index;
  }
}

#define INFINITE __int_as_float(0x7f800000)
#define NOT_A_NUMBER __int_as_float(0x7fc00000)

// Math by type.
__device__ inline float m_exp(float x) { return expf(x); }
__device__ inline double m_exp(double x) { return exp(x); }
__device__ inline float m_expm1(float x) { return expm1f(x); }
__device__ inline double m_expm1(double x) { return expm1(x); }
__device__ inline float m_log(float x) { return logf(x); }
__device__ inline double m_log(double x) { return log(x); }
__device__ inline float m_log1p(float x) { return log1pf(x); }
__device__ inline double m_log1p(double x) { return log1p(x); }
__device__ inline float m_sqrt(float x) { return sqrtf(x); }
__device__ inline double m_sqrt(double x) { return sqrt(x); }
__device__ inline float m_abs(float x) { return fabsf(x); }
__device__ inline double m_abs(double x) { return fabs(x); }
__device__ inline long long m_abs(long long x) {   // the least integer stays as it is
  return x < 0 ? (long long)(0ULL - (unsigned long long)x) : x;
}
__device__ inline float m_tanh(float x) { return tanhf(x); }
__device__ inline double m_tanh(double x) { return tanh(x); }
__device__ inline float m_erf(float x) { return erff(x); }
__device__ inline double m_erf(double x) { return erf(x); }
__device__ inline float m_erfc(float x) { return erfcf(x); }
__device__ inline double m_erfc(double x) { return erfc(x); }
__device__ inline float m_pow(float x, float y) { return powf(x, y); }
__device__ inline double m_pow(double x, double y) { return pow(x, y); }
__device__ inline float m_fmod(float x, float y) { return fmodf(x, y); }
__device__ inline double m_fmod(double x, double y) { return fmod(x, y); }

template <typename F> __device__ inline F larger(F a, F b) { return a > b || a != a ? a : b; }
template <typename F> __device__ inline F smaller(F a, F b) { return a < b || a != a ? a : b; }
