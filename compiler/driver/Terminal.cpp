// Queries the terminal.

#include "compiler/driver/Terminal.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <string_view>
#include <sys/ioctl.h>
#include <unistd.h>

namespace recipec::driver {
namespace {

constexpr int usualColumns = 80;
constexpr int fewestColumns = 40;

int columnsOf(int descriptor) {
  winsize size{};
  if (ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
    return usualColumns;
  return std::max(fewestColumns, int(size.ws_col));
}

/// See https://no-color.org: the variable counts if it is not empty.
bool wantsColour() {
  const char* noColour = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  bool isRefused = noColour && *noColour != 0;
  bool isDumb = terminal && std::string_view(terminal) == "dumb";
  return !isRefused && !isDumb;
}

} // namespace

diag::RenderOptions renderOptions(const Invocation& invocation) {
  diag::RenderOptions options;
  options.most = invocation.mostErrors;
  if (&invocation.err != &std::cerr || !isatty(STDERR_FILENO))
    return options;
  options.colour = wantsColour();
  options.columns = columnsOf(STDERR_FILENO);
  options.wraps = true;
  return options;
}

} // namespace recipec::driver
