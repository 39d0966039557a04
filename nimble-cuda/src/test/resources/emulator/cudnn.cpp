// cuDNN 9, emulated on the host: handles and descriptors of the classic interface, after NVIDIA's documentation.
//
// Enums and signatures are declared here, since no cudnn.h is assumed on the build machine. Names that the JCuda natives
// import and that are not defined are answered by stubs with CUDNN_STATUS_NOT_SUPPORTED.

#include "cudnn.h"

extern "C" {
int cuMemAlloc_v2(unsigned long long* memory, size_t bytes);
int cuMemFree_v2(unsigned long long memory);
}

namespace cudnn {

#define REGISTRY(TYPE, KIND)                  \
  template <>                                 \
  Registry<TYPE>& registry<TYPE>() {          \
    static Registry<TYPE> registry(KIND);     \
    return registry;                          \
  }
REGISTRY(Handle, "cudnnHandle")
REGISTRY(Tensor, "cudnnTensorDescriptor")
REGISTRY(Filter, "cudnnFilterDescriptor")
REGISTRY(Convolution, "cudnnConvolutionDescriptor")
REGISTRY(Pooling, "cudnnPoolingDescriptor")
REGISTRY(Activation, "cudnnActivationDescriptor")
REGISTRY(OpTensor, "cudnnOpTensorDescriptor")
REGISTRY(ReduceTensor, "cudnnReduceTensorDescriptor")
REGISTRY(Dropout, "cudnnDropoutDescriptor")

int enter(const char* name, const void* handle) {
  if (const int injected = fault(name)) return injected;
  return registry<Handle>().contains(handle) ? kSuccess : kNotInitialized;
}

bool known_data_type(int data_type) { return data_type >= 0 && data_type <= kLastDataType; }

bool element_of(int data_type, Element* element) {
  switch (data_type) {
    case kDataFloat: *element = Element::kFloat; return true;
    case kDataDouble: *element = Element::kDouble; return true;
    case kDataHalf: *element = Element::kHalf; return true;
    case kDataBfloat16: *element = Element::kBfloat16; return true;
    default: return false;
  }
}

namespace {

// The dimensions of more than one element, by rising stride.
int by_stride(const Tensor& tensor, int* order) {
  int count = 0;
  for (int d = 0; d < tensor.nd; d++) {
    if (tensor.dims[d] > 1) order[count++] = d;
  }
  std::sort(order, order + count, [&](int a, int b) { return tensor.strides[a] < tensor.strides[b]; });
  return count;
}

// Calls check(byte offset, bytes) for every run of adjacent elements; stops at the first that fails.
template <class Check>
bool for_each_run(const Tensor& tensor, Check check) {
  int order[kMaxDims];
  const int count = by_stride(tensor, order);
  int64_t run = 1;
  int outer = 0;
  while (outer < count && (tensor.strides[order[outer]] == run || tensor.strides[order[outer]] == 0)) {
    if (tensor.strides[order[outer]] == run) run *= tensor.dims[order[outer]];
    outer++;
  }
  int64_t runs = 1;
  for (int i = outer; i < count; i++) runs *= tensor.dims[order[i]];
  const int64_t size = static_cast<int64_t>(size_of(tensor.type));
  if (runs > 65536) return check(int64_t{0}, tensor.extent_bytes());
  for (int64_t i = 0; i < runs; i++) {
    int64_t rest = i, at = 0;
    for (int j = outer; j < count; j++) {
      at += rest % tensor.dims[order[j]] * tensor.strides[order[j]];
      rest /= tensor.dims[order[j]];
    }
    if (!check(at * size, static_cast<size_t>(run * size))) return false;
  }
  return true;
}

}  // namespace

bool can_read(const Tensor& tensor, const void* memory) {
  return for_each_run(tensor, [&](int64_t at, size_t bytes) {
    return readable(static_cast<const char*>(memory) + at, bytes);
  });
}

bool can_write(const Tensor& tensor, void* memory) {
  return for_each_run(tensor, [&](int64_t at, size_t bytes) {
    return writable(static_cast<char*>(memory) + at, bytes);
  });
}

bool Tensor::distinct() const {
  int order[kMaxDims];
  const int count = by_stride(*this, order);
  int64_t reach = 0;  // the largest offset that the dimensions so far reach
  for (int i = 0; i < count; i++) {
    if (strides[order[i]] <= reach) return false;
    reach += (dims[order[i]] - 1) * strides[order[i]];
  }
  return true;
}

void Tensor::pack() {
  int64_t stride = 1;
  for (int i = nd - 1; i >= 0; i--) {
    strides[i] = stride;
    stride *= dims[i];
  }
}

namespace {

constexpr int kVersion = 90300;
constexpr int kCudart = 12060;
constexpr int64_t kMaxElements = int64_t{1} << 31;
constexpr size_t kOwnBytes = 65536;

// Strides of the given format for dims n, c, spatial.
void lay_out(Tensor* tensor, int format) {
  if (format == kNchw) {
    tensor->pack();
    return;
  }
  int64_t stride = 1;
  tensor->strides[1] = stride;
  stride *= tensor->dims[1];
  for (int i = tensor->nd - 1; i >= 2; i--) {
    tensor->strides[i] = stride;
    stride *= tensor->dims[i];
  }
  tensor->strides[0] = stride;
}

int set_tensor(void* descriptor, int data_type, int nd, const int* dims, const int* strides, int format) {
  Tensor* tensor = settable<Tensor>(descriptor);
  if (tensor == nullptr || !known_data_type(data_type) || dims == nullptr) return kBadParam;
  if (nd < 4 || nd > kMaxDims) return kNotSupported;
  Tensor made;
  made.data_type = data_type;
  made.nd = nd;
  for (int i = 0; i < nd; i++) {
    if (dims[i] <= 0 || (strides != nullptr && strides[i] < 0)) return kBadParam;
    made.dims[i] = dims[i];
    if (strides != nullptr) made.strides[i] = strides[i];
  }
  if (!element_of(data_type, &made.type)) return kNotSupported;
  if (strides == nullptr) {
    if (format < kNchw || format > kNchwVectC) return kBadParam;
    if (format == kNchwVectC) return kNotSupported;  // for the vectorised integer types only
    lay_out(&made, format);
  }
  if (made.elements() > kMaxElements) return kNotSupported;
  made.set = true;
  *tensor = made;
  return kSuccess;
}

int set_filter(void* descriptor, int data_type, int format, int nd, const int* dims) {
  Filter* filter = settable<Filter>(descriptor);
  if (filter == nullptr || !known_data_type(data_type) || format < kNchw || format > kNchwVectC) return kBadParam;
  if (dims == nullptr || nd < 3) return kBadParam;
  if (nd > kMaxDims) return kNotSupported;
  Filter made;
  made.data_type = data_type;
  made.format = format;
  made.tensor.data_type = data_type;
  made.tensor.nd = nd;
  for (int i = 0; i < nd; i++) {
    if (dims[i] <= 0) return kBadParam;
    made.tensor.dims[i] = dims[i];
  }
  if (format == kNchwVectC || !element_of(data_type, &made.tensor.type)) return kNotSupported;
  lay_out(&made.tensor, format);
  made.set = made.tensor.set = true;
  *filter = made;
  return kSuccess;
}

int set_convolution(void* descriptor, int rank, const int* pad, const int* stride, const int* dilation, int mode,
                    int compute_type) {
  Convolution* convolution = settable<Convolution>(descriptor);
  if (convolution == nullptr || rank < 1 || pad == nullptr || stride == nullptr || dilation == nullptr) {
    return kBadParam;
  }
  if (rank > kMaxDims - 2) return kNotSupported;
  if (mode < 0 || mode > 1 || !known_data_type(compute_type)) return kBadParam;
  for (int i = 0; i < rank; i++) {
    if (pad[i] < 0 || stride[i] <= 0 || dilation[i] <= 0) return kBadParam;
  }
  Convolution made;
  made.set = true;
  made.rank = rank;
  std::copy(pad, pad + rank, made.pad);
  std::copy(stride, stride + rank, made.stride);
  std::copy(dilation, dilation + rank, made.dilation);
  made.mode = mode;
  made.compute_type = compute_type;
  // The group count and the math type have setters of their own, and keep what those gave them.
  made.math_type = convolution->math_type;
  made.groups = convolution->groups;
  made.reorder = convolution->reorder;
  *convolution = made;
  return kSuccess;
}

int set_pooling(void* descriptor, int mode, int nan, int rank, const int* window, const int* pad, const int* stride) {
  Pooling* pooling = settable<Pooling>(descriptor);
  if (pooling == nullptr || mode < 0 || mode > 3 || nan < 0 || nan > 1) return kBadParam;
  if (rank < 1 || window == nullptr || pad == nullptr || stride == nullptr) return kBadParam;
  if (rank > kMaxDims - 2) return kNotSupported;
  for (int i = 0; i < rank; i++) {
    if (window[i] <= 0 || pad[i] < 0 || stride[i] <= 0) return kBadParam;
  }
  Pooling made;
  made.set = true;
  made.mode = mode;
  made.nan = nan;
  made.rank = rank;
  std::copy(window, window + rank, made.window);
  std::copy(pad, pad + rank, made.pad);
  std::copy(stride, stride + rank, made.stride);
  *pooling = made;
  return kSuccess;
}

template <class To, class From>
void give(To* to, From value) {
  if (to != nullptr) *to = static_cast<To>(value);
}

template <class From>
void give_all(int* to, const From* from, int count) {
  if (to == nullptr) return;
  for (int i = 0; i < count; i++) to[i] = static_cast<int>(from[i]);
}

template <class T>
int create(const char* name, void** descriptor) {
  if (const int status = enter(name)) return status;
  if (descriptor == nullptr) return kBadParam;
  *descriptor = registry<T>().create();
  return kSuccess;
}

template <class T>
int destroy(const char* name, void* descriptor) {
  if (const int status = enter(name)) return status;
  if (descriptor == nullptr) return kSuccess;
  return registry<T>().destroy(descriptor) ? kSuccess : kBadParam;
}

}  // namespace
}  // namespace cudnn

using namespace cudnn;

extern "C" {

// ---- the library ---------------------------------------------------------------------------------------------------

size_t cudnnGetVersion() { return kVersion; }

size_t cudnnGetCudartVersion() { return kCudart; }

size_t cudnnGetMaxDeviceVersion() { return 900; }

int cudnnGetProperty(int property, int* value) {
  if (const int status = enter("cudnnGetProperty")) return status;
  if (value == nullptr || property < 0 || property > 2) return kBadParam;
  const int parts[] = {kVersion / 10000, kVersion / 100 % 100, kVersion % 100};
  *value = parts[property];
  return kSuccess;
}

const char* cudnnGetErrorString(int status) {
  switch (status) {
    case kSuccess: return "CUDNN_STATUS_SUCCESS";
    case kNotInitialized: return "CUDNN_STATUS_NOT_INITIALIZED";
    case kBadParam: return "CUDNN_STATUS_BAD_PARAM";
    case kNotSupported: return "CUDNN_STATUS_NOT_SUPPORTED";
    case kInternalError: return "CUDNN_STATUS_INTERNAL_ERROR";
    case kAllocFailed: return "CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED";
    case kDeviceAllocationFailed: return "CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED";
    case kExecutionFailed: return "CUDNN_STATUS_EXECUTION_FAILED";
    default: return "CUDNN_UNKNOWN_STATUS";
  }
}

// Errors of the emulated device are the driver's to report; cuDNN itself has none in flight.
int cudnnQueryRuntimeError(void* handle, int* status, int, void*) {
  if (const int refused = enter("cudnnQueryRuntimeError", handle)) return refused;
  if (status == nullptr) return kBadParam;
  *status = kSuccess;
  return kSuccess;
}

int cudnnGraphVersionCheck() { return enter("cudnnGraphVersionCheck"); }
int cudnnOpsVersionCheck() { return enter("cudnnOpsVersionCheck"); }
int cudnnCnnVersionCheck() { return enter("cudnnCnnVersionCheck"); }
int cudnnAdvVersionCheck() { return enter("cudnnAdvVersionCheck"); }

int cudnnCreate(void** handle) {
  if (const int status = enter("cudnnCreate")) return status;
  if (handle == nullptr) return kBadParam;
  void* context = emu_context();
  if (context == nullptr) return kNotInitialized;
  unsigned long long memory = 0;
  // As the real one, it allocates on the device: not while the thread captures, and it may fail for want of memory.
  const int result = cuMemAlloc_v2(&memory, kOwnBytes);
  if (result != 0) return result == 2 ? kDeviceAllocationFailed : kNotInitialized;
  Handle* created = registry<Handle>().create();
  created->context = context;
  created->memory = memory;
  *handle = created;
  return kSuccess;
}

int cudnnDestroy(void* handle) {
  if (const int status = enter("cudnnDestroy", handle)) return status;
  const auto memory = static_cast<Handle*>(handle)->memory;
  registry<Handle>().destroy(handle);
  return cuMemFree_v2(memory) == 0 ? kSuccess : kInternalError;
}

int cudnnSetStream(void* handle, void* stream) {
  if (const int status = enter("cudnnSetStream", handle)) return status;
  static_cast<Handle*>(handle)->stream = stream;
  return kSuccess;
}

int cudnnGetStream(void* handle, void** stream) {
  if (const int status = enter("cudnnGetStream", handle)) return status;
  if (stream == nullptr) return kBadParam;
  *stream = static_cast<Handle*>(handle)->stream;
  return kSuccess;
}

// ---- tensor and filter descriptors ---------------------------------------------------------------------------------

#define LIFE(TYPE, NAME)                                                                               \
  int cudnnCreate##NAME(void** descriptor) { return create<TYPE>("cudnnCreate" #NAME, descriptor); }   \
  int cudnnDestroy##NAME(void* descriptor) { return destroy<TYPE>("cudnnDestroy" #NAME, descriptor); }
LIFE(Tensor, TensorDescriptor)
LIFE(Filter, FilterDescriptor)
LIFE(Convolution, ConvolutionDescriptor)
LIFE(Pooling, PoolingDescriptor)
LIFE(Activation, ActivationDescriptor)
LIFE(OpTensor, OpTensorDescriptor)
LIFE(ReduceTensor, ReduceTensorDescriptor)
LIFE(Dropout, DropoutDescriptor)

int cudnnSetTensor4dDescriptor(void* descriptor, int format, int data_type, int n, int c, int h, int w) {
  if (const int status = enter("cudnnSetTensor4dDescriptor")) return status;
  const int dims[] = {n, c, h, w};
  return set_tensor(descriptor, data_type, 4, dims, nullptr, format);
}

int cudnnSetTensor4dDescriptorEx(void* descriptor, int data_type, int n, int c, int h, int w, int n_stride,
                                 int c_stride, int h_stride, int w_stride) {
  if (const int status = enter("cudnnSetTensor4dDescriptorEx")) return status;
  const int dims[] = {n, c, h, w}, strides[] = {n_stride, c_stride, h_stride, w_stride};
  return set_tensor(descriptor, data_type, 4, dims, strides, kNchw);
}

int cudnnSetTensorNdDescriptor(void* descriptor, int data_type, int nd, const int* dims, const int* strides) {
  if (const int status = enter("cudnnSetTensorNdDescriptor")) return status;
  if (strides == nullptr) return kBadParam;
  return set_tensor(descriptor, data_type, nd, dims, strides, kNchw);
}

int cudnnSetTensorNdDescriptorEx(void* descriptor, int format, int data_type, int nd, const int* dims) {
  if (const int status = enter("cudnnSetTensorNdDescriptorEx")) return status;
  return set_tensor(descriptor, data_type, nd, dims, nullptr, format);
}

int cudnnGetTensor4dDescriptor(const void* descriptor, int* data_type, int* n, int* c, int* h, int* w, int* n_stride,
                               int* c_stride, int* h_stride, int* w_stride) {
  if (const int status = enter("cudnnGetTensor4dDescriptor")) return status;
  const Tensor* tensor = described<Tensor>(descriptor);
  if (tensor == nullptr || tensor->nd != 4) return kBadParam;
  give(data_type, tensor->data_type);
  int* dims[] = {n, c, h, w};
  int* strides[] = {n_stride, c_stride, h_stride, w_stride};
  for (int i = 0; i < 4; i++) {
    give(dims[i], tensor->dims[i]);
    give(strides[i], tensor->strides[i]);
  }
  return kSuccess;
}

int cudnnGetTensorNdDescriptor(const void* descriptor, int requested, int* data_type, int* nd, int* dims,
                               int* strides) {
  if (const int status = enter("cudnnGetTensorNdDescriptor")) return status;
  const Tensor* tensor = described<Tensor>(descriptor);
  if (tensor == nullptr || requested < 0) return kBadParam;
  give(data_type, tensor->data_type);
  give(nd, tensor->nd);
  give_all(dims, tensor->dims, std::min(requested, tensor->nd));
  give_all(strides, tensor->strides, std::min(requested, tensor->nd));
  return kSuccess;
}

int cudnnGetTensorSizeInBytes(const void* descriptor, size_t* bytes) {
  if (const int status = enter("cudnnGetTensorSizeInBytes")) return status;
  const Tensor* tensor = described<Tensor>(descriptor);
  if (tensor == nullptr || bytes == nullptr) return kBadParam;
  *bytes = tensor->extent_bytes();
  return kSuccess;
}

int cudnnSetFilter4dDescriptor(void* descriptor, int data_type, int format, int k, int c, int h, int w) {
  if (const int status = enter("cudnnSetFilter4dDescriptor")) return status;
  const int dims[] = {k, c, h, w};
  return set_filter(descriptor, data_type, format, 4, dims);
}

int cudnnSetFilterNdDescriptor(void* descriptor, int data_type, int format, int nd, const int* dims) {
  if (const int status = enter("cudnnSetFilterNdDescriptor")) return status;
  return set_filter(descriptor, data_type, format, nd, dims);
}

int cudnnGetFilter4dDescriptor(const void* descriptor, int* data_type, int* format, int* k, int* c, int* h, int* w) {
  if (const int status = enter("cudnnGetFilter4dDescriptor")) return status;
  const Filter* filter = described<Filter>(descriptor);
  if (filter == nullptr || filter->tensor.nd != 4) return kBadParam;
  give(data_type, filter->data_type);
  give(format, filter->format);
  int* dims[] = {k, c, h, w};
  for (int i = 0; i < 4; i++) give(dims[i], filter->tensor.dims[i]);
  return kSuccess;
}

int cudnnGetFilterNdDescriptor(const void* descriptor, int requested, int* data_type, int* format, int* nd,
                               int* dims) {
  if (const int status = enter("cudnnGetFilterNdDescriptor")) return status;
  const Filter* filter = described<Filter>(descriptor);
  if (filter == nullptr || requested < 0) return kBadParam;
  give(data_type, filter->data_type);
  give(format, filter->format);
  give(nd, filter->tensor.nd);
  give_all(dims, filter->tensor.dims, std::min(requested, filter->tensor.nd));
  return kSuccess;
}

int cudnnGetFilterSizeInBytes(const void* descriptor, size_t* bytes) {
  if (const int status = enter("cudnnGetFilterSizeInBytes")) return status;
  const Filter* filter = described<Filter>(descriptor);
  if (filter == nullptr || bytes == nullptr) return kBadParam;
  *bytes = filter->tensor.extent_bytes();
  return kSuccess;
}

// ---- convolution descriptors ---------------------------------------------------------------------------------------

int cudnnSetConvolution2dDescriptor(void* descriptor, int pad_h, int pad_w, int stride_h, int stride_w,
                                    int dilation_h, int dilation_w, int mode, int compute_type) {
  if (const int status = enter("cudnnSetConvolution2dDescriptor")) return status;
  const int pad[] = {pad_h, pad_w}, stride[] = {stride_h, stride_w}, dilation[] = {dilation_h, dilation_w};
  return set_convolution(descriptor, 2, pad, stride, dilation, mode, compute_type);
}

int cudnnSetConvolutionNdDescriptor(void* descriptor, int rank, const int* pad, const int* stride,
                                    const int* dilation, int mode, int compute_type) {
  if (const int status = enter("cudnnSetConvolutionNdDescriptor")) return status;
  return set_convolution(descriptor, rank, pad, stride, dilation, mode, compute_type);
}

int cudnnGetConvolution2dDescriptor(const void* descriptor, int* pad_h, int* pad_w, int* stride_h, int* stride_w,
                                    int* dilation_h, int* dilation_w, int* mode, int* compute_type) {
  if (const int status = enter("cudnnGetConvolution2dDescriptor")) return status;
  const Convolution* convolution = described<Convolution>(descriptor);
  if (convolution == nullptr || convolution->rank != 2) return kBadParam;
  give(pad_h, convolution->pad[0]);
  give(pad_w, convolution->pad[1]);
  give(stride_h, convolution->stride[0]);
  give(stride_w, convolution->stride[1]);
  give(dilation_h, convolution->dilation[0]);
  give(dilation_w, convolution->dilation[1]);
  give(mode, convolution->mode);
  give(compute_type, convolution->compute_type);
  return kSuccess;
}

int cudnnGetConvolutionNdDescriptor(const void* descriptor, int requested, int* rank, int* pad, int* stride,
                                    int* dilation, int* mode, int* compute_type) {
  if (const int status = enter("cudnnGetConvolutionNdDescriptor")) return status;
  const Convolution* convolution = described<Convolution>(descriptor);
  if (convolution == nullptr || requested < 0) return kBadParam;
  const int count = std::min(requested, convolution->rank);
  give(rank, convolution->rank);
  give_all(pad, convolution->pad, count);
  give_all(stride, convolution->stride, count);
  give_all(dilation, convolution->dilation, count);
  give(mode, convolution->mode);
  give(compute_type, convolution->compute_type);
  return kSuccess;
}

int cudnnSetConvolutionMathType(void* descriptor, int math_type) {
  if (const int status = enter("cudnnSetConvolutionMathType")) return status;
  Convolution* convolution = settable<Convolution>(descriptor);
  if (convolution == nullptr || math_type < kDefaultMath || math_type > kFmaMath) return kBadParam;
  convolution->math_type = math_type;
  return kSuccess;
}

int cudnnGetConvolutionMathType(const void* descriptor, int* math_type) {
  if (const int status = enter("cudnnGetConvolutionMathType")) return status;
  if (!registry<Convolution>().contains(descriptor) || math_type == nullptr) return kBadParam;
  *math_type = static_cast<const Convolution*>(descriptor)->math_type;
  return kSuccess;
}

int cudnnSetConvolutionGroupCount(void* descriptor, int groups) {
  if (const int status = enter("cudnnSetConvolutionGroupCount")) return status;
  Convolution* convolution = settable<Convolution>(descriptor);
  if (convolution == nullptr || groups <= 0) return kBadParam;
  convolution->groups = groups;
  return kSuccess;
}

int cudnnGetConvolutionGroupCount(const void* descriptor, int* groups) {
  if (const int status = enter("cudnnGetConvolutionGroupCount")) return status;
  if (!registry<Convolution>().contains(descriptor) || groups == nullptr) return kBadParam;
  *groups = static_cast<const Convolution*>(descriptor)->groups;
  return kSuccess;
}

int cudnnSetConvolutionReorderType(void* descriptor, int reorder) {
  if (const int status = enter("cudnnSetConvolutionReorderType")) return status;
  Convolution* convolution = settable<Convolution>(descriptor);
  if (convolution == nullptr || reorder < 0 || reorder > 1) return kBadParam;
  convolution->reorder = reorder;
  return kSuccess;
}

int cudnnGetConvolutionReorderType(const void* descriptor, int* reorder) {
  if (const int status = enter("cudnnGetConvolutionReorderType")) return status;
  if (!registry<Convolution>().contains(descriptor) || reorder == nullptr) return kBadParam;
  *reorder = static_cast<const Convolution*>(descriptor)->reorder;
  return kSuccess;
}

// ---- other descriptors ---------------------------------------------------------------------------------------------

int cudnnSetPooling2dDescriptor(void* descriptor, int mode, int nan, int window_h, int window_w, int pad_h, int pad_w,
                                int stride_h, int stride_w) {
  if (const int status = enter("cudnnSetPooling2dDescriptor")) return status;
  const int window[] = {window_h, window_w}, pad[] = {pad_h, pad_w}, stride[] = {stride_h, stride_w};
  return set_pooling(descriptor, mode, nan, 2, window, pad, stride);
}

int cudnnSetPoolingNdDescriptor(void* descriptor, int mode, int nan, int rank, const int* window, const int* pad,
                                const int* stride) {
  if (const int status = enter("cudnnSetPoolingNdDescriptor")) return status;
  return set_pooling(descriptor, mode, nan, rank, window, pad, stride);
}

int cudnnGetPooling2dDescriptor(const void* descriptor, int* mode, int* nan, int* window_h, int* window_w, int* pad_h,
                                int* pad_w, int* stride_h, int* stride_w) {
  if (const int status = enter("cudnnGetPooling2dDescriptor")) return status;
  const Pooling* pooling = described<Pooling>(descriptor);
  if (pooling == nullptr || pooling->rank != 2) return kBadParam;
  give(mode, pooling->mode);
  give(nan, pooling->nan);
  give(window_h, pooling->window[0]);
  give(window_w, pooling->window[1]);
  give(pad_h, pooling->pad[0]);
  give(pad_w, pooling->pad[1]);
  give(stride_h, pooling->stride[0]);
  give(stride_w, pooling->stride[1]);
  return kSuccess;
}

int cudnnGetPoolingNdDescriptor(const void* descriptor, int requested, int* mode, int* nan, int* rank, int* window,
                                int* pad, int* stride) {
  if (const int status = enter("cudnnGetPoolingNdDescriptor")) return status;
  const Pooling* pooling = described<Pooling>(descriptor);
  if (pooling == nullptr || requested < 0) return kBadParam;
  const int count = std::min(requested, pooling->rank);
  give(mode, pooling->mode);
  give(nan, pooling->nan);
  give(rank, pooling->rank);
  give_all(window, pooling->window, count);
  give_all(pad, pooling->pad, count);
  give_all(stride, pooling->stride, count);
  return kSuccess;
}

int cudnnSetActivationDescriptor(void* descriptor, int mode, int nan, double coefficient) {
  if (const int status = enter("cudnnSetActivationDescriptor")) return status;
  Activation* activation = settable<Activation>(descriptor);
  if (activation == nullptr || mode < 0 || mode > 6 || nan < 0 || nan > 1) return kBadParam;
  activation->set = true;
  activation->mode = mode;
  activation->nan = nan;
  activation->coefficient = coefficient;
  return kSuccess;
}

int cudnnGetActivationDescriptor(const void* descriptor, int* mode, int* nan, double* coefficient) {
  if (const int status = enter("cudnnGetActivationDescriptor")) return status;
  const Activation* activation = described<Activation>(descriptor);
  if (activation == nullptr) return kBadParam;
  give(mode, activation->mode);
  give(nan, activation->nan);
  give(coefficient, activation->coefficient);
  return kSuccess;
}

int cudnnSetActivationDescriptorSwishBeta(void* descriptor, double beta) {
  if (const int status = enter("cudnnSetActivationDescriptorSwishBeta")) return status;
  Activation* activation = settable<Activation>(descriptor);
  if (activation == nullptr) return kBadParam;
  activation->swish_beta = beta;
  return kSuccess;
}

int cudnnGetActivationDescriptorSwishBeta(const void* descriptor, double* beta) {
  if (const int status = enter("cudnnGetActivationDescriptorSwishBeta")) return status;
  if (!registry<Activation>().contains(descriptor) || beta == nullptr) return kBadParam;
  *beta = static_cast<const Activation*>(descriptor)->swish_beta;
  return kSuccess;
}

int cudnnSetOpTensorDescriptor(void* descriptor, int op, int compute_type, int nan) {
  if (const int status = enter("cudnnSetOpTensorDescriptor")) return status;
  OpTensor* made = settable<OpTensor>(descriptor);
  if (made == nullptr || op < 0 || op > 5 || !known_data_type(compute_type) || nan < 0 || nan > 1) return kBadParam;
  *made = OpTensor{true, op, compute_type, nan};
  return kSuccess;
}

int cudnnGetOpTensorDescriptor(const void* descriptor, int* op, int* compute_type, int* nan) {
  if (const int status = enter("cudnnGetOpTensorDescriptor")) return status;
  const OpTensor* made = described<OpTensor>(descriptor);
  if (made == nullptr) return kBadParam;
  give(op, made->op);
  give(compute_type, made->compute_type);
  give(nan, made->nan);
  return kSuccess;
}

int cudnnSetReduceTensorDescriptor(void* descriptor, int op, int compute_type, int nan, int indices,
                                   int indices_type) {
  if (const int status = enter("cudnnSetReduceTensorDescriptor")) return status;
  ReduceTensor* made = settable<ReduceTensor>(descriptor);
  if (made == nullptr || op < 0 || op > 8 || !known_data_type(compute_type) || nan < 0 || nan > 1 || indices < 0 ||
      indices > 1 || indices_type < 0 || indices_type > 3) {
    return kBadParam;
  }
  *made = ReduceTensor{true, op, compute_type, nan, indices, indices_type};
  return kSuccess;
}

int cudnnGetReduceTensorDescriptor(const void* descriptor, int* op, int* compute_type, int* nan, int* indices,
                                   int* indices_type) {
  if (const int status = enter("cudnnGetReduceTensorDescriptor")) return status;
  const ReduceTensor* made = described<ReduceTensor>(descriptor);
  if (made == nullptr) return kBadParam;
  give(op, made->op);
  give(compute_type, made->compute_type);
  give(nan, made->nan);
  give(indices, made->indices);
  give(indices_type, made->indices_type);
  return kSuccess;
}

}  // extern "C"
