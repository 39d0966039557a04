// Turns CUDA C into a shared object with g++: the emulated NVRTC checks sources with it, the
// emulated driver loads what it made.
//
// A source is preprocessed alone, so that kernels made by macros can be found by name; then each
// kernel gets an entry that unpacks its arguments by the kernel's own signature.
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <regex>
#include <sstream>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace {
const char* MARK = "// SOURCE\n";
const char* NAME_LINE = "// NAME ";
const char* INCLUDE_LINE = "// INCLUDE\n";
std::string& folder = *new std::string("/tmp");
std::mutex& names = *new std::mutex();

unsigned long long hash(const std::string& text) {
  unsigned long long h = 1469598103934665603ULL;
  for (unsigned char c : text) h = (h ^ c) * 1099511628211ULL;
  return h;
}

std::string read(const std::string& file) {
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

bool exists(const std::string& file) {
  struct stat status;
  return stat(file.c_str(), &status) == 0;
}

// "extern __shared__ T name[];" names the block's dynamic shared memory.
std::string with_dynamic_shared(const std::string& text) {
  static const std::regex declaration(
      R"(extern\s+EMU_SHARED\s+([\w\s]+?)\s+(\w+)\s*\[\s*\]\s*;)");
  return std::regex_replace(text, declaration, "$1* $2 = ($1*)emu::dynamic_shared;");
}

// The kernels of a preprocessed source that are extern "C". Others have mangled names, as on a GPU,
// and are asked for by name expressions.
std::vector<std::string> kernels_of(const std::string& text) {
  static const std::regex kernel(R"((extern\s*"C"\s*)?EMU_GLOBAL\s+void\s+(\w+)\s*\()");
  bool block = std::regex_search(text, std::regex(R"(extern\s*"C"\s*\{)"));
  std::vector<std::string> found;
  for (std::sregex_iterator i(text.begin(), text.end(), kernel), end; i != end; ++i) {
    if ((*i)[1].matched || block) found.push_back((*i)[2]);
  }
  return found;
}

// Variables of the device, for cuModuleGetGlobal.
std::vector<std::string> globals_of(const std::string& text) {
  static const std::regex variable(
      R"((?:EMU_DEVICE|EMU_CONSTANT)\s+(?:[A-Za-z_]\w*\s+)+(\w+)\s*(?:\[[^\]]*\]\s*)*[=;])");
  std::vector<std::string> found;
  for (std::sregex_iterator i(text.begin(), text.end(), variable), end; i != end; ++i) {
    found.push_back((*i)[1]);
  }
  return found;
}

// The expressions by which a program asks for kernels: lines before the source.
std::vector<std::string> expressions_of(const std::string& head) {
  std::vector<std::string> found;
  std::istringstream lines(head);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind(NAME_LINE, 0) == 0) found.push_back(line.substr(std::strlen(NAME_LINE)));
  }
  return found;
}

bool run(const std::string& command, const std::string& log) {
  return std::system((command + " 2> '" + log + "'").c_str()) == 0;
}

const char* EXPORTED = "extern \"C\" __attribute__((visibility(\"default\"))) ";

// Whether no thread can wait for another: then the threads of a block run in a plain loop.
bool is_plain(const std::string& text) {
  for (const char* waiting : {"__sync", "_sync(", "__activemask"}) {
    if (text.find(waiting) != std::string::npos) return false;
  }
  return true;
}

void entry(std::ostream& out, const std::string& name, const std::string& kernel, bool plain) {
  out << EXPORTED << "int emu_run_" << name
      << "(void** a, const unsigned int* s, void* m) { return emu::launch(" << kernel
      << ", a, s, m, " << (plain ? "true" : "false") << "); }\n"
      << EXPORTED << "int emu_parameters_" << name
      << "(emu::Parameter* o) { return emu::parameters(" << kernel << ", o); }\n";
}
}  // namespace

// What the driver calls the kernel of a name expression.
extern "C" __attribute__((visibility("default"))) void emu_lowered_name(const char* expression,
                                                                        char* out, size_t size) {
  std::string name = "_Z";
  for (const char* c = expression; *c; c++) {
    if (std::isalnum((unsigned char)*c)) name += *c;
    else if (*c != ' ' && *c != '&') name += '_';
  }
  std::snprintf(out, size, "%s", name.c_str());
}

extern "C" __attribute__((visibility("default"))) void emu_compile_folder(const char* path) {
  std::lock_guard<std::mutex> guard(names);
  folder = path;
}

// The shared object for a token, compiled if it is not there yet; null if it cannot be, with the
// compiler's words in `log`.
extern "C" __attribute__((visibility("default"))) const char* emu_compile(const char* token,
                                                                         char* log,
                                                                         size_t log_size) {
  static thread_local std::string result;
  const char* start = std::strstr(token, MARK);
  if (std::strncmp(token, "//", 2) != 0 || !start) {
    std::snprintf(log, log_size, "not made by the emulated NVRTC");
    return nullptr;
  }
  std::string source = start + std::strlen(MARK);
  std::string head(token, start);
  std::string own;
  {
    std::lock_guard<std::mutex> guard(names);
    own = folder;
  }
  char name[64];
  std::snprintf(name, sizeof name, "/kernel-%016llx-%zu", hash(head + source), source.size());
  result = own + name + ".so";
  if (exists(result)) return result.c_str();
  static std::mutex counting;
  static int count = 0;
  std::string stem;
  {
    std::lock_guard<std::mutex> guard(counting);
    stem = own + name + "-" + std::to_string(getpid()) + "-" + std::to_string(count++);
  }
  std::ofstream(stem + ".cu") << source;
  std::string errors = stem + ".log";
  std::string quiet =
      "g++ -E -x c++ -std=c++17 -D__CUDACC__ -D__CUDACC_RTC__ -D__global__=EMU_GLOBAL "
      "-D__shared__=EMU_SHARED -D__device__=EMU_DEVICE -D__constant__=EMU_CONSTANT "
      "'-D__launch_bounds__(...)=' " +
      (head.find(INCLUDE_LINE) == std::string::npos ? "" : "-I'" + own + "' ") + "'" + stem +
      ".cu' -o '" + stem + ".ii'";
  bool made = run(quiet, errors);
  if (made) {
    std::string text = with_dynamic_shared(read(stem + ".ii"));
    std::ofstream out(stem + ".cpp");
    out << "#include \"device.h\"\n#define EMU_GLOBAL\n#define EMU_SHARED static thread_local\n"
        << "#define EMU_DEVICE\n#define EMU_CONSTANT\n"
        << text << "\n";
    bool plain = is_plain(text);
    for (const std::string& kernel : kernels_of(text)) entry(out, kernel, kernel, plain);
    for (const std::string& expression : expressions_of(head)) {
      char lowered[512];
      emu_lowered_name(expression.c_str(), lowered, sizeof lowered);
      size_t from = expression.find_first_not_of("& ");
      entry(out, lowered, from == std::string::npos ? "" : expression.substr(from), plain);
    }
    for (const std::string& name : globals_of(text)) {
      out << EXPORTED << "void* emu_global_" << name
          << "(size_t* size) { *size = sizeof " << name << "; return (void*)&" << name << "; }\n";
    }
    out.close();
    made = run("g++ -std=c++17 -O2 -w -shared -fPIC -pthread -ffp-contract=off "
               "-fvisibility=hidden -I'" + own + "' '" + stem + ".cpp' -o '" + stem + ".so'",
               errors);
  }
  std::snprintf(log, log_size, "%s", read(errors).c_str());
  if (made) rename((stem + ".so").c_str(), result.c_str());
  for (const char* end : {".cu", ".ii", ".cpp", ".log", ".so"}) unlink((stem + end).c_str());
  return made ? result.c_str() : nullptr;
}
