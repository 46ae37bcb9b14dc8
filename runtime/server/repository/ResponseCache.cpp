// See ResponseCache.h.

#include "runtime/server/repository/ResponseCache.h"

#include <algorithm>
#include <utility>

namespace reciperun::server {
namespace {

void appendNumber(std::string& key, uint64_t number) {
  key.append(reinterpret_cast<const char*>(&number), sizeof number);
}

/// Appends a text with its size, so that different sequences of texts have
/// different keys.
void appendText(std::string& key, std::string_view text) {
  appendNumber(key, text.size());
  key.append(text);
}

} // namespace

std::string ResponseCache::keyOf(const InferRequest& request, int64_t version) {
  std::string key;
  appendText(key, request.model);
  appendNumber(key, uint64_t(version));
  std::vector<const Tensor*> inputs;
  for (const Tensor& tensor : request.inputs)
    inputs.push_back(&tensor);
  std::ranges::sort(inputs, {}, &Tensor::name);
  for (const Tensor* tensor : inputs) {
    appendText(key, tensor->name);
    appendNumber(key, uint64_t(tensor->type));
    appendNumber(key, tensor->shape.size());
    for (const int64_t size : tensor->shape)
      appendNumber(key, uint64_t(size));
    appendText(key, tensor->data);
  }
  std::vector<std::string> outputs;
  for (const RequestedOutput& output : request.outputs)
    outputs.push_back(output.name);
  std::ranges::sort(outputs);
  for (const std::string& output : outputs)
    appendText(key, output);
  return key;
}

const std::vector<Tensor>* ResponseCache::find(const std::string& key) {
  const auto found = byKey.find(key);
  if (found == byKey.end())
    return nullptr;
  entries.splice(entries.begin(), entries, found->second);
  return &found->second->outputs;
}

void ResponseCache::insert(const std::string& key,
                           const std::vector<Tensor>& outputs) {
  size_t bytes = key.size();
  for (const Tensor& tensor : outputs)
    bytes += sizeof(Tensor) + tensor.data.size();
  if (bytes > mostBytes || byKey.contains(key))
    return;
  while (usedBytes + bytes > mostBytes) {
    usedBytes -= entries.back().bytes;
    byKey.erase(entries.back().key);
    entries.pop_back();
  }
  entries.push_front({.key = key, .outputs = outputs, .bytes = bytes});
  byKey.emplace(entries.front().key, entries.begin());
  usedBytes += bytes;
}

} // namespace reciperun::server
