// CUDA's bfloat16: kept in 16 bits, computed in float, rounded to nearest even. As with NVIDIA's
// header of this name, a source reaches it only by an include path.
#pragma once
namespace emu {
inline unsigned short bfloat_bits(float value) {
  unsigned int bits = __float_as_uint(value);
  if ((bits & 0x7fffffff) > 0x7f800000) return 0x7fff;
  return (unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
inline float bfloat_value(unsigned short bits) {
  return __uint_as_float((unsigned int)bits << 16);
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
EMU_SHORT_FLOAT(__nv_bfloat16, bfloat_bits, bfloat_value)
typedef __nv_bfloat16 nv_bfloat16;
inline __nv_bfloat16 __float2bfloat16(float x) { return __nv_bfloat16(x); }
inline __nv_bfloat16 __float2bfloat16_rn(float x) { return __nv_bfloat16(x); }
inline float __bfloat162float(__nv_bfloat16 x) { return (float)x; }
inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 x) { return x.bits; }
inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short x) { __nv_bfloat16 y; y.bits = x; return y; }
