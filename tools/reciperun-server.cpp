// reciperun-server: carries out `reciperun serve`, which starts it.

#include "runtime/device/cpu/Threads.h"
#include "runtime/server/commands/ServeCommand.h"
#include "runtime/storage/ObjectFiles.h"
#include "runtime/train/Commands.h"

#include <cstdio>

int main(int argc, char** argv) {
  const auto sleeping = reciperun::device::letWaitingThreadsSleep(argv);
  if (!sleeping.isOk())
    std::fprintf(stderr, "note: %s\n", sleeping.message().c_str());
  reciperun::useRemoteFiles(
      reciperun::storage::objectFiles(reciperun::storage::objectCache()));
  return reciperun::train::runCommand({argv + 1, argv + argc},
                                      reciperun::server::serveCommand());
}
