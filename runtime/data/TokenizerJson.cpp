// Reads the members in the order in which they apply: added_tokens, normalizer,
// pre_tokenizer, model, post_processor, decoder.
//
// Members have a `type`; reading stops with an error at a type that is part
// neither of byte-level BPE nor of SentencePiece's BPE. Only functions of
// nlohmann/json that do not throw are used.

#include "runtime/data/TokenizerJson.h"

#include "runtime/base/ParseJson.h"
#include "runtime/data/FileHead.h"
#include "runtime/data/Utf8.h"

#include <nlohmann/json.hpp>

#include <limits>

namespace reciperun::data {

namespace {

using Json = nlohmann::json;

constexpr int64_t largestId = (1 << 24) - 1;
constexpr size_t mostSteps = 64; // of a pre-tokenizer, including nested ones

// The pattern of ByteLevel with `use_regex`: GPT-2's encoder.py.
constexpr std::string_view gpt2Pattern =
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+"
    "|\\s+(?!\\S)|\\s+";

Status unsupported(const std::string& member, const std::string& type) {
  return Status::error("`" + member + "` is of type `" + type +
                       "`; supported are byte-level BPE tokenizers, as of "
                       "GPT-2, Llama 3 and Qwen, and those of SentencePiece "
                       "with `byte_fallback`, as of Llama 2, Mistral and "
                       "Gemma; name the `tokenizer.json` of such a model");
}

constexpr const char* isDamaged =
    "; the file is damaged: download or copy it again";
constexpr const char* isWrittenBy =
    "; transformers writes one, `AutoTokenizer.from_pretrained(MODEL)."
    "save_pretrained(DIR)`";

Status illTyped(const std::string& member, const std::string& expected) {
  return Status::error("`" + member + "` is not " + expected + isDamaged);
}

/// The value of a member, or null when it is absent.
const Json& member(const Json& object, const char* name) {
  static const Json null;
  const auto found = object.find(name);
  return found == object.end() ? null : *found;
}

std::string textOf(const Json& value) {
  const auto* text = value.get_ptr<const std::string*>();
  return text ? *text : std::string();
}

std::string typeOf(const Json& object) {
  return textOf(member(object, "type"));
}

bool flag(const Json& object, const char* name, bool otherwise) {
  const Json& value = member(object, name);
  return value.is_boolean() ? value.get<bool>() : otherwise;
}

Expected<int32_t> idOf(const Json& value, const std::string& where) {
  if (!value.is_number_integer() || value.get<int64_t>() < 0 ||
      value.get<int64_t>() > largestId)
    return illTyped(where, "an id from 0 to " + std::to_string(largestId));
  return value.get<int32_t>();
}

class Reader {
public:
  explicit Reader(const Json& root) : root(root) {}

  Expected<TokenizerParts> run() {
    // The model first: an unsupported tokenizer is best described by its model.
    RECIPERUN_TRY(readModel(member(root, "model")));
    RECIPERUN_TRY(readAddedTokens(member(root, "added_tokens")));
    RECIPERUN_TRY(readNormalizer(member(root, "normalizer")));
    RECIPERUN_TRY(readPreTokenizer());
    RECIPERUN_TRY(readPostProcessor(member(root, "post_processor")));
    RECIPERUN_TRY(readDecoder(member(root, "decoder")));
    return std::move(parts);
  }

private:
  Status readModel(const Json& model) {
    if (!model.is_object())
      return Status::error("there is no `model`, so that this is no "
                           "tokenizer.json of Hugging Face" +
                           std::string(isWrittenBy));
    // Old files have no type; a model with merges is BPE.
    const std::string type = typeOf(model);
    if (type != "BPE" && !(type.empty() && model.contains("merges")))
      return unsupported("model", type);
    parts.rules.isOfCharacters = flag(model, "byte_fallback", false);
    for (const char* name : {"continuing_subword_prefix", "end_of_word_suffix"})
      if (!textOf(member(model, name)).empty())
        return unsupported("model", std::string("BPE with `") + name + "`");
    const Json& dropout = member(model, "dropout");
    if (dropout.is_number() && dropout.get<double>() != 0)
      return unsupported("model", "BPE with `dropout`");

    parts.rules.ignoreMerges = flag(model, "ignore_merges", false);
    parts.rules.fuseUnknown = flag(model, "fuse_unk", false);
    RECIPERUN_TRY(readVocabulary(member(model, "vocab")));
    RECIPERUN_TRY(readMerges(member(model, "merges")));
    return readUnknown(textOf(member(model, "unk_token")));
  }

  Status readVocabulary(const Json& vocab) {
    if (!vocab.is_object())
      return illTyped("model.vocab", "an object of tokens and their ids");
    for (const auto& [token, value] : vocab.items()) {
      const Expected<int32_t> id = idOf(value, "model.vocab." + token);
      RECIPERUN_TRY(id);
      parts.rules.vocabulary.emplace(token, *id);
    }
    return {};
  }

  Status readMerges(const Json& merges) {
    if (!merges.is_array())
      return illTyped("model.merges", "a list of pairs");
    for (const Json& merge : merges) {
      std::string left, right;
      if (merge.is_string()) {
        const std::string both = textOf(merge);
        const size_t space = both.find(' ');
        left = both.substr(0, space);
        right = space == std::string::npos ? "" : both.substr(space + 1);
      } else if (merge.is_array() && merge.size() == 2) {
        left = textOf(merge[0]);
        right = textOf(merge[1]);
      }
      const bool two =
          !left.empty() && !right.empty() &&
          (!merge.is_string() || right.find(' ') == std::string::npos);
      if (!two)
        return illTyped("model.merges[" +
                            std::to_string(parts.rules.merges.size()) + "]",
                        "a pair of tokens");
      parts.rules.merges.emplace_back(std::move(left), std::move(right));
    }
    return {};
  }

  Status readUnknown(const std::string& token) {
    if (token.empty())
      return {};
    const auto found = parts.rules.vocabulary.find(token);
    if (found == parts.rules.vocabulary.end())
      return Status::error("`model.unk_token` is `" + token +
                           "`, which `model.vocab` lacks" + isDamaged);
    parts.rules.unknown = found->second;
    return {};
  }

  Status readAddedTokens(const Json& list) {
    if (list.is_null())
      return {};
    if (!list.is_array())
      return illTyped("added_tokens", "a list");
    for (const Json& entry : list) {
      const std::string where =
          "added_tokens[" + std::to_string(parts.added.size()) + "]";
      if (!entry.is_object() || textOf(member(entry, "content")).empty())
        return illTyped(where, "an object with a `content`");
      AddedToken token;
      token.content = textOf(member(entry, "content"));
      const Expected<int32_t> id = idOf(member(entry, "id"), where + ".id");
      RECIPERUN_TRY(id);
      token.id = *id;
      const auto known = parts.rules.vocabulary.find(token.content);
      if (known != parts.rules.vocabulary.end() && known->second != *id)
        return Status::error(
            "`" + where + "` gives `" + token.content + "` the id " +
            std::to_string(*id) + ", `model.vocab` the id " +
            std::to_string(known->second) + "; give the token one id in both");
      token.special = flag(entry, "special", false);
      token.normalized = flag(entry, "normalized", !token.special);
      token.singleWord = flag(entry, "single_word", false);
      token.stripLeft = flag(entry, "lstrip", false);
      token.stripRight = flag(entry, "rstrip", false);
      parts.added.push_back(std::move(token));
    }
    return {};
  }

  Status readNormalizer(const Json& normalizer) {
    if (normalizer.is_null())
      return {};
    const std::string type = typeOf(normalizer);
    if (type == "Sequence") {
      for (const Json& step : member(normalizer, "normalizers"))
        RECIPERUN_TRY(readNormalizer(step));
      return {};
    }
    if (type == "Prepend") {
      parts.normalizer.push_back(
          {.kind = NormalizerStep::Kind::prepend,
           .with = textOf(member(normalizer, "prepend"))});
      return {};
    }
    if (type == "Replace")
      return readReplace(normalizer);
    static const std::pair<const char*, NormalizationForm> forms[] = {
        {"NFC", NormalizationForm::nfc},
        {"NFD", NormalizationForm::nfd},
        {"NFKC", NormalizationForm::nfkc},
        {"NFKD", NormalizationForm::nfkd}};
    for (const auto& [name, form] : forms) {
      if (type != name)
        continue;
      parts.normalizer.push_back({.form = form});
      return checkNormalization(form);
    }
    return unsupported("normalizer", type);
  }

  Status readReplace(const Json& step) {
    const std::string what = stringPattern(step);
    if (what.empty())
      return unsupported("normalizer", "Replace without a text `String`");
    parts.normalizer.push_back({.kind = NormalizerStep::Kind::replace,
                                .what = what,
                                .with = textOf(member(step, "content"))});
    return {};
  }

  Status readPreTokenizer() {
    const Json& pre = member(root, "pre_tokenizer");
    if (pre.is_null())
      return parts.rules.isOfCharacters ? Status::ok()
                                        : unsupported("pre_tokenizer", "null");
    if (typeOf(pre) == "Metaspace" && parts.rules.isOfCharacters)
      return readMetaspace(pre);
    RECIPERUN_TRY(readPreStep(pre));
    if (parts.steps.size() > mostSteps)
      return Status::error("`pre_tokenizer` has " +
                           std::to_string(parts.steps.size()) +
                           " steps, more than the " +
                           std::to_string(mostSteps) + " that are supported");
    if (byteLevel && parts.rules.isOfCharacters)
      return unsupported("model", "BPE with `byte_fallback` behind ByteLevel");
    if (!byteLevel && !parts.rules.isOfCharacters)
      return unsupported("pre_tokenizer", typeOf(pre) + " without ByteLevel");
    return {};
  }

  Status readMetaspace(const Json& step) {
    if (textOf(member(step, "replacement")) != metaspace)
      return unsupported("pre_tokenizer", "Metaspace with another character "
                                          "than U+2581");
    parts.scheme = schemeOf(step);
    return flag(step, "split", true)
               ? addStep(metaspace, SplitBehavior::mergedWithNext)
               : Status::ok();
  }

  /// Old files have `add_prefix_space` in place of `prepend_scheme`.
  static PrependScheme schemeOf(const Json& step) {
    const std::string name = textOf(member(step, "prepend_scheme"));
    if (name == "first")
      return PrependScheme::first;
    const bool isNever =
        name.empty() ? !flag(step, "add_prefix_space", true) : name == "never";
    return isNever ? PrependScheme::never : PrependScheme::always;
  }

  Status readPreStep(const Json& step) {
    const std::string type = typeOf(step);
    if (type == "Sequence") {
      for (const Json& part : member(step, "pretokenizers"))
        RECIPERUN_TRY(readPreStep(part));
      return {};
    }
    if (byteLevel)
      return unsupported("pre_tokenizer", type + " behind ByteLevel");
    if (type == "ByteLevel")
      return readByteLevel(step);
    if (type == "Split")
      return readSplit(step);
    if (type == "Digits")
      return addStep("\\p{N}", flag(step, "individual_digits", false)
                                   ? SplitBehavior::isolated
                                   : SplitBehavior::contiguous);
    return unsupported("pre_tokenizer", type);
  }

  Status addStep(std::string_view expression, SplitBehavior behavior) {
    Expected<Pattern> pattern = Pattern::compile(expression);
    RECIPERUN_TRY(pattern);
    parts.steps.push_back({std::move(*pattern), behavior, false});
    return {};
  }

  Status readByteLevel(const Json& step) {
    byteLevel = true;
    parts.addPrefixSpace = flag(step, "add_prefix_space", true);
    parts.prefixAfter = parts.steps.size();
    if (!flag(step, "use_regex", true))
      return {};
    return addStep(gpt2Pattern, SplitBehavior::isolated);
  }

  Status readSplit(const Json& step) {
    static const std::pair<const char*, SplitBehavior> behaviors[] = {
        {"Isolated", SplitBehavior::isolated},
        {"Removed", SplitBehavior::removed},
        {"Contiguous", SplitBehavior::contiguous},
        {"MergedWithPrevious", SplitBehavior::mergedWithPrevious},
        {"MergedWithNext", SplitBehavior::mergedWithNext}};
    const Json& source = member(step, "pattern");
    const bool regex = source.is_object() && source.contains("Regex");
    const Json& text = source.is_object()
                           ? member(source, regex ? "Regex" : "String")
                           : source;
    if (!text.is_string())
      return illTyped("pre_tokenizer.pattern", "a `Regex` or a `String`");
    const std::string name = textOf(member(step, "behavior"));
    for (const auto& [known, behavior] : behaviors) {
      if (name != known)
        continue;
      Expected<Pattern> pattern = regex ? Pattern::compile(textOf(text))
                                        : Pattern::literal(textOf(text));
      RECIPERUN_TRY(pattern);
      parts.steps.push_back(
          {std::move(*pattern), behavior, flag(step, "invert", false)});
      return {};
    }
    return unsupported("pre_tokenizer", "Split with behavior " + name);
  }

  Status readPostProcessor(const Json& post) {
    if (post.is_null())
      return {};
    const std::string type = typeOf(post);
    if (type == "ByteLevel") // only changes offsets
      return {};
    if (type == "Sequence") {
      for (const Json& step : member(post, "processors"))
        RECIPERUN_TRY(readPostProcessor(step));
      return {};
    }
    if (type == "TemplateProcessing")
      return readTemplate(post);
    return unsupported("post_processor", type);
  }

  Status readTemplate(const Json& post) {
    std::vector<int32_t> before, after;
    bool behindText = false;
    for (const Json& piece : member(post, "single")) {
      if (piece.is_object() && piece.contains("Sequence")) {
        if (behindText)
          return unsupported("post_processor", "a template with two texts");
        behindText = true;
        continue;
      }
      RECIPERUN_TRY(
          readTemplateToken(post, piece, behindText ? after : before));
    }
    if (!behindText)
      return unsupported("post_processor", "a template without a text");
    parts.before.insert(parts.before.begin(), before.begin(), before.end());
    parts.after.insert(parts.after.end(), after.begin(), after.end());
    return {};
  }

  Status readTemplateToken(const Json& post, const Json& piece,
                           std::vector<int32_t>& ids) {
    const std::string where = "post_processor.single";
    if (!piece.is_object() || !member(piece, "SpecialToken").is_object())
      return illTyped(where, "a list of tokens and a sequence");
    const std::string name =
        textOf(member(member(piece, "SpecialToken"), "id"));
    const Json& known = member(post, "special_tokens");
    const Json& token = known.is_object() ? member(known, name.c_str()) : known;
    if (!token.is_object() || !member(token, "ids").is_array())
      return Status::error("`post_processor.special_tokens` lacks `" + name +
                           "`" + isDamaged);
    for (const Json& value : member(token, "ids")) {
      const Expected<int32_t> id = idOf(value, where);
      RECIPERUN_TRY(id);
      ids.push_back(*id);
    }
    return {};
  }

  /// A byte-level file without a decoder uses ByteLevel, the inverse of
  /// byte-level BPE.
  Status readDecoder(const Json& decoder) {
    if (parts.rules.isOfCharacters)
      return readCharacterDecoder(decoder);
    if (decoder.is_null() || typeOf(decoder) == "ByteLevel")
      return {};
    if (typeOf(decoder) == "Sequence") {
      for (const Json& step : member(decoder, "decoders"))
        RECIPERUN_TRY(readDecoder(step));
      return {};
    }
    return unsupported("decoder", typeOf(decoder));
  }

  /// The decoders of SentencePiece: Metaspace, or a sequence of Replace,
  /// ByteFallback, Fuse and Strip.
  Status readCharacterDecoder(const Json& decoder) {
    const std::string type = typeOf(decoder);
    if (type == "Sequence") {
      for (const Json& step : member(decoder, "decoders"))
        RECIPERUN_TRY(readCharacterDecoder(step));
      return {};
    }
    if (type == "Metaspace") {
      if (schemeOf(decoder) != PrependScheme::never)
        parts.leading = LeadingSpace::firstToken;
      return {};
    }
    if (type == "ByteFallback" || type == "Fuse")
      return {};
    if (type == "Replace" && stringPattern(decoder) == metaspace &&
        textOf(member(decoder, "content")) == " ")
      return {};
    const Json& start = member(decoder, "start");
    const Json& stop = member(decoder, "stop");
    if (type == "Strip" && textOf(member(decoder, "content")) == " " &&
        start == 1 && stop == 0) {
      parts.leading = LeadingSpace::one;
      return {};
    }
    return unsupported("decoder", type.empty() ? "null" : type);
  }

  /// The `String` of a step's pattern; empty when it has another one.
  static std::string stringPattern(const Json& step) {
    const Json& pattern = member(step, "pattern");
    return pattern.is_object() ? textOf(member(pattern, "String"))
                               : textOf(pattern);
  }

  const Json& root;
  TokenizerParts parts;
  bool byteLevel = false;
};

} // namespace

Expected<TokenizerParts> readTokenizerJson(std::string_view text) {
  if (const std::string_view other = otherFormat(text); !other.empty())
    return Status::error("it is a file of " + std::string(other) +
                         ", and no tokenizer.json" + isWrittenBy);
  if (firstIllFormed(text) != std::string_view::npos)
    return Status::error("the file is not UTF-8 at byte " +
                         std::to_string(firstIllFormed(text) + 1) + isDamaged);
  if (const size_t first = text.find_first_not_of(" \t\r\n");
      first != text.npos && text[first] != '{' && text[first] != '[')
    return Status::error("it is no tokenizer.json, which begins with `{`; name "
                         "that of the model's Hugging Face directory");
  const Expected<Json> root = parseJson(text);
  if (!root)
    return Status::error(root.message() + isDamaged);
  if (!root->is_object())
    return Status::error("the file is not a JSON object" +
                         std::string(isWrittenBy));
  return Reader(*root).run();
}

} // namespace reciperun::data
