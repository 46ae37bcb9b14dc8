// A program in which the verifier finds nothing, and what it finds where a part
// of its text is another one.

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

  /// Expects no finding, and the text from what is parsed of it.
  void expectSound() const;
  /// Expects a finding that contains `finding` where `to` replaces all that
  /// equals `from`, which is there.
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
