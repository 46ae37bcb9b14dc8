// The metrics of the machine from texts of /proc and from a fake NVML.

#include "runtime/server/metrics/MachineMetrics.h"
#include "MetricsText.h"
#include "test/FakeNvml.h"

#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

namespace reciperun::server {
namespace {

TEST(MachineMetrics, ReadsTheTicksOfAllProcessors) {
  EXPECT_EQ(readCpuTicks("cpu  10 20 30 400 50 6 7 8 9 10\ncpu0 1 1 1 1 1 1 1 "
                         "1\n"),
            (CpuTicks{.busy = 81, .idle = 450}));
  EXPECT_EQ(readCpuTicks(""), std::nullopt);
  EXPECT_EQ(readCpuTicks("cpu 1 2 3"), std::nullopt);
  EXPECT_EQ(readCpuTicks("cpu0 1 2 3 4 5 6 7 8"), std::nullopt);
}

TEST(MachineMetrics, MemoryThatIsAvailableIsNotUsed) {
  EXPECT_EQ(readMemory("MemTotal:       1000 kB\nMemFree:  100 kB\n"
                       "MemAvailable:    600 kB\nOther: x\n"),
            (MachineMemory{.total = 1000 * 1024, .used = 400 * 1024}));
  EXPECT_EQ(readMemory("MemTotal: 1000 kB\n"), std::nullopt);
  EXPECT_EQ(readMemory("MemTotal: 1 kB\nMemAvailable: 2 kB\n"), std::nullopt);
}

/// Files in the form of /proc.
struct Proc {
  Proc() : folder(testing::TempDir() + "proc") {
    std::filesystem::create_directories(folder);
    write("stat", "cpu 100 0 0 100 0 0 0 0 0 0\n");
    write("meminfo", "MemTotal: 1000 kB\nMemAvailable: 600 kB\n");
  }
  void write(const char* name, const std::string& text) const {
    std::ofstream(folder / name) << text;
  }
  std::filesystem::path folder;
};

MetricsText textOf(MachineMetrics& machine) {
  metrics::MetricFamilies families;
  machine.collect(families);
  return MetricsText(prometheus::TextSerializer().Serialize(families.take()));
}

TEST(MachineMetrics, TheUseOfProcessorsIsThatSinceTheLastScrape) {
  const Proc proc;
  MachineMetrics machine(proc.folder, "no-such-library.so");
  // 30 busy and 90 idle ticks; those of waiting for devices fall.
  proc.write("stat", "cpu 125 0 5 190 0 0 0 0 0 0\n");
  const MetricsText text = textOf(machine);
  EXPECT_EQ(text.value("nv_cpu_utilization"), 0.25);
  EXPECT_EQ(text.value("nv_cpu_memory_total_bytes"), 1000 * 1024);
  EXPECT_EQ(text.value("nv_cpu_memory_used_bytes"), 400 * 1024);
  EXPECT_EQ(text.value("nv_pinned_memory_pool_total_bytes"), 0);
  EXPECT_FALSE(text.types.contains("nv_gpu_utilization"));
}

TEST(MachineMetrics, WhatProcLacksIsAbsent) {
  MachineMetrics machine("no-such-folder", "no-such-library.so");
  const MetricsText text = textOf(machine);
  EXPECT_FALSE(text.types.contains("nv_cpu_utilization"));
  EXPECT_FALSE(text.types.contains("nv_cpu_memory_used_bytes"));
}

TEST(MachineMetrics, GpusHaveWhatTheySupport) {
  MachineMetrics machine("/proc", FAKE_NVML);
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (machine.status().gpus.empty() &&
         std::chrono::steady_clock::now() < deadline)
    std::this_thread::yield(); // the first sample is taken by a thread
  const MetricsText text = textOf(machine);
  const std::string first = R"({gpu_uuid="GPU-0"})",
                    second = R"({gpu_uuid="GPU-1"})";
  EXPECT_EQ(text.value("nv_gpu_utilization" + first), 0.75);
  EXPECT_EQ(text.value("nv_gpu_memory_total_bytes" + first), 80e9);
  EXPECT_EQ(text.value("nv_gpu_memory_used_bytes" + first), 30e9);
  EXPECT_EQ(text.value("nv_gpu_power_usage" + first), 350.5);
  EXPECT_EQ(text.value("nv_gpu_power_limit" + first), 700);
  EXPECT_EQ(text.value("nv_energy_consumption" + first), 1.5);
  EXPECT_EQ(text.types.at("nv_energy_consumption"), "counter");
  EXPECT_EQ(text.types.at("nv_gpu_utilization"), "gauge");
  EXPECT_EQ(text.value("nv_gpu_memory_used_bytes" + second), 30e9);
  EXPECT_FALSE(text.values.contains("nv_gpu_power_usage" + second));
}

} // namespace
} // namespace reciperun::server
