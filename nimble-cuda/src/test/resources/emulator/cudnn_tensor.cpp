// Pooling, softmax, activation, batch normalization, dropout, and the element-wise and reducing operations of the
// emulated cuDNN.

#include "cudnn.h"

namespace cudnn {
namespace {

// Both descriptors live, agree in type and extents; otherwise the call is refused.
int pair(const void* first, const void* second, Tensor* a, Tensor* b) {
  const Tensor* left = described<Tensor>(first);
  const Tensor* right = described<Tensor>(second);
  if (left == nullptr || right == nullptr) return kBadParam;
  if (left->type != right->type || !left->same_dims(*right)) return kBadParam;
  *a = *left;
  *b = *right;
  return kSuccess;
}

bool any_null(std::initializer_list<const void*> pointers) {
  return std::any_of(pointers.begin(), pointers.end(), [](const void* pointer) { return pointer == nullptr; });
}

// Whether a result may be written: readable too where it is blended with what was there.
bool can_blend(const Tensor& tensor, void* memory, double beta) {
  return (beta == 0 || can_read(tensor, memory)) && can_write(tensor, memory);
}

// ---- pooling -------------------------------------------------------------------------------------------------------

enum PoolingMode { kMax = 0, kAverageIncluding = 1, kAverageExcluding = 2, kMaxDeterministic = 3 };

struct Window {
  int64_t planes, in[3], out[3], window[3];
  int pad[3], stride[3];
  bool maximum, including, propagates_nan;
};

int window_of(const Pooling& pooling, const Tensor& x, const Tensor& y, Window* made) {
  const int nd = x.nd;
  if (y.nd != nd || pooling.rank != nd - 2 || x.type != y.type) return kBadParam;
  if (x.dims[0] != y.dims[0] || x.dims[1] != y.dims[1]) return kBadParam;
  if (nd > 5) return kNotSupported;
  *made = Window{x.dims[0] * x.dims[1], {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1},
                 pooling.mode == kMax || pooling.mode == kMaxDeterministic, pooling.mode == kAverageIncluding,
                 pooling.nan == 1};
  for (int i = 0; i < nd - 2; i++) {
    const int64_t room = x.dims[i + 2] + 2 * pooling.pad[i] - pooling.window[i];
    if (room < 0 || y.dims[i + 2] != room / pooling.stride[i] + 1) return kBadParam;
    if (pooling.pad[i] >= pooling.window[i]) return kNotSupported;  // a window of nothing but padding
    const int at = i + 5 - nd;
    made->in[at] = x.dims[i + 2];
    made->out[at] = y.dims[i + 2];
    made->window[at] = pooling.window[i];
    made->pad[at] = pooling.pad[i];
    made->stride[at] = pooling.stride[i];
  }
  return kSuccess;
}

// Calls visit(output position, first..last input position of its window by dimension, elements to divide by).
template <class Visit>
void for_each_window(const Window& w, Visit visit) {
  int64_t at = 0;
  int64_t from[3], to[3], o[3];
  for (o[0] = 0; o[0] < w.out[0]; o[0]++) {
    for (o[1] = 0; o[1] < w.out[1]; o[1]++) {
      for (o[2] = 0; o[2] < w.out[2]; o[2]++, at++) {
        int64_t inside = 1;
        for (int d = 0; d < 3; d++) {
          const int64_t begin = o[d] * w.stride[d] - w.pad[d];
          from[d] = std::max<int64_t>(begin, 0);
          to[d] = std::min(begin + w.window[d], w.in[d]);
          inside *= std::max<int64_t>(to[d] - from[d], 0);
        }
        visit(at, from, to, w.including ? w.window[0] * w.window[1] * w.window[2] : inside);
      }
    }
  }
}

template <class Visit>
void for_each_input(const Window& w, const int64_t* from, const int64_t* to, Visit visit) {
  for (int64_t z = from[0]; z < to[0]; z++) {
    for (int64_t y = from[1]; y < to[1]; y++) {
      for (int64_t x = from[2]; x < to[2]; x++) visit((z * w.in[1] + y) * w.in[2] + x);
    }
  }
}

template <class Acc>
bool exceeds(Acc value, Acc best, bool propagates_nan) {
  if (std::isnan(best)) return !propagates_nan;
  return value > best || (propagates_nan && std::isnan(value));
}

// ---- activation ----------------------------------------------------------------------------------------------------

enum ActivationMode { kSigmoid = 0, kRelu = 1, kTanh = 2, kClippedRelu = 3, kElu = 4, kIdentity = 5, kSwish = 6 };

template <class Acc>
Acc activated(const Activation& activation, Acc x) {
  const Acc coefficient = static_cast<Acc>(activation.coefficient);
  switch (activation.mode) {
    case kSigmoid: return Acc(1) / (Acc(1) + std::exp(-x));
    case kTanh: return std::tanh(x);
    case kElu: return x >= Acc(0) ? x : coefficient * std::expm1(x);
    case kSwish: return x / (Acc(1) + std::exp(-static_cast<Acc>(activation.swish_beta) * x));
    default: break;
  }
  if (std::isnan(x)) return activation.nan == 1 ? x : Acc(0);
  Acc value = x > Acc(0) ? x : Acc(0);
  // A clipped ReLU always has its ceiling; a plain one takes the coefficient as upper bound where one was given.
  if (activation.mode == kClippedRelu || coefficient > Acc(0)) value = std::min(value, coefficient);
  return value;
}

template <class Acc>
Acc activation_slope(const Activation& activation, Acc x, Acc y) {
  const Acc coefficient = static_cast<Acc>(activation.coefficient);
  switch (activation.mode) {
    case kSigmoid: return y * (Acc(1) - y);
    case kTanh: return Acc(1) - y * y;
    case kElu: return x >= Acc(0) ? Acc(1) : y + coefficient;
    case kSwish: {
      const Acc beta = static_cast<Acc>(activation.swish_beta);
      const Acc gate = Acc(1) / (Acc(1) + std::exp(-beta * x));
      return gate + beta * x * gate * (Acc(1) - gate);
    }
    default: break;
  }
  const bool below = !(activation.mode == kClippedRelu || coefficient > Acc(0)) || x < coefficient;
  return x > Acc(0) && below ? Acc(1) : Acc(0);
}

// ---- softmax -------------------------------------------------------------------------------------------------------

enum SoftmaxAlgorithm { kFast = 0, kAccurate = 1, kLog = 2 };

// The rows of a softmax over packed values: `length` elements, `step` apart, beginning at first(row).
struct Rows {
  int64_t count, length, step, inner;

  int64_t first(int64_t row) const { return row / inner * inner * length + row % inner; }
};

Rows rows_of(const Tensor& tensor, int mode) {
  const int64_t images = tensor.dims[0], channels = tensor.dims[1];
  const int64_t width = tensor.elements() / (images * channels);
  return mode == 0 ? Rows{images, channels * width, 1, 1} : Rows{images * width, channels, width, width};
}

// ---- batch normalization -------------------------------------------------------------------------------------------

enum BatchNormMode { kPerActivation = 0, kSpatial = 1, kSpatialPersistent = 2 };

struct Normalization {
  Tensor parameters;
  int64_t images, channels, width;
  bool spatial;

  int64_t count() const { return spatial ? channels : channels * width; }
  int64_t samples() const { return spatial ? images * width : images; }
  // The parameter that belongs to element i of a packed tensor.
  int64_t parameter(int64_t i) const { return spatial ? i / width % channels : i % (channels * width); }
};

Element parameter_type(Element type) { return type == Element::kDouble ? Element::kDouble : Element::kFloat; }

int normalization_of(int mode, const Tensor& x, const void* parameters, double epsilon, Normalization* made) {
  if (mode < kPerActivation || mode > kSpatialPersistent || !(epsilon >= 0)) return kBadParam;
  const Tensor* derived = described<Tensor>(parameters);
  if (derived == nullptr) return kBadParam;
  if (x.nd < 4 || x.nd > 5) return kNotSupported;
  if (derived->nd != x.nd || derived->dims[0] != 1 || derived->dims[1] != x.dims[1]) return kBadParam;
  for (int d = 2; d < x.nd; d++) {
    if (derived->dims[d] != (mode == kPerActivation ? x.dims[d] : 1)) return kBadParam;
  }
  if (derived->type != parameter_type(x.type) || !derived->packed()) return kBadParam;
  made->parameters = *derived;
  made->images = x.dims[0];
  made->channels = x.dims[1];
  made->width = x.elements() / (x.dims[0] * x.dims[1]);
  made->spatial = mode != kPerActivation;
  return kSuccess;
}

// Mean and biased variance of every parameter's samples.
template <class Acc>
void statistics(const Normalization& n, const Values<Acc>& x, std::vector<double>* mean,
                std::vector<double>* variance) {
  const int64_t total = n.images * n.channels * n.width;
  mean->assign(static_cast<size_t>(n.count()), 0);
  variance->assign(static_cast<size_t>(n.count()), 0);
  for (int64_t i = 0; i < total; i++) (*mean)[n.parameter(i)] += x[i];
  for (double& value : *mean) value /= static_cast<double>(n.samples());
  for (int64_t i = 0; i < total; i++) {
    const double distance = x[i] - (*mean)[n.parameter(i)];
    (*variance)[n.parameter(i)] += distance * distance;
  }
  for (double& value : *variance) value /= static_cast<double>(n.samples());
}

// ---- dropout -------------------------------------------------------------------------------------------------------

// What the states buffer holds on the device: it advances there, so that a replay draws anew.
struct DropoutStates {
  uint64_t seed;
  uint64_t drawn;
};

constexpr size_t kStatesBytes = 65536;

uint64_t mixed(uint64_t value) {
  value += 0x9e3779b97f4a7c15ull;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ull;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebull;
  return value ^ (value >> 31);
}

size_t reserve_bytes(const Tensor& tensor) { return static_cast<size_t>((tensor.elements() + 7) / 8); }

// ---- reductions ----------------------------------------------------------------------------------------------------

enum ReduceOp { kAdd = 0, kMul = 1, kMin = 2, kMaximum = 3, kAmax = 4, kAvg = 5, kNorm1 = 6, kNorm2 = 7, kMulNoZeros = 8 };

bool reduces(const Tensor& a, const Tensor& c) { return c.broadcasts_to(a); }

bool keeps_indices(const ReduceTensor& reduce) {
  return reduce.indices == 1 && (reduce.op == kMin || reduce.op == kMaximum || reduce.op == kAmax);
}

size_t indices_bytes(const ReduceTensor& reduce, const Tensor& c) {
  static const size_t sizes[] = {4, 8, 2, 1};
  return keeps_indices(reduce) ? static_cast<size_t>(c.elements()) * sizes[reduce.indices_type] : 0;
}

// Partial sums, as a reduction by blocks would keep them.
size_t reduction_workspace(const Tensor& a, const Tensor& c) {
  return a.elements() == c.elements() ? 0 : static_cast<size_t>(c.elements()) * 8 + 1024;
}

void store_index(void* memory, int type, int64_t at, int64_t value) {
  switch (type) {
    case 0: static_cast<uint32_t*>(memory)[at] = static_cast<uint32_t>(value); break;
    case 1: static_cast<uint64_t*>(memory)[at] = static_cast<uint64_t>(value); break;
    case 2: static_cast<uint16_t*>(memory)[at] = static_cast<uint16_t>(value); break;
    default: static_cast<uint8_t*>(memory)[at] = static_cast<uint8_t>(value); break;
  }
}

// One reduced element; the index it came from is kept for minima and maxima.
struct Reduced {
  double value = 0;
  int64_t index = 0;
  bool empty = true;

  void take(const ReduceTensor& reduce, double element, int64_t at) {
    const bool first = empty;
    empty = false;
    switch (reduce.op) {
      case kAdd: case kAvg: value += element; return;
      case kNorm1: value += std::abs(element); return;
      case kNorm2: value += element * element; return;
      case kMul: value = first ? element : value * element; return;
      case kMulNoZeros:
        if (first) value = 1;
        if (element != 0) value *= element;
        return;
      default: break;
    }
    const double candidate = reduce.op == kAmax ? std::abs(element) : element;
    const bool better = reduce.op == kMin ? candidate < value : candidate > value;
    const bool takes_nan = reduce.nan == 1 && std::isnan(candidate) && !std::isnan(value);
    const bool replaces_nan = reduce.nan == 0 && std::isnan(value) && !std::isnan(candidate);
    if (first || better || takes_nan || replaces_nan) {
      value = candidate;
      index = at;
    }
  }

  double result(const ReduceTensor& reduce, int64_t count) const {
    if (reduce.op == kAvg) return value / static_cast<double>(count);
    return reduce.op == kNorm2 ? std::sqrt(value) : value;
  }
};

}  // namespace
}  // namespace cudnn

using namespace cudnn;

extern "C" {

// ---- pooling -------------------------------------------------------------------------------------------------------

static int pooled_extents(const char* name, const void* descriptor, const void* x, int nd, int* dims) {
  if (const int status = enter(name)) return status;
  const Pooling* pooling = described<Pooling>(descriptor);
  const Tensor* input = described<Tensor>(x);
  if (pooling == nullptr || input == nullptr || dims == nullptr) return kBadParam;
  if (input->nd != nd || pooling->rank != nd - 2) return kBadParam;
  std::vector<int> made{static_cast<int>(input->dims[0]), static_cast<int>(input->dims[1])};
  for (int i = 0; i < nd - 2; i++) {
    const int64_t room = input->dims[i + 2] + 2 * pooling->pad[i] - pooling->window[i];
    if (room < 0) return kBadParam;
    made.push_back(static_cast<int>(room / pooling->stride[i] + 1));
  }
  std::copy(made.begin(), made.end(), dims);
  return kSuccess;
}

int cudnnGetPoolingNdForwardOutputDim(const void* descriptor, const void* x, int nd, int* dims) {
  return pooled_extents("cudnnGetPoolingNdForwardOutputDim", descriptor, x, nd, dims);
}

int cudnnGetPooling2dForwardOutputDim(const void* descriptor, const void* x, int* n, int* c, int* h, int* w) {
  int dims[4];
  const int status = pooled_extents("cudnnGetPooling2dForwardOutputDim", descriptor, x, 4, dims);
  if (status != kSuccess) return status;
  if (any_null({n, c, h, w})) return kBadParam;
  *n = dims[0];
  *c = dims[1];
  *h = dims[2];
  *w = dims[3];
  return kSuccess;
}

int cudnnPoolingForward(void* handle, const void* descriptor, const void* alpha, const void* x, const void* x_memory,
                        const void* beta, const void* y, void* y_memory) {
  const char* name = "cudnnPoolingForward";
  if (const int status = enter(name, handle)) return status;
  const Pooling* pooling = described<Pooling>(descriptor);
  const Tensor* input = described<Tensor>(x);
  const Tensor* output = described<Tensor>(y);
  if (any_null({pooling, input, output, alpha, beta, x_memory, y_memory})) return kBadParam;
  Window window;
  if (const int status = window_of(*pooling, *input, *output, &window)) return status;
  const Tensor in = *input, out = *output;
  if (!out.distinct()) return kNotSupported;
  const double a = scale(alpha, in.type), b = scale(beta, in.type);
  return submit(*static_cast<Handle*>(handle), name, in.type, [=](auto zero) {
    using Acc = decltype(zero);
    if (!can_read(in, x_memory) || !can_blend(out, y_memory, b)) return;
    const Values<Acc> values(in, x_memory);
    std::vector<Acc> results(static_cast<size_t>(out.elements()));
    const int64_t inputs = window.in[0] * window.in[1] * window.in[2];
    const int64_t outputs = window.out[0] * window.out[1] * window.out[2];
    for (int64_t plane = 0; plane < window.planes; plane++) {
      const Acc* from_plane = values.data() + plane * inputs;
      for_each_window(window, [&](int64_t at, const int64_t* from, const int64_t* to, int64_t divisor) {
        Acc sum = window.maximum ? -std::numeric_limits<Acc>::infinity() : Acc(0);
        for_each_input(window, from, to, [&](int64_t i) {
          if (!window.maximum) {
            sum += from_plane[i];
          } else if (exceeds(from_plane[i], sum, window.propagates_nan)) {
            sum = from_plane[i];
          }
        });
        results[plane * outputs + at] = window.maximum ? sum : sum / static_cast<Acc>(divisor);
      });
    }
    write(out, y_memory, results.data(), a, b);
  });
}

int cudnnPoolingBackward(void* handle, const void* descriptor, const void* alpha, const void* y, const void* y_memory,
                         const void* dy, const void* dy_memory, const void* x, const void* x_memory, const void* beta,
                         const void* dx, void* dx_memory) {
  const char* name = "cudnnPoolingBackward";
  if (const int status = enter(name, handle)) return status;
  const Pooling* pooling = described<Pooling>(descriptor);
  if (any_null({pooling, alpha, beta, y_memory, dy_memory, x_memory, dx_memory})) return kBadParam;
  Tensor in, in_gradient, out, out_gradient;
  if (const int status = pair(x, dx, &in, &in_gradient)) return status;
  if (const int status = pair(y, dy, &out, &out_gradient)) return status;
  Window window;
  if (const int status = window_of(*pooling, in, out, &window)) return status;
  if (!in_gradient.distinct()) return kNotSupported;
  const double a = scale(alpha, in.type), b = scale(beta, in.type);
  return submit(*static_cast<Handle*>(handle), name, in.type, [=](auto zero) {
    using Acc = decltype(zero);
    if (!can_read(in, x_memory) || !can_read(out, y_memory) || !can_read(out_gradient, dy_memory) ||
        !can_blend(in_gradient, dx_memory, b)) {
      return;
    }
    const Values<Acc> values(in, x_memory), maxima(out, y_memory), gradients(out_gradient, dy_memory);
    std::vector<Acc> results(static_cast<size_t>(in.elements()));
    const int64_t inputs = window.in[0] * window.in[1] * window.in[2];
    const int64_t outputs = window.out[0] * window.out[1] * window.out[2];
    for (int64_t plane = 0; plane < window.planes; plane++) {
      Acc* to_plane = results.data() + plane * inputs;
      const Acc* from_plane = values.data() + plane * inputs;
      for_each_window(window, [&](int64_t at, const int64_t* from, const int64_t* to, int64_t divisor) {
        const Acc gradient = gradients[plane * outputs + at], maximum = maxima[plane * outputs + at];
        bool given = false;  // to the first element that is the maximum
        for_each_input(window, from, to, [&](int64_t i) {
          if (!window.maximum) {
            to_plane[i] += gradient / static_cast<Acc>(divisor);
          } else if (!given && from_plane[i] == maximum) {
            to_plane[i] += gradient;
            given = true;
          }
        });
      });
    }
    write(in_gradient, dx_memory, results.data(), a, b);
  });
}

// ---- activation ----------------------------------------------------------------------------------------------------

int cudnnActivationForward(void* handle, const void* descriptor, const void* alpha, const void* x,
                           const void* x_memory, const void* beta, const void* y, void* y_memory) {
  const char* name = "cudnnActivationForward";
  if (const int status = enter(name, handle)) return status;
  const Activation* made = described<Activation>(descriptor);
  if (any_null({made, alpha, beta, x_memory, y_memory})) return kBadParam;
  Tensor in, out;
  if (const int status = pair(x, y, &in, &out)) return status;
  if (made->mode == kIdentity) return kBadParam;  // for cudnnConvolutionBiasActivationForward alone
  if (!out.distinct()) return kNotSupported;
  // In place means the same layout.
  if (x_memory == y_memory && !std::equal(in.strides, in.strides + in.nd, out.strides)) return kBadParam;
  const Activation activation = *made;
  const double a = scale(alpha, in.type), b = scale(beta, in.type);
  return submit(*static_cast<Handle*>(handle), name, in.type, [=](auto zero) {
    using Acc = decltype(zero);
    if (!can_read(in, x_memory) || !can_blend(out, y_memory, b)) return;
    const Values<Acc> values(in, x_memory);
    std::vector<Acc> results(static_cast<size_t>(in.elements()));
    for (int64_t i = 0; i < in.elements(); i++) results[i] = activated(activation, values[i]);
    write(out, y_memory, results.data(), a, b);
  });
}

int cudnnActivationBackward(void* handle, const void* descriptor, const void* alpha, const void* y,
                            const void* y_memory, const void* dy, const void* dy_memory, const void* x,
                            const void* x_memory, const void* beta, const void* dx, void* dx_memory) {
  const char* name = "cudnnActivationBackward";
  if (const int status = enter(name, handle)) return status;
  const Activation* made = described<Activation>(descriptor);
  if (any_null({made, alpha, beta, y_memory, dy_memory, x_memory, dx_memory})) return kBadParam;
  Tensor in, in_gradient, out, out_gradient;
  if (const int status = pair(x, dx, &in, &in_gradient)) return status;
  if (const int status = pair(y, dy, &out, &out_gradient)) return status;
  if (!in.same_dims(out) || in.type != out.type || made->mode == kIdentity) return kBadParam;
  if (!in_gradient.distinct()) return kNotSupported;
  const Activation activation = *made;
  const double a = scale(alpha, in.type), b = scale(beta, in.type);
  return submit(*static_cast<Handle*>(handle), name, in.type, [=](auto zero) {
    using Acc = decltype(zero);
    if (!can_read(in, x_memory) || !can_read(out, y_memory) || !can_read(out_gradient, dy_memory) ||
        !can_blend(in_gradient, dx_memory, b)) {
      return;
    }
    const Values<Acc> before(in, x_memory), after(out, y_memory), gradients(out_gradient, dy_memory);
    std::vector<Acc> results(static_cast<size_t>(in.elements()));
    for (int64_t i = 0; i < in.elements(); i++) {
      results[i] = gradients[i] * activation_slope(activation, before[i], after[i]);
    }
    write(in_gradient, dx_memory, results.data(), a, b);
  });
}

// ---- softmax -------------------------------------------------------------------------------------------------------

int cudnnSoftmaxForward(void* handle, int algorithm, int mode, const void* alpha, const void* x, const void* x_memory,
                        const void* beta, const void* y, void* y_memory) {
  const char* name = "cudnnSoftmaxForward";
  if (const int status = enter(name, handle)) return status;
  if (algorithm < kFast || algorithm > kLog || mode < 0 || mode > 1) return kBadParam;
  if (any_null({alpha, beta, x_memory, y_memory})) return kBadParam;
  Tensor in, out;
  if (const int status = pair(x, y, &in, &out)) return status;
  if (!out.distinct()) return kNotSupported;
  const double a = scale(alpha, in.type), b = scale(beta, in.type);
  const Rows rows = rows_of(in, mode);
  return submit(*static_cast<Handle*>(handle), name, in.type, [=](auto zero) {
    using Acc = decltype(zero);
    if (!can_read(in, x_memory) || !can_blend(out, y_memory, b)) return;
    const Values<Acc> values(in, x_memory);
    std::vector<Acc> results(static_cast<size_t>(in.elements()));
    for (int64_t row = 0; row < rows.count; row++) {
      const int64_t first = rows.first(row);
      Acc largest = 0;  // the fast form subtracts nothing, and overflows for it
      if (algorithm != kFast) {
        largest = values[first];
        for (int64_t i = 1; i < rows.length; i++) largest = std::max(largest, values[first + i * rows.step]);
      }
      Acc sum = 0;
      for (int64_t i = 0; i < rows.length; i++) sum += std::exp(values[first + i * rows.step] - largest);
      for (int64_t i = 0; i < rows.length; i++) {
        const int64_t at = first + i * rows.step;
        const Acc shifted_value = values[at] - largest;
        results[at] = algorithm == kLog ? shifted_value - std::log(sum) : std::exp(shifted_value) / sum;
      }
    }
    write(out, y_memory, results.data(), a, b);
  });
}

int cudnnSoftmaxBackward(void* handle, int algorithm, int mode, const void* alpha, const void* y,
                         const void* y_memory, const void* dy, const void* dy_memory, const void* beta,
                         const void* dx, void* dx_memory) {
  const char* name = "cudnnSoftmaxBackward";
  if (const int status = enter(name, handle)) return status;
  if (algorithm < kFast || algorithm > kLog || mode < 0 || mode > 1) return kBadParam;
  if (any_null({alpha, beta, y_memory, dy_memory, dx_memory})) return kBadParam;
  Tensor out, out_gradient, same, in_gradient;
  if (const int status = pair(y, dy, &out, &out_gradient)) return status;
  if (const int status = pair(y, dx, &same, &in_gradient)) return status;
  if (!in_gradient.distinct()) return kNotSupported;
  const double a = scale(alpha, out.type), b = scale(beta, out.type);
  const Rows rows = rows_of(out, mode);
  return submit(*static_cast<Handle*>(handle), name, out.type, [=](auto zero) {
    using Acc = decltype(zero);
    if (!can_read(out, y_memory) || !can_read(out_gradient, dy_memory) || !can_blend(in_gradient, dx_memory, b)) return;
    const Values<Acc> values(out, y_memory), gradients(out_gradient, dy_memory);
    std::vector<Acc> results(static_cast<size_t>(out.elements()));
    for (int64_t row = 0; row < rows.count; row++) {
      const int64_t first = rows.first(row);
      Acc sum = 0;
      for (int64_t i = 0; i < rows.length; i++) {
        const int64_t at = first + i * rows.step;
        sum += algorithm == kLog ? gradients[at] : values[at] * gradients[at];
      }
      for (int64_t i = 0; i < rows.length; i++) {
        const int64_t at = first + i * rows.step;
        results[at] = algorithm == kLog ? gradients[at] - std::exp(values[at]) * sum
                                        : values[at] * (gradients[at] - sum);
      }
    }
    write(in_gradient, dx_memory, results.data(), a, b);
  });
}

// ---- batch normalization -------------------------------------------------------------------------------------------

int cudnnDeriveBNTensorDescriptor(void* derived, const void* x, int mode) {
  if (const int status = enter("cudnnDeriveBNTensorDescriptor")) return status;
  Tensor* made = settable<Tensor>(derived);
  const Tensor* input = described<Tensor>(x);
  if (made == nullptr || input == nullptr || mode < kPerActivation || mode > kSpatialPersistent) return kBadParam;
  Tensor result = *input;
  result.dims[0] = 1;
  if (mode != kPerActivation) std::fill(result.dims + 2, result.dims + result.nd, 1);
  result.type = parameter_type(input->type);
  result.data_type = result.type == Element::kDouble ? kDataDouble : kDataFloat;
  result.pack();
  *made = result;
  return kSuccess;
}

int cudnnBatchNormalizationForwardInference(void* handle, int mode, const void* alpha, const void* beta,
                                            const void* x, const void* x_memory, const void* y, void* y_memory,
                                            const void* parameters, const void* gain, const void* bias,
                                            const void* mean, const void* variance, double epsilon) {
  const char* name = "cudnnBatchNormalizationForwardInference";
  if (const int status = enter(name, handle)) return status;
  if (any_null({alpha, beta, x_memory, y_memory, gain, bias, mean, variance})) return kBadParam;
  Tensor in, out;
  if (const int status = pair(x, y, &in, &out)) return status;
  Normalization n;
  if (const int status = normalization_of(mode, in, parameters, epsilon, &n)) return status;
  if (!out.distinct()) return kNotSupported;
  const double a = scale(alpha, in.type), b = scale(beta, in.type);
  return submit(*static_cast<Handle*>(handle), name, in.type, [=](auto zero) {
    using Acc = decltype(zero);
    if (!can_read(in, x_memory) || !can_blend(out, y_memory, b)) return;
    for (const void* memory : {gain, bias, mean, variance}) {
      if (!can_read(n.parameters, memory)) return;
    }
    const Values<Acc> values(in, x_memory), gains(n.parameters, gain), biases(n.parameters, bias);
    const Values<Acc> means(n.parameters, mean), variances(n.parameters, variance);
    std::vector<Acc> results(static_cast<size_t>(in.elements()));
    for (int64_t i = 0; i < in.elements(); i++) {
      const int64_t p = n.parameter(i);
      results[i] = biases[p] + gains[p] * (values[i] - means[p]) / std::sqrt(variances[p] + static_cast<Acc>(epsilon));
    }
    write(out, y_memory, results.data(), a, b);
  });
}

int cudnnBatchNormalizationForwardTraining(void* handle, int mode, const void* alpha, const void* beta, const void* x,
                                           const void* x_memory, const void* y, void* y_memory,
                                           const void* parameters, const void* gain, const void* bias, double factor,
                                           void* running_mean, void* running_variance, double epsilon,
                                           void* saved_mean, void* saved_inverse) {
  const char* name = "cudnnBatchNormalizationForwardTraining";
  if (const int status = enter(name, handle)) return status;
  if (any_null({alpha, beta, x_memory, y_memory, gain, bias})) return kBadParam;
  if ((running_mean == nullptr) != (running_variance == nullptr)) return kBadParam;
  if ((saved_mean == nullptr) != (saved_inverse == nullptr)) return kBadParam;
  if (!(factor >= 0)) return kBadParam;
  Tensor in, out;
  if (const int status = pair(x, y, &in, &out)) return status;
  Normalization n;
  if (const int status = normalization_of(mode, in, parameters, epsilon, &n)) return status;
  if (!out.distinct()) return kNotSupported;
  const double a = scale(alpha, in.type), b = scale(beta, in.type);
  return submit(*static_cast<Handle*>(handle), name, in.type, [=](auto zero) {
    using Acc = decltype(zero);
    if (!can_read(in, x_memory) || !can_blend(out, y_memory, b) || !can_read(n.parameters, gain) ||
        !can_read(n.parameters, bias)) {
      return;
    }
    for (void* memory : {running_mean, running_variance}) {
      // With a factor of 1 the old statistics count for nothing, and are not read.
      if (memory != nullptr && !can_blend(n.parameters, memory, factor == 1 ? 0 : 1)) return;
    }
    for (void* memory : {saved_mean, saved_inverse}) {
      if (memory != nullptr && !can_write(n.parameters, memory)) return;
    }
    const Values<Acc> values(in, x_memory), gains(n.parameters, gain), biases(n.parameters, bias);
    std::vector<double> mean, variance;
    statistics(n, values, &mean, &variance);
    std::vector<Acc> results(static_cast<size_t>(in.elements()));
    for (int64_t i = 0; i < in.elements(); i++) {
      const int64_t p = n.parameter(i);
      const double normal = (values[i] - mean[p]) / std::sqrt(variance[p] + epsilon);
      results[i] = static_cast<Acc>(biases[p] + gains[p] * normal);
    }
    // The running variance is the unbiased one.
    const double samples = static_cast<double>(n.samples());
    const double unbiased = samples > 1 ? samples / (samples - 1) : 1;
    for (int64_t p = 0; p < n.count(); p++) {
      const Element type = n.parameters.type;
      if (running_mean != nullptr) {
        blend<double>(running_mean, type, p, mean[p], factor, 1 - factor);
        blend<double>(running_variance, type, p, variance[p] * unbiased, factor, 1 - factor);
      }
      if (saved_mean != nullptr) {
        store<double>(saved_mean, type, p, mean[p]);
        store<double>(saved_inverse, type, p, 1 / std::sqrt(variance[p] + epsilon));
      }
    }
    write(out, y_memory, results.data(), a, b);
  });
}

int cudnnBatchNormalizationBackward(void* handle, int mode, const void* alpha_data, const void* beta_data,
                                    const void* alpha_parameter, const void* beta_parameter, const void* x,
                                    const void* x_memory, const void* dy, const void* dy_memory, const void* dx,
                                    void* dx_memory, const void* parameters, const void* gain, void* gain_gradient,
                                    void* bias_gradient, double epsilon, const void* saved_mean,
                                    const void* saved_inverse) {
  const char* name = "cudnnBatchNormalizationBackward";
  if (const int status = enter(name, handle)) return status;
  if (any_null({alpha_data, beta_data, alpha_parameter, beta_parameter, x_memory, dy_memory, dx_memory, gain,
                gain_gradient, bias_gradient})) {
    return kBadParam;
  }
  if ((saved_mean == nullptr) != (saved_inverse == nullptr)) return kBadParam;
  Tensor in, in_gradient, same, out_gradient;
  if (const int status = pair(x, dx, &in, &in_gradient)) return status;
  if (const int status = pair(x, dy, &same, &out_gradient)) return status;
  Normalization n;
  if (const int status = normalization_of(mode, in, parameters, epsilon, &n)) return status;
  if (!in_gradient.distinct()) return kNotSupported;
  const double a = scale(alpha_data, in.type), b = scale(beta_data, in.type);
  const double pa = scale(alpha_parameter, in.type), pb = scale(beta_parameter, in.type);
  return submit(*static_cast<Handle*>(handle), name, in.type, [=](auto zero) {
    using Acc = decltype(zero);
    if (!can_read(in, x_memory) || !can_read(out_gradient, dy_memory) || !can_blend(in_gradient, dx_memory, b) ||
        !can_read(n.parameters, gain) || !can_blend(n.parameters, gain_gradient, pb) ||
        !can_blend(n.parameters, bias_gradient, pb)) {
      return;
    }
    const Values<Acc> values(in, x_memory), gradients(out_gradient, dy_memory), gains(n.parameters, gain);
    std::vector<double> mean, inverse;
    if (saved_mean != nullptr) {
      if (!can_read(n.parameters, saved_mean) || !can_read(n.parameters, saved_inverse)) return;
      for (int64_t p = 0; p < n.count(); p++) {
        mean.push_back(load<double>(saved_mean, n.parameters.type, p));
        inverse.push_back(load<double>(saved_inverse, n.parameters.type, p));
      }
    } else {
      statistics(n, values, &mean, &inverse);
      for (double& value : inverse) value = 1 / std::sqrt(value + epsilon);
    }
    std::vector<double> bias_sums(static_cast<size_t>(n.count())), gain_sums(static_cast<size_t>(n.count()));
    for (int64_t i = 0; i < in.elements(); i++) {
      const int64_t p = n.parameter(i);
      bias_sums[p] += gradients[i];
      gain_sums[p] += gradients[i] * (values[i] - mean[p]) * inverse[p];
    }
    std::vector<Acc> results(static_cast<size_t>(in.elements()));
    const double samples = static_cast<double>(n.samples());
    for (int64_t i = 0; i < in.elements(); i++) {
      const int64_t p = n.parameter(i);
      const double normal = (values[i] - mean[p]) * inverse[p];
      results[i] = static_cast<Acc>(gains[p] * inverse[p] *
                                    (gradients[i] - (bias_sums[p] + normal * gain_sums[p]) / samples));
    }
    for (int64_t p = 0; p < n.count(); p++) {
      blend<double>(gain_gradient, n.parameters.type, p, gain_sums[p], pa, pb);
      blend<double>(bias_gradient, n.parameters.type, p, bias_sums[p], pa, pb);
    }
    write(in_gradient, dx_memory, results.data(), a, b);
  });
}

// ---- element by element --------------------------------------------------------------------------------------------

int cudnnTransformTensor(void* handle, const void* alpha, const void* x, const void* x_memory, const void* beta,
                         const void* y, void* y_memory) {
  const char* name = "cudnnTransformTensor";
  if (const int status = enter(name, handle)) return status;
  if (any_null({alpha, beta, x_memory, y_memory})) return kBadParam;
  Tensor in, out;
  if (const int status = pair(x, y, &in, &out)) return status;
  if (!out.distinct()) return kNotSupported;
  const double a = scale(alpha, in.type), b = scale(beta, in.type);
  return submit(*static_cast<Handle*>(handle), name, in.type, [=](auto zero) {
    using Acc = decltype(zero);
    if (!can_read(in, x_memory) || !can_blend(out, y_memory, b)) return;
    const Values<Acc> values(in, x_memory);
    const std::vector<Acc> copied(values.data(), values.data() + in.elements());
    write(out, y_memory, copied.data(), a, b);
  });
}

// C = alpha * A + beta * C, with A's extents of 1 broadcast.
int cudnnAddTensor(void* handle, const void* alpha, const void* a, const void* a_memory, const void* beta,
                   const void* c, void* c_memory) {
  const char* name = "cudnnAddTensor";
  if (const int status = enter(name, handle)) return status;
  const Tensor* added = described<Tensor>(a);
  const Tensor* target = described<Tensor>(c);
  if (any_null({added, target, alpha, beta, a_memory, c_memory})) return kBadParam;
  if (added->type != target->type || !added->broadcasts_to(*target)) return kBadParam;
  if (target->nd > 5 || !target->distinct()) return kNotSupported;
  const Tensor in = *added, out = *target;
  const double scale_a = scale(alpha, in.type), scale_c = scale(beta, in.type);
  return submit(*static_cast<Handle*>(handle), name, in.type, [=](auto zero) {
    using Acc = decltype(zero);
    if (!can_read(in, a_memory) || !can_blend(out, c_memory, scale_c)) return;
    std::vector<Acc> values;
    values.reserve(static_cast<size_t>(out.elements()));
    for_each_index(out, [&](const int64_t* index) {
      values.push_back(load<Acc>(a_memory, in.type, broadcast_offset(in, index)));
    });
    write(out, c_memory, values.data(), scale_a, scale_c);
  });
}

// C = op(alpha1 * A, alpha2 * B) + beta * C.
int cudnnOpTensor(void* handle, const void* descriptor, const void* alpha1, const void* a, const void* a_memory,
                  const void* alpha2, const void* b, const void* b_memory, const void* beta, const void* c,
                  void* c_memory) {
  const char* name = "cudnnOpTensor";
  if (const int status = enter(name, handle)) return status;
  enum Op { kOpAdd, kOpMul, kOpMin, kOpMax, kOpSqrt, kOpNot };
  const OpTensor* made = described<OpTensor>(descriptor);
  const Tensor* left = described<Tensor>(a);
  const Tensor* target = described<Tensor>(c);
  if (any_null({made, left, target, alpha1, beta, a_memory, c_memory})) return kBadParam;
  const OpTensor op = *made;
  const bool unary = op.op == kOpSqrt || op.op == kOpNot;
  const Tensor* right = unary ? left : described<Tensor>(b);
  if (any_null({right}) || (!unary && any_null({alpha2, b_memory}))) return kBadParam;
  if (left->type != target->type || right->type != target->type) return kBadParam;
  if (!left->same_dims(*target) || !right->broadcasts_to(*target)) return kBadParam;
  const int wanted = target->type == Element::kDouble ? kDataDouble : kDataFloat;
  if (op.compute_type != wanted) return kBadParam;
  if (target->nd > 5 || !target->distinct()) return kNotSupported;
  const Tensor first = *left, second = *right, out = *target;
  const double scale_a = scale(alpha1, out.type), scale_b = unary ? 0 : scale(alpha2, out.type);
  const double scale_c = scale(beta, out.type);
  return submit(*static_cast<Handle*>(handle), name, out.type, [=](auto zero) {
    using Acc = decltype(zero);
    if (!can_read(first, a_memory) || (!unary && !can_read(second, b_memory)) ||
        !can_blend(out, c_memory, scale_c)) {
      return;
    }
    std::vector<Acc> values;
    values.reserve(static_cast<size_t>(out.elements()));
    for_each_index(out, [&](const int64_t* index) {
      const Acc l = static_cast<Acc>(scale_a) * load<Acc>(a_memory, first.type, broadcast_offset(first, index));
      const Acc r = unary ? Acc(0)
                          : static_cast<Acc>(scale_b) * load<Acc>(b_memory, second.type, broadcast_offset(second, index));
      Acc value = 0;
      switch (op.op) {
        case kOpAdd: value = l + r; break;
        case kOpMul: value = l * r; break;
        case kOpSqrt: value = std::sqrt(l); break;
        case kOpNot: value = Acc(1) - l; break;
        default:
          if (std::isnan(l) || std::isnan(r)) {
            value = op.nan == 1 ? std::numeric_limits<Acc>::quiet_NaN() : (std::isnan(l) ? r : l);
          } else {
            value = op.op == kOpMin ? std::min(l, r) : std::max(l, r);
          }
      }
      values.push_back(value);
    });
    write(out, c_memory, values.data(), 1, scale_c);
  });
}

int cudnnSetTensor(void* handle, const void* y, void* y_memory, const void* value) {
  const char* name = "cudnnSetTensor";
  if (const int status = enter(name, handle)) return status;
  const Tensor* target = described<Tensor>(y);
  if (any_null({target, y_memory, value})) return kBadParam;
  if (target->nd > 5) return kNotSupported;
  const Tensor out = *target;
  const double constant = load<double>(value, out.type, 0);  // in the tensor's own type
  return queued(enqueue(static_cast<Handle*>(handle)->context, static_cast<Handle*>(handle)->stream, name, [=] {
    if (!can_write(out, y_memory)) return;
    for_each(out, [&](int64_t at) { store<double>(y_memory, out.type, at, constant); });
  }));
}

int cudnnScaleTensor(void* handle, const void* y, void* y_memory, const void* alpha) {
  const char* name = "cudnnScaleTensor";
  if (const int status = enter(name, handle)) return status;
  const Tensor* target = described<Tensor>(y);
  if (any_null({target, y_memory, alpha})) return kBadParam;
  if (target->nd > 5 || !target->distinct()) return kNotSupported;
  const Tensor out = *target;
  const double factor = scale(alpha, out.type);
  return submit(*static_cast<Handle*>(handle), name, out.type, [=](auto zero) {
    using Acc = decltype(zero);
    if (!can_blend(out, y_memory, 1)) return;
    for_each(out, [&](int64_t at) {
      store<Acc>(y_memory, out.type, at, static_cast<Acc>(factor) * load<Acc>(y_memory, out.type, at));
    });
  });
}

// ---- reductions ----------------------------------------------------------------------------------------------------

int cudnnGetReductionIndicesSize(void* handle, const void* descriptor, const void* a, const void* c, size_t* bytes) {
  if (const int status = enter("cudnnGetReductionIndicesSize", handle)) return status;
  const ReduceTensor* reduce = described<ReduceTensor>(descriptor);
  const Tensor* in = described<Tensor>(a);
  const Tensor* out = described<Tensor>(c);
  if (any_null({reduce, in, out, bytes}) || !reduces(*in, *out)) return kBadParam;
  *bytes = indices_bytes(*reduce, *out);
  return kSuccess;
}

int cudnnGetReductionWorkspaceSize(void* handle, const void* descriptor, const void* a, const void* c,
                                   size_t* bytes) {
  if (const int status = enter("cudnnGetReductionWorkspaceSize", handle)) return status;
  const ReduceTensor* reduce = described<ReduceTensor>(descriptor);
  const Tensor* in = described<Tensor>(a);
  const Tensor* out = described<Tensor>(c);
  if (any_null({reduce, in, out, bytes}) || !reduces(*in, *out)) return kBadParam;
  *bytes = reduction_workspace(*in, *out);
  return kSuccess;
}

int cudnnReduceTensor(void* handle, const void* descriptor, void* indices, size_t indices_capacity, void* workspace,
                      size_t workspace_bytes, const void* alpha, const void* a, const void* a_memory,
                      const void* beta, const void* c, void* c_memory) {
  const char* name = "cudnnReduceTensor";
  if (const int status = enter(name, handle)) return status;
  const ReduceTensor* made = described<ReduceTensor>(descriptor);
  const Tensor* source = described<Tensor>(a);
  const Tensor* target = described<Tensor>(c);
  if (any_null({made, source, target, alpha, beta, a_memory, c_memory})) return kBadParam;
  if (source->type != target->type || !reduces(*source, *target)) return kBadParam;
  const ReduceTensor reduce = *made;
  if (reduce.indices == 1 && !keeps_indices(reduce)) return kNotSupported;
  if (reduce.compute_type != (source->type == Element::kDouble ? kDataDouble : kDataFloat)) return kNotSupported;
  if (!target->distinct()) return kNotSupported;
  const Tensor in = *source, out = *target;
  const size_t indices_needed = indices_bytes(reduce, out), workspace_needed = reduction_workspace(in, out);
  if (indices_capacity < indices_needed || (indices_needed > 0 && indices == nullptr)) return kBadParam;
  if (workspace_bytes < workspace_needed || (workspace_needed > 0 && workspace == nullptr)) return kBadParam;
  const double scale_a = scale(alpha, in.type), scale_c = scale(beta, in.type);
  return submit(*static_cast<Handle*>(handle), name, in.type, [=](auto zero) {
    using Acc = decltype(zero);
    if (!can_read(in, a_memory) || !can_blend(out, c_memory, scale_c)) return;
    if (workspace_needed > 0) {
      if (!writable(workspace, workspace_needed)) return;
      scribble(workspace, workspace_needed);
    }
    if (indices_needed > 0 && !writable(indices, indices_needed)) return;
    Tensor packed_out = out;
    packed_out.pack();
    // The index of an element among those reduced with it, last dimension fastest.
    Tensor reduced_dims = in;
    for (int d = 0; d < in.nd; d++) reduced_dims.dims[d] = out.dims[d] == 1 ? in.dims[d] : 1;
    reduced_dims.pack();
    std::vector<Reduced> results(static_cast<size_t>(out.elements()));
    for_each_index(in, [&](const int64_t* index) {
      int64_t from = 0;
      for (int d = 0; d < in.nd; d++) from += index[d] * in.strides[d];
      results[broadcast_offset(packed_out, index)].take(reduce, load<double>(a_memory, in.type, from),
                                                        broadcast_offset(reduced_dims, index));
    });
    const int64_t count = in.elements() / out.elements();
    std::vector<Acc> values;
    for (size_t i = 0; i < results.size(); i++) {
      values.push_back(static_cast<Acc>(results[i].result(reduce, count)));
      if (indices_needed > 0) {
        store_index(indices, reduce.indices_type, static_cast<int64_t>(i), results[i].index);
      }
    }
    write(out, c_memory, values.data(), scale_a, scale_c);
  });
}

// ---- dropout -------------------------------------------------------------------------------------------------------

int cudnnDropoutGetStatesSize(void* handle, size_t* bytes) {
  if (const int status = enter("cudnnDropoutGetStatesSize", handle)) return status;
  if (bytes == nullptr) return kBadParam;
  *bytes = kStatesBytes;
  return kSuccess;
}

int cudnnDropoutGetReserveSpaceSize(const void* x, size_t* bytes) {
  if (const int status = enter("cudnnDropoutGetReserveSpaceSize")) return status;
  const Tensor* tensor = described<Tensor>(x);
  if (tensor == nullptr || bytes == nullptr) return kBadParam;
  *bytes = reserve_bytes(*tensor);
  return kSuccess;
}

int cudnnSetDropoutDescriptor(void* descriptor, void* handle, float rate, void* states, size_t states_bytes,
                              unsigned long long seed) {
  const char* name = "cudnnSetDropoutDescriptor";
  if (const int status = enter(name, handle)) return status;
  Dropout* dropout = settable<Dropout>(descriptor);
  if (dropout == nullptr || !(rate >= 0 && rate <= 1)) return kBadParam;
  if (states == nullptr || states_bytes < kStatesBytes) return kBadParam;
  *dropout = Dropout{true, rate, states, seed};
  return queued(enqueue(static_cast<Handle*>(handle)->context, static_cast<Handle*>(handle)->stream, name, [=] {
    if (!writable(states, kStatesBytes)) return;
    std::memset(states, 0, kStatesBytes);
    *static_cast<DropoutStates*>(states) = DropoutStates{seed, 0};
  }));
}

// As Set, but the states go on from what they hold.
int cudnnRestoreDropoutDescriptor(void* descriptor, void* handle, float rate, void* states, size_t states_bytes,
                                  unsigned long long seed) {
  if (const int status = enter("cudnnRestoreDropoutDescriptor", handle)) return status;
  Dropout* dropout = settable<Dropout>(descriptor);
  if (dropout == nullptr || !(rate >= 0 && rate <= 1)) return kBadParam;
  if (states == nullptr || states_bytes < kStatesBytes) return kBadParam;
  *dropout = Dropout{true, rate, states, seed};
  return kSuccess;
}

int cudnnGetDropoutDescriptor(void* descriptor, void* handle, float* rate, void** states, unsigned long long* seed) {
  if (const int status = enter("cudnnGetDropoutDescriptor", handle)) return status;
  const Dropout* dropout = described<Dropout>(descriptor);
  if (dropout == nullptr) return kBadParam;
  if (rate != nullptr) *rate = dropout->rate;
  if (states != nullptr) *states = dropout->states;
  if (seed != nullptr) *seed = dropout->seed;
  return kSuccess;
}

int cudnnDropoutForward(void* handle, const void* descriptor, const void* x, const void* x_memory, const void* y,
                        void* y_memory, void* reserve, size_t reserve_capacity) {
  const char* name = "cudnnDropoutForward";
  if (const int status = enter(name, handle)) return status;
  const Dropout* made = described<Dropout>(descriptor);
  if (any_null({made, x_memory, y_memory, reserve})) return kBadParam;
  Tensor in, out;
  if (const int status = pair(x, y, &in, &out)) return status;
  if (reserve_capacity < reserve_bytes(in) || !out.distinct()) return kBadParam;
  const Dropout dropout = *made;
  return submit(*static_cast<Handle*>(handle), name, in.type, [=](auto zero) {
    using Acc = decltype(zero);
    if (!can_read(in, x_memory) || !can_write(out, y_memory) || !readable(dropout.states, kStatesBytes) ||
        !writable(dropout.states, kStatesBytes) || !writable(reserve, reserve_bytes(in))) {
      return;
    }
    DropoutStates* states = static_cast<DropoutStates*>(dropout.states);
    const uint64_t draw = mixed(states->seed ^ mixed(states->drawn++));
    const Values<Acc> values(in, x_memory);
    std::vector<Acc> results(static_cast<size_t>(in.elements()));
    uint8_t* mask = static_cast<uint8_t*>(reserve);
    std::memset(mask, 0, reserve_bytes(in));
    for (int64_t i = 0; i < in.elements(); i++) {
      const double uniform = static_cast<double>(mixed(draw + static_cast<uint64_t>(i)) >> 11) * 0x1p-53;
      if (uniform < static_cast<double>(dropout.rate)) continue;
      mask[i / 8] = static_cast<uint8_t>(mask[i / 8] | (1 << (i % 8)));
      results[i] = values[i] / static_cast<Acc>(1 - dropout.rate);
    }
    write(out, y_memory, results.data(), 1, 0);
  });
}

int cudnnDropoutBackward(void* handle, const void* descriptor, const void* dy, const void* dy_memory, const void* dx,
                         void* dx_memory, void* reserve, size_t reserve_capacity) {
  const char* name = "cudnnDropoutBackward";
  if (const int status = enter(name, handle)) return status;
  const Dropout* made = described<Dropout>(descriptor);
  if (any_null({made, dy_memory, dx_memory, reserve})) return kBadParam;
  Tensor in, out;
  if (const int status = pair(dy, dx, &in, &out)) return status;
  if (reserve_capacity < reserve_bytes(in) || !out.distinct()) return kBadParam;
  const Dropout dropout = *made;
  return submit(*static_cast<Handle*>(handle), name, in.type, [=](auto zero) {
    using Acc = decltype(zero);
    if (!can_read(in, dy_memory) || !can_write(out, dx_memory) || !readable(reserve, reserve_bytes(in))) return;
    const Values<Acc> values(in, dy_memory);
    std::vector<Acc> results(static_cast<size_t>(in.elements()));
    const uint8_t* mask = static_cast<const uint8_t*>(reserve);
    for (int64_t i = 0; i < in.elements(); i++) {
      if ((mask[i / 8] >> (i % 8)) & 1) results[i] = values[i] / static_cast<Acc>(1 - dropout.rate);
    }
    write(out, dx_memory, results.data(), 1, 0);
  });
}

}  // extern "C"
