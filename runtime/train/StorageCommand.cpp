// `reciperun storage check`: tries an object store.

#include "runtime/train/Commands.h"

#include "runtime/base/Text.h"
#include "runtime/cli/Options.h"
#include "runtime/storage/Address.h"
#include "runtime/storage/CheckStore.h"
#include "runtime/storage/S3Client.h"

#include <nlohmann/json.hpp>

#include <cstdio>
#include <memory>

namespace reciperun::train {
namespace {

using storage::StoreFeature;
using storage::StoreReport;

struct StorageArguments {
  std::vector<std::string> paths; // one
  int64_t mebibytes = 64;
  bool json = false;
};

/// How a store is reached, for the first line.
struct StoreAccess {
  std::string address, endpoint, keys;
};

double gigabytesPerSecond(int64_t bytes, double seconds) {
  return double(bytes) / seconds / 1e9;
}

void printText(const StoreAccess& access, const StoreReport& report) {
  std::printf("`%s` at `%s`, with the keys of %s\n", access.address.c_str(),
              access.endpoint.c_str(), access.keys.c_str());
  for (const StoreFeature& each : report.features)
    std::printf("  %-48s %s\n", each.what.c_str(),
                each.holds ? "yes" : ("no: " + each.otherwise).c_str());
  std::printf("%s: written at %.2f GB/s, read at %.2f GB/s\n",
              bytesText(report.bytes).c_str(),
              gigabytesPerSecond(report.bytes, report.writeSeconds),
              gigabytesPerSecond(report.bytes, report.readSeconds));
}

void printJson(const StoreAccess& access, const StoreReport& report) {
  nlohmann::ordered_json json = {{"address", access.address},
                                 {"endpoint", access.endpoint},
                                 {"credentials", access.keys}};
  for (const StoreFeature& each : report.features)
    json["features"][each.name] = each.holds;
  json["bytes"] = report.bytes;
  json["write_seconds"] = report.writeSeconds;
  json["read_seconds"] = report.readSeconds;
  std::printf("%s\n", json.dump(2).c_str());
}

Status check(const StorageArguments& line) {
  const std::string& path = line.paths[0];
  const auto address = storage::parseAddress(path);
  RECIPERUN_TRY(address);
  const auto store = storage::openStore(path);
  RECIPERUN_TRY(store);
  const auto client = storage::S3Client::shared();
  RECIPERUN_TRY(client);
  const auto report = storage::checkStore(**store, line.mebibytes << 20);
  RECIPERUN_TRY(report);
  const StoreAccess access{address->text(),
                           (*client)->endpointOf(address->bucket),
                           (*client)->credentialSource()};
  if (line.json)
    printJson(access, *report);
  else
    printText(access, *report);
  return Status::ok();
}

int runCheck(const StorageArguments& line) {
  const Status status = check(line);
  if (!status.isOk())
    std::fprintf(stderr, "error: %s\n", status.message().c_str());
  return status.isOk() ? 0 : 1;
}

cli::Command checkCommand() {
  const auto line = std::make_shared<StorageArguments>();
  return {.name = "check",
          .synopsis = "ADDRESS [--size=MIB] [--json]",
          .summary = "try an object store: access, features, throughput",
          .details =
              "Writes, reads, lists and removes objects below ADDRESS, "
              "`s3://BUCKET/PREFIX`, in a folder `recipec-check-...` that is "
              "removed at the end. Tells what the store supports of what "
              "checkpoints use, and how fast a large object is written and "
              "read. Exits 1 when the store cannot be used.",
          .options = {cli::number("--size", "MIB",
                                  "the size of the large object in MiB, by "
                                  "default 64",
                                  1, line->mebibytes),
                      cli::flag("--json", "print JSON", line->json)},
          .operands = {1, 1, "an address", &line->paths,
                       /*takeAddresses=*/true},
          .run = [line] { return runCheck(*line); }};
}

} // namespace

cli::Command storageCommand() {
  return {.name = "storage",
          .synopsis = "check ADDRESS [options]",
          .summary = "try an object store",
          .subcommands = {checkCommand()}};
}

} // namespace reciperun::train
