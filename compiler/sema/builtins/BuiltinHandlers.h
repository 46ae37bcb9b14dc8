// The handlers of the built-in functions, one per line of the table in
// Builtins.cpp. Their arguments have been checked, and their results stay
// within the limits.

#ifndef RECIPEC_SEMA_BUILTINS_BUILTINHANDLERS_H
#define RECIPEC_SEMA_BUILTINS_BUILTINHANDLERS_H

#include "compiler/sema/values/Value.h"

namespace recipec::sema {

struct BuiltinCall;

// BuiltinNumbers.cpp
Value runMin(BuiltinCall& call);
Value runMax(BuiltinCall& call);
Value runAbs(BuiltinCall& call);
Value runFloor(BuiltinCall& call);
Value runCeil(BuiltinCall& call);
Value runRound(BuiltinCall& call);
Value runSqrt(BuiltinCall& call);
Value runExp(BuiltinCall& call);
Value runLog(BuiltinCall& call);
Value runPow(BuiltinCall& call);
Value runInt(BuiltinCall& call);
Value runFloat(BuiltinCall& call);

// BuiltinLists.cpp
Value runLen(BuiltinCall& call);
Value runSum(BuiltinCall& call);
Value runSorted(BuiltinCall& call);
Value runReversed(BuiltinCall& call);
Value runUnique(BuiltinCall& call);
Value runFlatten(BuiltinCall& call);
Value runZip(BuiltinCall& call);
Value runAny(BuiltinCall& call);
Value runAll(BuiltinCall& call);
Value runRange(BuiltinCall& call);
Value runKeys(BuiltinCall& call);
Value runValues(BuiltinCall& call);

// BuiltinStrings.cpp
Value runUpper(BuiltinCall& call);
Value runLower(BuiltinCall& call);
Value runTrim(BuiltinCall& call);
Value runSplit(BuiltinCall& call);
Value runJoin(BuiltinCall& call);
Value runReplace(BuiltinCall& call);
Value runStartsWith(BuiltinCall& call);
Value runEndsWith(BuiltinCall& call);
Value runPad(BuiltinCall& call);
Value runStr(BuiltinCall& call);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_BUILTINS_BUILTINHANDLERS_H
