// The emulated cuDNN's own types: handles, descriptors, and tensors as memory.
//
// Everything here runs on the host and stands for no GPU's speed.
#pragma once

#include "library.h"

namespace cudnn {

using namespace library;

// The status codes of cuDNN 9, which are not those of cuDNN 8.
enum Status {
  kSuccess = 0,
  kNotInitialized = 1001,
  kBadParam = 2000,
  kNotSupported = 3000,
  kInternalError = 4000,
  kAllocFailed = 4003,  // its name since version 9: INTERNAL_ERROR_HOST_ALLOCATION_FAILED
  kDeviceAllocationFailed = 4004,
  kExecutionFailed = 5000,
};

enum DataType { kDataFloat = 0, kDataDouble = 1, kDataHalf = 2, kDataBfloat16 = 9 };
constexpr int kLastDataType = 14;  // the newest of the enum; those that are not named here are not emulated

enum Format { kNchw = 0, kNhwc = 1, kNchwVectC = 2 };
enum MathType { kDefaultMath = 0, kTensorOpMath = 1, kTensorOpMathAllowConversion = 2, kFmaMath = 3 };

constexpr int kMaxDims = 8;

struct Handle {
  void* context = nullptr;
  void* stream = nullptr;
  unsigned long long memory = 0;
};

struct Tensor {
  bool set = false;
  int data_type = kDataFloat;
  Element type = Element::kFloat;
  int nd = 0;
  int64_t dims[kMaxDims] = {};
  int64_t strides[kMaxDims] = {};

  int64_t elements() const {
    int64_t product = 1;
    for (int i = 0; i < nd; i++) product *= dims[i];
    return product;
  }
  size_t extent_bytes() const {
    int64_t last = 0;
    for (int i = 0; i < nd; i++) last += (dims[i] - 1) * strides[i];
    return static_cast<size_t>(last + 1) * size_of(type);
  }
  bool packed() const {
    int64_t expected = 1;
    for (int i = nd - 1; i >= 0; i--) {
      if (dims[i] != 1 && strides[i] != expected) return false;
      expected *= dims[i];
    }
    return true;
  }
  // Channels innermost and no gaps.
  bool channels_last() const {
    int64_t expected = dims[1];
    if (dims[1] != 1 && strides[1] != 1) return false;
    for (int i = nd - 1; i >= 2; i--) {
      if (dims[i] != 1 && strides[i] != expected) return false;
      expected *= dims[i];
    }
    return dims[0] == 1 || strides[0] == expected;
  }
  bool same_dims(const Tensor& other) const {
    return nd == other.nd && std::equal(dims, dims + nd, other.dims);
  }
  // Whether each extent equals that of `whole`, or is 1.
  bool broadcasts_to(const Tensor& whole) const {
    if (nd != whole.nd) return false;
    for (int i = 0; i < nd; i++) {
      if (dims[i] != whole.dims[i] && dims[i] != 1) return false;
    }
    return true;
  }
  // Whether no two elements share an address: what any tensor that is written must hold.
  bool distinct() const;
  void pack();
};

struct Filter {
  bool set = false;
  int data_type = kDataFloat;
  int format = kNchw;
  Tensor tensor;  // dims k, c, spatial; strides by the format
};

struct Convolution {
  bool set = false;
  int rank = 0;
  int pad[kMaxDims] = {};
  int stride[kMaxDims] = {};
  int dilation[kMaxDims] = {};
  int mode = 0;  // 0 convolution (the filter is turned over), 1 cross-correlation
  int compute_type = kDataFloat;
  int math_type = kDefaultMath;
  int groups = 1;
  int reorder = 0;
};

struct Pooling {
  bool set = false;
  int mode = 0;
  int nan = 0;
  int rank = 0;
  int window[kMaxDims] = {};
  int pad[kMaxDims] = {};
  int stride[kMaxDims] = {};
};

struct Activation {
  bool set = false;
  int mode = 0;
  int nan = 0;
  double coefficient = 0;
  double swish_beta = 1;
};

struct OpTensor {
  bool set = false;
  int op = 0;
  int compute_type = kDataFloat;
  int nan = 0;
};

struct ReduceTensor {
  bool set = false;
  int op = 0;
  int compute_type = kDataFloat;
  int nan = 0;
  int indices = 0;
  int indices_type = 0;
};

struct Dropout {
  bool set = false;
  float rate = 0;
  void* states = nullptr;
  unsigned long long seed = 0;
};

template <class T>
Registry<T>& registry();

// The descriptor at an address, or null where none lives there or none of its Set functions was called.
template <class T>
const T* described(const void* descriptor) {
  if (!registry<T>().contains(descriptor)) return nullptr;
  const T* object = static_cast<const T*>(descriptor);
  return object->set ? object : nullptr;
}

// The same, for a Set function.
template <class T>
T* settable(void* descriptor) {
  return registry<T>().contains(descriptor) ? static_cast<T*>(descriptor) : nullptr;
}

// The checks that begin every call with a handle: a demanded fault, then the handle.
int enter(const char* name, const void* handle);

// The same for a call that takes none.
inline int enter(const char* name) { return fault(name); }

inline int queued(int driver_result) { return driver_result == 0 ? kSuccess : kExecutionFailed; }

bool known_data_type(int data_type);
bool element_of(int data_type, Element* element);

// A scaling factor: double for double-precision tensors, float for all others.
inline double scale(const void* pointer, Element type) {
  return type == Element::kDouble ? *static_cast<const double*>(pointer) : *static_cast<const float*>(pointer);
}

// ---- tensors as memory ---------------------------------------------------------------------------------------------

// Whether each element lies in live device memory. What lies in the gaps of a strided tensor is not touched.
bool can_read(const Tensor& tensor, const void* memory);
bool can_write(const Tensor& tensor, void* memory);

// Calls visit(offset) for each element of `tensor`, in the order of its logical indices, last dimension fastest.
template <class Visit>
void for_each(const Tensor& tensor, Visit visit) {
  int64_t index[kMaxDims] = {};
  const int last = tensor.nd - 1;
  const int64_t inner = tensor.dims[last], step = tensor.strides[last];
  const int64_t rows = tensor.elements() / inner;
  int64_t base = 0;
  for (int64_t row = 0; row < rows; row++) {
    for (int64_t i = 0; i < inner; i++) visit(base + i * step);
    for (int d = last - 1; d >= 0; d--) {
      base += tensor.strides[d];
      if (++index[d] < tensor.dims[d]) break;
      base -= tensor.strides[d] * tensor.dims[d];
      index[d] = 0;
    }
  }
}

// A tensor's elements as one packed array in the arithmetic of Acc: the memory itself where that is what it holds.
template <class Acc>
class Values {
 public:
  Values(const Tensor& tensor, const void* memory) {
    const bool same = tensor.type == (sizeof(Acc) == 4 ? Element::kFloat : Element::kDouble);
    if (same && tensor.packed()) {
      data_ = static_cast<const Acc*>(memory);
      return;
    }
    owned_.reserve(static_cast<size_t>(tensor.elements()));
    for_each(tensor, [&](int64_t at) { owned_.push_back(load<Acc>(memory, tensor.type, at)); });
    data_ = owned_.data();
  }
  Values(const Values&) = delete;
  Values& operator=(const Values&) = delete;

  const Acc* data() const { return data_; }
  Acc operator[](int64_t i) const { return data_[i]; }

 private:
  std::vector<Acc> owned_;
  const Acc* data_;
};

// tensor = alpha * values + beta * tensor.
template <class Acc>
void write(const Tensor& tensor, void* memory, const Acc* values, double alpha, double beta) {
  int64_t i = 0;
  const Acc a = static_cast<Acc>(alpha), b = static_cast<Acc>(beta);
  for_each(tensor, [&](int64_t at) { blend<Acc>(memory, tensor.type, at, values[i++], a, b); });
}

// Queues work that is written once for single and once for double precision: body(Acc()).
template <class Body>
int submit(const Handle& handle, const char* name, Element type, Body body) {
  if (type == Element::kDouble) return queued(enqueue(handle.context, handle.stream, name, [=] { body(double()); }));
  return queued(enqueue(handle.context, handle.stream, name, [=] { body(float()); }));
}

// The offset into `part` of the element of `whole` at the given index, where extents of 1 stand for the whole extent.
inline int64_t broadcast_offset(const Tensor& part, const int64_t* index) {
  int64_t at = 0;
  for (int d = 0; d < part.nd; d++) at += part.dims[d] == 1 ? 0 : index[d] * part.strides[d];
  return at;
}

// Calls visit(index) for every index of the tensor, last dimension fastest.
template <class Visit>
void for_each_index(const Tensor& tensor, Visit visit) {
  int64_t index[kMaxDims] = {};
  const int64_t count = tensor.elements();
  for (int64_t i = 0; i < count; i++) {
    visit(static_cast<const int64_t*>(index));
    for (int d = tensor.nd - 1; d >= 0; d--) {
      if (++index[d] < tensor.dims[d]) break;
      index[d] = 0;
    }
  }
}

}  // namespace cudnn
