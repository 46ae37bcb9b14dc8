// State spaces in a Graph: what several passes know of them.

#ifndef RECIPEC_PASSES_COMMON_STATESPACE_H
#define RECIPEC_PASSES_COMMON_STATESPACE_H

#include <string_view>

namespace recipec::passes {

/// The dimensions of a `mamba2`: groups of heads that share B and C, by which
/// everything in it is split; heads of a group, its channels (those of its
/// heads, one head behind the other) and the width of the state; the taps of
/// its convolution, and the chunks of a sequence whose first states are kept.
inline constexpr std::string_view mambaGroupsDim = "mamba_groups";
inline constexpr std::string_view mambaHeadsDim = "mamba_group_heads";
inline constexpr std::string_view mambaChannelsDim = "mamba_channels";
inline constexpr std::string_view mambaStateDim = "mamba_state";
inline constexpr std::string_view mambaKernelDim = "mamba_kernel";
inline constexpr std::string_view mambaChunksDim = "mamba_chunks";

} // namespace recipec::passes

#endif // RECIPEC_PASSES_COMMON_STATESPACE_H
