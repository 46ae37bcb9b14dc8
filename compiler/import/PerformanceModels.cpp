// The models of NeMo's performance scripts and their counterparts in the
// standard library.

#include "compiler/import/Performance.h"

#include <algorithm>

namespace recipec::importer {
namespace {

constexpr std::string_view isDiffusion =
    "it denoises images, and recipes train language models";

constexpr PerformanceModel models[] = {
    {"gpt3", "175b", "gpt3", "gpt3_175b", 2048, false, false},
    {"llama3", "8b", "llama", "llama3_8b", 8192, false, false},
    {"llama3", "70b", "llama", "llama3_70b", 8192, false, false},
    {"llama31", "405b", "llama", "llama3_1_405b", 8192, false, false},
    {"mixtral", "8x7b", "mixtral", "mixtral_8x7b", 4096, true, false},
    {"mixtral", "8x22b", "mixtral", "mixtral_8x22b", 65536, true, false},
    {"nemotron3", "8b", "nemotron", "nemotron3_8b", 4096, false, false},
    {"nemotron3", "22b", "nemotron", "nemotron3_22b", 4096, false, false},
    {"nemotron4", "15b", "nemotron", "nemotron4_15b", 4096, false, false},
    {"nemotron4", "340b", "nemotron", "nemotron4_340b", 4096, false, false},
    {"nemotronh", "8b", "nemotronh", "nemotronh_8b", 8192, false, false},
    {"nemotronh", "47b", "nemotronh", "nemotronh_47b", 8192, false, false},
    {"nemotronh", "56b", "nemotronh", "nemotronh_56b", 8192, false, false},
    {"deepseek", "v3", "deepseek", "deepseek_v3", 4096, true, false},
    {"llama4", "e16", "llama4", "llama4_scout", 8192, true, false},
    {"llama4", "e128", "llama4", "llama4_maverick", 8192, true, false},
    {"vlm_llama4", "e16", "llama4", "llama4_scout", 8192, true, true},
    {"vlm_llama4", "e128", "llama4", "llama4_maverick", 8192, true, true},
    {"qwen3", "30b_a3b", "qwen", "qwen3_30b_a3b", 4096, true, false},
    {"qwen3", "235b_a22b", "qwen", "qwen3_235b_a22b", 4096, true, false},
    {"neva_llama3", "8b", "llama", "llama3_8b", 8192, false, true},
    {"qwen25vl", "7b", "qwen", "qwen2_5_7b", 8192, false, true},
    {"qwen25vl", "32b", "qwen", "qwen2_5_32b", 8192, false, true},
    {"flux", "12b", "", isDiffusion, 4096, false, false},
};

} // namespace

const PerformanceModel* findModel(std::string_view name,
                                  std::string_view size) {
  const auto found =
      std::ranges::find_if(models, [&](const PerformanceModel& each) {
        return each.name == name && each.size == size;
      });
  return found == std::end(models) ? nullptr : found;
}

std::vector<std::string> performanceModelNames() {
  std::vector<std::string> names;
  for (const PerformanceModel& model : models)
    if (!model.module.empty())
      names.push_back(std::string(model.name) + " " + std::string(model.size));
  return names;
}

} // namespace recipec::importer
