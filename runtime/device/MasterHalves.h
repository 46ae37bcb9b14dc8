// How an f32 master is kept beside its bf16 parameter in 16 bits more.
//
// The parameter is the master rounded to nearest, ties away from zero (IEEE
// 754, 4.3.1); the remainder, of type u16, are the master's lower 16 bits. They
// tell whether it was rounded up, so that both together are the master, to the
// bit. Ties to even would not do: 2^16 + 1 masters round to an even parameter.
// A NaN loses its payload. The same as `store_param_remainders` of NVIDIA's
// Transformer Engine.

#ifndef RECIPERUN_DEVICE_MASTERHALVES_H
#define RECIPERUN_DEVICE_MASTERHALVES_H

#include <bit>
#include <cstdint>

namespace reciperun::device {

struct MasterHalves {
  uint16_t parameter = 0; // the bits of a bf16
  uint16_t remainder = 0;
};

/// Without branches, so that loops over it vectorise.
constexpr MasterHalves splitMaster(float master) {
  const uint32_t word = std::bit_cast<uint32_t>(master);
  const bool isNan = (word & 0x7fffffff) > 0x7f800000;
  // Rounding must not carry a NaN into a number.
  const uint32_t kept = isNan ? (word | 0x400000) & 0xffff0000 : word;
  return {uint16_t((kept + 0x8000) >> 16), uint16_t(kept)};
}

constexpr float joinMaster(MasterHalves halves) {
  const uint32_t upper = uint16_t(halves.parameter - (halves.remainder >> 15));
  return std::bit_cast<float>(upper << 16 | halves.remainder);
}

} // namespace reciperun::device

#endif // RECIPERUN_DEVICE_MASTERHALVES_H
