// Trains one rank on a device whose memory the host must not touch.
//
//   farDevice PLAN
//
// The device is a CPU rank's, but its arena has no rights except within its own
// calls: code of the host's that reads or writes a buffer in place, as it may
// not on a GPU, ends the process. It records ops, and lacks attention to
// pages.

#include "runtime/comm/LocalCommunicator.h"
#include "runtime/device/cpu/CpuDevice.h"
#include "runtime/kernels/common/Kernels.h"
#include "runtime/ops/OpKind.h"
#include "runtime/plan/PlanJson.h"
#include "runtime/train/Training.h"

#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

using namespace reciperun;

namespace {

class FarDevice final : public device::Device {
public:
  std::string name() const override { return "a far device"; }
  bool hasKernel(plan::OpKind kind) const override {
    return kind != plan::OpKind::AttentionPaged && inner.hasKernel(kind);
  }
  Status run(const device::OpCall& call) override {
    if (recorded) {
      recorded->calls.push_back(call);
      return Status::ok();
    }
    const Open open(*this);
    return inner.run(call);
  }
  bool records() const override { return true; }
  Status beginRecording() override {
    recorded = std::make_unique<Calls>(*this);
    return Status::ok();
  }
  Expected<std::unique_ptr<device::Recording>> endRecording() override {
    return std::unique_ptr<device::Recording>(std::move(recorded));
  }
  /// The number of launches of recordings.
  int launches() const { return launched; }

  Expected<bool> isIdle() override { return ++asked % 3 == 0; }

  Expected<memory::Arena> allocate(int64_t bytes, int64_t hostBytes) override {
    Expected<memory::Arena> arena = inner.allocate(bytes, hostBytes);
    RECIPERUN_TRY(arena);
    const size_t page = size_t(sysconf(_SC_PAGESIZE));
    base = arena->base();
    size = (size_t(bytes) + page - 1) / page * page;
    protect(PROT_NONE);
    return arena;
  }
  bool isHost() const override { return false; }
  Status upload(void* to, std::span<const std::byte> from) override {
    const Open open(*this);
    return inner.upload(to, from);
  }
  Status download(std::span<std::byte> to, const void* from) override {
    const Open open(*this);
    return inner.download(to, from);
  }
  Status copy(std::span<const device::StridedCopy> copies) override {
    const Open open(*this);
    return inner.copy(copies);
  }
  Status clear(void* data, int64_t bytes) override {
    const Open open(*this);
    return inner.clear(data, bytes);
  }
  int64_t takenBytes() const override { return int64_t(size); }

  int mark() override { return inner.mark(); }
  double seconds(int from, int to) const override {
    return inner.seconds(from, to);
  }
  void forgetMarks() override { inner.forgetMarks(); }

private:
  /// The ops of a recording.
  struct Calls final : device::Recording {
    explicit Calls(FarDevice& device) : device(device) {}
    Status launch() override {
      ++device.launched;
      for (const device::OpCall& call : calls)
        RECIPERUN_TRY(device.run(call));
      return Status::ok();
    }
    FarDevice& device;
    std::vector<device::OpCall> calls;
  };

  /// Grants access to the arena during its lifetime.
  struct Open {
    explicit Open(FarDevice& device) : device(device) {
      device.protect(PROT_READ | PROT_WRITE);
    }
    ~Open() { device.protect(PROT_NONE); }
    FarDevice& device;
  };

  void protect(int rights) {
    if (mprotect(base, size, rights) == 0)
      return;
    std::perror("the rights of the arena");
    std::_Exit(2);
  }

  device::CpuDevice inner{1, &kernels::findKernel};
  std::byte* base = nullptr;
  size_t size = 0;
  int asked = 0;
  std::unique_ptr<Calls> recorded; // while recording
  int launched = 0;
};

Status carryOut(const plan::Plan& plan) {
  train::Rank rank;
  rank.device = std::make_unique<FarDevice>();
  rank.communicator = std::make_unique<comm::LocalCommunicator>();
  train::Options options;
  options.style = train::Style::lines;
  train::Training training(plan, rank, options);
  RECIPERUN_TRY(training.prepare());
  Expected<train::Outcome> outcome = training.run();
  RECIPERUN_TRY(outcome);
  RECIPERUN_TRY(outcome->failure);
  std::printf("%d launches of recordings\n",
              static_cast<FarDevice&>(*rank.device).launches());
  return training.finish();
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 2)
    return 2;
  Expected<plan::Plan> plan = plan::readPlan(argv[1]);
  Status status = plan.status();
  if (plan)
    status = carryOut(*plan);
  if (!status.isOk())
    std::fprintf(stderr, "error: %s\n", status.message().c_str());
  return status.isOk() ? 0 : 1;
}
