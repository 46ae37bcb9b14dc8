// Megatron-LM's notations for lists of layers.

#ifndef RECIPEC_IMPORT_LAYERPATTERNS_H
#define RECIPEC_IMPORT_LAYERPATTERNS_H

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace recipec::importer {

/// The number of dense layers before those with experts, by the value of
/// `--moe-layer-freq`: a number N, with which every N-th layer has experts from
/// the first on, or a list of 0 and 1 in Python, `([0]*3+[1]*58)`. Returns
/// nullopt if the value is neither, if it does not describe `layers` layers, or
/// if a dense layer follows one with experts.
std::optional<int64_t> denseLayers(std::string_view pattern, int64_t layers);

/// The decoder layers of each chunk of a pipeline, by the value of
/// `--pipeline-model-parallel-layout`: letters of layers, `|` between chunks,
/// and repeated parts, `Et*3|(tt|)*29m|L`. Returns nullopt if the value is no
/// such text.
std::optional<std::vector<int64_t>> chunkLayers(std::string_view layout);

} // namespace recipec::importer

#endif // RECIPEC_IMPORT_LAYERPATTERNS_H
