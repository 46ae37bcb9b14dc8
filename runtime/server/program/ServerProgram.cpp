// Starts the server's program in place of this one.

#include "runtime/server/program/ServerProgram.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>

#include <unistd.h>

namespace reciperun::server {

cli::Command nameServe() {
  return {.name = "serve",
          .synopsis = "DIR|REPOSITORY... [options]",
          .summary = "serve models over HTTP, with OpenAI's and KServe's APIs"};
}

Status startServer(char** argv) {
  std::error_code code;
  std::filesystem::path program =
      std::filesystem::read_symlink("/proc/self/exe", code);
  program.replace_filename("reciperun-server");
  execv(program.c_str(), argv);
  return Status::error(
      "cannot start `" + program.string() +
      "`, the program of `reciperun serve`: " + std::strerror(errno) +
      "; `ninja -C build` builds it, and packages install it "
      "beside `reciperun`");
}

} // namespace reciperun::server
