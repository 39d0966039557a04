#include "library.h"

namespace library {

namespace {

void run(void* state) { (*static_cast<Work*>(state))(); }

void drop(void* state) { delete static_cast<Work*>(state); }

}  // namespace

int enqueue(void* stream, const char* name, Work work) {
  return emu_enqueue(stream, name, run, drop, new Work(std::move(work)));
}

bool readable(const void* pointer, size_t bytes) { return emu_check_range(pointer, bytes, 0) == 0; }

bool writable(void* pointer, size_t bytes) { return emu_check_range(pointer, bytes, 1) == 0; }

}  // namespace library
