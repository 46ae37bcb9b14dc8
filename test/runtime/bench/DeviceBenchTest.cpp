// Unit tests for runtime/bench: the measurements of a device, on the CPU.

#include "runtime/bench/DeviceBench.h"
#include "runtime/bench/DeviceReport.h"
#include "runtime/device/cpu/CpuDevice.h"
#include "runtime/kernels/common/Kernels.h"
#include "runtime/ops/OpKind.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace reciperun::bench {
namespace {

/// A device that runs nothing and whose clock this test sets: an op takes 3 ms
/// at first and 4 ms after 20 runs.
class SlowingDevice : public device::Device {
public:
  std::string name() const override { return "slowing"; }
  bool hasKernel(plan::OpKind) const override { return true; }
  Status run(const device::OpCall&) override {
    now += ++runs > 20 ? 4e-3 : 3e-3;
    return Status::ok();
  }
  Expected<bool> isIdle() override { return true; }
  Expected<memory::Arena> allocate(int64_t bytes, int64_t) override {
    return memory::Arena::allocate(bytes);
  }
  bool isHost() const override { return true; }
  Status upload(void*, std::span<const std::byte>) override {
    return Status::ok();
  }
  Status download(std::span<std::byte>, const void*) override {
    return Status::ok();
  }
  Status copy(std::span<const device::StridedCopy>) override {
    return Status::ok();
  }
  Status clear(void*, int64_t) override { return Status::ok(); }
  int64_t takenBytes() const override { return 0; }
  int mark() override {
    times.push_back(now);
    return int(times.size()) - 1;
  }
  double seconds(int from, int to) const override {
    return times[size_t(to)] - times[size_t(from)];
  }
  void forgetMarks() override { times.clear(); }

private:
  int runs = 0;
  double now = 0;
  std::vector<double> times;
};

plan::Op opOf(ops::OpKind kind) {
  plan::Op op;
  op.kind = kind;
  return op;
}

TEST(Workbench, TellsTheFastestBatchFromTheLaterOnes) {
  SlowingDevice device;
  Workbench bench(device, /*seconds=*/1);
  const auto x = bench.noise(plan::DType::f32, {4, 8});
  ASSERT_TRUE(x) << x.message();
  const auto timing = bench.time({opOf(ops::OpKind::Linear), {*x, *x}, {*x}});
  ASSERT_TRUE(timing) << timing.message();
  EXPECT_NEAR(timing->fastest, 3e-3, 1e-9);
  EXPECT_NEAR(timing->sustained, 4e-3, 1e-9);
}

TEST(Workbench, NamesAnOpWithoutAKernel) {
  device::CpuDevice device(1); // has no kernels
  Workbench bench(device, 0);
  const auto timing = bench.time({opOf(ops::OpKind::Add), {}, {}});
  EXPECT_EQ(timing.message(), "1 thread has no kernel for `add`");
}

TEST(Workbench, DrawsNormalNumbers) {
  device::CpuDevice device(1);
  Workbench bench(device, 0);
  const auto x = bench.noise(plan::DType::f32, {1000, 3});
  ASSERT_TRUE(x) << x.message();
  double sum = 0, squares = 0;
  for (int i = 0; i < 3000; ++i) {
    sum += x->as<float>()[i];
    squares += std::pow(x->as<float>()[i], 2);
  }
  EXPECT_NEAR(sum / 3000, 0, 0.1);
  EXPECT_NEAR(squares / 3000, 1, 0.1);
}

/// What the kernels of the CPU take, with few tokens.
TEST(DeviceBench, MeasuresEachKindOfOp) {
  device::CpuDevice device(1, &kernels::findKernel);
  size_t reported = 0;
  const auto measured = benchDevice(
      device, {.tokens = 2,
               .copied = 1000,
               .seconds = 0,
               .progress = [&](size_t done, size_t) { reported = done; }});
  ASSERT_TRUE(measured) << measured.message();
  EXPECT_EQ(reported, measured->size());
  std::set<std::string> ops;
  for (const Measurement& each : *measured) {
    ops.insert(each.op);
    EXPECT_GT(each.timing.fastest, 0) << each.op << " " << each.sizes;
    EXPECT_GE(each.timing.sustained, each.timing.fastest);
    EXPECT_GT(each.bytes, 0);
  }
  EXPECT_EQ(ops, (std::set<std::string>{
                     "add", "attention", "attention_backward", "expert_linear",
                     "expert_linear_dgrad", "expert_linear_wgrad", "linear",
                     "linear_dgrad", "linear_wgrad", "scale"}));
}

DeviceReport example() {
  return {"NVIDIA H200",
          true,
          {{"linear", "bf16", "8192 x 6144 x 4096", 4e11, 1e8, {5e-4, 8e-4}},
           {"linear", "bf16", "8192 x 4096 x 4096", 3e11, 1e8, {5e-4, 8e-4}},
           {"scaled_matmul",
            "f8e4m3",
            "8192 x 6144 x 4096",
            4e11,
            1e8,
            {2.5e-4, 4e-4}},
           {"add", "bf16", "268435456 elements", 0, 1e9, {2.5e-4, 2.5e-4}}}};
}

TEST(DeviceReport, DeclaresTheLibrarysHardware) {
  EXPECT_EQ(toRecipe(example()),
            "# Measured by `reciperun bench device` on NVIDIA H200.\n"
            "\n"
            "let measured = h200 {\n"
            "  sustained_bf16 = 5e+14  # linear in bf16, 8192 x 6144 x 4096\n"
            "  sustained_fp8 = 1e+15  # scaled_matmul in f8e4m3, 8192 x 6144 "
            "x 4096\n"
            "  sustained_bandwidth = 4e+12  # add in bf16, 268435456 elements\n"
            "}\n");
}

TEST(DeviceReport, SaysWhichGpuTheLibraryLacks) {
  DeviceReport report = example();
  report.device = "NVIDIA H20"; // is no H200
  EXPECT_NE(toRecipe(report).find("does not describe this GPU"),
            std::string::npos);
  report.device = "NVIDIA H100 80GB HBM3";
  EXPECT_NE(toRecipe(report).find("let measured = h100 {"), std::string::npos);
}

TEST(DeviceReport, PrintsRates) {
  const std::string table = toTable(example());
  EXPECT_NE(table.find("800.0 TFLOP/s"), std::string::npos) << table;
  EXPECT_NE(table.find("4.0 TB/s"), std::string::npos) << table;
}

TEST(DeviceReport, KeepsAllNumbersInJson) {
  const auto json = nlohmann::json::parse(toJson(example()));
  EXPECT_EQ(json["device"], "NVIDIA H200");
  EXPECT_EQ(json["hardware"]["sustained_bf16"], 5e14);
  EXPECT_EQ(json["measurements"][0]["sizes"], "8192 x 6144 x 4096");
  EXPECT_EQ(json["measurements"][0]["sustained"], 8e-4);
}

} // namespace
} // namespace reciperun::bench
