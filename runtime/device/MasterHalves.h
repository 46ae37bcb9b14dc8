// Stores an f32 master weight as its bf16 parameter and 16 further bits.
//
// The parameter is the master rounded to nearest, ties away from zero (IEEE
// 754, 4.3.1). The remainder, of type u16, is the master's lower 16 bits. Its
// highest bit tells whether the master was rounded up, so that the two halves
// restore the master exactly. This does not work with ties to even, where 2^16
// + 1 masters round to an even parameter. A NaN loses its payload. This is the
// format of `store_param_remainders` in NVIDIA's Transformer Engine.

#ifndef RECIPERUN_DEVICE_MASTERHALVES_H
#define RECIPERUN_DEVICE_MASTERHALVES_H

#include <bit>
#include <cstdint>

namespace reciperun::device {

struct MasterHalves {
  uint16_t parameter = 0; // the bits of a bf16
  uint16_t remainder = 0;
};

/// Has no branches, so that loops over it vectorise.
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
