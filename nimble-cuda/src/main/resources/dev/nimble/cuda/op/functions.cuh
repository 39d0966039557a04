// The element functions: dev.nimble.op.UnaryFunction and BinaryFunction in CUDA C. F is float or
// double; the integer forms take and give 64 bits, and wrap.

#define UNARY template <typename F> __device__ inline F

UNARY u_abs(F x, F, F) { return m_abs(x); }
UNARY u_neg(F x, F, F) { return -x; }
UNARY u_sign(F x, F, F) { return x > F(0) ? F(1) : x < F(0) ? F(-1) : x; }
UNARY u_relu(F x, F, F) { return larger(x, F(0)); }
UNARY u_clip(F x, F a, F b) { return smaller(larger(x, a), b); }
UNARY u_exp(F x, F, F) { return m_exp(x); }
UNARY u_log(F x, F, F) { return m_log(x); }
UNARY u_sqrt(F x, F, F) { return m_sqrt(x); }
UNARY u_reciprocal(F x, F, F) { return F(1) / x; }
UNARY u_floor(F x, F, F) { return (F)floor((double)x); }
UNARY u_ceil(F x, F, F) { return (F)ceil((double)x); }
UNARY u_round(F x, F, F) { return (F)rint((double)x); }
UNARY u_erf(F x, F, F) { return m_erf(x); }
UNARY u_sigmoid(F x, F, F) { return F(1) / (F(1) + m_exp(-x)); }
UNARY u_tanh(F x, F, F) { return m_tanh(x); }
UNARY u_sin(F x, F, F) { return (F)sin((double)x); }
UNARY u_cos(F x, F, F) { return (F)cos((double)x); }
UNARY u_tan(F x, F, F) { return (F)tan((double)x); }
UNARY u_asin(F x, F, F) { return (F)asin((double)x); }
UNARY u_acos(F x, F, F) { return (F)acos((double)x); }
UNARY u_atan(F x, F, F) { return (F)atan((double)x); }
UNARY u_sinh(F x, F, F) { return (F)sinh((double)x); }
UNARY u_cosh(F x, F, F) { return (F)cosh((double)x); }
UNARY u_asinh(F x, F, F) { return (F)asinh((double)x); }
UNARY u_acosh(F x, F, F) { return (F)acosh((double)x); }
UNARY u_atanh(F x, F, F) { return (F)atanh((double)x); }
UNARY u_softplus(F x, F, F) { return larger(x, F(0)) + m_log1p(m_exp(-m_abs(x))); }
UNARY u_softsign(F x, F, F) { return x / (F(1) + m_abs(x)); }
UNARY u_leaky_relu(F x, F a, F) { return x < F(0) ? x * a : x; }
UNARY u_elu(F x, F a, F) { return x < F(0) ? a * m_expm1(x) : x; }
UNARY u_selu(F x, F a, F b) { return b * (x < F(0) ? a * m_expm1(x) : x); }
UNARY u_celu(F x, F a, F) { return larger(x, F(0)) + smaller(F(0), a * m_expm1(x / a)); }
UNARY u_thresholded_relu(F x, F a, F) { return x > a ? x : F(0); }
UNARY u_hard_sigmoid(F x, F a, F b) { return larger(smaller(a * x + b, F(1)), F(0)); }
UNARY u_hard_swish(F x, F, F) {
  return x * larger(smaller(x * F(1.0 / 6) + F(0.5), F(1)), F(0));
}
UNARY u_gelu(F x, F, F) { return F(0.5) * x * m_erfc(-x * F(0.70710678118654752440)); }
UNARY u_gelu_tanh(F x, F, F) {
  return x / (F(1) + m_exp(F(-1.59576912160573071176) * (x + F(0.044715) * x * x * x)));
}
UNARY u_mish(F x, F, F) {
  return x * m_tanh(larger(x, F(0)) + m_log1p(m_exp(-m_abs(x))));
}

__device__ inline long long i_abs(long long x, float, float) { return m_abs(x); }
__device__ inline long long i_neg(long long x, float, float) {
  return (long long)(0ULL - (unsigned long long)x);
}
__device__ inline long long i_sign(long long x, float, float) { return (x > 0) - (x < 0); }
__device__ inline long long i_relu(long long x, float, float) { return x > 0 ? x : 0; }
__device__ inline long long i_clip(long long x, float a, float b) {
  long long least = to_long(ceil((double)a));
  long long most = to_long(floor((double)b));
  long long raised = x > least ? x : least;
  return raised < most ? raised : most;
}

#define BINARY template <typename F> __device__ inline F

BINARY b_add(F a, F b) { return a + b; }
BINARY b_sub(F a, F b) { return a - b; }
BINARY b_mul(F a, F b) { return a * b; }
BINARY b_div(F a, F b) { return a / b; }
BINARY b_pow(F a, F b) { return m_pow(a, b); }
BINARY b_min(F a, F b) { return smaller(a, b); }
BINARY b_max(F a, F b) { return larger(a, b); }
BINARY b_mod(F a, F b) {
  F remainder = m_fmod(a, b);
  return remainder != F(0) && (remainder < F(0)) != (b < F(0)) ? remainder + b : remainder;
}
BINARY b_fmod(F a, F b) { return m_fmod(a, b); }
BINARY b_prelu(F a, F b) { return a < F(0) ? a * b : a; }

__device__ inline long long j_add(long long a, long long b) {
  return (long long)((unsigned long long)a + (unsigned long long)b);
}
__device__ inline long long j_sub(long long a, long long b) {
  return (long long)((unsigned long long)a - (unsigned long long)b);
}
__device__ inline long long j_mul(long long a, long long b) {
  return (long long)((unsigned long long)a * (unsigned long long)b);
}
__device__ inline long long j_div(long long a, long long b) {
  return b == 0 ? 0 : b == -1 ? j_sub(0, a) : a / b;
}
// A power of an integer. CUDA's pow may err in the last place, and a power that is itself an
// integer must not.
__device__ inline double integer_pow(double a, double b) {
  if (b >= 0 && b <= 53 && b == floor(b)) {
    double power = 1;
    for (int i = 0; i < (int)b; i++) power *= a;
    if (fabs(power) <= 9007199254740992.0) return power;
  }
  return pow(a, b);
}
__device__ inline long long j_pow(long long a, long long b) {
  return to_long(integer_pow((double)a, (double)b));
}
__device__ inline long long j_min(long long a, long long b) { return a < b ? a : b; }
__device__ inline long long j_max(long long a, long long b) { return a > b ? a : b; }
__device__ inline long long j_fmod(long long a, long long b) {
  return b == 0 || b == -1 ? 0 : a % b;
}
__device__ inline long long j_mod(long long a, long long b) {
  long long remainder = j_fmod(a, b);
  return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}
__device__ inline long long j_prelu(long long a, long long b) { return a < 0 ? j_mul(a, b) : a; }

// Unsigned 64-bit integers.
__device__ inline unsigned long long j_add(unsigned long long a, unsigned long long b) {
  return a + b;
}
__device__ inline unsigned long long j_sub(unsigned long long a, unsigned long long b) {
  return a - b;
}
__device__ inline unsigned long long j_mul(unsigned long long a, unsigned long long b) {
  return a * b;
}
__device__ inline unsigned long long j_div(unsigned long long a, unsigned long long b) {
  return b == 0 ? 0 : a / b;
}
__device__ inline unsigned long long j_pow(unsigned long long a, unsigned long long b) {
  unsigned long long power = 1;
  for (; b != 0; b >>= 1, a *= a) {
    if (b & 1) power *= a;
  }
  return power;
}
__device__ inline unsigned long long j_min(unsigned long long a, unsigned long long b) {
  return a < b ? a : b;
}
__device__ inline unsigned long long j_max(unsigned long long a, unsigned long long b) {
  return a > b ? a : b;
}
__device__ inline unsigned long long j_fmod(unsigned long long a, unsigned long long b) {
  return b == 0 ? 0 : a % b;
}
__device__ inline unsigned long long j_mod(unsigned long long a, unsigned long long b) {
  return j_fmod(a, b);
}
__device__ inline unsigned long long j_prelu(unsigned long long a, unsigned long long) {
  return a;
}
