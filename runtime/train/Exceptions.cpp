// See Exceptions.h.

#include "runtime/train/Exceptions.h"

#include "runtime/base/Text.h"
#include "runtime/train/Host.h"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <new>
#include <string>
#include <string_view>
#include <system_error>

namespace reciperun::train {
namespace {

/// "cannot get current path: No such file or directory".
std::string textOf(const std::filesystem::filesystem_error& failure) {
  constexpr std::string_view prefix = "filesystem error: ";
  std::string_view text = failure.what();
  if (text.starts_with(prefix))
    text.remove_prefix(prefix.size());
  return std::string(text);
}

std::string textOf(const std::system_error& failure) {
  if (failure.code() == std::errc::resource_unavailable_try_again)
    return "cannot start a thread: " + failure.code().message() +
           "; raise the limit of processes (`ulimit -u`) or of memory";
  return failure.what();
}

} // namespace

Status statusOfException() {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return Status::error("there is not enough memory: the system grants no "
                         "more to this process, which has held " +
                         bytesText(peakBytes()) +
                         "; see `ulimit -v` and the limit of its container");
  } catch (const std::filesystem::filesystem_error& failure) {
    return Status::error(textOf(failure));
  } catch (const std::system_error& failure) {
    return Status::error(textOf(failure));
  } catch (const std::exception& failure) {
    return Status::error(failure.what());
  } catch (...) {
    return Status::error("something was thrown that is no exception");
  }
}

void reportExceptionsOfThreads() {
  std::set_terminate([] {
    if (!std::current_exception())
      std::abort();
    std::fprintf(stderr, "error: %s\n", statusOfException().message().c_str());
    std::_Exit(1); // other threads still run: skip all destructors
  });
}

} // namespace reciperun::train
