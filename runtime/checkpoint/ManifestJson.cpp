// Manifests as JSON. The reader validates everything: errors for a field that
// is missing, of another type or out of range name its path in the document.

#include "runtime/checkpoint/Manifest.h"

#include "runtime/base/Hash.h"
#include "runtime/base/ParseJson.h"
#include "runtime/plan/LoraFactors.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <set>

namespace reciperun::checkpoint {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* formatName = "recipec checkpoint";

struct KindName {
  const char* name;
  StateKind kind;
};
constexpr KindName kindNames[] = {{"weight", StateKind::weight},
                                  {"moment_m", StateKind::momentM},
                                  {"moment_v", StateKind::momentV}};

struct TypeName {
  const char* name;
  ElementType type;
};
constexpr TypeName typeNames[] = {{"F64", ElementType::f64},
                                  {"F32", ElementType::f32},
                                  {"F16", ElementType::f16},
                                  {"BF16", ElementType::bf16}};

constexpr plan::DType computeTypes[] = {plan::DType::f64, plan::DType::f32,
                                        plan::DType::bf16};

// ---- writing

Json jsonOf(const Piece& piece) {
  Json block = Json::array();
  for (const ShardLayout::Dim& dim : piece.block)
    block.push_back({dim.first, dim.local});
  Json json;
  for (const KindName& each : kindNames)
    if (each.kind == piece.kind)
      json["kind"] = each.name;
  for (const TypeName& each : typeNames)
    if (each.type == piece.type)
      json["dtype"] = each.name;
  json["file"] = piece.file;
  json["block"] = std::move(block);
  json["range"] = {piece.first, piece.count};
  return json;
}

Json jsonOf(const SavedParameter& parameter) {
  Json json = {{"name", parameter.name},
               {"shape", parameter.shape},
               {"hf_name", parameter.hfName},
               {"hf_shape", parameter.hfShape}};
  if (parameter.hfRows)
    json["hf_rows"] = {{"first", parameter.hfRows->first},
                       {"of", parameter.hfRows->of}};
  if (parameter.type)
    json["dtype"] = safetensorsName(*parameter.type);
  if (parameter.adapter)
    json["adapter"] = true;
  if (parameter.loraA >= 0)
    json["lora"] = {{"a", parameter.loraA},
                    {"b", parameter.loraB},
                    {"scale", parameter.loraScale}};
  Json pieces = Json::array();
  for (const Piece& piece : parameter.pieces)
    pieces.push_back(jsonOf(piece));
  json["pieces"] = std::move(pieces);
  return json;
}

Json jsonOf(const Position& position) {
  return {{"step", position.step},
          {"rows", position.rows},
          {"global_batch", position.globalBatch},
          {"samples", position.samples},
          {"epoch", position.epoch},
          {"data_seed", position.dataSeed},
          {"train_seed", position.trainSeed},
          {"epoch_rows", position.epochRows}};
}

Json jsonOf(const SavedFile& file) {
  Json json = {{"name", file.name}, {"bytes", file.bytes}};
  if (!file.header.empty())
    json["header"] = file.header;
  return json;
}

Json jsonOf(const std::vector<Setting>& settings) {
  Json json = Json::array();
  for (const Setting& setting : settings)
    json.push_back({setting.name, setting.value});
  return json;
}

Json jsonOf(const std::vector<plan::Axis>& mesh) {
  Json json = Json::array();
  for (const plan::Axis& axis : mesh)
    json.push_back({{"name", axis.name}, {"size", axis.size}});
  return json;
}

Json jsonOf(const SavedModel& model) {
  return {{"compute", safetensorsName(model.compute)},
          {"config", model.config},
          {"generation_config", model.generationConfig},
          {"adapter_config", model.adapterConfig},
          {"generation", model.generation},
          {"bos_token", model.bosToken},
          {"eos_token", model.eosToken}};
}

// ---- the checksum of the text of all other fields

constexpr const char* checksumName = "checksum";

std::string textOf(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string checksumOf(const Json& json) {
  return hashOf(textOf(json)).text();
}

/// Older manifests have no checksum.
Status checkChecksum(Json& json) {
  if (!json.contains(checksumName))
    return Status::ok();
  const Json stated = json[checksumName];
  json.erase(checksumName);
  return stated == checksumOf(json)
             ? Status::ok()
             : Status::error("the manifest is damaged: it is not the one that "
                             "was written (checksum)");
}

// ---- reading

/// Reads fields from objects. `failure` keeps the first error; fields read
/// after it get default values.
class Reader {
public:
  Status failure;

  Manifest read(const Json& json) {
    Manifest manifest;
    if (text(json, "", "format") != formatName)
      fail("`format`", "is not `" + std::string(formatName) + "`");
    int64_t version = number(json, "", "version", 0);
    if (failure.isOk() && version != manifestVersion)
      failure = Status::error("the manifest is of version " +
                              std::to_string(version) +
                              ", and this program reads version " +
                              std::to_string(manifestVersion));
    manifest.recipe = text(json, "", "recipe");
    manifest.serial = number(json, "", "serial", 0);
    if (json.is_object() && json.contains("run"))
      manifest.run = text(json, "", "run");
    manifest.position = position(member(json, "", "position"));
    if (json.is_object() && json.contains("valid_loss"))
      manifest.validLoss = real(json, "", "valid_loss");
    manifest.model = model(member(json, "", "model"));
    if (json.is_object() && json.contains("mesh"))
      each(json, "", "mesh", [&](const Json& axis, const std::string& path) {
        const int64_t size = number(axis, path, "size", 1);
        manifest.mesh.push_back({text(axis, path, "name"),
                                 int(std::min<int64_t>(size, INT32_MAX))});
      });
    if (json.is_object() && json.contains("settings"))
      each(json, "", "settings", [&](const Json& pair, const std::string& at) {
        manifest.settings.push_back(setting(pair, at));
      });
    std::set<std::string> names;
    each(json, "", "files", [&](const Json& file, const std::string& path) {
      manifest.files.push_back(
          {text(file, path, "name"), number(file, path, "bytes", 0), {}});
      if (file.is_object() && file.contains("header"))
        manifest.files.back().header = text(file, path, "header");
      const std::string& name = manifest.files.back().name;
      if (name.empty() || name.find('/') != std::string::npos || name == ".." ||
          !names.insert(name).second)
        fail(path, "is not a file name of its own: `" + name + "`");
    });
    names.clear();
    each(json, "", "parameters",
         [&](const Json& entry, const std::string& path) {
           manifest.parameters.push_back(
               parameter(entry, path, int64_t(manifest.files.size())));
           if (!names.insert(manifest.parameters.back().name).second)
             fail(path, "repeats `" + manifest.parameters.back().name + "`");
         });
    checkAdapters(manifest);
    return manifest;
  }

private:
  void fail(const std::string& path, const std::string& what) {
    if (failure.isOk())
      failure = Status::error("the manifest is damaged: " + path + " " + what);
  }
  static std::string pathOf(const std::string& parent, const char* name) {
    return "`" +
           (parent.empty() ? "" : parent.substr(1, parent.size() - 2) + ".") +
           name + "`";
  }

  const Json& member(const Json& object, const std::string& parent,
                     const char* name) {
    static const Json absent;
    if (failure.isOk() && object.is_object() && object.contains(name))
      return object[name];
    fail(pathOf(parent, name), "is missing");
    return absent;
  }

  std::string text(const Json& object, const std::string& parent,
                   const char* name) {
    const Json& value = member(object, parent, name);
    if (value.is_string())
      return value.get<std::string>();
    fail(pathOf(parent, name), "is no text");
    return {};
  }

  int64_t asNumber(const Json& value, const std::string& path, int64_t lowest) {
    if (value.is_number_integer() &&
        (!value.is_number_unsigned() || value.get<uint64_t>() <= INT64_MAX) &&
        value.get<int64_t>() >= lowest)
      return value.get<int64_t>();
    fail(path, "is no integer from " + std::to_string(lowest) + " on");
    return lowest;
  }

  int64_t number(const Json& object, const std::string& parent,
                 const char* name, int64_t lowest) {
    return asNumber(member(object, parent, name), pathOf(parent, name), lowest);
  }

  double real(const Json& object, const std::string& parent, const char* name) {
    const Json& value = member(object, parent, name);
    if (value.is_number() && std::isfinite(value.get<double>()))
      return value.get<double>();
    fail(pathOf(parent, name), "is no number");
    return 0;
  }

  template <class Take>
  void each(const Json& object, const std::string& parent, const char* name,
            const Take& take) {
    const Json& list = member(object, parent, name);
    if (!list.is_array())
      return fail(pathOf(parent, name), "is no list");
    std::string path = pathOf(parent, name);
    path.pop_back();
    for (size_t i = 0; i < list.size() && failure.isOk(); ++i)
      take(list[i], path + "[" + std::to_string(i) + "]`");
  }

  Position position(const Json& json) {
    const std::string at = "`position`";
    Position made;
    made.step = number(json, at, "step", 0);
    made.rows = number(json, at, "rows", 0);
    made.globalBatch = number(json, at, "global_batch", 0);
    made.samples = number(json, at, "samples", 0);
    made.epoch = real(json, at, "epoch");
    made.dataSeed = number(json, at, "data_seed", INT64_MIN);
    made.trainSeed = number(json, at, "train_seed", INT64_MIN);
    made.epochRows = number(json, at, "epoch_rows", -1);
    return made;
  }

  Setting setting(const Json& json, const std::string& path) {
    if (json.is_array() && json.size() == 2 && json[0].is_string() &&
        json[1].is_string())
      return {json[0].get<std::string>(), json[1].get<std::string>()};
    fail(path, "is no pair of texts");
    return {};
  }

  plan::DType computeType(const Json& object, const std::string& parent,
                          const char* name) {
    std::string spelling = text(object, parent, name);
    for (plan::DType type : computeTypes)
      if (spelling == safetensorsName(type))
        return type;
    fail(pathOf(parent, name), "is `" + spelling + "`, which is no known type");
    return plan::DType::f32;
  }

  SavedModel model(const Json& json) {
    const std::string at = "`model`";
    SavedModel made;
    made.compute = computeType(json, at, "compute");
    made.config = text(json, at, "config");
    made.generationConfig = text(json, at, "generation_config");
    made.adapterConfig = text(json, at, "adapter_config");
    made.generation = text(json, at, "generation");
    made.bosToken = number(json, at, "bos_token", -1);
    made.eosToken = number(json, at, "eos_token", -1);
    return made;
  }

  std::vector<int64_t> shape(const Json& object, const std::string& parent,
                             const char* name) {
    std::vector<int64_t> sizes;
    int64_t elements = 8; // bytes of the widest type
    each(object, parent, name, [&](const Json& size, const std::string& path) {
      sizes.push_back(asNumber(size, path, 1));
      if (__builtin_mul_overflow(elements, sizes.back(), &elements))
        fail(pathOf(parent, name), "has more than 2^63 bytes");
    });
    return sizes;
  }

  SavedParameter parameter(const Json& json, const std::string& path,
                           int64_t files) {
    SavedParameter made;
    made.name = text(json, path, "name");
    made.shape = shape(json, path, "shape");
    made.hfName = text(json, path, "hf_name");
    made.hfShape = shape(json, path, "hf_shape");
    if (json.is_object() && json.contains("hf_rows")) {
      const Json& rows = json["hf_rows"];
      std::string at = pathOf(path, "hf_rows");
      made.hfRows =
          plan::HfRows{number(rows, at, "first", 0), number(rows, at, "of", 1)};
    }
    if (json.is_object() && json.contains("dtype"))
      made.type = computeType(json, path, "dtype");
    made.adapter = json.is_object() && json.value("adapter", Json()) == true;
    if (json.is_object() && json.contains("lora")) {
      const Json& lora = json["lora"];
      std::string at = pathOf(path, "lora");
      // The range is checked when all parameters have been read.
      made.loraA = int(std::min<int64_t>(number(lora, at, "a", 0), INT32_MAX));
      made.loraB = int(std::min<int64_t>(number(lora, at, "b", 0), INT32_MAX));
      made.loraScale = real(lora, at, "scale");
    }
    each(json, path, "pieces", [&](const Json& entry, const std::string& at) {
      made.pieces.push_back(piece(entry, at, made.shape, files));
    });
    return made;
  }

  Piece piece(const Json& json, const std::string& path,
              const std::vector<int64_t>& shape, int64_t files) {
    Piece made;
    bool isKnown = false;
    std::string kind = text(json, path, "kind");
    for (const KindName& each : kindNames)
      if (kind == each.name) {
        made.kind = each.kind;
        isKnown = true;
      }
    if (!isKnown)
      fail(path, "is of no known kind, `" + kind + "`");
    std::string dtype = text(json, path, "dtype");
    if (auto type = findElementType(dtype))
      made.type = *type;
    else
      fail(path, "has dtype `" + dtype + "`");
    int64_t file = number(json, path, "file", 0);
    if (file >= files)
      fail(path, "is in file " + std::to_string(file) + " of " +
                     std::to_string(files));
    else
      made.file = int(file);
    made.block = block(json, path, shape);
    auto [first, count] =
        pair(member(json, path, "range"), pathOf(path, "range"));
    made.first = first;
    made.count = count;
    if (failure.isOk() &&
        (count < 1 || first > ShardLayout(made.block).elements() - count))
      fail(path, "leaves its block");
    return made;
  }

  std::vector<ShardLayout::Dim> block(const Json& json, const std::string& path,
                                      const std::vector<int64_t>& shape) {
    std::vector<ShardLayout::Dim> dims;
    each(json, path, "block", [&](const Json& entry, const std::string& at) {
      auto [first, local] = pair(entry, at);
      size_t i = dims.size();
      if (i >= shape.size() || local < 1 || first > shape[i] - local)
        return fail(at, "leaves the tensor");
      dims.push_back({shape[i], local, first});
    });
    if (failure.isOk() && dims.size() != shape.size())
      fail(path, "has a block of another rank than its tensor");
    return dims;
  }

  std::pair<int64_t, int64_t> pair(const Json& json, const std::string& path) {
    if (json.is_array() && json.size() == 2)
      return {asNumber(json[0], path, 0), asNumber(json[1], path, 0)};
    fail(path, "is no pair of numbers");
    return {};
  }

  void checkAdapters(const Manifest& manifest) {
    for (const SavedParameter& parameter : manifest.parameters) {
      if (!failure.isOk() || parameter.loraA < 0)
        continue;
      size_t count = manifest.parameters.size();
      if (size_t(parameter.loraA) >= count || size_t(parameter.loraB) >= count)
        return fail("`" + parameter.name + "`", "names no such adapter");
      const std::vector<int64_t>&a =
                manifest.parameters[size_t(parameter.loraA)].shape,
            &b = manifest.parameters[size_t(parameter.loraB)].shape;
      if (!plan::areLoraFactors(parameter.shape, a, b))
        fail("`" + parameter.name + "`", "is not of its adapter's shape");
    }
  }
};

Expected<Json> parse(std::string_view text) {
  return parseOrderedJson(
      text, {.noun = "manifest", .maxBytes = size_t(manifestLimit)});
}

} // namespace

std::string toJson(const Manifest& manifest) {
  Json json = {{"format", formatName},
               {"version", manifestVersion},
               {"recipe", manifest.recipe},
               {"serial", manifest.serial}};
  if (!manifest.run.empty())
    json["run"] = manifest.run;
  json["position"] = jsonOf(manifest.position);
  if (manifest.validLoss)
    json["valid_loss"] = *manifest.validLoss;
  json["model"] = jsonOf(manifest.model);
  if (!manifest.mesh.empty())
    json["mesh"] = jsonOf(manifest.mesh);
  if (!manifest.settings.empty())
    json["settings"] = jsonOf(manifest.settings);
  json["files"] = Json::array();
  for (const SavedFile& file : manifest.files)
    json["files"].push_back(jsonOf(file));
  json["parameters"] = Json::array();
  for (const SavedParameter& parameter : manifest.parameters)
    json["parameters"].push_back(jsonOf(parameter));
  json[checksumName] = checksumOf(json);
  return textOf(json) + "\n";
}

bool isOfAnotherVersion(std::string_view text) {
  const Expected<Json> json = parse(text);
  return json && json->is_object() &&
         json->value("format", Json()) == formatName &&
         json->contains("version") && (*json)["version"].is_number_integer() &&
         (*json)["version"] != manifestVersion;
}

Expected<Manifest> parseManifest(std::string_view text) {
  Expected<Json> json = parse(text);
  if (!json)
    return Status::error("the manifest is damaged: " + json.message());
  Reader reader;
  Manifest manifest = reader.read(*json);
  if (!reader.failure.isOk())
    return reader.failure;
  RECIPERUN_TRY(checkChecksum(*json));
  return manifest;
}

} // namespace reciperun::checkpoint
