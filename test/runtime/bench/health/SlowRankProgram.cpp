// Measures the health of CPU ranks of which one is slow.
//
//   slowRank RANK FACTOR [JSON]
//
// The device of rank RANK says that each measurement took FACTOR times as long.

#include "runtime/bench/health/HealthRun.h"
#include "runtime/comm/MpiSession.h"
#include "runtime/device/cpu/CpuDevice.h"
#include "runtime/device/cpu/Threads.h"
#include "runtime/kernels/common/Kernels.h"

#include <cstdio>
#include <cstdlib>

using namespace reciperun;

namespace {

class SlowDevice final : public device::Device {
public:
  explicit SlowDevice(double factor) : factor(factor) {}

  std::string name() const override { return inner.name(); }
  bool hasKernel(plan::OpKind kind) const override {
    return inner.hasKernel(kind);
  }
  Status run(const device::OpCall& call) override { return inner.run(call); }
  Expected<bool> isIdle() override { return inner.isIdle(); }
  Expected<memory::Arena> allocate(int64_t bytes, int64_t hostBytes) override {
    return inner.allocate(bytes, hostBytes);
  }
  bool isHost() const override { return true; }
  Status upload(void* to, std::span<const std::byte> from) override {
    return inner.upload(to, from);
  }
  Status download(std::span<std::byte> to, const void* from) override {
    return inner.download(to, from);
  }
  Status copy(std::span<const device::StridedCopy> copies) override {
    return inner.copy(copies);
  }
  Status clear(void* data, int64_t bytes) override {
    return inner.clear(data, bytes);
  }
  int64_t takenBytes() const override { return 0; }
  int mark() override { return inner.mark(); }
  double seconds(int from, int to) const override {
    return factor * inner.seconds(from, to);
  }
  void forgetMarks() override { inner.forgetMarks(); }

private:
  device::CpuDevice inner{1, &kernels::findKernel};
  double factor;
};

Expected<int> measure(comm::MpiSession& session, int slowRank, double factor,
                      const char* json) {
  RECIPERUN_TRY(device::startThreads(1));
  plan::Mesh mesh;
  mesh.ranks = session.ranks();
  mesh.axes = {{"dp", session.ranks()}};
  mesh.groups = {{"all", {"dp"}}};
  const auto communicator = session.connect(mesh);
  RECIPERUN_TRY(communicator);
  const auto place = session.placeOnHost();
  RECIPERUN_TRY(place);
  SlowDevice device(session.rank() == slowRank ? factor : 1);
  bench::HealthArguments arguments;
  arguments.seconds = 0.05;
  arguments.tolerance = 90;
  arguments.outputPath = json;
  return bench::runHealth(arguments, {device, **communicator, /*isGpu=*/false,
                                      *place, [&](const Status& status) {
                                        std::fprintf(stderr, "error: %s\n",
                                                     status.message().c_str());
                                        session.abort(1);
                                      }});
}

} // namespace

int main(int argc, char** argv) {
  if (argc < 3)
    return 2;
  auto session = comm::MpiSession::start();
  if (!session)
    return 2;
  const Expected<int> code =
      measure(*session, std::atoi(argv[1]), std::atof(argv[2]),
              argc > 3 ? argv[3] : "");
  if (code)
    return *code;
  std::fprintf(stderr, "error: %s\n", code.message().c_str());
  return 1;
}
