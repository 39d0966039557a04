// One weak function for every name that the JCuda natives import from a library, so that each of them resolves. Where
// the library's own source defines the function, that definition wins; every other call is noted by name, and refused.
//
// Compiled once a library, with SYMBOLS (the list of names) and NOT_SUPPORTED (the library's status) given.

#include "emulator.h"

#define STUB(NAME)                                   \
  extern "C" __attribute__((weak)) int NAME() {      \
    emu_unknown(#NAME);                              \
    return NOT_SUPPORTED;                            \
  }

#include SYMBOLS
