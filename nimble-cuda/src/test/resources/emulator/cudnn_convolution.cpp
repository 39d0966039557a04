// Convolution of the emulated cuDNN: forward, with bias and activation, backward data, filter and bias; and the choice
// of an algorithm. Every algorithm that supports a problem gives the same result but for the rounding of TF32.

#include "cudnn.h"

extern "C" {
int cuMemAlloc_v2(unsigned long long* memory, size_t bytes);
int cuMemFree_v2(unsigned long long memory);
}

namespace cudnn {
namespace {

// A convolution of any rank up to 3, as three spatial dimensions of which the first may be 1.
struct Shape {
  int64_t batch, groups, channels, filters;  // channels and filters of one group
  int64_t in[3], kernel[3], out[3];
  int pad[3], stride[3], dilation[3];
  bool turned;  // CUDNN_CONVOLUTION: the filter is read from its far end

  int64_t inputs() const { return in[0] * in[1] * in[2]; }
  int64_t outputs() const { return out[0] * out[1] * out[2]; }
  int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
  int64_t depth() const { return channels * taps(); }
  // The input itself serves as the unfolded matrix.
  bool pointwise() const {
    for (int i = 0; i < 3; i++) {
      if (kernel[i] != 1 || stride[i] != 1 || pad[i] != 0) return false;
    }
    return true;
  }
};

// The output's extent, or 0 where the filter does not fit.
int64_t output_extent(int64_t in, int64_t kernel, int pad, int stride, int dilation) {
  const int64_t room = in + 2 * pad - ((kernel - 1) * dilation + 1);
  return room < 0 ? 0 : room / stride + 1;
}

// What the descriptors of one call say together.
struct Problem {
  Tensor x, y;
  Filter w;
  Convolution convolution;
  Shape shape;
};

bool supported_types(const Tensor& x, const Tensor& w, const Tensor& y, int compute) {
  if (x.type != w.type || x.type != y.type) return false;
  switch (x.type) {
    case Element::kFloat: return compute == kDataFloat;
    case Element::kDouble: return compute == kDataDouble;
    case Element::kHalf: return compute == kDataFloat || compute == kDataHalf;
    default: return compute == kDataFloat;
  }
}

// Checks the descriptors against each other; x and y are the convolution's input and output, whichever is written.
int problem_of(const void* x_descriptor, const void* w_descriptor, const void* convolution_descriptor,
               const void* y_descriptor, Problem* problem) {
  const Tensor* x = described<Tensor>(x_descriptor);
  const Filter* w = described<Filter>(w_descriptor);
  const Convolution* convolution = described<Convolution>(convolution_descriptor);
  const Tensor* y = described<Tensor>(y_descriptor);
  if (x == nullptr || w == nullptr || convolution == nullptr || y == nullptr) return kBadParam;
  const int nd = x->nd;
  if (w->tensor.nd != nd || y->nd != nd || convolution->rank != nd - 2) return kBadParam;
  if (x->type != w->tensor.type || x->type != y->type) return kBadParam;
  const int64_t groups = convolution->groups;
  if (x->dims[1] != w->tensor.dims[1] * groups || w->tensor.dims[0] % groups != 0) return kBadParam;
  if (y->dims[0] != x->dims[0] || y->dims[1] != w->tensor.dims[0]) return kBadParam;
  for (int i = 0; i < nd - 2; i++) {
    const int64_t extent = output_extent(x->dims[i + 2], w->tensor.dims[i + 2], convolution->pad[i],
                                         convolution->stride[i], convolution->dilation[i]);
    if (extent == 0 || y->dims[i + 2] != extent) return kBadParam;
  }
  if (nd > 5) return kNotSupported;
  if (!supported_types(*x, w->tensor, *y, convolution->compute_type)) return kNotSupported;
  if (!x->distinct() || !y->distinct()) return kNotSupported;
  // Filters with channels last go with tensors of the same layout only.
  if (w->format == kNhwc && !(x->channels_last() && y->channels_last())) return kNotSupported;
  problem->x = *x;
  problem->y = *y;
  problem->w = *w;
  problem->convolution = *convolution;
  Shape* shape = &problem->shape;
  *shape = Shape{x->dims[0], groups, w->tensor.dims[1], w->tensor.dims[0] / groups, {1, 1, 1}, {1, 1, 1}, {1, 1, 1},
                 {0, 0, 0}, {1, 1, 1}, {1, 1, 1}, convolution->mode == 0};
  for (int i = 0; i < nd - 2; i++) {
    const int at = i + 5 - nd;
    shape->in[at] = x->dims[i + 2];
    shape->kernel[at] = w->tensor.dims[i + 2];
    shape->out[at] = y->dims[i + 2];
    shape->pad[at] = convolution->pad[i];
    shape->stride[at] = convolution->stride[i];
    shape->dilation[at] = convolution->dilation[i];
  }
  return kSuccess;
}

// ---- the mathematics -----------------------------------------------------------------------------------------------

// Visits, for each tap and each output position, the input position that they meet: visit(row of the unfolded matrix,
// output position, input position or -1 in the padding).
template <class Visit>
void unfolded(const Shape& s, Visit visit) {
  for (int64_t c = 0; c < s.channels; c++) {
    int64_t tap = 0;
    for (int64_t kz = 0; kz < s.kernel[0]; kz++) {
      for (int64_t ky = 0; ky < s.kernel[1]; ky++) {
        for (int64_t kx = 0; kx < s.kernel[2]; kx++, tap++) {
          const int64_t row = c * s.taps() + tap;
          int64_t at = 0;
          for (int64_t oz = 0; oz < s.out[0]; oz++) {
            const int64_t iz = oz * s.stride[0] - s.pad[0] + kz * s.dilation[0];
            for (int64_t oy = 0; oy < s.out[1]; oy++) {
              const int64_t iy = oy * s.stride[1] - s.pad[1] + ky * s.dilation[1];
              const bool inside = iz >= 0 && iz < s.in[0] && iy >= 0 && iy < s.in[1];
              const int64_t base = ((c * s.in[0] + iz) * s.in[1] + iy) * s.in[2];
              int64_t ix = kx * s.dilation[2] - s.pad[2];
              for (int64_t ox = 0; ox < s.out[2]; ox++, at++, ix += s.stride[2]) {
                visit(row, at, inside && ix >= 0 && ix < s.in[2] ? base + ix : -1);
              }
            }
          }
        }
      }
    }
  }
}

template <class Acc>
const Acc* unfold(const Shape& s, const Acc* x, std::vector<Acc>* columns) {
  if (s.pointwise()) return x;
  columns->resize(static_cast<size_t>(s.depth() * s.outputs()));
  Acc* to = columns->data();
  const int64_t width = s.outputs();
  unfolded(s, [&](int64_t row, int64_t at, int64_t from) { to[row * width + at] = from < 0 ? Acc(0) : x[from]; });
  return to;
}

// The filter as cross-correlation reads it, and the way back.
template <class Acc>
std::vector<Acc> turned(const Shape& s, const Acc* w) {
  const int64_t filters = s.groups * s.filters * s.channels, taps = s.taps();
  std::vector<Acc> result(static_cast<size_t>(filters * taps));
  for (int64_t f = 0; f < filters; f++) {
    for (int64_t t = 0; t < taps; t++) result[f * taps + t] = w[f * taps + taps - 1 - t];
  }
  return result;
}

// y[n][g * filters + f][o] = sum over depth of x unfolded * w.
template <class Acc>
void forward(const Shape& s, const Acc* x, const Acc* w, Acc* y, Rounding rounding) {
  static thread_local std::vector<Acc> columns;
  const int64_t width = s.outputs(), depth = s.depth();
  for (int64_t n = 0; n < s.batch; n++) {
    for (int64_t g = 0; g < s.groups; g++) {
      const Acc* a = unfold(s, x + (n * s.groups + g) * s.channels * s.inputs(), &columns);
      const Acc* b = w + g * s.filters * depth;
      Acc* to = y + (n * s.groups + g) * s.filters * width;
      Product<Acc>::run(
          width, s.filters, depth, [&](int64_t o, int64_t d) { return rounded(a[d * width + o], rounding); },
          [&](int64_t d, int64_t f) { return rounded(b[f * depth + d], rounding); },
          [&](int64_t o, int64_t f, Acc value) { to[f * width + o] = value; });
    }
  }
}

template <class Acc>
void backward_data(const Shape& s, const Acc* w, const Acc* dy, Acc* dx, Rounding rounding) {
  static thread_local std::vector<Acc> columns;
  const int64_t width = s.outputs(), depth = s.depth();
  columns.resize(static_cast<size_t>(depth * width));
  Acc* unfolded_gradient = columns.data();
  std::fill(dx, dx + s.batch * s.groups * s.channels * s.inputs(), Acc(0));
  for (int64_t n = 0; n < s.batch; n++) {
    for (int64_t g = 0; g < s.groups; g++) {
      const Acc* a = dy + (n * s.groups + g) * s.filters * width;
      const Acc* b = w + g * s.filters * depth;
      Product<Acc>::run(
          width, depth, s.filters, [&](int64_t o, int64_t f) { return rounded(a[f * width + o], rounding); },
          [&](int64_t f, int64_t d) { return rounded(b[f * depth + d], rounding); },
          [&](int64_t o, int64_t d, Acc value) { unfolded_gradient[d * width + o] = value; });
      Acc* to = dx + (n * s.groups + g) * s.channels * s.inputs();
      unfolded(s, [&](int64_t row, int64_t at, int64_t from) {
        if (from >= 0) to[from] += unfolded_gradient[row * width + at];
      });
    }
  }
}

template <class Acc>
void backward_filter(const Shape& s, const Acc* x, const Acc* dy, Acc* dw, Rounding rounding) {
  static thread_local std::vector<Acc> columns;
  const int64_t width = s.outputs(), depth = s.depth();
  std::fill(dw, dw + s.groups * s.filters * depth, Acc(0));
  for (int64_t n = 0; n < s.batch; n++) {
    for (int64_t g = 0; g < s.groups; g++) {
      const Acc* a = unfold(s, x + (n * s.groups + g) * s.channels * s.inputs(), &columns);
      const Acc* b = dy + (n * s.groups + g) * s.filters * width;
      Acc* to = dw + g * s.filters * depth;
      Product<Acc>::run(
          depth, s.filters, width, [&](int64_t d, int64_t o) { return rounded(a[d * width + o], rounding); },
          [&](int64_t o, int64_t f) { return rounded(b[f * width + o], rounding); },
          [&](int64_t d, int64_t f, Acc value) { to[f * depth + d] += value; });
    }
  }
}

// ---- algorithms ----------------------------------------------------------------------------------------------------

enum Direction { kForward = 0, kBackwardData = 1, kBackwardFilter = 2 };

// The families behind the numbers of cudnnConvolutionFwdAlgo_t and its two likes.
enum Family { kImplicit, kPrecomputed, kExplicit, kDirect, kFft, kFftTiling, kWinograd, kWinogradNonfused };

constexpr int kMaxAlgorithms = 8;

struct Algorithm {
  Family family;
  bool deterministic;
};

const std::vector<Algorithm>& algorithms(int direction) {
  static const std::vector<Algorithm> table[] = {
      {{kImplicit, true}, {kPrecomputed, true}, {kExplicit, true}, {kDirect, true}, {kFft, true}, {kFftTiling, true},
       {kWinograd, true}, {kWinogradNonfused, true}},
      {{kImplicit, false}, {kPrecomputed, true}, {kFft, true}, {kFftTiling, true}, {kWinograd, true},
       {kWinogradNonfused, true}},
      {{kImplicit, false}, {kPrecomputed, true}, {kFft, true}, {kExplicit, false}, {kDirect, true},
       {kWinogradNonfused, true}, {kFftTiling, true}},
  };
  return table[direction];
}

bool all_equal(const int64_t* values, int rank, int64_t wanted) {
  return std::all_of(values, values + rank, [=](int64_t value) { return value == wanted; });
}

bool all_equal(const int* values, int rank, int wanted) {
  return std::all_of(values, values + rank, [=](int value) { return value == wanted; });
}

// Whether an algorithm takes a problem, by the limits that NVIDIA documents for its family; and its workspace.
bool supports(const Problem& problem, Family family, size_t* workspace) {
  const Convolution& c = problem.convolution;
  const Shape& s = problem.shape;
  const Tensor& w = problem.w.tensor;
  const int rank = c.rank;
  const size_t element = size_of(problem.x.type);
  const bool undilated = all_equal(c.dilation, rank, 1), unit_stride = all_equal(c.stride, rank, 1);
  const bool planar = problem.x.nd == 4, channels_last = problem.w.format == kNhwc;
  const bool wide_type = problem.x.type == Element::kDouble, brain = problem.x.type == Element::kBfloat16;
  const auto padded = [&](int i) { return problem.x.dims[i + 2] + 2 * c.pad[i]; };
  const size_t images = static_cast<size_t>(s.batch * s.groups);
  switch (family) {
    case kImplicit:
      *workspace = 0;
      return true;
    case kPrecomputed:
      *workspace = static_cast<size_t>(s.depth()) * 8 + 256;
      return true;
    case kExplicit:
      *workspace = static_cast<size_t>(s.depth() * s.outputs()) * element;
      return planar && undilated && !channels_last && problem.y.packed();
    case kDirect:
      return false;  // no implementation, in the real library either
    case kFft:
      if (!planar || !undilated || !unit_stride || channels_last || wide_type || brain || s.groups != 1) return false;
      for (int i = 0; i < 2; i++) {
        if (padded(i) > 256 || w.dims[i + 2] <= c.pad[i]) return false;
      }
      *workspace = (images * static_cast<size_t>(s.channels + s.filters) +
                    static_cast<size_t>(s.channels * s.filters)) * 32 * 17 * 8;
      return true;
    case kFftTiling:
      if (!undilated || !unit_stride || channels_last || wide_type || brain || s.groups != 1) return false;
      for (int i = 0; i < rank; i++) {
        if (w.dims[i + 2] > 32 || w.dims[i + 2] <= c.pad[i]) return false;
      }
      *workspace = (images * static_cast<size_t>(s.channels + s.filters) +
                    static_cast<size_t>(s.channels * s.filters)) * 16 * 9 * 8;
      return true;
    case kWinograd:
      *workspace = static_cast<size_t>(s.groups * s.filters * s.channels) * 16 * element;
      return planar && undilated && unit_stride && !channels_last && !wide_type && !brain &&
             all_equal(w.dims + 2, 2, 3);
    case kWinogradNonfused:
      *workspace = images * static_cast<size_t>((s.channels + s.filters) * ((s.outputs() + 3) / 4)) * 16 * 4;
      return planar && undilated && unit_stride && !channels_last && !wide_type && !brain &&
             (all_equal(w.dims + 2, 2, 3) || (all_equal(w.dims + 2, 2, 5) && problem.x.type == Element::kFloat));
  }
  return false;
}

// The status of an algorithm for a problem, and the workspace it needs.
int support(const Problem& problem, int direction, int algorithm, size_t* workspace) {
  const std::vector<Algorithm>& table = algorithms(direction);
  if (algorithm < 0 || algorithm >= static_cast<int>(table.size())) return kBadParam;
  *workspace = 0;
  return supports(problem, table[algorithm].family, workspace) ? kSuccess : kNotSupported;
}

// Default math lets tensor cores round single precision to TF32; only FMA math forbids it.
Rounding rounding_of(const Problem& problem, Family family) {
  const bool coarse = problem.x.type == Element::kFloat && problem.convolution.math_type != kFmaMath &&
                      (family == kPrecomputed || family == kWinogradNonfused);
  return coarse ? Rounding::kTf32 : Rounding::kNone;
}

// As cudnnConvolutionFwdAlgoPerf_t and its two likes, which are laid out alike.
struct Performance {
  int algorithm;
  int status;
  float milliseconds;
  size_t memory;
  int determinism;
  int math_type;
  int reserved[3];
};

// An invented but repeatable time, so that a choice among algorithms can be tested; it measures nothing.
float invented_time(const Problem& problem, int direction, Family family) {
  static const float factors[] = {1.5f, 1.0f, 1.3f, 9.0f, 1.6f, 1.2f, 0.8f, 0.7f};
  const Shape& s = problem.shape;
  const double work = static_cast<double>(s.batch * s.groups * s.filters * s.depth() * s.outputs());
  const uint64_t mixed = static_cast<uint64_t>(s.depth() * 31 + s.outputs() * 17 + s.filters * 7 + direction) * 2654435761u;
  const double jitter = 1 + 0.4 * static_cast<double>((mixed >> (family * 4)) % 16) / 16;
  return static_cast<float>((0.005 + work * 1e-9) * factors[family] * jitter);
}

// Fills the list of algorithms, best first, those that cannot run last.
int rank_algorithms(const Problem& problem, int direction, bool timed, size_t limit, int requested, int* returned,
                    Performance* results) {
  std::vector<Performance> ranked;
  const std::vector<Algorithm>& table = algorithms(direction);
  for (int i = 0; i < static_cast<int>(table.size()); i++) {
    Performance performance{};
    performance.algorithm = i;
    performance.status = support(problem, direction, i, &performance.memory);
    if (performance.status == kSuccess && performance.memory > limit) performance.status = kAllocFailed;
    performance.determinism = table[i].deterministic ? 1 : 0;
    performance.milliseconds =
        performance.status == kSuccess ? invented_time(problem, direction, table[i].family) : -1.0f;
    if (performance.status == kNotSupported) performance.memory = 0;
    performance.math_type = problem.convolution.math_type;
    if (performance.math_type == kDefaultMath && problem.x.type == Element::kFloat &&
        rounding_of(problem, table[i].family) == Rounding::kNone) {
      performance.math_type = kFmaMath;
    }
    ranked.push_back(performance);
  }
  std::stable_sort(ranked.begin(), ranked.end(), [](const Performance& a, const Performance& b) {
    const bool a_runs = a.status == kSuccess, b_runs = b.status == kSuccess;
    return a_runs != b_runs ? a_runs : a_runs && a.milliseconds < b.milliseconds;
  });
  *returned = std::min(requested, static_cast<int>(ranked.size()));
  for (int i = 0; i < *returned; i++) {
    results[i] = ranked[i];
    if (!timed) results[i].milliseconds = -1.0f;  // ranked by rules, nothing was run
  }
  return kSuccess;
}

// ---- calls ---------------------------------------------------------------------------------------------------------

bool use_workspace(void* workspace, size_t needed) {
  if (needed == 0) return true;
  if (!writable(workspace, needed)) return false;
  scribble(workspace, needed);
  return true;
}

// Queues one of the three convolutions: reads `first` and `second`, writes `result`.
int convolve(const char* name, const Handle& handle, const Problem& problem, int direction, int algorithm,
             const void* first, const void* second, void* result, const void* alpha, const void* beta, void* workspace,
             size_t workspace_bytes) {
  if (first == nullptr || second == nullptr || result == nullptr || alpha == nullptr || beta == nullptr) {
    return kBadParam;
  }
  size_t needed = 0;
  if (const int status = support(problem, direction, algorithm, &needed)) return status;
  if (workspace_bytes < needed || (needed > 0 && workspace == nullptr)) return kBadParam;
  const Rounding rounding = rounding_of(problem, algorithms(direction)[algorithm].family);
  const double a = scale(alpha, problem.x.type), b = scale(beta, problem.x.type);
  return submit(handle, name, problem.x.type, [=](auto zero) {
    using Acc = decltype(zero);
    const Shape& s = problem.shape;
    const Tensor& x = problem.x;
    const Tensor& w = problem.w.tensor;
    const Tensor& y = problem.y;
    const Tensor& in1 = direction == kBackwardData ? w : x;
    const Tensor& in2 = direction == kForward ? w : y;
    const Tensor& out = direction == kForward ? y : direction == kBackwardData ? x : w;
    if (!can_read(in1, first) || !can_read(in2, second) || (b != 0 && !can_read(out, result)) ||
        !can_write(out, result) || !use_workspace(workspace, needed)) {
      return;
    }
    const Values<Acc> left(in1, first), right(in2, second);
    std::vector<Acc> values(static_cast<size_t>(out.elements()));
    std::vector<Acc> filter;
    if (s.turned && direction != kBackwardFilter) filter = turned(s, direction == kForward ? right.data() : left.data());
    if (direction == kForward) {
      forward(s, left.data(), s.turned ? filter.data() : right.data(), values.data(), rounding);
    } else if (direction == kBackwardData) {
      backward_data(s, s.turned ? filter.data() : left.data(), right.data(), values.data(), rounding);
    } else {
      backward_filter(s, left.data(), right.data(), values.data(), rounding);
      if (s.turned) values = turned(s, values.data());
    }
    write(out, result, values.data(), a, b);
  });
}

// The three below list nothing after a failure: JCudnn copies as many results as `returned` says, whatever the status.
int listed(const char* name, void* handle, const void* x, const void* w, const void* convolution, const void* y,
           int direction, int requested, int* returned, Performance* results) {
  if (returned != nullptr) *returned = 0;
  if (const int status = enter(name, handle)) return status;
  if (requested < 1 || returned == nullptr || results == nullptr) return kBadParam;
  Problem problem;
  if (const int status = problem_of(x, w, convolution, y, &problem)) return status;
  return rank_algorithms(problem, direction, false, SIZE_MAX, requested, returned, results);
}

// Measuring allocates operands of its own on the device and waits, so it is refused while the stream captures.
int found(const char* name, void* handle, const void* x, const void* w, const void* convolution, const void* y,
          int direction, int requested, int* returned, Performance* results) {
  if (returned != nullptr) *returned = 0;
  if (const int status = enter(name, handle)) return status;
  if (requested < 1 || returned == nullptr || results == nullptr) return kBadParam;
  Problem problem;
  if (const int status = problem_of(x, w, convolution, y, &problem)) return status;
  const size_t bytes =
      problem.x.extent_bytes() + problem.w.tensor.extent_bytes() + problem.y.extent_bytes();
  unsigned long long memory = 0;
  const int allocated = cuMemAlloc_v2(&memory, bytes);
  if (allocated != 0) return allocated == 2 ? kDeviceAllocationFailed : kExecutionFailed;
  const int waited = emu_synchronize(static_cast<Handle*>(handle)->stream);
  if (cuMemFree_v2(memory) != 0 || waited != 0) return kExecutionFailed;
  return rank_algorithms(problem, direction, true, SIZE_MAX, requested, returned, results);
}

// Measures on the caller's own operands: the result is overwritten.
int found_with(const char* name, void* handle, const void* x, const void* w, const void* convolution, const void* y,
               int direction, const void* first, const void* second, void* result, int requested, int* returned,
               Performance* results, void* workspace, size_t workspace_bytes) {
  if (returned != nullptr) *returned = 0;
  if (const int status = enter(name, handle)) return status;
  if (requested < 1 || returned == nullptr || results == nullptr) return kBadParam;
  if (first == nullptr || second == nullptr || result == nullptr) return kBadParam;
  Problem problem;
  if (const int status = problem_of(x, w, convolution, y, &problem)) return status;
  const size_t limit = workspace == nullptr ? 0 : workspace_bytes;
  rank_algorithms(problem, direction, true, limit, requested, returned, results);
  const double one = 1, zero = 0;
  const float one_single = 1, zero_single = 0;
  const bool wide = problem.x.type == Element::kDouble;
  const void* alpha = wide ? static_cast<const void*>(&one) : &one_single;
  const void* beta = wide ? static_cast<const void*>(&zero) : &zero_single;
  const Handle& self = *static_cast<Handle*>(handle);
  if (results[0].status == kSuccess) {
    const int status = convolve(name, self, problem, direction, results[0].algorithm, first, second, result, alpha,
                                beta, workspace, workspace_bytes);
    if (status != kSuccess) return status;
  }
  return emu_synchronize(self.stream) == 0 ? kSuccess : kExecutionFailed;
}

int workspace_of(const char* name, void* handle, const void* x, const void* w, const void* convolution, const void* y,
                 int direction, int algorithm, size_t* bytes) {
  if (const int status = enter(name, handle)) return status;
  if (bytes == nullptr) return kBadParam;
  Problem problem;
  if (const int status = problem_of(x, w, convolution, y, &problem)) return status;
  size_t needed = 0;
  if (const int status = support(problem, direction, algorithm, &needed)) return status;
  *bytes = needed;
  return kSuccess;
}

int count_of(const char* name, void* handle, int direction, int* count) {
  if (const int status = enter(name, handle)) return status;
  if (count == nullptr) return kBadParam;
  *count = static_cast<int>(algorithms(direction).size());
  return kSuccess;
}

}  // namespace
}  // namespace cudnn

using namespace cudnn;

extern "C" {

int cudnnGetConvolution2dForwardOutputDim(const void* convolution, const void* x, const void* w, int* n, int* c,
                                          int* h, int* width) {
  if (const int status = enter("cudnnGetConvolution2dForwardOutputDim")) return status;
  const Convolution* conv = described<Convolution>(convolution);
  const Tensor* input = described<Tensor>(x);
  const Filter* filter = described<Filter>(w);
  if (conv == nullptr || input == nullptr || filter == nullptr || n == nullptr || c == nullptr || h == nullptr ||
      width == nullptr) {
    return kBadParam;
  }
  if (conv->rank != 2 || input->nd != 4 || filter->tensor.nd != 4) return kBadParam;
  if (input->dims[1] != filter->tensor.dims[1] * conv->groups) return kBadParam;
  int64_t extents[2];
  for (int i = 0; i < 2; i++) {
    extents[i] = output_extent(input->dims[i + 2], filter->tensor.dims[i + 2], conv->pad[i], conv->stride[i],
                               conv->dilation[i]);
    if (extents[i] == 0) return kBadParam;
  }
  *n = static_cast<int>(input->dims[0]);
  *c = static_cast<int>(filter->tensor.dims[0]);
  *h = static_cast<int>(extents[0]);
  *width = static_cast<int>(extents[1]);
  return kSuccess;
}

int cudnnGetConvolutionNdForwardOutputDim(const void* convolution, const void* x, const void* w, int nd, int* dims) {
  if (const int status = enter("cudnnGetConvolutionNdForwardOutputDim")) return status;
  const Convolution* conv = described<Convolution>(convolution);
  const Tensor* input = described<Tensor>(x);
  const Filter* filter = described<Filter>(w);
  if (conv == nullptr || input == nullptr || filter == nullptr || dims == nullptr) return kBadParam;
  if (input->nd != nd || filter->tensor.nd != nd || conv->rank != nd - 2) return kBadParam;
  if (input->dims[1] != filter->tensor.dims[1] * conv->groups) return kBadParam;
  std::vector<int> made{static_cast<int>(input->dims[0]), static_cast<int>(filter->tensor.dims[0])};
  for (int i = 0; i < nd - 2; i++) {
    const int64_t extent = output_extent(input->dims[i + 2], filter->tensor.dims[i + 2], conv->pad[i],
                                         conv->stride[i], conv->dilation[i]);
    if (extent == 0) return kBadParam;
    made.push_back(static_cast<int>(extent));
  }
  std::copy(made.begin(), made.end(), dims);
  return kSuccess;
}

// ---- forward -------------------------------------------------------------------------------------------------------

int cudnnGetConvolutionForwardAlgorithmMaxCount(void* handle, int* count) {
  return count_of("cudnnGetConvolutionForwardAlgorithmMaxCount", handle, kForward, count);
}

int cudnnGetConvolutionForwardAlgorithm_v7(void* handle, const void* x, const void* w, const void* convolution,
                                           const void* y, int requested, int* returned, Performance* results) {
  return listed("cudnnGetConvolutionForwardAlgorithm_v7", handle, x, w, convolution, y, kForward, requested, returned,
                results);
}

int cudnnFindConvolutionForwardAlgorithm(void* handle, const void* x, const void* w, const void* convolution,
                                         const void* y, int requested, int* returned, Performance* results) {
  return found("cudnnFindConvolutionForwardAlgorithm", handle, x, w, convolution, y, kForward, requested, returned,
               results);
}

int cudnnFindConvolutionForwardAlgorithmEx(void* handle, const void* x, const void* x_memory, const void* w,
                                           const void* w_memory, const void* convolution, const void* y,
                                           void* y_memory, int requested, int* returned, Performance* results,
                                           void* workspace, size_t workspace_bytes) {
  return found_with("cudnnFindConvolutionForwardAlgorithmEx", handle, x, w, convolution, y, kForward, x_memory,
                    w_memory, y_memory, requested, returned, results, workspace, workspace_bytes);
}

int cudnnGetConvolutionForwardWorkspaceSize(void* handle, const void* x, const void* w, const void* convolution,
                                            const void* y, int algorithm, size_t* bytes) {
  return workspace_of("cudnnGetConvolutionForwardWorkspaceSize", handle, x, w, convolution, y, kForward, algorithm,
                      bytes);
}

int cudnnConvolutionForward(void* handle, const void* alpha, const void* x, const void* x_memory, const void* w,
                            const void* w_memory, const void* convolution, int algorithm, void* workspace,
                            size_t workspace_bytes, const void* beta, const void* y, void* y_memory) {
  const char* name = "cudnnConvolutionForward";
  if (const int status = enter(name, handle)) return status;
  Problem problem;
  if (const int status = problem_of(x, w, convolution, y, &problem)) return status;
  return convolve(name, *static_cast<Handle*>(handle), problem, kForward, algorithm, x_memory, w_memory, y_memory,
                  alpha, beta, workspace, workspace_bytes);
}

// y = activation(alpha1 * conv(x) + alpha2 * z + bias).
int cudnnConvolutionBiasActivationForward(void* handle, const void* alpha1, const void* x, const void* x_memory,
                                          const void* w, const void* w_memory, const void* convolution,
                                          int algorithm, void* workspace, size_t workspace_bytes, const void* alpha2,
                                          const void* z, const void* z_memory, const void* bias,
                                          const void* bias_memory, const void* activation, const void* y,
                                          void* y_memory) {
  const char* name = "cudnnConvolutionBiasActivationForward";
  if (const int status = enter(name, handle)) return status;
  const Tensor* z_tensor = described<Tensor>(z);
  const Tensor* bias_tensor = described<Tensor>(bias);
  const Activation* made = described<Activation>(activation);
  if (z_tensor == nullptr || bias_tensor == nullptr || made == nullptr) return kBadParam;
  if (alpha1 == nullptr || alpha2 == nullptr || x_memory == nullptr || w_memory == nullptr || y_memory == nullptr ||
      z_memory == nullptr || bias_memory == nullptr) {
    return kBadParam;
  }
  Problem problem;
  if (const int status = problem_of(x, w, convolution, y, &problem)) return status;
  constexpr int kRelu = 1, kIdentity = 5, kPrecomputedGemm = 1;
  if (made->mode != kRelu && made->mode != kIdentity) return kNotSupported;
  if (made->nan != 0) return kNotSupported;
  if (made->mode == kIdentity && algorithm != kPrecomputedGemm) return kNotSupported;
  if (!z_tensor->same_dims(problem.y) || z_tensor->type != problem.y.type) return kNotSupported;
  if (bias_tensor->nd != problem.y.nd || bias_tensor->type != problem.y.type) return kNotSupported;
  for (int d = 0; d < bias_tensor->nd; d++) {
    if (bias_tensor->dims[d] != (d == 1 ? problem.y.dims[1] : 1)) return kNotSupported;
  }
  if (bias_tensor->strides[1] != 1) return kNotSupported;
  size_t needed = 0;
  if (const int status = support(problem, kForward, algorithm, &needed)) return status;
  if (workspace_bytes < needed || (needed > 0 && workspace == nullptr)) return kBadParam;
  const Rounding rounding = rounding_of(problem, algorithms(kForward)[algorithm].family);
  const double a1 = scale(alpha1, problem.x.type), a2 = scale(alpha2, problem.x.type);
  const Tensor z_copy = *z_tensor, bias_copy = *bias_tensor;
  const bool relu = made->mode == kRelu;
  const double ceiling = made->coefficient;
  return submit(*static_cast<Handle*>(handle), name, problem.x.type, [=](auto zero) {
    using Acc = decltype(zero);
    const Shape& s = problem.shape;
    if (!can_read(problem.x, x_memory) || !can_read(problem.w.tensor, w_memory) ||
        (a2 != 0 && !can_read(z_copy, z_memory)) || !can_read(bias_copy, bias_memory) ||
        !can_write(problem.y, y_memory) || !use_workspace(workspace, needed)) {
      return;
    }
    const Values<Acc> input(problem.x, x_memory), filter(problem.w.tensor, w_memory), biases(bias_copy, bias_memory);
    std::vector<Acc> values(static_cast<size_t>(problem.y.elements()));
    if (s.turned) {
      forward(s, input.data(), turned(s, filter.data()).data(), values.data(), rounding);
    } else {
      forward(s, input.data(), filter.data(), values.data(), rounding);
    }
    const int64_t channels = problem.y.dims[1], width = s.outputs();
    for (size_t i = 0; i < values.size(); i++) {
      values[i] = static_cast<Acc>(a1) * values[i] + biases[static_cast<int64_t>(i) / width % channels];
    }
    if (a2 != 0) {
      const Values<Acc> added(z_copy, z_memory);
      for (size_t i = 0; i < values.size(); i++) {
        values[i] += static_cast<Acc>(a2) * added[static_cast<int64_t>(i)];
      }
    }
    if (relu) {
      for (Acc& value : values) {
        value = value > Acc(0) ? value : Acc(0);
        if (ceiling > 0) value = std::min(value, static_cast<Acc>(ceiling));
      }
    }
    write(problem.y, y_memory, values.data(), 1, 0);
  });
}

// ---- backward data -------------------------------------------------------------------------------------------------

int cudnnGetConvolutionBackwardDataAlgorithmMaxCount(void* handle, int* count) {
  return count_of("cudnnGetConvolutionBackwardDataAlgorithmMaxCount", handle, kBackwardData, count);
}

int cudnnGetConvolutionBackwardDataAlgorithm_v7(void* handle, const void* w, const void* dy, const void* convolution,
                                                const void* dx, int requested, int* returned, Performance* results) {
  return listed("cudnnGetConvolutionBackwardDataAlgorithm_v7", handle, dx, w, convolution, dy, kBackwardData,
                requested, returned, results);
}

int cudnnFindConvolutionBackwardDataAlgorithm(void* handle, const void* w, const void* dy, const void* convolution,
                                              const void* dx, int requested, int* returned, Performance* results) {
  return found("cudnnFindConvolutionBackwardDataAlgorithm", handle, dx, w, convolution, dy, kBackwardData, requested,
               returned, results);
}

int cudnnFindConvolutionBackwardDataAlgorithmEx(void* handle, const void* w, const void* w_memory, const void* dy,
                                                const void* dy_memory, const void* convolution, const void* dx,
                                                void* dx_memory, int requested, int* returned, Performance* results,
                                                void* workspace, size_t workspace_bytes) {
  return found_with("cudnnFindConvolutionBackwardDataAlgorithmEx", handle, dx, w, convolution, dy, kBackwardData,
                    w_memory, dy_memory, dx_memory, requested, returned, results, workspace, workspace_bytes);
}

int cudnnGetConvolutionBackwardDataWorkspaceSize(void* handle, const void* w, const void* dy, const void* convolution,
                                                 const void* dx, int algorithm, size_t* bytes) {
  return workspace_of("cudnnGetConvolutionBackwardDataWorkspaceSize", handle, dx, w, convolution, dy, kBackwardData,
                      algorithm, bytes);
}

int cudnnConvolutionBackwardData(void* handle, const void* alpha, const void* w, const void* w_memory, const void* dy,
                                 const void* dy_memory, const void* convolution, int algorithm, void* workspace,
                                 size_t workspace_bytes, const void* beta, const void* dx, void* dx_memory) {
  const char* name = "cudnnConvolutionBackwardData";
  if (const int status = enter(name, handle)) return status;
  Problem problem;
  if (const int status = problem_of(dx, w, convolution, dy, &problem)) return status;
  return convolve(name, *static_cast<Handle*>(handle), problem, kBackwardData, algorithm, w_memory, dy_memory,
                  dx_memory, alpha, beta, workspace, workspace_bytes);
}

// ---- backward filter and bias --------------------------------------------------------------------------------------

int cudnnGetConvolutionBackwardFilterAlgorithmMaxCount(void* handle, int* count) {
  return count_of("cudnnGetConvolutionBackwardFilterAlgorithmMaxCount", handle, kBackwardFilter, count);
}

int cudnnGetConvolutionBackwardFilterAlgorithm_v7(void* handle, const void* x, const void* dy,
                                                  const void* convolution, const void* dw, int requested,
                                                  int* returned, Performance* results) {
  return listed("cudnnGetConvolutionBackwardFilterAlgorithm_v7", handle, x, dw, convolution, dy, kBackwardFilter,
                requested, returned, results);
}

int cudnnFindConvolutionBackwardFilterAlgorithm(void* handle, const void* x, const void* dy, const void* convolution,
                                                const void* dw, int requested, int* returned, Performance* results) {
  return found("cudnnFindConvolutionBackwardFilterAlgorithm", handle, x, dw, convolution, dy, kBackwardFilter,
               requested, returned, results);
}

int cudnnFindConvolutionBackwardFilterAlgorithmEx(void* handle, const void* x, const void* x_memory, const void* dy,
                                                  const void* dy_memory, const void* convolution, const void* dw,
                                                  void* dw_memory, int requested, int* returned, Performance* results,
                                                  void* workspace, size_t workspace_bytes) {
  return found_with("cudnnFindConvolutionBackwardFilterAlgorithmEx", handle, x, dw, convolution, dy, kBackwardFilter,
                    x_memory, dy_memory, dw_memory, requested, returned, results, workspace, workspace_bytes);
}

int cudnnGetConvolutionBackwardFilterWorkspaceSize(void* handle, const void* x, const void* dy,
                                                   const void* convolution, const void* dw, int algorithm,
                                                   size_t* bytes) {
  return workspace_of("cudnnGetConvolutionBackwardFilterWorkspaceSize", handle, x, dw, convolution, dy,
                      kBackwardFilter, algorithm, bytes);
}

int cudnnConvolutionBackwardFilter(void* handle, const void* alpha, const void* x, const void* x_memory,
                                   const void* dy, const void* dy_memory, const void* convolution, int algorithm,
                                   void* workspace, size_t workspace_bytes, const void* beta, const void* dw,
                                   void* dw_memory) {
  const char* name = "cudnnConvolutionBackwardFilter";
  if (const int status = enter(name, handle)) return status;
  Problem problem;
  if (const int status = problem_of(x, dw, convolution, dy, &problem)) return status;
  return convolve(name, *static_cast<Handle*>(handle), problem, kBackwardFilter, algorithm, x_memory, dy_memory,
                  dw_memory, alpha, beta, workspace, workspace_bytes);
}

// db = alpha * (dy summed over everything but the channels) + beta * db.
int cudnnConvolutionBackwardBias(void* handle, const void* alpha, const void* dy, const void* dy_memory,
                                 const void* beta, const void* db, void* db_memory) {
  const char* name = "cudnnConvolutionBackwardBias";
  if (const int status = enter(name, handle)) return status;
  const Tensor* gradient = described<Tensor>(dy);
  const Tensor* bias = described<Tensor>(db);
  if (gradient == nullptr || bias == nullptr || alpha == nullptr || beta == nullptr || dy_memory == nullptr ||
      db_memory == nullptr) {
    return kBadParam;
  }
  if (gradient->type != bias->type || gradient->nd != bias->nd) return kBadParam;
  for (int d = 0; d < bias->nd; d++) {
    if (bias->dims[d] != (d == 1 ? gradient->dims[1] : 1)) return kBadParam;
  }
  const Tensor in = *gradient, out = *bias;
  const double a = scale(alpha, in.type), b = scale(beta, in.type);
  return submit(*static_cast<Handle*>(handle), name, in.type, [=](auto zero) {
    using Acc = decltype(zero);
    if (!can_read(in, dy_memory) || (b != 0 && !can_read(out, db_memory)) || !can_write(out, db_memory)) return;
    const Values<Acc> values(in, dy_memory);
    const int64_t channels = in.dims[1], width = in.elements() / (in.dims[0] * channels);
    std::vector<double> sums(static_cast<size_t>(channels));
    for (int64_t i = 0; i < in.elements(); i++) sums[i / width % channels] += values[i];
    const std::vector<Acc> results(sums.begin(), sums.end());
    write(out, db_memory, results.data(), a, b);
  });
}

}  // extern "C"
