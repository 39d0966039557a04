// The emulated NVRTC: checks that a source compiles, and gives a token that carries the source. So a
// token that was kept on disk can be loaded by any later process.
#include "emulator.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#define EXPORT extern "C" __attribute__((visibility("default")))

extern "C" const char* emu_compile(const char* token, char* log, size_t log_size);
extern "C" void emu_lowered_name(const char* expression, char* out, size_t size);

namespace {
// nvrtcResult.
enum {
  SUCCESS = 0,
  OUT_OF_MEMORY = 1,
  PROGRAM_CREATION_FAILURE = 2,
  INVALID_INPUT = 3,
  INVALID_PROGRAM = 4,
  INVALID_OPTION = 5,
  COMPILATION = 6,
  BUILTIN_OPERATION_FAILURE = 7,
  NO_NAME_EXPRESSIONS_AFTER_COMPILATION = 8,
  NO_LOWERED_NAMES_BEFORE_COMPILATION = 9,
  NAME_EXPRESSION_NOT_VALID = 10,
  INTERNAL_ERROR = 11
};

const int ARCHITECTURES[] = {50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90};

struct Program {
  std::string source;
  std::string name;
  std::string log;
  std::string code;
  bool compiled = false;
  bool binary = false;                 // for a real architecture: CUBIN beside PTX
  std::vector<std::string> expressions;
  std::map<std::string, std::string> lowered;
};

std::mutex& lock = *new std::mutex();
std::set<void*>& live = *new std::set<void*>();

Program* program_of(void* handle) {
  std::lock_guard<std::mutex> guard(lock);
  return live.count(handle) ? (Program*)handle : nullptr;
}

// What compiler options ask for.
struct Options {
  std::string architecture = "52";
  std::string defines;
  bool include = false;
  bool binary = false;
};

std::string value_of(const std::string& option, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (option.rfind(name, 0) == 0) return option.substr(std::strlen(name));
  }
  return "";
}

bool understand(const std::string& option, Options& out) {
  static const std::set<std::string> harmless = {
      "--std=c++17", "-std=c++17", "--fmad=true", "--fmad=false", "-fmad=true", "-fmad=false",
      "--use_fast_math", "-use_fast_math", "--generate-line-info", "-lineinfo",
      "--device-as-default-execution-space", "-default-device"};
  if (harmless.count(option)) return true;
  std::string architecture =
      value_of(option, {"--gpu-architecture=", "-arch=", "--gpu-architecture ", "-arch "});
  if (!architecture.empty()) {
    out.binary = architecture.rfind("sm_", 0) == 0;
    if (!out.binary && architecture.rfind("compute_", 0) != 0) return false;
    out.architecture = architecture.substr(out.binary ? 3 : 8);
    return std::any_of(std::begin(ARCHITECTURES), std::end(ARCHITECTURES),
                       [&](int a) { return std::to_string(a) == out.architecture; });
  }
  std::string macro = value_of(option, {"--define-macro=", "-D"});
  if (!macro.empty()) {
    size_t equals = macro.find('=');
    out.defines += "#define " + macro.substr(0, equals) + " " +
                   (equals == std::string::npos ? "1" : macro.substr(equals + 1)) + "\n";
    return true;
  }
  if (!value_of(option, {"--include-path=", "-I"}).empty()) {
    out.include = true;
    return true;
  }
  return false;
}
}  // namespace

#define ENTER(NAME) \
  if (int injected = emu_call(NAME)) return injected
#define PROGRAM(NAME)                       \
  ENTER(NAME);                              \
  Program* program = program_of(handle);    \
  if (!program) return INVALID_PROGRAM

EXPORT const char* nvrtcGetErrorString(int code) {
  static const char* names[] = {"NVRTC_SUCCESS",
                                "NVRTC_ERROR_OUT_OF_MEMORY",
                                "NVRTC_ERROR_PROGRAM_CREATION_FAILURE",
                                "NVRTC_ERROR_INVALID_INPUT",
                                "NVRTC_ERROR_INVALID_PROGRAM",
                                "NVRTC_ERROR_INVALID_OPTION",
                                "NVRTC_ERROR_COMPILATION",
                                "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE",
                                "NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION",
                                "NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION",
                                "NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID",
                                "NVRTC_ERROR_INTERNAL_ERROR"};
  return code >= SUCCESS && code <= INTERNAL_ERROR ? names[code] : "NVRTC_ERROR unknown";
}
EXPORT int nvrtcVersion(int* major, int* minor) {
  ENTER("nvrtcVersion");
  *major = 12;
  *minor = 6;
  return SUCCESS;
}
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
  if (!source || headers < 0) return INVALID_INPUT;
  if (headers > 0) return emu_unknown("nvrtcCreateProgram with headers", INVALID_INPUT);
  Program* program = new Program();
  program->source = source;
  program->name = name ? name : "default_program";
  {
    std::lock_guard<std::mutex> guard(lock);
    live.insert(program);
  }
  *out = program;
  emu_open("program");
  return SUCCESS;
}
EXPORT int nvrtcDestroyProgram(void** handle) {
  ENTER("nvrtcDestroyProgram");
  if (!handle) return INVALID_PROGRAM;
  {
    std::lock_guard<std::mutex> guard(lock);
    if (!live.erase(*handle)) return INVALID_PROGRAM;
  }
  delete (Program*)*handle;
  *handle = nullptr;
  emu_close("program");
  return SUCCESS;
}
EXPORT int nvrtcAddNameExpression(void* handle, const char* expression) {
  PROGRAM("nvrtcAddNameExpression");
  if (program->compiled) return NO_NAME_EXPRESSIONS_AFTER_COMPILATION;
  if (!expression || !*expression || std::strchr(expression, '\n')) return INVALID_INPUT;
  program->expressions.push_back(expression);
  return SUCCESS;
}
EXPORT int nvrtcCompileProgram(void* handle, int count, const char* const* options) {
  PROGRAM("nvrtcCompileProgram");
  Options asked;
  for (int i = 0; i < count; i++) {
    if (!understand(options[i], asked)) {
      program->log = std::string("nvrtc: error: invalid option: ") + options[i];
      return INVALID_OPTION;
    }
  }
  std::string token =
      "// Made by an emulator of CUDA; runs on no GPU.\n.version 8.5\n.target sm_" +
      asked.architecture + "\n.address_size 64\n";
  for (const std::string& expression : program->expressions) token += "// NAME " + expression + "\n";
  if (asked.include) token += "// INCLUDE\n";
  token += "// SOURCE\n" + asked.defines + "#line 1 \"" + program->name + "\"\n" + program->source;
  std::vector<char> log(1 << 16);
  bool made = emu_compile(token.c_str(), log.data(), log.size()) != nullptr;
  program->log = log.data();
  program->compiled = true;
  if (!made) return COMPILATION;
  program->code = token;
  program->binary = asked.binary;
  for (const std::string& expression : program->expressions) {
    char lowered[512];
    emu_lowered_name(expression.c_str(), lowered, sizeof lowered);
    program->lowered[expression] = lowered;
  }
  return SUCCESS;
}
EXPORT int nvrtcGetLoweredName(void* handle, const char* expression, const char** name) {
  PROGRAM("nvrtcGetLoweredName");
  if (!program->compiled) return NO_LOWERED_NAMES_BEFORE_COMPILATION;
  auto found = program->lowered.find(expression);
  if (found == program->lowered.end()) return NAME_EXPRESSION_NOT_VALID;
  *name = found->second.c_str();
  return SUCCESS;
}
EXPORT int nvrtcGetPTXSize(void* handle, size_t* size) {
  PROGRAM("nvrtcGetPTXSize");
  if (program->code.empty()) return INVALID_PROGRAM;
  *size = program->code.size() + 1;
  return SUCCESS;
}
EXPORT int nvrtcGetPTX(void* handle, char* ptx) {
  PROGRAM("nvrtcGetPTX");
  if (program->code.empty()) return INVALID_PROGRAM;
  std::strcpy(ptx, program->code.c_str());
  return SUCCESS;
}
EXPORT int nvrtcGetCUBINSize(void* handle, size_t* size) {
  PROGRAM("nvrtcGetCUBINSize");
  *size = program->binary ? program->code.size() + 1 : 0;
  return SUCCESS;
}
EXPORT int nvrtcGetCUBIN(void* handle, char* cubin) {
  PROGRAM("nvrtcGetCUBIN");
  if (!program->binary) return INVALID_PROGRAM;
  std::strcpy(cubin, program->code.c_str());
  return SUCCESS;
}
EXPORT int nvrtcGetProgramLogSize(void* handle, size_t* size) {
  PROGRAM("nvrtcGetProgramLogSize");
  *size = program->log.size() + 1;
  return SUCCESS;
}
EXPORT int nvrtcGetProgramLog(void* handle, char* log) {
  PROGRAM("nvrtcGetProgramLog");
  std::strcpy(log, program->log.c_str());
  return SUCCESS;
}
