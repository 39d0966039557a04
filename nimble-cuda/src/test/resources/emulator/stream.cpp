// The emulated driver: streams, events and stream capture.
#include "driver.h"

#include <algorithm>
#include <sstream>

namespace emu {
namespace {
bool is_legacy(Stream* stream) { return stream == &stream->context->legacy; }
}  // namespace

// A stream by its handle; null and 1 are the legacy default stream of the current context.
Stream* stream_of(void* handle) {
  if ((uintptr_t)handle < 2) {
    Context* context = context_now();
    return context ? &context->legacy : nullptr;
  }
  if ((uintptr_t)handle == 2) {
    not_emulated("CU_STREAM_PER_THREAD", NOT_SUPPORTED);
    return nullptr;
  }
  return as<Stream>(handle);
}

// What new work of a stream must wait for: its own past, and by the legacy rules that of others.
std::vector<WorkRef> before(Stream* stream) {
  std::vector<WorkRef> all;
  add(all, stream->tail);
  if (is_legacy(stream)) {
    for (Stream* other : stream->context->streams) {
      if (other->blocking) add(all, other->tail);
    }
    add(all, stream->context->orphans);
  } else if (stream->blocking) {
    add(all, stream->context->legacy.tail);
  }
  return all;
}

void invalidate(Capture* capture) { capture->invalid = true; }

// Whether this thread may make a call that is unsafe while a capture goes on. CUDA driver API,
// cuThreadExchangeStreamCaptureMode: the thread's mode says whose captures count.
int unsafe() {
  if (thread_mode == MODE_RELAXED) return SUCCESS;
  bool forbidden = false;
  for (auto& entry : captures) {
    Capture* capture = entry.first.get();
    bool own = capture->thread == std::this_thread::get_id();
    bool counts = own ? capture->mode != MODE_RELAXED
                      : capture->mode == MODE_GLOBAL && thread_mode == MODE_GLOBAL;
    if (counts) {
      invalidate(capture);
      forbidden = true;
    }
  }
  return forbidden ? CAPTURE_UNSUPPORTED : SUCCESS;
}

// The legacy stream waits for every blocking stream, so it may not be used while one captures.
int implicit(Stream* stream) {
  if (!is_legacy(stream)) return SUCCESS;
  bool met = false;
  for (Stream* other : stream->context->streams) {
    if (other->blocking && other->capture) {
      invalidate(other->capture.get());
      met = true;
    }
  }
  return met ? CAPTURE_IMPLICIT : SUCCESS;
}

namespace {
// The stream's next node depends on the set of nodes that it holds: its own last node, and those of
// each event that it waited for since. No edge is left out for being implied by others.
void add_node(Stream* stream, NodeKind kind, const std::string& name, std::function<void()> run,
              std::shared_ptr<Launch> launch) {
  Graph* graph = stream->capture->graph.get();
  GraphNode node;
  node.kind = kind;
  node.name = name;
  node.run = std::move(run);
  node.dependencies.assign(stream->captured.begin(), stream->captured.end());
  node.index = graph->nodes.size();
  node.launch = std::move(launch);
  stream->captured = {node.index};
  graph->nodes.push_back(std::move(node));
}

void leave(Capture* capture) {
  capture->ended = true;
  for (Stream* stream : capture->streams) {
    stream->capture = nullptr;
    stream->captured.clear();
  }
  capture->streams.clear();
}

}  // namespace

// A stream that dies with its context leaves its capture, or ends the one that began on it.
void drop_from_capture(Stream* stream) {
  std::shared_ptr<Capture> capture = stream->capture;
  if (!capture) return;
  invalidate(capture.get());
  capture->streams.erase(stream);
  stream->capture = nullptr;
  if (capture->origin == stream) {
    captures.erase(capture);
    leave(capture.get());
  }
}

namespace {
// A stream of a capture may be neither waited for nor asked.
int refuse_captured(Stream* stream) {
  if (!stream->capture) return SUCCESS;
  invalidate(stream->capture.get());
  return CAPTURE_UNSUPPORTED;
}

// The last record of an event was part of a capture, so that there is nothing to wait for.
int refuse_captured(Event* event) {
  if (!event->capture) return SUCCESS;
  if (!event->capture->ended) invalidate(event->capture.get());
  return CAPTURED_EVENT;
}
}  // namespace

std::function<void()> in_context(Context* context, NodeKind kind, std::function<void()> run) {
  bool host = kind == HOST;                              // runs even if the kernels are empty
  return [context, host, run] {
    {
      Guard guard(lock);
      if (context->error || !context->context) return;   // nothing runs any more
      if (empty_kernels && !host) return;
    }
    executing = context;
    run();
    executing = nullptr;
  };
}

int enqueue(Stream* stream, NodeKind kind, const std::string& name, std::function<void()> run,
            std::shared_ptr<Launch> launch) {
  std::function<void()> body = in_context(stream->context, kind, std::move(run));
  if (stream->capture) {
    if (stream->capture->invalid) return CAPTURE_INVALIDATED;
    add_node(stream, kind, name, std::move(body), std::move(launch));
    return SUCCESS;
  }
  if (int status = implicit(stream)) return status;
  stream->tail = {submit(before(stream), std::move(body))};
  return SUCCESS;
}
}  // namespace emu

using namespace emu;

EXPORT int cuStreamCreateWithPriority(void** out, unsigned int flags, int priority) {
  ENTER("cuStreamCreateWithPriority");
  CONTEXT;
  if (flags > 1) return INVALID_VALUE;
  Stream* stream = new Stream();
  stream->context = context;
  stream->blocking = !(flags & 1);
  stream->priority = std::max(-5, std::min(0, priority));
  context->streams.insert(stream);
  *out = opened(stream);
  return SUCCESS;
}
EXPORT int cuStreamCreate(void** out, unsigned int flags) {
  ENTER("cuStreamCreate");
  CONTEXT;
  if (flags > 1) return INVALID_VALUE;
  Stream* stream = new Stream();
  stream->context = context;
  stream->blocking = !(flags & 1);
  stream->priority = 0;
  context->streams.insert(stream);
  *out = opened(stream);
  return SUCCESS;
}
EXPORT int cuStreamGetPriority(void* handle, int* priority) {
  ENTER("cuStreamGetPriority");
  STREAM(handle);
  *priority = stream->priority;
  return SUCCESS;
}
EXPORT int cuStreamGetFlags(void* handle, unsigned int* flags) {
  ENTER("cuStreamGetFlags");
  STREAM(handle);
  *flags = stream->blocking ? 0 : 1;
  return SUCCESS;
}
EXPORT int cuStreamGetCtx(void* handle, void** out) {
  ENTER("cuStreamGetCtx");
  STREAM(handle);
  *out = stream->context;
  return SUCCESS;
}
// The stream's work goes on; only the handle dies.
EXPORT int cuStreamDestroy_v2(void* handle) {
  ENTER("cuStreamDestroy");
  Stream* stream = as<Stream>(handle);
  if (!stream) return INVALID_HANDLE;
  if (int status = refuse_captured(stream)) return status;
  Context* context = stream->context;
  add(context->orphans, stream->tail);
  context->streams.erase(stream);
  closed(stream);
  return context->error;
}
EXPORT int cuStreamSynchronize(void* handle) {
  ENTER("cuStreamSynchronize");
  STREAM(handle);
  if (int status = refuse_captured(stream)) return status;
  if (int status = implicit(stream)) return status;
  if (int status = unsafe()) return status;
  Context* context = stream->context;
  wait_for(guard, before(stream), context);
  check_canaries(context);
  return context->error;
}
EXPORT int cuStreamQuery(void* handle) {
  ENTER("cuStreamQuery");
  STREAM(handle);
  if (int status = refuse_captured(stream)) return status;
  if (int status = implicit(stream)) return status;
  if (int status = unsafe()) return status;
  for (const WorkRef& work : before(stream)) {
    if (!work->done) return NOT_READY;
  }
  return SUCCESS;
}
EXPORT int cuStreamWaitEvent(void* handle, void* event_handle, unsigned int flags) {
  ENTER("cuStreamWaitEvent");
  STREAM(handle);
  Event* event = as<Event>(event_handle);
  if (!event) return INVALID_HANDLE;
  if (flags) return not_emulated("cuStreamWaitEvent of an external event", NOT_SUPPORTED);
  if (stream->capture && stream->capture->invalid) return CAPTURE_INVALIDATED;
  Capture* other = event->capture.get();
  if (other && !other->ended) {
    if (other->invalid) return CAPTURE_INVALIDATED;
    if (is_legacy(stream)) {                             // it cannot join a capture
      invalidate(other);
      return CAPTURE_IMPLICIT;
    }
    if (!stream->capture) {                              // a fork: it joins
      stream->capture = event->capture;
      stream->captured = event->captured;
      other->streams.insert(stream);
      return SUCCESS;
    }
    if (stream->capture != event->capture) {
      invalidate(stream->capture.get());
      invalidate(other);
      return CAPTURE_MERGE;
    }
    stream->captured.insert(event->captured.begin(), event->captured.end());
    return SUCCESS;
  }
  if (stream->capture) {
    if (!other && !event->recorded) return SUCCESS;      // never recorded: nothing to wait for
    invalidate(stream->capture.get());                   // work that is not of the capture
    return CAPTURE_ISOLATION;
  }
  if (other) return CAPTURED_EVENT;
  if (int status = implicit(stream)) return status;
  if (event->recorded) add(stream->tail, event->works);
  return SUCCESS;
}

// Host work in stream order.
EXPORT int cuLaunchHostFunc(void* handle, void (*function)(void*), void* data) {
  ENTER("cuLaunchHostFunc");
  STREAM(handle);
  if (!function) return INVALID_VALUE;
  return enqueue(stream, HOST, "host", [function, data] { function(data); });
}
EXPORT int cuStreamAddCallback(void* handle, void (*callback)(void*, int, void*), void* data,
                               unsigned int flags) {
  ENTER("cuStreamAddCallback");
  STREAM(handle);
  if (!callback || flags) return INVALID_VALUE;
  if (int status = refuse_captured(stream)) return status;
  return enqueue(stream, HOST, "callback", [=] { callback(handle, SUCCESS, data); });
}

// Events.
EXPORT int cuEventCreate(void** out, unsigned int flags) {
  ENTER("cuEventCreate");
  CONTEXT;
  if (flags > 7) return INVALID_VALUE;
  Event* event = new Event();
  event->context = context;
  event->timed = !(flags & 2);
  *out = opened(event);
  return SUCCESS;
}
EXPORT int cuEventDestroy_v2(void* handle) {
  ENTER("cuEventDestroy");
  Event* event = as<Event>(handle);
  if (!event) return INVALID_HANDLE;
  int error = event->context->error;
  closed(event);
  return error;
}
namespace {
int record(void* handle, void* stream_handle) {
  STREAM(stream_handle);
  Event* event = as<Event>(handle);
  if (!event || event->context != stream->context) return INVALID_HANDLE;
  if (stream->capture) {
    if (stream->capture->invalid) return CAPTURE_INVALIDATED;
    event->capture = stream->capture;
    event->captured = stream->captured;
    event->recorded = false;
    return SUCCESS;
  }
  if (int status = implicit(stream)) return status;
  event->capture = nullptr;
  event->recorded = true;
  event->works = before(stream);
  if (event->timed) {
    auto time = std::make_shared<std::chrono::steady_clock::time_point>();
    event->time = time;
    WorkRef work = submit(event->works, [time] { *time = std::chrono::steady_clock::now(); });
    stream->tail = {work};
    event->works = {work};
  }
  return SUCCESS;
}
}  // namespace
EXPORT int cuEventRecord(void* handle, void* stream) {
  ENTER("cuEventRecord");
  return record(handle, stream);
}
EXPORT int cuEventRecordWithFlags(void* handle, void* stream, unsigned int flags) {
  ENTER("cuEventRecordWithFlags");
  if (flags) return not_emulated("cuEventRecordWithFlags, external", NOT_SUPPORTED);
  return record(handle, stream);
}
EXPORT int cuEventQuery(void* handle) {
  ENTER("cuEventQuery");
  Event* event = as<Event>(handle);
  if (!event) return INVALID_HANDLE;
  if (int status = refuse_captured(event)) return status;
  if (int status = unsafe()) return status;
  if (event->context->error) return event->context->error;
  for (const WorkRef& work : event->works) {
    if (!work->done) return NOT_READY;
  }
  return SUCCESS;
}
EXPORT int cuEventSynchronize(void* handle) {
  ENTER("cuEventSynchronize");
  Event* event = as<Event>(handle);
  if (!event) return INVALID_HANDLE;
  if (int status = refuse_captured(event)) return status;
  if (int status = unsafe()) return status;
  std::vector<WorkRef> works = event->works;
  Context* context = event->context;
  wait_for(guard, works, context);
  check_canaries(context);
  return context->error;
}
EXPORT int cuEventElapsedTime(float* millis, void* from, void* to) {
  ENTER("cuEventElapsedTime");
  Event* events[] = {as<Event>(from), as<Event>(to)};
  for (Event* event : events) {
    if (!event) return INVALID_HANDLE;
    if (int status = refuse_captured(event)) return status;
    if (!event->timed || !event->recorded) return INVALID_HANDLE;
    if (event->context->error) return event->context->error;
    for (const WorkRef& work : event->works) {
      if (!work->done) return NOT_READY;
    }
  }
  *millis =
      std::chrono::duration<float, std::milli>(*events[1]->time - *events[0]->time).count();
  return SUCCESS;
}

// Capture.
EXPORT int cuStreamBeginCapture_v2(void* handle, int mode) {
  ENTER("cuStreamBeginCapture");
  STREAM(handle);
  if (mode < MODE_GLOBAL || mode > MODE_RELAXED) return INVALID_VALUE;
  if (is_legacy(stream)) return CAPTURE_UNSUPPORTED;
  if (stream->capture) return ILLEGAL_STATE;
  auto capture = std::make_shared<Capture>();
  capture->origin = stream;
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->graph.reset(new Graph());
  capture->streams = {stream};
  stream->capture = capture;
  stream->captured.clear();
  captures[capture] = 1;
  return SUCCESS;
}
EXPORT int cuStreamIsCapturing(void* handle, int* status) {
  ENTER("cuStreamIsCapturing");
  STREAM(handle);
  if (int met = implicit(stream)) return met;
  *status = !stream->capture ? 0 : stream->capture->invalid ? 2 : 1;
  return SUCCESS;
}
EXPORT int cuThreadExchangeStreamCaptureMode(int* mode) {
  ENTER("cuThreadExchangeStreamCaptureMode");
  if (*mode < MODE_GLOBAL || *mode > MODE_RELAXED) return INVALID_VALUE;
  std::swap(thread_mode, *mode);
  return SUCCESS;
}
EXPORT int cuStreamEndCapture(void* handle, void** out) {
  ENTER("cuStreamEndCapture");
  *out = nullptr;
  STREAM(handle);
  std::shared_ptr<Capture> capture = stream->capture;
  if (!capture) return ILLEGAL_STATE;
  if (capture->origin != stream) {
    invalidate(capture.get());
    return CAPTURE_UNMATCHED;
  }
  if (capture->mode != MODE_RELAXED && capture->thread != std::this_thread::get_id()) {
    return CAPTURE_WRONG_THREAD;
  }
  // Every node must be an ancestor of what the origin stream ended with.
  std::vector<char> reached(capture->graph->nodes.size(), 0);
  std::vector<size_t> left(stream->captured.begin(), stream->captured.end());
  while (!left.empty()) {
    size_t node = left.back();
    left.pop_back();
    if (reached[node]) continue;
    reached[node] = 1;
    for (size_t d : capture->graph->nodes[node].dependencies) left.push_back(d);
  }
  bool joined = std::all_of(reached.begin(), reached.end(), [](char r) { return r != 0; });
  captures.erase(capture);
  leave(capture.get());
  if (capture->invalid) return CAPTURE_INVALIDATED;
  if (!joined) return CAPTURE_UNJOINED;
  *out = opened(capture->graph.release());
  return SUCCESS;
}
