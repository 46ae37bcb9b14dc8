// State spaces in a Graph: definitions shared by several passes.

#ifndef RECIPEC_PASSES_BUILD_STATESPACEDIMS_H
#define RECIPEC_PASSES_BUILD_STATESPACEDIMS_H

#include <string_view>

namespace recipec::passes {

/// The dimensions of a `mamba2`: the groups of heads that share B and C, the
/// only dimension that is split; the heads of a group; its channels (those of
/// its heads, head after head); the width of the state; the taps of the
/// convolution; the chunks of a sequence, whose first states are kept.
inline constexpr std::string_view mambaGroupsDim = "mamba_groups";
inline constexpr std::string_view mambaHeadsDim = "mamba_group_heads";
inline constexpr std::string_view mambaChannelsDim = "mamba_channels";
inline constexpr std::string_view mambaStateDim = "mamba_state";
inline constexpr std::string_view mambaKernelDim = "mamba_kernel";
inline constexpr std::string_view mambaChunksDim = "mamba_chunks";

} // namespace recipec::passes

#endif // RECIPEC_PASSES_BUILD_STATESPACEDIMS_H
