// cuBLAS 12, emulated on the host: the functions below follow NVIDIA's documentation of the v2 interface.
//
// Enums and signatures are declared here, since no cublas.h is assumed on the build machine. Names that the JCuda
// natives import and that are not defined here are answered by stubs with CUBLAS_STATUS_NOT_SUPPORTED.

#include "library.h"

using namespace library;

extern "C" {
int cuMemAlloc_v2(unsigned long long* memory, size_t bytes);
int cuMemFree_v2(unsigned long long memory);
}

namespace {

enum Status {
  kSuccess = 0,
  kNotInitialized = 1,
  kAllocFailed = 3,
  kInvalidValue = 7,
  kArchMismatch = 8,
  kMappingError = 11,
  kExecutionFailed = 13,
  kInternalError = 14,
  kNotSupported = 15,
  kLicenseError = 16,
};

enum Operation { kNoTranspose = 0, kTranspose = 1, kConjugateTranspose = 2 };
enum PointerMode { kHost = 0, kDevice = 1 };
enum MathMode { kDefaultMath = 0, kTensorOpMath = 1, kPedanticMath = 2, kTf32Math = 3 };
constexpr int kDisallowReducedPrecisionReduction = 16;

constexpr int kVersion = 120600;  // 12.6.0
constexpr size_t kOwnWorkspaceBytes = 65536;

struct Handle {
  void* context = nullptr;
  void* stream = nullptr;
  int pointer_mode = kHost;
  int math_mode = kDefaultMath;
  int atomics_mode = 0;
  int sm_count_target = 0;
  unsigned long long own_workspace = 0;
  void* workspace = nullptr;  // the caller's; null stands for the library's own
  size_t workspace_bytes = 0;
};

Registry<Handle>& handles() {
  static Registry<Handle> registry("cublasHandle");
  return registry;
}

// The checks that begin every call: a demanded fault, then the handle.
int enter(const char* name, const void* handle) {
  if (const int injected = fault(name)) return injected;
  return handles().contains(handle) ? kSuccess : kNotInitialized;
}

int queued(int driver_result) { return driver_result == 0 ? kSuccess : kExecutionFailed; }

// A scalar argument: in host mode its value at the time of the call, in device mode what its address holds when the
// work runs.
template <class Acc>
class Scalar {
 public:
  Scalar(const Handle& handle, const void* pointer, Element type)
      : device_(handle.pointer_mode == kDevice), pointer_(pointer), type_(type), value_(Acc(0)) {
    if (!device_) value_ = load<Acc>(pointer, type, 0);
  }

  // False where the device address is bad.
  bool read(Acc* value) const {
    if (!device_) {
      *value = value_;
      return true;
    }
    if (!readable(pointer_, size_of(type_))) return false;
    *value = load<Acc>(pointer_, type_, 0);
    return true;
  }

 private:
  bool device_;
  const void* pointer_;
  Element type_;
  Acc value_;
};

size_t matrix_bytes(Element type, int64_t rows, int64_t columns, int64_t ld) {
  if (rows == 0 || columns == 0) return 0;
  return static_cast<size_t>((columns - 1) * ld + rows) * size_of(type);
}

bool readable_matrix(const void* memory, Element type, int64_t rows, int64_t columns, int64_t ld) {
  if (rows == 0 || columns == 0) return true;
  if (ld == rows || columns == 1) return readable(memory, matrix_bytes(type, rows, columns, ld));
  for (int64_t j = 0; j < columns; j++) {
    if (!readable(shifted(memory, type, j * ld), static_cast<size_t>(rows) * size_of(type))) return false;
  }
  return true;
}

// Only what is written: the gaps between columns may belong to somebody else.
bool writable_matrix(void* memory, Element type, int64_t rows, int64_t columns, int64_t ld) {
  if (rows == 0 || columns == 0) return true;
  if (ld == rows || columns == 1) return writable(memory, matrix_bytes(type, rows, columns, ld));
  for (int64_t j = 0; j < columns; j++) {
    if (!writable(shifted(memory, type, j * ld), static_cast<size_t>(rows) * size_of(type))) return false;
  }
  return true;
}

// ---- gemm ----------------------------------------------------------------------------------------------------------

struct Gemm {
  int trans_a, trans_b;
  int64_t m, n, k;
  Element type_a, type_b, type_c;
  int64_t lda, ldb, ldc;
  Rounding rounding;

  int64_t rows_a() const { return trans_a == kNoTranspose ? m : k; }
  int64_t columns_a() const { return trans_a == kNoTranspose ? k : m; }
  int64_t rows_b() const { return trans_b == kNoTranspose ? k : n; }
  int64_t columns_b() const { return trans_b == kNoTranspose ? n : k; }

  bool legal() const {
    if (trans_a < kNoTranspose || trans_a > kConjugateTranspose) return false;
    if (trans_b < kNoTranspose || trans_b > kConjugateTranspose) return false;
    if (m < 0 || n < 0 || k < 0) return false;
    return lda >= std::max<int64_t>(1, rows_a()) && ldb >= std::max<int64_t>(1, rows_b()) &&
           ldc >= std::max<int64_t>(1, m);
  }

  // One product; false after an illegal access.
  template <class Acc>
  bool run(Acc alpha, const void* a, const void* b, Acc beta, void* c) const {
    const bool multiplies = alpha != Acc(0) && k > 0;
    if (multiplies && !(readable_matrix(a, type_a, rows_a(), columns_a(), lda) &&
                        readable_matrix(b, type_b, rows_b(), columns_b(), ldb))) {
      return false;
    }
    if (beta != Acc(0) && !readable_matrix(c, type_c, m, n, ldc)) return false;
    if (!writable_matrix(c, type_c, m, n, ldc)) return false;
    const int64_t a_row = trans_a == kNoTranspose ? 1 : lda, a_column = trans_a == kNoTranspose ? lda : 1;
    const int64_t b_row = trans_b == kNoTranspose ? 1 : ldb, b_column = trans_b == kNoTranspose ? ldb : 1;
    const auto write = [&](int64_t i, int64_t j, Acc value) { blend<Acc>(c, type_c, j * ldc + i, value, alpha, beta); };
    if (!multiplies) {
      for (int64_t j = 0; j < n; j++) {
        for (int64_t i = 0; i < m; i++) write(i, j, Acc(0));
      }
    } else {
      Product<Acc>::run(
          m, n, k,
          [&](int64_t i, int64_t p) { return rounded(load<Acc>(a, type_a, i * a_row + p * a_column), rounding); },
          [&](int64_t p, int64_t j) { return rounded(load<Acc>(b, type_b, p * b_row + j * b_column), rounding); },
          write);
    }
    return true;
  }
};

// Split-K kernels keep partial sums in the workspace, so what is left there after a product is garbage.
bool use_workspace(void* workspace, size_t bytes, int64_t m, int64_t n) {
  if (workspace == nullptr) return true;
  const size_t used = std::min(bytes, static_cast<size_t>(m * n) * 4);
  if (used == 0) return true;
  if (!writable(workspace, used)) return false;
  scribble(workspace, used);
  return true;
}

// Whether two matrices of a strided batch share an element of C, whose columns are [b * stride + j * ld, + m).
bool overlaps(int64_t m, int64_t n, int64_t ld, int64_t stride, int64_t batch) {
  for (int64_t b = 1; b < batch; b++) {
    const int64_t distance = b * stride;
    const int64_t nearest = -distance / ld;
    for (int64_t columns = nearest - 1; columns <= nearest + 1; columns++) {
      if (std::abs(columns) < n && std::abs(distance + columns * ld) < m) return true;
    }
  }
  return false;
}

// Where the matrices of a batch are: at a fixed stride, or at the addresses listed in device memory.
template <class Pointer>
struct Batch {
  Pointer first;
  int64_t stride;
  bool listed;

  bool at(int64_t index, Element type, Pointer* result) const {
    if (!listed) {
      *result = static_cast<Pointer>(shifted(first, type, index * stride));
      return true;
    }
    const void* entry = static_cast<const char*>(static_cast<const void*>(first)) + index * 8;
    if (!readable(entry, 8)) return false;
    *result = *static_cast<Pointer const*>(entry);
    return true;
  }
};

template <class Acc>
int gemm(const char* name, Handle* handle, const Gemm& gemm, const void* alpha, Element scalar_type,
         Batch<const void*> a, Batch<const void*> b, const void* beta, Batch<void*> c, int64_t batch) {
  if (!gemm.legal() || batch < 0) return kInvalidValue;
  if (alpha == nullptr || beta == nullptr) return kInvalidValue;
  if (gemm.m == 0 || gemm.n == 0 || batch == 0) return kSuccess;
  if (c.first == nullptr || (gemm.k > 0 && (a.first == nullptr || b.first == nullptr))) return kInvalidValue;
  if (!c.listed && overlaps(gemm.m, gemm.n, gemm.ldc, c.stride, batch)) return kInvalidValue;
  const Scalar<Acc> alpha_value(*handle, alpha, scalar_type);
  const Scalar<Acc> beta_value(*handle, beta, scalar_type);
  void* workspace = handle->workspace;
  const size_t workspace_bytes = handle->workspace_bytes;
  // Documented: without a workspace of the caller's, a captured product allocates one and frees it, in nodes of the graph.
  const bool allocates = workspace == nullptr && emu_capturing(handle->stream);
  const auto memory_node = [=](const char* node) {
    return allocates ? enqueue(handle->context, handle->stream, node, [] {}) : 0;
  };
  if (const int refused = memory_node("cublas workspace allocation")) return queued(refused);
  const int launched = enqueue(handle->context, handle->stream, name, [=] {
    Acc alpha_now, beta_now;
    if (!alpha_value.read(&alpha_now) || !beta_value.read(&beta_now)) return;
    if (!use_workspace(workspace, workspace_bytes, gemm.m, gemm.n)) return;
    for (int64_t i = 0; i < batch; i++) {
      const void *a_now, *b_now;
      void* c_now;
      if (!a.at(i, gemm.type_a, &a_now) || !b.at(i, gemm.type_b, &b_now) || !c.at(i, gemm.type_c, &c_now)) return;
      if (!gemm.run<Acc>(alpha_now, a_now, b_now, beta_now, c_now)) return;
    }
  });
  if (launched != 0) return queued(launched);
  return queued(memory_node("cublas workspace free"));
}

Rounding single_precision(const Handle& handle) {
  return (handle.math_mode & 15) == kTf32Math ? Rounding::kTf32 : Rounding::kNone;
}

// Sgemm, Dgemm and their batched forms: one element type throughout.
template <class T>
int plain_gemm(const char* name, void* opaque, int trans_a, int trans_b, int64_t m, int64_t n, int64_t k,
               const T* alpha, Batch<const void*> a, int64_t lda, Batch<const void*> b, int64_t ldb, const T* beta,
               Batch<void*> c, int64_t ldc, int64_t batch) {
  if (const int status = enter(name, opaque)) return status;
  Handle* handle = static_cast<Handle*>(opaque);
  const Element type = sizeof(T) == 4 ? Element::kFloat : Element::kDouble;
  const Gemm shape{trans_a, trans_b, m, n, k, type, type, type, lda, ldb, ldc, single_precision(*handle)};
  return gemm<T>(name, handle, shape, alpha, type, a, b, beta, c, batch);
}

// Data types and compute types of the Ex forms.
enum DataType { kR32F = 0, kR64F = 1, kR16F = 2, kR16BF = 14 };
enum ComputeType {
  kCompute16F = 64,
  kCompute16FPedantic = 65,
  kCompute32F = 68,
  kCompute32FPedantic = 69,
  kCompute64F = 70,
  kCompute64FPedantic = 71,
  kCompute32I = 72,
  kCompute32IPedantic = 73,
  kCompute32FFast16F = 74,
  kCompute32FFast16BF = 75,
  kCompute32FFastTf32 = 77,
};

bool element_of(int data_type, Element* element) {
  switch (data_type) {
    case kR32F: *element = Element::kFloat; return true;
    case kR64F: *element = Element::kDouble; return true;
    case kR16F: *element = Element::kHalf; return true;
    case kR16BF: *element = Element::kBfloat16; return true;
    default: return false;
  }
}

bool known_compute_type(int type) {
  return (type >= kCompute16F && type <= kCompute16FPedantic) || (type >= kCompute32F && type <= kCompute32FFast16BF) ||
         type == kCompute32FFastTf32;
}

// -1 .. 23, and the deprecated tensor-op forms 99 .. 115: a hint that changes no result.
bool known_algorithm(int algorithm) {
  return (algorithm >= -1 && algorithm <= 23) || (algorithm >= 99 && algorithm <= 115);
}

int mixed_gemm(const char* name, void* opaque, int trans_a, int trans_b, int64_t m, int64_t n, int64_t k,
               const void* alpha, Batch<const void*> a, int type_a, int64_t lda, Batch<const void*> b, int type_b,
               int64_t ldb, const void* beta, Batch<void*> c, int type_c, int64_t ldc, int64_t batch, int compute,
               int algorithm) {
  if (const int status = enter(name, opaque)) return status;
  Handle* handle = static_cast<Handle*>(opaque);
  if (!known_compute_type(compute) || !known_algorithm(algorithm)) return kInvalidValue;
  Gemm shape{trans_a, trans_b, m, n, k, Element::kFloat, Element::kFloat, Element::kFloat, lda, ldb, ldc,
             Rounding::kNone};
  if (!shape.legal() || batch < 0) return kInvalidValue;
  if (!element_of(type_a, &shape.type_a) || !element_of(type_b, &shape.type_b) || !element_of(type_c, &shape.type_c) ||
      shape.type_a != shape.type_b) {
    return kNotSupported;
  }
  const Element ab = shape.type_a, out = shape.type_c;
  if (compute == kCompute64F || compute == kCompute64FPedantic) {
    if (ab != Element::kDouble || out != Element::kDouble) return kNotSupported;
    return gemm<double>(name, handle, shape, alpha, Element::kDouble, a, b, beta, c, batch);
  }
  if (compute == kCompute16F || compute == kCompute16FPedantic) {
    if (ab != Element::kHalf || out != Element::kHalf) return kNotSupported;
    return gemm<float>(name, handle, shape, alpha, Element::kHalf, a, b, beta, c, batch);
  }
  if (compute == kCompute32I || compute == kCompute32IPedantic) return kNotSupported;
  const bool single = ab == Element::kFloat && out == Element::kFloat;
  if (compute != kCompute32F && compute != kCompute32FPedantic && !single) return kNotSupported;
  const bool halves = (ab == Element::kHalf || ab == Element::kBfloat16) && (out == ab || out == Element::kFloat);
  if (!single && !halves) return kNotSupported;
  if (compute == kCompute32F && single) shape.rounding = single_precision(*handle);
  if (compute == kCompute32FFastTf32) shape.rounding = Rounding::kTf32;
  if (compute == kCompute32FFast16F) shape.rounding = Rounding::kHalf;
  if (compute == kCompute32FFast16BF) shape.rounding = Rounding::kBfloat16;
  return gemm<float>(name, handle, shape, alpha, Element::kFloat, a, b, beta, c, batch);
}

Batch<const void*> one(const void* first) { return {first, 0, false}; }
Batch<void*> one(void* first) { return {first, 0, false}; }
Batch<const void*> strided(const void* first, int64_t stride) { return {first, stride, false}; }
Batch<void*> strided(void* first, int64_t stride) { return {first, stride, false}; }
Batch<const void*> listed(const void* addresses) { return {addresses, 0, true}; }
Batch<void*> listed_results(const void* addresses) { return {const_cast<void*>(addresses), 0, true}; }

// ---- vectors -------------------------------------------------------------------------------------------------------

// A vector argument: n elements, inc apart; a negative inc walks back from the far end, as in the reference BLAS.
template <class T>
struct Strided {
  T* memory;
  int64_t n, inc;

  size_t bytes() const { return n <= 0 ? 0 : static_cast<size_t>((n - 1) * std::abs(inc) + 1) * sizeof(T); }
  bool can_read() const { return n <= 0 || readable(memory, bytes()); }
  bool can_write() const {
    if (n <= 0) return true;
    if (std::abs(inc) <= 1) return writable(const_cast<void*>(static_cast<const void*>(memory)), bytes());
    for (int64_t i = 0; i < n; i++) {
      if (!writable(const_cast<void*>(static_cast<const void*>(&(*this)[i])), sizeof(T))) return false;
    }
    return true;
  }
  T& operator[](int64_t i) const { return memory[inc >= 0 ? i * inc : (i - (n - 1)) * inc]; }
};

template <class T>
constexpr Element type_of() {
  return sizeof(T) == 4 ? Element::kFloat : Element::kDouble;
}

template <class T>
int gemv(const char* name, void* opaque, int trans, int64_t m, int64_t n, const T* alpha, Batch<const void*> a,
         int64_t lda, Batch<const void*> x, int64_t incx, const T* beta, Batch<void*> y, int64_t incy, int64_t batch) {
  if (const int status = enter(name, opaque)) return status;
  Handle* handle = static_cast<Handle*>(opaque);
  if (trans < kNoTranspose || trans > kConjugateTranspose || m < 0 || n < 0 || batch < 0) return kInvalidValue;
  if (lda < std::max<int64_t>(1, m) || incx == 0 || incy == 0) return kInvalidValue;
  if (alpha == nullptr || beta == nullptr) return kInvalidValue;
  if (m == 0 || n == 0 || batch == 0) return kSuccess;
  if (a.first == nullptr || x.first == nullptr || y.first == nullptr) return kInvalidValue;
  const Scalar<T> alpha_value(*handle, alpha, type_of<T>());
  const Scalar<T> beta_value(*handle, beta, type_of<T>());
  return queued(enqueue(handle->context, handle->stream, name, [=] {
    T alpha_now, beta_now;
    if (!alpha_value.read(&alpha_now) || !beta_value.read(&beta_now)) return;
    const int64_t inputs = trans == kNoTranspose ? n : m, outputs = trans == kNoTranspose ? m : n;
    const int64_t by_output = trans == kNoTranspose ? 1 : lda, by_input = trans == kNoTranspose ? lda : 1;
    for (int64_t at = 0; at < batch; at++) {
      const void *a_now, *x_now;
      void* y_now;
      if (!a.at(at, type_of<T>(), &a_now) || !x.at(at, type_of<T>(), &x_now) || !y.at(at, type_of<T>(), &y_now)) {
        return;
      }
      const T* matrix = static_cast<const T*>(a_now);
      const Strided<const T> in{static_cast<const T*>(x_now), inputs, incx};
      const Strided<T> out{static_cast<T*>(y_now), outputs, incy};
      const bool multiplies = alpha_now != T(0);
      if (multiplies && !(readable_matrix(matrix, type_of<T>(), m, n, lda) && in.can_read())) return;
      if (beta_now != T(0) && !out.can_read()) return;
      if (!out.can_write()) return;
      for (int64_t i = 0; i < outputs; i++) {
        T sum = 0;
        if (multiplies) {
          for (int64_t j = 0; j < inputs; j++) sum += matrix[i * by_output + j * by_input] * in[j];
        }
        out[i] = beta_now == T(0) ? alpha_now * sum : alpha_now * sum + beta_now * out[i];
      }
    }
  }));
}

template <class T>
int ger(const char* name, void* opaque, int64_t m, int64_t n, const T* alpha, const T* x, int64_t incx, const T* y,
        int64_t incy, T* a, int64_t lda) {
  if (const int status = enter(name, opaque)) return status;
  Handle* handle = static_cast<Handle*>(opaque);
  if (m < 0 || n < 0 || incx == 0 || incy == 0 || lda < std::max<int64_t>(1, m)) return kInvalidValue;
  if (alpha == nullptr) return kInvalidValue;
  if (m == 0 || n == 0) return kSuccess;
  if (x == nullptr || y == nullptr || a == nullptr) return kInvalidValue;
  const Scalar<T> alpha_value(*handle, alpha, type_of<T>());
  return queued(enqueue(handle->context, handle->stream, name, [=] {
    T alpha_now;
    if (!alpha_value.read(&alpha_now)) return;
    const Strided<const T> rows{x, m, incx}, columns{y, n, incy};
    if (!rows.can_read() || !columns.can_read() || !readable_matrix(a, type_of<T>(), m, n, lda) ||
        !writable_matrix(a, type_of<T>(), m, n, lda)) {
      return;
    }
    for (int64_t j = 0; j < n; j++) {
      for (int64_t i = 0; i < m; i++) a[j * lda + i] += alpha_now * rows[i] * columns[j];
    }
  }));
}

template <class T>
int axpy(const char* name, void* opaque, int64_t n, const T* alpha, const T* x, int64_t incx, T* y, int64_t incy) {
  if (const int status = enter(name, opaque)) return status;
  Handle* handle = static_cast<Handle*>(opaque);
  if (alpha == nullptr) return kInvalidValue;
  if (n <= 0) return kSuccess;
  if (x == nullptr || y == nullptr) return kInvalidValue;
  const Scalar<T> alpha_value(*handle, alpha, type_of<T>());
  return queued(enqueue(handle->context, handle->stream, name, [=] {
    T alpha_now;
    if (!alpha_value.read(&alpha_now)) return;
    const Strided<const T> in{x, n, incx};
    const Strided<T> out{y, n, incy};
    if (!in.can_read() || !out.can_read() || !out.can_write()) return;
    for (int64_t i = 0; i < n; i++) out[i] += alpha_now * in[i];
  }));
}

template <class T>
int scal(const char* name, void* opaque, int64_t n, const T* alpha, T* x, int64_t incx) {
  if (const int status = enter(name, opaque)) return status;
  Handle* handle = static_cast<Handle*>(opaque);
  if (alpha == nullptr) return kInvalidValue;
  if (n <= 0 || incx <= 0) return kSuccess;
  if (x == nullptr) return kInvalidValue;
  const Scalar<T> alpha_value(*handle, alpha, type_of<T>());
  return queued(enqueue(handle->context, handle->stream, name, [=] {
    T alpha_now;
    if (!alpha_value.read(&alpha_now)) return;
    const Strided<T> vector{x, n, incx};
    if (!vector.can_read() || !vector.can_write()) return;
    for (int64_t i = 0; i < n; i++) vector[i] *= alpha_now;
  }));
}

template <class T>
int copy(const char* name, void* opaque, int64_t n, const T* x, int64_t incx, T* y, int64_t incy) {
  if (const int status = enter(name, opaque)) return status;
  Handle* handle = static_cast<Handle*>(opaque);
  if (n <= 0) return kSuccess;
  if (x == nullptr || y == nullptr) return kInvalidValue;
  return queued(enqueue(handle->context, handle->stream, name, [=] {
    const Strided<const T> in{x, n, incx};
    const Strided<T> out{y, n, incy};
    if (!in.can_read() || !out.can_write()) return;
    for (int64_t i = 0; i < n; i++) out[i] = in[i];
  }));
}

template <class T>
int swap(const char* name, void* opaque, int64_t n, T* x, int64_t incx, T* y, int64_t incy) {
  if (const int status = enter(name, opaque)) return status;
  Handle* handle = static_cast<Handle*>(opaque);
  if (n <= 0) return kSuccess;
  if (x == nullptr || y == nullptr) return kInvalidValue;
  return queued(enqueue(handle->context, handle->stream, name, [=] {
    const Strided<T> left{x, n, incx}, right{y, n, incy};
    if (!left.can_read() || !right.can_read() || !left.can_write() || !right.can_write()) return;
    for (int64_t i = 0; i < n; i++) std::swap(left[i], right[i]);
  }));
}

// A function with one scalar result: written on the stream in device mode, waited for in host mode (which is therefore
// refused by the driver while the stream is capturing).
template <class Result, class Compute>
int reduce(const char* name, Handle* handle, Result* result, Compute compute) {
  if (result == nullptr) return kInvalidValue;
  if (handle->pointer_mode == kDevice) {
    return queued(enqueue(handle->context, handle->stream, name, [=] {
      Result value = 0;
      if (compute(&value) && writable(result, sizeof(Result))) *result = value;
    }));
  }
  auto value = std::make_shared<Result>(Result(0));
  const int status = enqueue(handle->context, handle->stream, name, [=] {
    Result computed = 0;
    if (compute(&computed)) *value = computed;
  });
  if (status != 0 || emu_synchronize(handle->stream) != 0) return kExecutionFailed;
  *result = *value;
  return kSuccess;
}

template <class T>
int dot(const char* name, void* opaque, int64_t n, const T* x, int64_t incx, const T* y, int64_t incy, T* result) {
  if (const int status = enter(name, opaque)) return status;
  if (n > 0 && (x == nullptr || y == nullptr)) return kInvalidValue;
  return reduce<T>(name, static_cast<Handle*>(opaque), result, [=](T* value) {
    const Strided<const T> left{x, n, incx}, right{y, n, incy};
    if (!left.can_read() || !right.can_read()) return false;
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += static_cast<double>(left[i]) * static_cast<double>(right[i]);
    *value = static_cast<T>(sum);
    return true;
  });
}

template <class T>
int nrm2(const char* name, void* opaque, int64_t n, const T* x, int64_t incx, T* result) {
  if (const int status = enter(name, opaque)) return status;
  const int64_t count = incx <= 0 ? 0 : n;
  if (count > 0 && x == nullptr) return kInvalidValue;
  return reduce<T>(name, static_cast<Handle*>(opaque), result, [=](T* value) {
    const Strided<const T> vector{x, count, incx};
    if (!vector.can_read()) return false;
    T largest = 0;  // scaled, so that the squares neither overflow nor vanish
    for (int64_t i = 0; i < count; i++) largest = std::max(largest, std::abs(vector[i]));
    if (largest == T(0) || !std::isfinite(largest)) {
      *value = largest;
      return true;
    }
    double sum = 0;
    for (int64_t i = 0; i < count; i++) {
      const double scaled = static_cast<double>(vector[i]) / static_cast<double>(largest);
      sum += scaled * scaled;
    }
    *value = static_cast<T>(static_cast<double>(largest) * std::sqrt(sum));
    return true;
  });
}

template <class T>
int asum(const char* name, void* opaque, int64_t n, const T* x, int64_t incx, T* result) {
  if (const int status = enter(name, opaque)) return status;
  const int64_t count = incx <= 0 ? 0 : n;
  if (count > 0 && x == nullptr) return kInvalidValue;
  return reduce<T>(name, static_cast<Handle*>(opaque), result, [=](T* value) {
    const Strided<const T> vector{x, count, incx};
    if (!vector.can_read()) return false;
    double sum = 0;
    for (int64_t i = 0; i < count; i++) sum += std::abs(static_cast<double>(vector[i]));
    *value = static_cast<T>(sum);
    return true;
  });
}

// The first index, counted from 1, of the largest (or smallest) magnitude; 0 for an empty vector.
template <class T, class Int>
int extreme(const char* name, void* opaque, int64_t n, const T* x, int64_t incx, Int* result, bool largest) {
  if (const int status = enter(name, opaque)) return status;
  const int64_t count = incx <= 0 ? 0 : n;
  if (count > 0 && x == nullptr) return kInvalidValue;
  return reduce<Int>(name, static_cast<Handle*>(opaque), result, [=](Int* value) {
    const Strided<const T> vector{x, count, incx};
    if (!vector.can_read()) return false;
    int64_t best = 0;
    for (int64_t i = 1; i < count; i++) {
      const T left = std::abs(vector[i]), right = std::abs(vector[best]);
      if (largest ? left > right : left < right) best = i;
    }
    *value = count > 0 ? static_cast<Int>(best + 1) : Int(0);
    return true;
  });
}

// ---- matrices, element by element ----------------------------------------------------------------------------------

template <class T>
int geam(const char* name, void* opaque, int trans_a, int trans_b, int64_t m, int64_t n, const T* alpha, const T* a,
         int64_t lda, const T* beta, const T* b, int64_t ldb, T* c, int64_t ldc) {
  if (const int status = enter(name, opaque)) return status;
  Handle* handle = static_cast<Handle*>(opaque);
  if (trans_a < kNoTranspose || trans_a > kConjugateTranspose || trans_b < kNoTranspose ||
      trans_b > kConjugateTranspose || m < 0 || n < 0) {
    return kInvalidValue;
  }
  const int64_t rows_a = trans_a == kNoTranspose ? m : n, columns_a = trans_a == kNoTranspose ? n : m;
  const int64_t rows_b = trans_b == kNoTranspose ? m : n, columns_b = trans_b == kNoTranspose ? n : m;
  if (lda < std::max<int64_t>(1, rows_a) || ldb < std::max<int64_t>(1, rows_b) || ldc < std::max<int64_t>(1, m)) {
    return kInvalidValue;
  }
  if (alpha == nullptr || beta == nullptr) return kInvalidValue;
  if (m == 0 || n == 0) return kSuccess;
  if (c == nullptr) return kInvalidValue;
  // In place is defined only where C takes the place of an operand that is read just as it is written.
  if (c == a && (trans_a != kNoTranspose || lda != ldc)) return kInvalidValue;
  if (c == b && (trans_b != kNoTranspose || ldb != ldc)) return kInvalidValue;
  const Scalar<T> alpha_value(*handle, alpha, type_of<T>());
  const Scalar<T> beta_value(*handle, beta, type_of<T>());
  return queued(enqueue(handle->context, handle->stream, name, [=] {
    T alpha_now, beta_now;
    if (!alpha_value.read(&alpha_now) || !beta_value.read(&beta_now)) return;
    if (alpha_now != T(0) && !readable_matrix(a, type_of<T>(), rows_a, columns_a, lda)) return;
    if (beta_now != T(0) && !readable_matrix(b, type_of<T>(), rows_b, columns_b, ldb)) return;
    if (!writable_matrix(c, type_of<T>(), m, n, ldc)) return;
    for (int64_t j = 0; j < n; j++) {
      for (int64_t i = 0; i < m; i++) {
        T sum = 0;
        if (alpha_now != T(0)) sum += alpha_now * a[trans_a == kNoTranspose ? j * lda + i : i * lda + j];
        if (beta_now != T(0)) sum += beta_now * b[trans_b == kNoTranspose ? j * ldb + i : i * ldb + j];
        c[j * ldc + i] = sum;
      }
    }
  }));
}

// C = diag(x) * A (side left, 0) or A * diag(x) (side right, 1).
template <class T>
int dgmm(const char* name, void* opaque, int side, int64_t m, int64_t n, const T* a, int64_t lda, const T* x,
         int64_t incx, T* c, int64_t ldc) {
  if (const int status = enter(name, opaque)) return status;
  Handle* handle = static_cast<Handle*>(opaque);
  if (side < 0 || side > 1 || m < 0 || n < 0) return kInvalidValue;
  if (lda < std::max<int64_t>(1, m) || ldc < std::max<int64_t>(1, m)) return kInvalidValue;
  if (m == 0 || n == 0) return kSuccess;
  if (a == nullptr || x == nullptr || c == nullptr || (c == a && lda != ldc)) return kInvalidValue;
  return queued(enqueue(handle->context, handle->stream, name, [=] {
    const Strided<const T> diagonal{x, side == 0 ? m : n, incx};
    if (!diagonal.can_read() || !readable_matrix(a, type_of<T>(), m, n, lda) ||
        !writable_matrix(c, type_of<T>(), m, n, ldc)) {
      return;
    }
    for (int64_t j = 0; j < n; j++) {
      for (int64_t i = 0; i < m; i++) c[j * ldc + i] = a[j * lda + i] * diagonal[side == 0 ? i : j];
    }
  }));
}

const char* name_of(int status) {
  switch (status) {
    case kSuccess: return "CUBLAS_STATUS_SUCCESS";
    case kNotInitialized: return "CUBLAS_STATUS_NOT_INITIALIZED";
    case kAllocFailed: return "CUBLAS_STATUS_ALLOC_FAILED";
    case kInvalidValue: return "CUBLAS_STATUS_INVALID_VALUE";
    case kArchMismatch: return "CUBLAS_STATUS_ARCH_MISMATCH";
    case kMappingError: return "CUBLAS_STATUS_MAPPING_ERROR";
    case kExecutionFailed: return "CUBLAS_STATUS_EXECUTION_FAILED";
    case kInternalError: return "CUBLAS_STATUS_INTERNAL_ERROR";
    case kNotSupported: return "CUBLAS_STATUS_NOT_SUPPORTED";
    case kLicenseError: return "CUBLAS_STATUS_LICENSE_ERROR";
    default: return nullptr;
  }
}

}  // namespace

// ---- the C interface -----------------------------------------------------------------------------------------------

extern "C" {

int cublasCreate_v2(void** handle) {
  if (const int injected = fault("cublasCreate_v2")) return injected;
  if (handle == nullptr) return kInvalidValue;
  void* context = emu_context();
  if (context == nullptr) return kNotInitialized;
  unsigned long long memory = 0;
  // As the real one, it allocates on the device: not while the thread captures, and it may fail for want of memory.
  const int result = cuMemAlloc_v2(&memory, kOwnWorkspaceBytes);
  if (result != 0) return result == 2 ? kAllocFailed : kNotInitialized;
  Handle* created = handles().create();
  created->context = context;
  created->own_workspace = memory;
  *handle = created;
  return kSuccess;
}

int cublasDestroy_v2(void* handle) {
  if (const int status = enter("cublasDestroy_v2", handle)) return status;
  const unsigned long long memory = static_cast<Handle*>(handle)->own_workspace;
  handles().destroy(handle);
  return cuMemFree_v2(memory) == 0 ? kSuccess : kInternalError;
}

int cublasGetVersion_v2(void* handle, int* version) {
  if (const int injected = fault("cublasGetVersion_v2")) return injected;
  if (handle != nullptr && !handles().contains(handle)) return kNotInitialized;
  if (version == nullptr) return kInvalidValue;
  *version = kVersion;
  return kSuccess;
}

int cublasGetProperty(int property, int* value) {
  if (const int injected = fault("cublasGetProperty")) return injected;
  if (value == nullptr || property < 0 || property > 2) return kInvalidValue;
  const int parts[] = {kVersion / 10000, kVersion / 100 % 100, kVersion % 100};
  *value = parts[property];
  return kSuccess;
}

size_t cublasGetCudartVersion() { return 12060; }

const char* cublasGetStatusName(int status) {
  const char* name = name_of(status);
  return name == nullptr ? "CUBLAS_STATUS_UNKNOWN" : name;
}

const char* cublasGetStatusString(int status) {
  switch (status) {
    case kSuccess: return "success";
    case kNotInitialized: return "the library was not initialized";
    case kAllocFailed: return "the resource allocation failed";
    case kInvalidValue: return "an unsupported value or parameter was passed to the function";
    case kArchMismatch: return "the function requires an architectural feature absent from the device";
    case kMappingError: return "an access to GPU memory space failed";
    case kExecutionFailed: return "the function failed to launch on the GPU";
    case kInternalError: return "an internal operation failed";
    case kNotSupported: return "the functionality requested is not supported";
    case kLicenseError: return "the functionality requested requires a license";
    default: return "<unknown>";
  }
}

int cublasSetStream_v2(void* handle, void* stream) {
  if (const int status = enter("cublasSetStream_v2", handle)) return status;
  Handle* self = static_cast<Handle*>(handle);
  self->stream = stream;
  // Documented: choosing a stream gives up the caller's workspace.
  self->workspace = nullptr;
  self->workspace_bytes = 0;
  return kSuccess;
}

int cublasGetStream_v2(void* handle, void** stream) {
  if (const int status = enter("cublasGetStream_v2", handle)) return status;
  if (stream == nullptr) return kInvalidValue;
  *stream = static_cast<Handle*>(handle)->stream;
  return kSuccess;
}

int cublasSetWorkspace_v2(void* handle, void* workspace, size_t bytes) {
  if (const int status = enter("cublasSetWorkspace_v2", handle)) return status;
  if (reinterpret_cast<uintptr_t>(workspace) % 256 != 0) return kInvalidValue;
  if (workspace == nullptr && bytes != 0) return kInvalidValue;
  Handle* self = static_cast<Handle*>(handle);
  self->workspace = bytes == 0 ? nullptr : workspace;
  self->workspace_bytes = bytes;
  return kSuccess;
}

int cublasSetPointerMode_v2(void* handle, int mode) {
  if (const int status = enter("cublasSetPointerMode_v2", handle)) return status;
  if (mode != kHost && mode != kDevice) return kInvalidValue;
  static_cast<Handle*>(handle)->pointer_mode = mode;
  return kSuccess;
}

int cublasGetPointerMode_v2(void* handle, int* mode) {
  if (const int status = enter("cublasGetPointerMode_v2", handle)) return status;
  if (mode == nullptr) return kInvalidValue;
  *mode = static_cast<Handle*>(handle)->pointer_mode;
  return kSuccess;
}

int cublasSetMathMode(void* handle, int mode) {
  if (const int status = enter("cublasSetMathMode", handle)) return status;
  const int precision = mode & ~kDisallowReducedPrecisionReduction;
  if (precision < kDefaultMath || precision > kTf32Math) return kInvalidValue;
  static_cast<Handle*>(handle)->math_mode = mode;
  return kSuccess;
}

int cublasGetMathMode(void* handle, int* mode) {
  if (const int status = enter("cublasGetMathMode", handle)) return status;
  if (mode == nullptr) return kInvalidValue;
  *mode = static_cast<Handle*>(handle)->math_mode;
  return kSuccess;
}

int cublasSetAtomicsMode(void* handle, int mode) {
  if (const int status = enter("cublasSetAtomicsMode", handle)) return status;
  if (mode < 0 || mode > 1) return kInvalidValue;
  static_cast<Handle*>(handle)->atomics_mode = mode;
  return kSuccess;
}

int cublasGetAtomicsMode(void* handle, int* mode) {
  if (const int status = enter("cublasGetAtomicsMode", handle)) return status;
  if (mode == nullptr) return kInvalidValue;
  *mode = static_cast<Handle*>(handle)->atomics_mode;
  return kSuccess;
}

int cublasSetSmCountTarget(void* handle, int count) {
  if (const int status = enter("cublasSetSmCountTarget", handle)) return status;
  if (count < 0) return kInvalidValue;
  static_cast<Handle*>(handle)->sm_count_target = count;
  return kSuccess;
}

int cublasGetSmCountTarget(void* handle, int* count) {
  if (const int status = enter("cublasGetSmCountTarget", handle)) return status;
  if (count == nullptr) return kInvalidValue;
  *count = static_cast<Handle*>(handle)->sm_count_target;
  return kSuccess;
}

// Each function of the lists below exists with 32-bit sizes and, under a name that ends in _64, with 64-bit ones.
#define BOTH(FUNCTION, NAME, T) FUNCTION(NAME, T, int) FUNCTION(NAME##_64, T, int64_t)

#define GEMM(NAME, T, INT)                                                                                          \
  int NAME(void* handle, int transa, int transb, INT m, INT n, INT k, const T* alpha, const T* a, INT lda,          \
           const T* b, INT ldb, const T* beta, T* c, INT ldc) {                                                     \
    return plain_gemm<T>(#NAME, handle, transa, transb, m, n, k, alpha, one(static_cast<const void*>(a)), lda,      \
                         one(static_cast<const void*>(b)), ldb, beta, one(static_cast<void*>(c)), ldc, 1);          \
  }
BOTH(GEMM, cublasSgemm_v2, float)
BOTH(GEMM, cublasDgemm_v2, double)

#define GEMM_STRIDED(NAME, T, INT)                                                                                  \
  int NAME(void* handle, int transa, int transb, INT m, INT n, INT k, const T* alpha, const T* a, INT lda,          \
           long long stride_a, const T* b, INT ldb, long long stride_b, const T* beta, T* c, INT ldc,               \
           long long stride_c, INT batch) {                                                                         \
    return plain_gemm<T>(#NAME, handle, transa, transb, m, n, k, alpha, strided(static_cast<const void*>(a), stride_a), \
                         lda, strided(static_cast<const void*>(b), stride_b), ldb, beta,                            \
                         strided(static_cast<void*>(c), stride_c), ldc, batch);                                     \
  }
BOTH(GEMM_STRIDED, cublasSgemmStridedBatched, float)
BOTH(GEMM_STRIDED, cublasDgemmStridedBatched, double)

#define GEMM_LISTED(NAME, T, INT)                                                                                   \
  int NAME(void* handle, int transa, int transb, INT m, INT n, INT k, const T* alpha, const T* const* a, INT lda,   \
           const T* const* b, INT ldb, const T* beta, T* const* c, INT ldc, INT batch) {                            \
    return plain_gemm<T>(#NAME, handle, transa, transb, m, n, k, alpha, listed(a), lda, listed(b), ldb, beta,       \
                         listed_results(c), ldc, batch);                                                            \
  }
BOTH(GEMM_LISTED, cublasSgemmBatched, float)
BOTH(GEMM_LISTED, cublasDgemmBatched, double)

#define GEMM_MIXED(NAME, T, INT)                                                                                    \
  int NAME(void* handle, int transa, int transb, INT m, INT n, INT k, const void* alpha, const void* a, int type_a, \
           INT lda, const void* b, int type_b, INT ldb, const void* beta, void* c, int type_c, INT ldc,             \
           int compute, int algorithm) {                                                                            \
    return mixed_gemm(#NAME, handle, transa, transb, m, n, k, alpha, one(a), type_a, lda, one(b), type_b, ldb,      \
                      beta, one(c), type_c, ldc, 1, compute, algorithm);                                            \
  }
BOTH(GEMM_MIXED, cublasGemmEx, void)

// The older form of GemmEx: single-precision scalars and sums.
#define GEMM_SINGLE(NAME, T, INT)                                                                                   \
  int NAME(void* handle, int transa, int transb, INT m, INT n, INT k, const T* alpha, const void* a, int type_a,    \
           INT lda, const void* b, int type_b, INT ldb, const T* beta, void* c, int type_c, INT ldc) {              \
    return mixed_gemm(#NAME, handle, transa, transb, m, n, k, alpha, one(a), type_a, lda, one(b), type_b, ldb,      \
                      beta, one(c), type_c, ldc, 1, kCompute32F, -1);                                               \
  }
BOTH(GEMM_SINGLE, cublasSgemmEx, float)

#define GEMM_MIXED_STRIDED(NAME, T, INT)                                                                            \
  int NAME(void* handle, int transa, int transb, INT m, INT n, INT k, const void* alpha, const void* a, int type_a, \
           INT lda, long long stride_a, const void* b, int type_b, INT ldb, long long stride_b, const void* beta,   \
           void* c, int type_c, INT ldc, long long stride_c, INT batch, int compute, int algorithm) {               \
    return mixed_gemm(#NAME, handle, transa, transb, m, n, k, alpha, strided(a, stride_a), type_a, lda,             \
                      strided(b, stride_b), type_b, ldb, beta, strided(c, stride_c), type_c, ldc, batch, compute,   \
                      algorithm);                                                                                   \
  }
BOTH(GEMM_MIXED_STRIDED, cublasGemmStridedBatchedEx, void)

#define GEMM_MIXED_LISTED(NAME, T, INT)                                                                             \
  int NAME(void* handle, int transa, int transb, INT m, INT n, INT k, const void* alpha, const void* const* a,      \
           int type_a, INT lda, const void* const* b, int type_b, INT ldb, const void* beta, void* const* c,        \
           int type_c, INT ldc, INT batch, int compute, int algorithm) {                                            \
    return mixed_gemm(#NAME, handle, transa, transb, m, n, k, alpha, listed(a), type_a, lda, listed(b), type_b,     \
                      ldb, beta, listed_results(c), type_c, ldc, batch, compute, algorithm);                        \
  }
BOTH(GEMM_MIXED_LISTED, cublasGemmBatchedEx, void)

#define GEMV(NAME, T, INT)                                                                                          \
  int NAME(void* handle, int trans, INT m, INT n, const T* alpha, const T* a, INT lda, const T* x, INT incx,        \
           const T* beta, T* y, INT incy) {                                                                         \
    return gemv<T>(#NAME, handle, trans, m, n, alpha, one(static_cast<const void*>(a)), lda,                        \
                   one(static_cast<const void*>(x)), incx, beta, one(static_cast<void*>(y)), incy, 1);              \
  }
BOTH(GEMV, cublasSgemv_v2, float)
BOTH(GEMV, cublasDgemv_v2, double)

#define GEMV_STRIDED(NAME, T, INT)                                                                                  \
  int NAME(void* handle, int trans, INT m, INT n, const T* alpha, const T* a, INT lda, long long stride_a,          \
           const T* x, INT incx, long long stride_x, const T* beta, T* y, INT incy, long long stride_y,             \
           INT batch) {                                                                                             \
    return gemv<T>(#NAME, handle, trans, m, n, alpha, strided(static_cast<const void*>(a), stride_a), lda,          \
                   strided(static_cast<const void*>(x), stride_x), incx, beta,                                      \
                   strided(static_cast<void*>(y), stride_y), incy, batch);                                          \
  }
BOTH(GEMV_STRIDED, cublasSgemvStridedBatched, float)
BOTH(GEMV_STRIDED, cublasDgemvStridedBatched, double)

#define GEMV_LISTED(NAME, T, INT)                                                                                   \
  int NAME(void* handle, int trans, INT m, INT n, const T* alpha, const T* const* a, INT lda, const T* const* x,    \
           INT incx, const T* beta, T* const* y, INT incy, INT batch) {                                             \
    return gemv<T>(#NAME, handle, trans, m, n, alpha, listed(a), lda, listed(x), incx, beta, listed_results(y),     \
                   incy, batch);                                                                                    \
  }
BOTH(GEMV_LISTED, cublasSgemvBatched, float)
BOTH(GEMV_LISTED, cublasDgemvBatched, double)

#define GER(NAME, T, INT)                                                                                           \
  int NAME(void* handle, INT m, INT n, const T* alpha, const T* x, INT incx, const T* y, INT incy, T* a, INT lda) { \
    return ger<T>(#NAME, handle, m, n, alpha, x, incx, y, incy, a, lda);                                            \
  }
BOTH(GER, cublasSger_v2, float)
BOTH(GER, cublasDger_v2, double)

#define AXPY(NAME, T, INT)                                                                                          \
  int NAME(void* handle, INT n, const T* alpha, const T* x, INT incx, T* y, INT incy) {                             \
    return axpy<T>(#NAME, handle, n, alpha, x, incx, y, incy);                                                      \
  }
BOTH(AXPY, cublasSaxpy_v2, float)
BOTH(AXPY, cublasDaxpy_v2, double)

#define SCAL(NAME, T, INT)                                                                                          \
  int NAME(void* handle, INT n, const T* alpha, T* x, INT incx) { return scal<T>(#NAME, handle, n, alpha, x, incx); }
BOTH(SCAL, cublasSscal_v2, float)
BOTH(SCAL, cublasDscal_v2, double)

#define COPY(NAME, T, INT)                                                                                          \
  int NAME(void* handle, INT n, const T* x, INT incx, T* y, INT incy) {                                             \
    return copy<T>(#NAME, handle, n, x, incx, y, incy);                                                             \
  }
BOTH(COPY, cublasScopy_v2, float)
BOTH(COPY, cublasDcopy_v2, double)

#define SWAP(NAME, T, INT)                                                                                          \
  int NAME(void* handle, INT n, T* x, INT incx, T* y, INT incy) {                                                   \
    return swap<T>(#NAME, handle, n, x, incx, y, incy);                                                             \
  }
BOTH(SWAP, cublasSswap_v2, float)
BOTH(SWAP, cublasDswap_v2, double)

#define DOT(NAME, T, INT)                                                                                           \
  int NAME(void* handle, INT n, const T* x, INT incx, const T* y, INT incy, T* result) {                            \
    return dot<T>(#NAME, handle, n, x, incx, y, incy, result);                                                      \
  }
BOTH(DOT, cublasSdot_v2, float)
BOTH(DOT, cublasDdot_v2, double)

#define NORM(NAME, T, INT)                                                                                          \
  int NAME(void* handle, INT n, const T* x, INT incx, T* result) { return nrm2<T>(#NAME, handle, n, x, incx, result); }
BOTH(NORM, cublasSnrm2_v2, float)
BOTH(NORM, cublasDnrm2_v2, double)

#define ASUM(NAME, T, INT)                                                                                          \
  int NAME(void* handle, INT n, const T* x, INT incx, T* result) { return asum<T>(#NAME, handle, n, x, incx, result); }
BOTH(ASUM, cublasSasum_v2, float)
BOTH(ASUM, cublasDasum_v2, double)

#define LARGEST(NAME, T, INT)                                                                                       \
  int NAME(void* handle, INT n, const T* x, INT incx, INT* result) {                                                \
    return extreme<T, INT>(#NAME, handle, n, x, incx, result, true);                                                \
  }
BOTH(LARGEST, cublasIsamax_v2, float)
BOTH(LARGEST, cublasIdamax_v2, double)

#define SMALLEST(NAME, T, INT)                                                                                      \
  int NAME(void* handle, INT n, const T* x, INT incx, INT* result) {                                                \
    return extreme<T, INT>(#NAME, handle, n, x, incx, result, false);                                               \
  }
BOTH(SMALLEST, cublasIsamin_v2, float)
BOTH(SMALLEST, cublasIdamin_v2, double)

#define GEAM(NAME, T, INT)                                                                                          \
  int NAME(void* handle, int transa, int transb, INT m, INT n, const T* alpha, const T* a, INT lda, const T* beta,  \
           const T* b, INT ldb, T* c, INT ldc) {                                                                    \
    return geam<T>(#NAME, handle, transa, transb, m, n, alpha, a, lda, beta, b, ldb, c, ldc);                       \
  }
BOTH(GEAM, cublasSgeam, float)
BOTH(GEAM, cublasDgeam, double)

#define DGMM(NAME, T, INT)                                                                                          \
  int NAME(void* handle, int side, INT m, INT n, const T* a, INT lda, const T* x, INT incx, T* c, INT ldc) {        \
    return dgmm<T>(#NAME, handle, side, m, n, a, lda, x, incx, c, ldc);                                             \
  }
BOTH(DGMM, cublasSdgmm, float)
BOTH(DGMM, cublasDdgmm, double)

}  // extern "C"
