// A program without verifier findings, and the findings after a part of its
// text is replaced.

#ifndef RECIPEC_TEST_COMPILER_IR_SOUNDPROGRAM_H
#define RECIPEC_TEST_COMPILER_IR_SOUNDPROGRAM_H

#include "compiler/ir/Ir.h"

#include <string>
#include <utility>
#include <vector>

namespace recipec::ir {

class SoundProgram {
public:
  explicit SoundProgram(std::string text) : text(std::move(text)) {}

  /// Expects no findings, and expects that the parsed program prints the same
  /// text.
  void expectSound() const;
  /// Replaces every `from`, which must occur, by `to`. Expects a finding that
  /// contains `finding`.
  void expectFound(const std::string& from, const std::string& to,
                   const std::string& finding) const;
  /// The findings in that program.
  std::vector<std::string> findingsWith(const std::string& from,
                                        const std::string& to) const;

  Module parsed() const;

private:
  std::string text;
};

} // namespace recipec::ir

#endif // RECIPEC_TEST_COMPILER_IR_SOUNDPROGRAM_H
