// The syntax of recipes.
//
// One token decides every alternative, so the generated parser is a set of
// switches and never simulates its automaton. Two neighbours in compiler/parse
// handle everything that would need more:
//
//   Layout        turns newlines and commas between items into SEPARATOR,
//                 drops newlines without meaning, balances brackets, and turns
//                 a brace that opens the body of a statement
//                 (`for i in 0..n {`) into BLOCK_OPEN, so that it does not
//                 amend the expression before it. Commas of a statement's header
//                 stay COMMA.
//   Transformer   applies the precedence of operators, splits strings at their
//                 interpolations and checks which items a body may hold.
//
// Words in the rule `name` are keywords only at the start of a declaration.

grammar Recipe;

tokens { SEPARATOR, BLOCK_OPEN }

// ---- files ------------------------------------------------------------------

file : declarations EOF ;

declarations : (declaration (SEPARATOR declaration)*)? ;

declaration
  : importDeclaration
  | recipeDeclaration
  | mixinDeclaration
  | schemaDeclaration
  | modelDeclaration
  | opDeclaration
  | let
  | function
  | block
  ;

importDeclaration : IMPORT (path | STRING) (AS name)? selection? ;

// `{ llama3_8b, llama3_70b as big }`
selection : OPEN (selected (SEPARATOR selected)*)? CLOSE ;

selected : name (AS name)? ;

recipeDeclaration
  : ABSTRACT? RECIPE name
    (AMENDS expression mixins? headedBody | mixins headedBody | body)
  ;

mixins : WITH expression (COMMA expression)* ;

mixinDeclaration : MIXIN name parameters? body ;

schemaDeclaration : SCHEMA name body ;

modelDeclaration : MODEL name body ;

opDeclaration : OP name parameters ;

// The argument of `--set`.
overrideArgument : path ASSIGN expression EOF ;

// The text of an interpolation, `{expression}` in a string.
interpolation : expression EOF ;

// ---- bodies -----------------------------------------------------------------

body : OPEN items CLOSE ;

headedBody : BLOCK_OPEN items CLOSE ;

items : (item (SEPARATOR item)*)? ;

item
  : setting
  | entry
  | fixedField
  | require
  | let
  | function
  | block
  | forStatement
  | ifStatement
  | returnStatement
  ;

// `a.b = value`, `a { ... }`, `a : type = default`
setting : path (ASSIGN expression | body | COLON type (ASSIGN expression)?) ;

// `[key] = value` in a map
entry : LBRACKET expression RBRACKET ASSIGN expression ;

// The compiler sets a field without a value (`name` of a recipe).
fixedField : FIXED name COLON type (ASSIGN expression)? ;

require : REQUIRE expression (COLON expression)? ;

let : LET name ASSIGN expression ;

function : FUN name parameters (COLON type)? (ASSIGN expression | body) ;

block : BLOCK name parameters body ;

forStatement : FOR name (COMMA name)? IN expression headedBody ;

ifStatement : IF expression headedBody (ELSE (ifStatement | body))? ;

returnStatement : RETURN expression ;

parameters : LPAREN (parameter (COMMA parameter)*)? RPAREN ;

parameter : name (COLON type)? (ASSIGN expression)? ;

// ---- types ------------------------------------------------------------------

type : typeTerm (PIPE typeTerm)* ;

typeTerm
  : path mapArguments?
  | STRING
  | MINUS? INTEGER
  | LBRACKET type RBRACKET
  | LPAREN type RPAREN
  | functionType
  | NONE
  | AUTO
  ;

functionType : FUN LPAREN (type (COMMA type)*)? RPAREN COLON typeTerm ;

mapArguments : LBRACKET type COMMA type RBRACKET ;

// ---- expressions ------------------------------------------------------------

expression : conditional | operation ;

conditional : IF expression THEN expression ELSE expression ;

operation : operand (binaryOperator operand | IS typeTerm)* ;

binaryOperator
  : PLUS | MINUS | STAR | SLASH | PERCENT
  | EQUAL | NOT_EQUAL | LESS | LESS_EQUAL | GREATER | GREATER_EQUAL
  | AND | OR | RANGE | ARROW | IN
  ;

operand : (MINUS | NOT)* primary suffix* ;

suffix
  : DOT name
  | LBRACKET expression RBRACKET
  | LPAREN (argument (COMMA argument)*)? RPAREN
  | body
  ;

argument : expression (ASSIGN expression)? ;

primary
  : (INTEGER | FLOAT) (IDENTIFIER IDENTIFIER?)?
  | PERCENTAGE
  | STRING
  | TEXT
  | NONE
  | AUTO
  | TRUE
  | FALSE
  | name
  | LPAREN expression RPAREN
  | list
  | body
  ;

list
  : LBRACKET (expression (clause+ | (COMMA expression)*))? RBRACKET
  ;

// `for x in xs`, `for key, value in map`, `for index, x in xs if x > 0`
clause : FOR name (COMMA name)? IN expression (IF expression)? ;

path : name (DOT name)* ;

name
  : IDENTIFIER
  | ABSTRACT | AMENDS | AS | IMPORT | MIXIN | MODEL | OP | RECIPE | SCHEMA
  | WITH
  ;

// ---- tokens -----------------------------------------------------------------

ABSTRACT : 'abstract' ;
AMENDS : 'amends' ;
AND : 'and' ;
AS : 'as' ;
AUTO : 'auto' ;
BLOCK : 'block' ;
ELSE : 'else' ;
FALSE : 'false' ;
FIXED : 'fixed' ;
FOR : 'for' ;
FUN : 'fun' ;
IF : 'if' ;
IMPORT : 'import' ;
IN : 'in' ;
IS : 'is' ;
LET : 'let' ;
MIXIN : 'mixin' ;
MODEL : 'model' ;
NONE : 'none' ;
NOT : 'not' ;
OP : 'op' ;
OR : 'or' ;
RECIPE : 'recipe' ;
REQUIRE : 'require' ;
RETURN : 'return' ;
SCHEMA : 'schema' ;
THEN : 'then' ;
TRUE : 'true' ;
WITH : 'with' ;

OPEN : '{' ;
CLOSE : '}' ;
LPAREN : '(' ;
RPAREN : ')' ;
LBRACKET : '[' ;
RBRACKET : ']' ;
COMMA : ',' ;
COLON : ':' ;
ASSIGN : '=' ;
DOT : '.' ;
RANGE : '..' ;
ARROW : '->' ;
PIPE : '|' ;
PLUS : '+' ;
MINUS : '-' ;
STAR : '*' ;
SLASH : '/' ;
PERCENT : '%' ;
EQUAL : '==' ;
NOT_EQUAL : '!=' ;
LESS : '<' ;
LESS_EQUAL : '<=' ;
GREATER : '>' ;
GREATER_EQUAL : '>=' ;

INTEGER : DIGITS ;
// The remainder operator has a space before its `%`.
PERCENTAGE : DIGITS ('.' DIGITS)? '%' ;
FLOAT : DIGITS '.' DIGITS EXPONENT? | DIGITS EXPONENT ;
fragment DIGITS : [0-9] ('_'? [0-9])* ;
fragment EXPONENT : [eE] [+-]? [0-9]+ ;

IDENTIFIER : [a-zA-Z_] [a-zA-Z0-9_]* ;

// The text between `"""` lines; Literals.cpp finds the interpolations.
TEXT : '"""' ('"'? '"'? TEXT_PART)* '"""' ;
fragment TEXT_PART : ~["\\] | '\\' . ;

STRING : '"' (~["\\{\r\n] | ESCAPE | HOLE)* '"' ;
fragment ESCAPE : '\\' ~[\r\n] ;
// Strings in an interpolation may have interpolations.
fragment HOLE : '{' (~["{}\r\n] | STRING)* '}' ;

// An unclosed text.
BROKEN_TEXT : '"""' ('"'? '"'? TEXT_PART)* ;

// A string that is not closed, or with an interpolation that is not closed.
BROKEN_STRING : '"' (~["\\\r\n] | ESCAPE)* '\\'? ;

COMMENT : '#' ~[\r\n]* ;
NEWLINE : '\r'? '\n' ;
SPACE : [ \t]+ -> skip ;

// Any other character; Lexing.cpp reports it.
STRAY : . ;
