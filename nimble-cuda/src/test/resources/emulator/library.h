// What the emulated cuBLAS and cuDNN share: the door to the emulated driver, element types, and one matrix product.
//
// Everything here runs on the host and stands for no GPU's speed.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "emulator.h"

namespace library {

// ---- the driver ----------------------------------------------------------------------------------------------------

using Work = std::function<void()>;

// Queues work on a stream, or records it as a node while the stream is capturing. The pointers that the work reads and
// writes are checked when it runs, as a GPU would, not when it is queued. The context that the library's handle was made
// in must be the calling thread's current one. Returns a CUresult.
int enqueue(void* context, void* stream, const char* name, Work work);

// Whether [pointer, pointer + bytes) lies in live device memory. If not, the emulated driver has noted an illegal
// access, and the work must stop.
bool readable(const void* pointer, size_t bytes);
bool writable(void* pointer, size_t bytes);

// Counts a call, under the name of the documentation. Returns a status to be returned at once if a fault was asked for,
// else 0.
int fault(const char* function);

// ---- objects that callers own --------------------------------------------------------------------------------------

// The living objects of one kind. An address that is not in here was never created, or was destroyed.
template <class T>
class Registry {
 public:
  explicit Registry(const char* kind) : kind_(kind) {}

  T* create() {
    T* object = new T();
    std::lock_guard<std::mutex> lock(mutex_);
    living_.insert(object);
    emu_open(kind_);
    return object;
  }

  bool contains(const void* object) {
    std::lock_guard<std::mutex> lock(mutex_);
    return living_.count(object) != 0;
  }

  // Destroys an object; false where it does not live.
  bool destroy(void* object) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (living_.erase(object) == 0) return false;
    }
    emu_close(kind_);
    delete static_cast<T*>(object);
    return true;
  }

 private:
  const char* kind_;
  std::mutex mutex_;
  std::unordered_set<const void*> living_;
};

// ---- element types -------------------------------------------------------------------------------------------------

enum class Element { kFloat, kDouble, kHalf, kBfloat16 };

inline size_t size_of(Element type) {
  switch (type) {
    case Element::kFloat: return 4;
    case Element::kDouble: return 8;
    default: return 2;
  }
}

inline uint32_t bits_of(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return bits;
}

inline float float_of(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}

// IEEE 754 binary16, rounded to nearest even, with subnormals, infinities and NaN.
inline float half_to_float(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16;
  const uint32_t exponent = (half >> 10) & 0x1fu;
  const uint32_t mantissa = half & 0x3ffu;
  if (exponent == 0x1fu) return float_of(sign | 0x7f800000u | (mantissa << 13));
  if (exponent != 0) return float_of(sign | ((exponent + 112) << 23) | (mantissa << 13));
  const float magnitude = std::ldexp(static_cast<float>(mantissa), -24);
  return sign == 0 ? magnitude : -magnitude;
}

inline uint16_t float_to_half(float value) {
  const uint32_t bits = bits_of(value);
  const uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
  const float magnitude = std::fabs(value);
  if (std::isnan(value)) return static_cast<uint16_t>(sign | 0x7e00u);
  if (magnitude >= 65520.0f) return static_cast<uint16_t>(sign | 0x7c00u);
  if (magnitude < std::ldexp(1.0f, -14)) {
    return static_cast<uint16_t>(sign | static_cast<uint16_t>(std::nearbyint(std::ldexp(magnitude, 24))));
  }
  uint32_t rounded = (bits & 0x7fffffffu) - (112u << 23);
  rounded += 0xfffu + ((rounded >> 13) & 1u);
  return static_cast<uint16_t>(sign | (rounded >> 13));
}

inline float bfloat16_to_float(uint16_t value) { return float_of(static_cast<uint32_t>(value) << 16); }

inline uint16_t float_to_bfloat16(float value) {
  const uint32_t bits = bits_of(value);
  if (std::isnan(value)) return static_cast<uint16_t>((bits >> 16) | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

// TF32: 8 bits of exponent, 10 of mantissa; to nearest, ties away from zero.
inline float round_to_tf32(float value) {
  if (!std::isfinite(value)) return value;
  return float_of((bits_of(value) + 0x1000u) & ~0x1fffu);
}

// How the factors of a product are rounded before they are multiplied.
enum class Rounding { kNone, kTf32, kHalf, kBfloat16 };

inline float rounded(float value, Rounding rounding) {
  switch (rounding) {
    case Rounding::kTf32: return round_to_tf32(value);
    case Rounding::kHalf: return half_to_float(float_to_half(value));
    case Rounding::kBfloat16: return bfloat16_to_float(float_to_bfloat16(value));
    default: return value;
  }
}

// Only single precision has faster and coarser forms.
inline double rounded(double value, Rounding) { return value; }

// Element index of memory of the given type, in the arithmetic of Acc (float, or double for double precision).
template <class Acc>
inline Acc load(const void* memory, Element type, int64_t index) {
  switch (type) {
    case Element::kFloat: return static_cast<Acc>(static_cast<const float*>(memory)[index]);
    case Element::kDouble: return static_cast<Acc>(static_cast<const double*>(memory)[index]);
    case Element::kHalf: return static_cast<Acc>(half_to_float(static_cast<const uint16_t*>(memory)[index]));
    default: return static_cast<Acc>(bfloat16_to_float(static_cast<const uint16_t*>(memory)[index]));
  }
}

template <class Acc>
inline void store(void* memory, Element type, int64_t index, Acc value) {
  switch (type) {
    case Element::kFloat: static_cast<float*>(memory)[index] = static_cast<float>(value); break;
    case Element::kDouble: static_cast<double*>(memory)[index] = static_cast<double>(value); break;
    case Element::kHalf: static_cast<uint16_t*>(memory)[index] = float_to_half(static_cast<float>(value)); break;
    default: static_cast<uint16_t*>(memory)[index] = float_to_bfloat16(static_cast<float>(value)); break;
  }
}

// alpha * value + beta * old, where beta = 0 never reads what was there: it may be NaN or never written.
template <class Acc>
inline void blend(void* memory, Element type, int64_t index, Acc value, Acc alpha, Acc beta) {
  Acc result = alpha * value;
  if (beta != Acc(0)) result += beta * load<Acc>(memory, type, index);
  store<Acc>(memory, type, index, result);
}

template <class T>
inline const char* offset(const void* memory, int64_t elements) {
  return static_cast<const char*>(memory) + elements * static_cast<int64_t>(sizeof(T));
}

inline const char* shifted(const void* memory, Element type, int64_t elements) {
  return static_cast<const char*>(memory) + elements * static_cast<int64_t>(size_of(type));
}

inline char* shifted(void* memory, Element type, int64_t elements) {
  return static_cast<char*>(memory) + elements * static_cast<int64_t>(size_of(type));
}

// What a library may leave behind in a workspace: nothing that anyone may rely on, and loud as a float.
inline void scribble(void* memory, size_t bytes) { std::memset(memory, 0xfb, bytes); }

// ---- one matrix product --------------------------------------------------------------------------------------------

// C[m x n] = A[m x k] * B[k x n], all column major and without gaps in k: a(i, p) is at a[p * rows + i] after packing.
// Blocks of kRows x kColumns of C stay in registers over the whole of k.
template <class Acc>
class Product {
 public:
  // Reads A through a(i, p), B through b(p, j), and hands each element of the product to write(i, j, value).
  template <class ReadA, class ReadB, class Write>
  static void run(int64_t m, int64_t n, int64_t k, ReadA a, ReadB b, Write write) {
    if (m <= 0 || n <= 0) return;
    static thread_local std::vector<Acc, Aligned<Acc>> packed_a;
    static thread_local std::vector<Acc> packed_b;
    const int64_t row_panels = (m + kRows - 1) / kRows;
    packed_b.resize(static_cast<size_t>(std::max<int64_t>(k, 1)) * kColumns);
    packed_a.resize(static_cast<size_t>(row_panels * std::max<int64_t>(k, 1)) * kRows);
    for (int64_t panel = 0; panel < row_panels; panel++) {
      const int64_t first = panel * kRows;
      const int64_t rows = std::min<int64_t>(kRows, m - first);
      Acc* to = packed_a.data() + panel * k * kRows;
      for (int64_t p = 0; p < k; p++, to += kRows) {
        for (int64_t i = 0; i < rows; i++) to[i] = a(first + i, p);
        for (int64_t i = rows; i < kRows; i++) to[i] = Acc(0);
      }
    }
    for (int64_t j = 0; j < n; j += kColumns) {
      const int64_t columns = std::min<int64_t>(kColumns, n - j);
      for (int64_t p = 0; p < k; p++) {
        for (int64_t c = 0; c < kColumns; c++) packed_b[p * kColumns + c] = c < columns ? b(p, j + c) : Acc(0);
      }
      for (int64_t panel = 0; panel < row_panels; panel++) {
        Vector sums[kColumns][kVectors] = {};
        const Vector* left = reinterpret_cast<const Vector*>(packed_a.data() + panel * k * kRows);
        const Acc* right = packed_b.data();
        for (int64_t p = 0; p < k; p++, left += kVectors, right += kColumns) {
#pragma GCC unroll 8
          for (int c = 0; c < kColumns; c++) {
#pragma GCC unroll 8
            for (int v = 0; v < kVectors; v++) sums[c][v] += left[v] * right[c];
          }
        }
        const int64_t first = panel * kRows;
        const int64_t rows = std::min<int64_t>(kRows, m - first);
        for (int64_t c = 0; c < columns; c++) {
          const Acc* column = reinterpret_cast<const Acc*>(sums[c]);
          for (int64_t i = 0; i < rows; i++) write(first + i, j + c, column[i]);
        }
      }
    }
  }

 private:
  typedef Acc Vector __attribute__((vector_size(32), may_alias));
  static constexpr int kVectors = 2;
  static constexpr int kRows = kVectors * 32 / static_cast<int>(sizeof(Acc));
  static constexpr int kColumns = 4;

  template <class V>
  struct Aligned {
    using value_type = V;
    Aligned() = default;
    template <class U>
    explicit Aligned(const Aligned<U>&) {}
    V* allocate(size_t count) { return static_cast<V*>(::operator new(count * sizeof(V), std::align_val_t(64))); }
    void deallocate(V* memory, size_t) { ::operator delete(memory, std::align_val_t(64)); }
    template <class U>
    bool operator==(const Aligned<U>&) const { return true; }
    template <class U>
    bool operator!=(const Aligned<U>&) const { return false; }
  };
};

}  // namespace library
