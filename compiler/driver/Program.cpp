// 1. Reserve closed standard descriptors before any file is opened.
// 2. Run the command and catch its exceptions.
// 3. Flush standard output and check for errors.

#include "compiler/driver/Program.h"

#include "compiler/driver/Driver.h"
#include "compiler/driver/StandardOutput.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>
#include <new>
#include <sys/resource.h>

namespace recipec::driver {
namespace {

/// Reports that memory ran out. Allocates nothing.
int reportNoMemory() {
  rlimit limit{};
  bool isLimited =
      getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  if (isLimited)
    std::fprintf(stderr,
                 "error: out of memory: this process may take %llu MiB "
                 "(`ulimit -v`)\n",
                 static_cast<unsigned long long>(limit.rlim_cur) >> 20);
  else
    std::fputs("error: out of memory\n", stderr);
  return exitDiagnostics;
}

int runCaught(int argc, char** argv, std::ostream& out) {
  try {
    std::vector<std::string> arguments(argv + (argc > 0), argv + argc);
    return run(argc > 0 ? argv[0] : "recipec", arguments, out, std::cerr);
  } catch (const std::bad_alloc&) {
    return reportNoMemory();
  } catch (const std::exception& exception) {
    std::fprintf(stderr, "error: internal error: %s\n", exception.what());
    return exitDiagnostics;
  }
}

} // namespace

int runProgram(int argc, char** argv) {
  reserveStandardDescriptors();
  StandardOutput out;
  std::ostream* tied = std::cerr.tie(&out);
  int code = runCaught(argc, argv, out);
  int error = out.finish();
  std::cerr.tie(tied);
  if (error == 0)
    return code;
  if (error != EPIPE) // the reader has exited
    std::fprintf(stderr, "error: cannot write the standard output: %s\n",
                 std::strerror(error));
  return std::max(code, exitDiagnostics);
}

} // namespace recipec::driver
