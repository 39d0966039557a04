// What the emulated driver offers to the other emulated libraries. An emulator of CUDA for tests on
// machines without a GPU; it shows what a program does, never how fast a GPU would do it.
#pragma once
#include <cstddef>
#include <functional>

// Enqueues host work on a stream (a CUstream; null for the legacy default stream). While the stream
// is capturing, the work becomes a kernel node of the graph. `body` must own its arguments. Returns
// a CUresult.
int emu_enqueue(void* stream, const char* name, std::function<void()> body);

// Whether [address, address + bytes) lies within one live allocation; if not, the context is
// poisoned with CUDA_ERROR_ILLEGAL_ADDRESS. For use in enqueued bodies and before enqueueing.
bool emu_check_range(const void* address, size_t bytes, const char* what);

// Whether the stream is capturing.
bool emu_capturing(void* stream);

// Whether this thread has a capture that forbids unsafe calls; such a call invalidates it.
bool emu_unsafe_call(const char* function);

// Counts a call. Returns a status to be returned at once if a fault was asked for, else 0.
int emu_call(const char* function);

// The calling thread's current context, or null. Not counted as a call.
void* emu_context();

// Waits for the stream. Returns a CUresult.
int emu_synchronize(void* stream);

// Counts open handles of a kind, for the leak check.
void emu_open(const char* kind);
void emu_close(const char* kind);

// A call that the emulator does not know: recorded, and printed.
int emu_unknown(const char* function, int status);
