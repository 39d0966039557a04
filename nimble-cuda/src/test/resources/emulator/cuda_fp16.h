// CUDA's half precision: kept in 16 bits, computed in float, rounded to nearest even. As with NVIDIA's
// header of this name, a source reaches it only by an include path.
#pragma once
namespace emu {
inline unsigned short half_bits(float value) {
  unsigned int bits = __float_as_uint(value);
  unsigned int sign = bits >> 16 & 0x8000, rest = bits & 0x7fffffff;
  if (rest > 0x7f800000) return (unsigned short)(sign | 0x7fff);
  if (rest >= 0x47800000) return (unsigned short)(sign | 0x7c00);
  if (rest < 0x38800000) {            // subnormal: in units of 2^-24
    float scaled = __uint_as_float(rest) * 16777216.0f;
    return (unsigned short)(sign | (unsigned int)std::nearbyint(scaled));
  }
  unsigned int kept = (rest - 0x38000000) >> 13, lost = rest & 0x1fff;
  if (lost > 0x1000 || (lost == 0x1000 && kept & 1)) kept++;
  return (unsigned short)(sign | kept);
}
inline float half_value(unsigned short bits) {
  unsigned int sign = (unsigned int)(bits & 0x8000) << 16, rest = bits & 0x7fff;
  float magnitude = rest >= 0x7c00 ? __uint_as_float(0x7f800000 | (rest & 0x3ff) << 13)
                    : rest < 0x400 ? (float)rest / 16777216.0f
                                   : __uint_as_float((rest << 13) + 0x38000000);
  return __uint_as_float(__float_as_uint(magnitude) | sign);
}
}  // namespace emu
#ifndef EMU_SHORT_FLOAT
#define EMU_SHORT_FLOAT(NAME, PACK, UNPACK)                                       \
  struct NAME {                                                                   \
    unsigned short bits;                                                          \
    NAME() = default;                                                             \
    NAME(float value) : bits(emu::PACK(value)) {}                                 \
    operator float() const { return emu::UNPACK(bits); }                          \
    NAME& operator+=(NAME o) { return *this = NAME((float)*this + (float)o); }    \
    NAME& operator-=(NAME o) { return *this = NAME((float)*this - (float)o); }    \
    NAME& operator*=(NAME o) { return *this = NAME((float)*this * (float)o); }    \
  };                                                                              \
  inline NAME __hadd(NAME a, NAME b) { return NAME((float)a + (float)b); }        \
  inline NAME __hsub(NAME a, NAME b) { return NAME((float)a - (float)b); }        \
  inline NAME __hmul(NAME a, NAME b) { return NAME((float)a * (float)b); }        \
  inline NAME __hfma(NAME a, NAME b, NAME c) {                                    \
    return NAME(std::fma((float)a, (float)b, (float)c));                          \
  }
#endif
EMU_SHORT_FLOAT(__half, half_bits, half_value)
typedef __half half;
inline __half __float2half(float x) { return __half(x); }
inline __half __float2half_rn(float x) { return __half(x); }
inline float __half2float(__half x) { return (float)x; }
inline unsigned short __half_as_ushort(__half x) { return x.bits; }
inline __half __ushort_as_half(unsigned short x) { __half y; y.bits = x; return y; }
