// The emulated NVRTC: checks that a source compiles, and gives a token that carries the source.
#include "emulator.h"

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#define EXPORT extern "C" __attribute__((visibility("default")))

extern "C" const char* emu_compile(const char* token, char* log, size_t log_size);

namespace {
enum {
  SUCCESS = 0,
  INVALID_INPUT = 3,
  INVALID_PROGRAM = 4,
  INVALID_OPTION = 5,
  COMPILATION = 6
};

struct Program {
  std::string source;
  std::string name;
  std::string log;
  std::string ptx;
};
}  // namespace

#define ENTER(NAME) \
  if (int injected = emu_call(NAME)) return injected

EXPORT const char* nvrtcGetErrorString(int code) {
  switch (code) {
    case SUCCESS: return "NVRTC_SUCCESS";
    case INVALID_INPUT: return "NVRTC_ERROR_INVALID_INPUT";
    case INVALID_PROGRAM: return "NVRTC_ERROR_INVALID_PROGRAM";
    case INVALID_OPTION: return "NVRTC_ERROR_INVALID_OPTION";
    case COMPILATION: return "NVRTC_ERROR_COMPILATION";
    default: return "NVRTC_ERROR";
  }
}
EXPORT int nvrtcVersion(int* major, int* minor) {
  ENTER("nvrtcVersion");
  *major = 12;
  *minor = 6;
  return SUCCESS;
}
namespace { const int ARCHITECTURES[] = {50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90}; }
EXPORT int nvrtcGetNumSupportedArchs(int* count) {
  ENTER("nvrtcGetNumSupportedArchs");
  *count = (int)(sizeof ARCHITECTURES / sizeof *ARCHITECTURES);
  return SUCCESS;
}
EXPORT int nvrtcGetSupportedArchs(int* all) {
  ENTER("nvrtcGetSupportedArchs");
  std::memcpy(all, ARCHITECTURES, sizeof ARCHITECTURES);
  return SUCCESS;
}
EXPORT int nvrtcCreateProgram(void** out, const char* source, const char* name, int headers,
                              const char* const*, const char* const*) {
  ENTER("nvrtcCreateProgram");
  if (!source || headers != 0) return INVALID_INPUT;
  *out = new Program{source, name ? name : "default_program", "", ""};
  emu_open("program");
  return SUCCESS;
}
EXPORT int nvrtcDestroyProgram(void** program) {
  ENTER("nvrtcDestroyProgram");
  if (!program || !*program) return INVALID_PROGRAM;
  delete (Program*)*program;
  *program = nullptr;
  emu_close("program");
  return SUCCESS;
}
EXPORT int nvrtcCompileProgram(void* handle, int count, const char* const* options) {
  ENTER("nvrtcCompileProgram");
  Program* program = (Program*)handle;
  if (!program) return INVALID_PROGRAM;
  std::string architecture = "52";
  for (int i = 0; i < count; i++) {
    std::string option = options[i];
    if (option.rfind("--gpu-architecture=compute_", 0) == 0) {
      architecture = option.substr(27);
    } else if (option != "--std=c++17" && option != "--fmad=true" && option != "--fmad=false") {
      program->log = "unknown option " + option;
      return INVALID_OPTION;
    }
  }
  std::string token = "// Made by an emulator of CUDA; runs on no GPU.\n.version 8.0\n.target sm_" +
                      architecture + "\n// SOURCE\n#line 1 \"" + program->name + "\"\n" +
                      program->source;
  std::vector<char> log(1 << 16);
  if (!emu_compile(token.c_str(), log.data(), log.size())) {
    program->log = log.data();
    return COMPILATION;
  }
  program->log = log.data();
  program->ptx = token;
  return SUCCESS;
}
EXPORT int nvrtcGetPTXSize(void* handle, size_t* size) {
  ENTER("nvrtcGetPTXSize");
  if (!handle) return INVALID_PROGRAM;
  *size = ((Program*)handle)->ptx.size() + 1;
  return SUCCESS;
}
EXPORT int nvrtcGetPTX(void* handle, char* ptx) {
  ENTER("nvrtcGetPTX");
  if (!handle) return INVALID_PROGRAM;
  std::strcpy(ptx, ((Program*)handle)->ptx.c_str());
  return SUCCESS;
}
EXPORT int nvrtcGetProgramLogSize(void* handle, size_t* size) {
  ENTER("nvrtcGetProgramLogSize");
  if (!handle) return INVALID_PROGRAM;
  *size = ((Program*)handle)->log.size() + 1;
  return SUCCESS;
}
EXPORT int nvrtcGetProgramLog(void* handle, char* log) {
  ENTER("nvrtcGetProgramLog");
  if (!handle) return INVALID_PROGRAM;
  std::strcpy(log, ((Program*)handle)->log.c_str());
  return SUCCESS;
}
