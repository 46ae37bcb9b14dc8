// Gathers the places in records of a fixed size.

#include "runtime/train/RankPlaces.h"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <map>

namespace reciperun::train {
namespace {

struct PlaceRecord {
  std::array<char, 256> host = {};
  std::array<char, 32> gpu = {};
};

} // namespace

Expected<std::vector<RankPlace>>
placesOfRanks(const device::Device& device, comm::Communicator& communicator) {
  PlaceRecord mine;
  gethostname(mine.host.data(), mine.host.size() - 1);
  std::snprintf(mine.gpu.data(), mine.gpu.size(), "%s",
                device.address().c_str());
  std::vector<PlaceRecord> all(size_t(communicator.ranks()));
  const int64_t one[] = {int64_t(sizeof(PlaceRecord))};
  const int64_t many[] = {communicator.ranks() * one[0]};
  RECIPERUN_TRY(communicator.host().allGather(
      comm::world, {&mine, plan::DType::u8, one},
      {all.data(), plan::DType::u8, many}, /*dim=*/0));
  std::vector<RankPlace> places;
  std::map<std::string, int> counts; // ranks on each host
  for (const PlaceRecord& each : all) {
    const std::string host = each.host.data();
    places.push_back({host, each.gpu.data(), counts[host]++});
  }
  return places;
}

} // namespace reciperun::train
