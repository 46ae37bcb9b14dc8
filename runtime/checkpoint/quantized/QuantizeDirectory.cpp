// 1. Choose for each tensor of the source whether to quantize, dequantize or
//    copy it, and describe the output tensors: a matrix is followed by its
//    scales.
// 2. With a calibration, search the factors of each input over all matrices
//    that read it.
// 3. Stream the matrices in runs of rows: read or dequantize, multiply by the
//    factors, quantize, pack. The scales of a matrix are written after it.
// 4. Write the configuration and copy the small files. The directory appears
//    when everything is written (ExportDirectory.h).

#include "runtime/checkpoint/quantized/QuantizeDirectory.h"

#include "runtime/base/InputFile.h"
#include "runtime/base/ParseJson.h"
#include "runtime/checkpoint/Elements.h"
#include "runtime/checkpoint/Files.h"
#include "runtime/checkpoint/quantized/ServingFormat.h"
#include "runtime/checkpoint/quantized/StoredWeights.h"
#include "runtime/quantize/RowStream.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <map>
#include <set>

namespace reciperun::checkpoint {
namespace {

namespace fs = std::filesystem;

using sizes::WeightFormat;
using OrderedJson = nlohmann::ordered_json;

/// A tensor of the source and how it is converted.
struct Job {
  std::string name; // `X.weight` of a matrix, quantized or not
  ModelFiles::Place place;
  const StoredWeight* stored = nullptr; // when the source is quantized
  int64_t rows = 0, columns = 0;
  bool isLinear = false;    // has the name of a linear layer's matrix
  bool isQuantized = false; // in the target
  int input = -1;           // index in the calibration; -1: not measured

  int64_t bytes() const {
    const ModelFiles::Place& data = stored ? stored->data : place;
    return data.tensor->end - data.tensor->begin;
  }
  std::string module() const {
    return name.substr(0, name.size() - std::string_view(".weight").size());
  }
};

/// Lists up to four words as "a, b or c".
std::string joined(const std::set<std::string>& words,
                   const std::string& conjunction) {
  constexpr size_t most = 4;
  std::string list;
  size_t at = 0;
  for (const std::string& word : words) {
    if (at == most)
      return list + ", ...";
    const bool isLast = ++at == words.size();
    if (!list.empty())
      list += isLast ? " " + conjunction + " " : ", ";
    list += word;
  }
  return list;
}

/// The shapes of matrices: "64 inputs with 64 outputs".
std::string shapesOf(const std::vector<Job>& jobs) {
  std::set<std::string> shapes;
  for (const Job& job : jobs)
    shapes.insert(std::to_string(job.columns) + " inputs with " +
                  std::to_string(job.rows) + " outputs");
  return joined(shapes, "and");
}

class DirectoryQuantizer {
public:
  DirectoryQuantizer(const ModelFiles& model, const StoredWeights& stored,
                     const fs::path& target, const QuantizeOptions& options)
      : model(model), stored(stored), target(target), options(options),
        scheme(quantize::usualScheme(options.format)) {}

  Status run() {
    choose();
    if (std::none_of(jobs.begin(), jobs.end(),
                     [](const Job& job) { return job.isQuantized; }))
      return nothingToQuantize();
    noteUnfit();
    if (options.calibrate)
      RECIPERUN_TRY(calibrate());
    RECIPERUN_TRY(writeTensors());
    RECIPERUN_TRY(writeConfig());
    return copyFiles();
  }

private:
  bool isModelOpt() const {
    return options.layout == QuantizedLayout::modelOpt;
  }

  // ---- tensors

  void choose() {
    for (const std::string& name : model.names()) {
      const std::string plain = name.ends_with(".weight_packed")
                                    ? name.substr(0, name.size() - 7)
                                    : name;
      Job job;
      job.name = plain;
      job.place = *model.find(name);
      job.stored = stored.find(plain);
      if (!job.stored && stored.isAuxiliary(name))
        continue;
      const std::vector<int64_t>& shape = job.place.tensor->shape;
      if (job.stored) {
        job.rows = job.stored->rows;
        job.columns = job.stored->columns;
      } else if (shape.size() == 2 &&
                 findElementType(job.place.tensor->dtype)) {
        job.rows = shape[0];
        job.columns = shape[1];
      }
      job.isLinear = isLinearName(plain);
      job.isQuantized = canQuantize(job, options.format);
      total += job.bytes();
      jobs.push_back(std::move(job));
    }
  }

  static bool canQuantize(const Job& job, WeightFormat format) {
    if (!job.isLinear || job.rows < 1 || job.columns < 1)
      return false;
    switch (format) {
    case WeightFormat::fp8:
      return true;
    case WeightFormat::int8:
      return job.columns % 4 == 0;
    case WeightFormat::int4:
      return job.columns % sizes::weightGroup == 0 && job.rows % 2 == 0;
    }
    return false;
  }

  /// The shapes of matrices that canQuantize accepts, for messages.
  static std::string takenShapes(WeightFormat format) {
    return format == WeightFormat::int4
               ? "a multiple of " + std::to_string(sizes::weightGroup) +
                     " inputs and an even number of outputs"
               : "a multiple of 4 inputs";
  }

  std::string formatName() const {
    return sizes::weightFormatName(options.format);
  }

  /// The matrices of linear layers whose shapes the format does not support.
  std::vector<Job> unfitJobs() const {
    std::vector<Job> unfit;
    for (const Job& job : jobs)
      if (job.isLinear && job.rows > 0 && !job.isQuantized)
        unfit.push_back(job);
    return unfit;
  }

  /// The error when the format supports no matrix.
  Status nothingToQuantize() const {
    const std::string folder = "`" + model.directory().string() + "`";
    const std::vector<Job> unfit = unfitJobs();
    if (unfit.empty())
      return Status::error(folder + " has no matrix of a linear layer: no "
                                    "tensor `NAME.weight` of two dimensions");
    std::set<std::string> formats;
    for (const Job& job : unfit)
      for (WeightFormat format : {WeightFormat::fp8, WeightFormat::int8})
        if (canQuantize(job, format))
          formats.insert(sizes::weightFormatName(format));
    const std::string message =
        formatName() + " takes matrices with " + takenShapes(options.format) +
        ", and the linear layers of " + folder + " have " + shapesOf(unfit);
    return Status::error(formats.empty() ? message
                                         : message + "; quantize to " +
                                               joined(formats, "or"));
  }

  void noteUnfit() const {
    const std::vector<Job> unfit = unfitJobs();
    if (unfit.empty() || !options.note)
      return;
    options.note(
        std::to_string(unfit.size()) + " of " +
        std::to_string(std::ranges::count(jobs, true, &Job::isLinear)) +
        " matrices of linear layers " +
        (std::ranges::any_of(unfit, [](const Job& job) { return job.stored; })
             ? "become bf16: "
             : "stay unquantized: ") +
        formatName() + " takes matrices with " + takenShapes(options.format) +
        ", and they have " + shapesOf(unfit));
  }

  /// The tensors of a job, in the order in which they are written.
  std::vector<TensorSpec> specsOf(const Job& job) const {
    const int64_t n = job.rows, k = job.columns;
    if (!job.isQuantized)
      return {
          {job.name, job.stored ? "BF16" : job.place.tensor->dtype,
           job.stored ? std::vector<int64_t>{n, k} : job.place.tensor->shape}};
    const std::string base = job.module();
    const bool isFp8 = options.format == WeightFormat::fp8;
    std::vector<int64_t> scaleShape = sizes::scaleShape(scheme.scales, n, k);
    if (scaleShape.size() == 1 && !isModelOpt())
      scaleShape.push_back(1);
    const TensorSpec scale = {base + ".weight_scale", "F32", scaleShape};
    if (isFp8)
      return {{job.name, "F8_E4M3", {n, k}}, scale};
    if (isModelOpt() && !hasOwnFactors(job))
      return {{job.name, "U8", {n / 2, k}}, scale};
    if (isModelOpt())
      return {{job.name, "U8", {n / 2, k}},
              scale,
              {base + ".pre_quant_scale", "F32", {k}}};
    const int64_t perWord = options.format == WeightFormat::int4 ? 8 : 4;
    return {{base + ".weight_packed", "I32", {n, k / perWord}},
            scale,
            {base + ".weight_shape", "I64", {2}}};
  }

  // ---- factors of inputs

  Status calibrate() {
    Expected<InputStatistics> found = options.calibrate();
    RECIPERUN_TRY(found);
    for (Job& job : jobs) {
      const auto input = found->inputOf.find(job.name);
      if (!job.isQuantized || input == found->inputOf.end())
        continue;
      job.input = int(input->second);
      total += job.bytes();
    }
    noteUncalibrated();
    factors.resize(found->inputs.size());
    for (size_t input = 0; input < factors.size(); ++input)
      RECIPERUN_TRY(findFactors(int(input), found->inputs[input]));
    importances.resize(factors.size());
    for (size_t input = 0; input < factors.size(); ++input) {
      RECIPERUN_TRY(foldIntoNorm(int(input), *found));
      if (!factors[input].empty())
        importances[input] =
            quantize::columnImportance(found->inputs[input], factors[input]);
    }
    return Status::ok();
  }

  /// Searches the factors of an input over the matrices that read it.
  Status findFactors(int input,
                     const quantize::ActivationStatistics& statistics) {
    quantize::ActivationScaleSearch search(scheme, statistics, options.threads);
    bool isRead = false;
    for (const Job& job : jobs) {
      if (job.input != input)
        continue;
      isRead = true;
      RECIPERUN_TRY(checkChannels(job, int64_t(statistics.mean.size())));
      RECIPERUN_TRY(forRuns(job, [&](std::span<const float> values) {
                      return search.add(values);
                    }).withContext("tensor `" + job.name + "`"));
    }
    if (isRead)
      factors[size_t(input)] = search.best().inScale;
    return Status::ok();
  }

  /// Whether a matrix gets a tensor with the factors of its input.
  bool hasOwnFactors(const Job& job) const {
    return job.input >= 0 && !foldedInputs.contains(job.input);
  }

  /// Folds the factors of an input into the weight of the norm that computes
  /// it, as ModelOpt does, if all matrices that read the input are quantized.
  Status foldIntoNorm(int input, const InputStatistics& statistics) {
    if (size_t(input) >= statistics.norms.size() ||
        !statistics.norms[size_t(input)] || factors[size_t(input)].empty())
      return Status::ok();
    const InputStatistics::Norm& norm = *statistics.norms[size_t(input)];
    for (const auto& [name, read] : statistics.inputOf)
      if (int(read) == input &&
          std::ranges::none_of(jobs, [&, wanted = name](const Job& job) {
            return job.name == wanted && job.input == input;
          }))
        return Status::ok();
    const auto job = std::ranges::find(jobs, norm.tensor, &Job::name);
    return job == jobs.end() ? Status::ok() : foldInto(*job, norm, input);
  }

  /// Multiplies the norm's weight by the factors. Then replaces each factor by
  /// the quotient of the rounded new weight and the old one, so that the
  /// rounding causes no error.
  Status foldInto(const Job& job, const InputStatistics::Norm& norm,
                  int input) {
    std::vector<float>& scales = factors[size_t(input)];
    const StoredTensor& tensor = *job.place.tensor;
    const bool isNarrow = tensor.dtype == "BF16";
    if ((!isNarrow && tensor.dtype != "F32") ||
        tensor.shape != std::vector<int64_t>{int64_t(scales.size())})
      return Status::ok();
    const ElementType type = *findElementType(tensor.dtype);
    std::vector<std::byte> bytes(size_t(job.bytes()));
    RECIPERUN_TRY(job.place.file->read(tensor, 0, bytes));
    const std::vector<std::byte> original = bytes;
    const float added = norm.centered ? 1 : 0;
    for (size_t j = 0; j < scales.size(); ++j) {
      std::byte* stored = bytes.data() + j * size_t(byteSize(type));
      const float before = floatAt(type, stored) + added,
                  after = before * scales[j] - added;
      convertElements(
          ElementType::f32, reinterpret_cast<const std::byte*>(&after),
          isNarrow ? plan::DType::bf16 : plan::DType::f32, stored, 1);
      const float quotient = (floatAt(type, stored) + added) / before;
      const bool isExact = quotient > 0 && std::isfinite(quotient);
      scales[j] = isExact ? quotient : 1;
      if (!isExact) // the channel is always 0
        std::copy_n(original.data() + j * size_t(byteSize(type)),
                    byteSize(type), stored);
    }
    foldedNorms[job.name] = std::move(bytes);
    foldedInputs.insert(input);
    return Status::ok();
  }

  static float floatAt(ElementType type, const std::byte* stored) {
    float value = 0;
    convertElements(type, stored, plan::DType::f32,
                    reinterpret_cast<std::byte*>(&value), 1);
    return value;
  }

  static Status checkChannels(const Job& job, int64_t channels) {
    if (job.columns == channels)
      return Status::ok();
    return Status::error(
        "tensor `" + job.name + "` has " + std::to_string(job.columns) +
        " inputs, and the calibration measured " + std::to_string(channels) +
        "; calibrate with the model of this directory");
  }

  void noteUncalibrated() const {
    const auto count = std::ranges::count_if(
        jobs, [](const Job& job) { return job.isQuantized && job.input < 0; });
    if (count > 0 && options.note)
      options.note(
          std::to_string(count) + " of " +
          std::to_string(std::ranges::count(jobs, true, &Job::isQuantized)) +
          " quantized matrices are rounded to nearest: the "
          "calibration does not measure their inputs, as of experts");
  }

  // ---- writing

  Status writeTensors() {
    std::vector<TensorSpec> specs;
    for (const Job& job : jobs)
      for (TensorSpec& spec : specsOf(job))
        specs.push_back(std::move(spec));
    Expected<ModelWriter> writer =
        ModelWriter::create(target, std::move(specs), options.maxFileBytes);
    RECIPERUN_TRY(writer);
    for (const Job& job : jobs) {
      Status status = job.isQuantized ? writeQuantized(job, *writer)
                      : job.stored    ? writeDequantized(job, *writer)
                                      : copyTensor(job, *writer);
      RECIPERUN_TRY(status.withContext("tensor `" + job.name + "`"));
    }
    return writer->finish();
  }

  Status step(int64_t bytes) {
    done += bytes;
    if (options.progress)
      options.progress(std::min(done, total), total);
    return options.goesOn ? options.goesOn() : Status::ok();
  }

  /// Calls body(values) with runs of a matrix's rows as floats.
  template <class Body> Status forRuns(const Job& job, Body&& body) {
    constexpr int64_t runElements = int64_t(1) << 20;
    const int64_t height = std::max<int64_t>(1, runElements / job.columns);
    std::optional<StoredWeightReader> reader;
    if (job.stored) {
      Expected<StoredWeightReader> opened =
          StoredWeightReader::open(*job.stored);
      RECIPERUN_TRY(opened);
      reader = std::move(*opened);
    }
    std::vector<float> values;
    for (int64_t row = 0; row < job.rows; row += height) {
      const int64_t count = std::min(height, job.rows - row);
      values.resize(size_t(count * job.columns));
      RECIPERUN_TRY(reader ? reader->readRows(row, count, values)
                           : readPlain(job, row, values));
      RECIPERUN_TRY(body(std::span<const float>(values)));
      RECIPERUN_TRY(step(job.bytes() * count / job.rows));
    }
    return Status::ok();
  }

  Status readPlain(const Job& job, int64_t row, std::span<float> values) {
    const ElementType type = *findElementType(job.place.tensor->dtype);
    source.resize(values.size() * size_t(byteSize(type)));
    RECIPERUN_TRY(job.place.file->read(
        *job.place.tensor, row * job.columns * byteSize(type), source));
    convertElements(type, source.data(), plan::DType::f32,
                    reinterpret_cast<std::byte*>(values.data()),
                    int64_t(values.size()));
    return Status::ok();
  }

  Status writeQuantized(const Job& job, ModelWriter& writer) {
    std::vector<float> scales(
        size_t(quantize::scaleCount(scheme, job.rows, job.columns)));
    quantize::RowStream stream(
        scheme, job.rows, job.columns, options.threads,
        [&](const quantize::QuantizedRun& run) {
          std::copy(run.scales.begin(), run.scales.end(),
                    scales.begin() + run.firstScale);
          return writer.append(packed(run.data, job.columns));
        },
        job.input < 0 ? std::span<const float>()
                      : importances[size_t(job.input)]);
    std::vector<float> scaled;
    RECIPERUN_TRY(forRuns(job, [&](std::span<const float> values) {
      if (job.input < 0)
        return stream.append(values);
      scaled.assign(values.begin(), values.end());
      quantize::scaleInputs(factors[size_t(job.input)], scaled);
      return stream.append(scaled);
    }));
    RECIPERUN_TRY(writer.append(std::as_bytes(std::span(scales))));
    if (hasOwnFactors(job))
      return writer.append(
          std::as_bytes(std::span(factors[size_t(job.input)])));
    if (isModelOpt() || options.format == WeightFormat::fp8)
      return Status::ok();
    const int64_t shape[] = {job.rows, job.columns};
    return writer.append(std::as_bytes(std::span(shape)));
  }

  /// The bytes of a run in the output layout. Runs of int4 have an even number
  /// of rows: RowStream makes such runs, and all matrices quantized to int4
  /// have an even number of rows.
  std::span<const std::byte> packed(std::span<const uint8_t> data,
                                    int64_t columns) {
    if (options.format == WeightFormat::fp8 ||
        (options.format == WeightFormat::int4 && !isModelOpt()))
      return std::as_bytes(data); // both layouts offset int4 by 8
    repacked.resize(data.size());
    if (options.format == WeightFormat::int8)
      for (size_t i = 0; i < data.size(); ++i)
        repacked[i] = data[i] ^ 0x80; // + 128
    else
      packPairs(data, columns);
    return std::as_bytes(std::span(repacked));
  }

  /// Packs two rows of int4 codes with an offset of 8 into one row of bytes, in
  /// two's complement, the even row in the low half.
  void packPairs(std::span<const uint8_t> data, int64_t columns) {
    const size_t k = size_t(columns), rows = data.size() * 2 / k;
    assert(rows % 2 == 0 && "runs have pairs of rows");
    auto half = [&](size_t row, size_t column) {
      return unsigned(data[(row * k + column) / 2] >> column % 2 * 4 & 15) ^ 8;
    };
    for (size_t pair = 0; pair < rows / 2; ++pair)
      for (size_t j = 0; j < k; ++j)
        repacked[pair * k + j] =
            uint8_t(half(2 * pair, j) | half(2 * pair + 1, j) << 4);
  }

  Status writeDequantized(const Job& job, ModelWriter& writer) {
    std::vector<std::byte> narrow;
    return forRuns(job, [&](std::span<const float> values) {
      narrow.resize(values.size() * 2);
      convertElements(ElementType::f32, std::as_bytes(values).data(),
                      plan::DType::bf16, narrow.data(), int64_t(values.size()));
      return writer.append(narrow);
    });
  }

  Status copyTensor(const Job& job, ModelWriter& writer) {
    if (const auto norm = foldedNorms.find(job.name);
        norm != foldedNorms.end()) {
      RECIPERUN_TRY(writer.append(norm->second));
      return step(job.bytes());
    }
    constexpr int64_t piece = int64_t(4) << 20;
    for (int64_t at = 0; at < job.bytes(); at += piece) {
      source.resize(size_t(std::min(piece, job.bytes() - at)));
      RECIPERUN_TRY(job.place.file->read(*job.place.tensor, at, source));
      RECIPERUN_TRY(writer.append(source));
      RECIPERUN_TRY(step(int64_t(source.size())));
    }
    return Status::ok();
  }

  // ---- configuration

  /// Modules of matrices that are not quantized, except embeddings.
  OrderedJson ignoredModules() const {
    OrderedJson names = OrderedJson::array();
    for (const Job& job : jobs)
      if (!job.isQuantized && job.rows > 0 && job.name.ends_with(".weight") &&
          job.name.find("embed") == std::string::npos)
        names.push_back(job.module());
    const bool hasHead =
        std::any_of(names.begin(), names.end(),
                    [](const OrderedJson& name) { return name == "lm_head"; });
    if (!hasHead) // tied to the embedding
      names.push_back("lm_head");
    return names;
  }

  OrderedJson compressedTensorsConfig() const {
    const bool isFloat = options.format == WeightFormat::fp8,
               isGrouped = scheme.scales == sizes::WeightScales::groups;
    OrderedJson weights;
    weights["num_bits"] = options.format == WeightFormat::int4 ? 4 : 8;
    weights["type"] = isFloat ? "float" : "int";
    weights["symmetric"] = true;
    weights["strategy"] = isGrouped ? "group" : "channel";
    weights["group_size"] =
        isGrouped ? OrderedJson(sizes::weightGroup) : OrderedJson();
    weights["dynamic"] = false;
    OrderedJson group;
    group["targets"] = {"Linear"};
    group["weights"] = std::move(weights);
    group["input_activations"] = nullptr;
    group["output_activations"] = nullptr;
    OrderedJson config;
    config["quant_method"] = "compressed-tensors";
    config["format"] = isFloat ? "float-quantized" : "pack-quantized";
    config["quantization_status"] = "compressed";
    config["config_groups"]["group_0"] = std::move(group);
    config["ignore"] = ignoredModules();
    config["kv_cache_scheme"] = nullptr;
    return config;
  }

  OrderedJson modelOptConfig() const {
    OrderedJson quantization;
    if (options.format == WeightFormat::fp8) {
      quantization["quant_algo"] = "FP8_PER_CHANNEL_PER_TOKEN";
    } else {
      quantization["quant_algo"] = "W4A16_AWQ";
      quantization["group_size"] = sizes::weightGroup;
      quantization["has_zero_point"] = false;
      quantization["pre_quant_scale"] = bool(options.calibrate);
    }
    quantization["kv_cache_quant_algo"] = nullptr;
    quantization["exclude_modules"] = ignoredModules();
    OrderedJson config;
    config["producer"] = {{"name", "reciperun"}, {"version", "1"}};
    config["quantization"] = std::move(quantization);
    return config;
  }

  Status writeConfig() const {
    const fs::path path = model.directory() / "config.json";
    Expected<std::string> text = readTextFile(path);
    RECIPERUN_TRY(text);
    JsonRules rules;
    rules.takesInfinity = true;
    Expected<OrderedJson> config = parseOrderedJson(*text, rules);
    if (!config)
      return config.status().withContext("`" + path.string() + "`");
    if (!config->is_object())
      return Status::error("`" + path.string() + "` is no JSON object");
    config->erase("quantization_config");
    if (isModelOpt())
      RECIPERUN_TRY(writeText("hf_quant_config.json", modelOptConfig()));
    else
      (*config)["quantization_config"] = compressedTensorsConfig();
    return writeText("config.json", *config);
  }

  Status writeText(const char* name, const OrderedJson& json) const {
    return writeTextFile(target / name, json.dump(2) + "\n");
  }

  /// Copies the tokenizer's and the model's other small files. Plans are not
  /// copied: they are compiled for the weights of the source.
  Status copyFiles() const {
    const std::set<std::string> kinds = {".json", ".jinja", ".txt", ".model",
                                         ".md"};
    std::error_code code;
    for (const fs::directory_entry& entry :
         fs::directory_iterator(model.directory(), code)) {
      const std::string name = entry.path().filename().string();
      if (!kinds.contains(entry.path().extension().string()) ||
          !entry.is_regular_file() || name == "config.json" ||
          name == "hf_quant_config.json" || name.ends_with(".index.json") ||
          name.ends_with(".plan.json"))
        continue;
      fs::copy_file(entry.path(), target / name, code);
      if (code)
        return Status::error("`" + entry.path().string() +
                             "` cannot be copied: " + code.message());
    }
    return code ? Status::error("`" + model.directory().string() +
                                "` cannot be listed: " + code.message())
                : Status::ok();
  }

  const ModelFiles& model;
  const StoredWeights& stored;
  fs::path target;
  const QuantizeOptions& options;
  quantize::Scheme scheme;
  std::vector<Job> jobs;
  std::vector<std::vector<float>> factors;     // by input of the calibration
  std::vector<std::vector<float>> importances; // of columns, by input
  std::set<int> foldedInputs;                  // into norms
  std::map<std::string, std::vector<std::byte>> foldedNorms; // by tensor
  int64_t done = 0, total = 0; // bytes of the source
  std::vector<std::byte> source;
  std::vector<uint8_t> repacked;
};

} // namespace

Status quantizeHuggingFace(const fs::path& source, const fs::path& directory,
                           const QuantizeOptions& options) {
  if (options.layout == QuantizedLayout::modelOpt &&
      options.format == WeightFormat::int8)
    return Status::error("ModelOpt's layout has no int8 for weights alone: "
                         "choose the layout `compressed-tensors`, or fp8 or "
                         "int4");
  if (options.calibrate && (options.layout != QuantizedLayout::modelOpt ||
                            options.format != WeightFormat::int4))
    return Status::error("factors of inputs are for int4 in ModelOpt's layout");
  Expected<ModelFiles> model = ModelFiles::open(source);
  RECIPERUN_TRY(model);
  Expected<StoredWeights> stored = StoredWeights::open(*model);
  RECIPERUN_TRY(stored);
  Expected<ExportDirectory> target =
      ExportDirectory::create(directory, Contents::model, options.existing);
  RECIPERUN_TRY(target);
  RECIPERUN_TRY(
      DirectoryQuantizer(*model, *stored, target->path(), options).run());
  return target->commit();
}

} // namespace reciperun::checkpoint
