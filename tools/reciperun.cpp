// reciperun: runs plans. See runtime/train/Commands.h.

#include "runtime/device/cpu/Threads.h"
#include "runtime/server/program/ServerProgram.h"
#include "runtime/storage/ObjectFiles.h"
#include "runtime/train/Commands.h"

#include <cstdio>
#include <string_view>

int main(int argc, char** argv) {
  const auto sleeping = reciperun::device::letWaitingThreadsSleep(argv);
  if (!sleeping.isOk())
    std::fprintf(stderr, "note: %s\n", sleeping.message().c_str());
  reciperun::useRemoteFiles(
      reciperun::storage::objectFiles(reciperun::storage::objectCache()));
  if (argc > 1 && std::string_view(argv[1]) == "serve") {
    const auto started = reciperun::server::startServer(argv);
    std::fprintf(stderr, "error: %s\n", started.message().c_str());
    return 1;
  }
  return reciperun::train::runCommand({argv + 1, argv + argc},
                                      reciperun::server::nameServe());
}
