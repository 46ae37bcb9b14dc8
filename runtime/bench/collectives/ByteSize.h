// Sizes on nccl-tests' command line.

#ifndef RECIPERUN_BENCH_COLLECTIVES_BYTESIZE_H
#define RECIPERUN_BENCH_COLLECTIVES_BYTESIZE_H

#include <cstdint>
#include <optional>
#include <string_view>

namespace reciperun::bench {

/// The bytes of `8`, `64K`, `32M`, `4G`, `0.5G`; letters are powers of 1024 and
/// may be small, and `KB` and `KiB` mean `K`. Nullopt for other texts, and for
/// sizes that are negative, no whole number of bytes, or above 2^60.
std::optional<int64_t> parseByteSize(std::string_view text);

} // namespace reciperun::bench

#endif // RECIPERUN_BENCH_COLLECTIVES_BYTESIZE_H
