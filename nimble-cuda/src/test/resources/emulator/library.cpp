// The door from the emulated libraries to the emulated driver.
#include "library.h"

namespace library {

int enqueue(void* context, void* stream, const char* name, Work work) {
  constexpr int kInvalidContext = 201;
  if (context != emu_context()) return kInvalidContext;
  return emu_enqueue(stream, name, std::move(work));
}

bool readable(const void* pointer, size_t bytes) { return emu_check_range(pointer, bytes, "a library's read"); }

bool writable(void* pointer, size_t bytes) { return emu_check_range(pointer, bytes, "a library's write"); }

int fault(const char* function) {
  std::string name = function;
  const size_t suffix = name.find("_v2");
  // The documented name: cublasSgemm_v2 is what the header calls cublasSgemm. cuDNN keeps its suffixes.
  if (name.compare(0, 6, "cublas") == 0 && suffix != std::string::npos) name.erase(suffix, 3);
  return emu_call(name.c_str());
}

}  // namespace library
