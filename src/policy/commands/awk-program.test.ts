import fc from "fast-check"
import { expect, test } from "vitest"
import { readAwkProgram } from "./awk-program.ts"

const words = (...texts: readonly string[]): { text: string; known: boolean; pattern: false }[] =>
  texts.map((text) => ({ text, known: true, pattern: false }))
const opened = (...texts: readonly string[]): readonly (readonly string[])[] => {
  const { writes, reads, edits } = readAwkProgram(words(...texts), "/home/alice")
  return [writes, reads, edits].map((list) => list.map(({ text }) => text))
}

test.each([
  [['{print > "out.txt"}'], [["out.txt"], [], []]],
  [['{print $1, $2 >> ENVIRON["HOME"] "/.bashrc"}'], [["/home/alice/.bashrc"], [], []]],
  [
    ["-v", "f=/x", "{print > f}"],
    [["/x"], [], []],
  ],
  [
    ["-vf=/x", "--", "{print > f}", "data"],
    [["/x"], [], []],
  ],
  [
    ["{print > f}", "f=/x", "data"],
    [["/x"], [], []],
  ],
  [['BEGIN{f="/a" "/b"; printf("%s", 1) > f}'], [["/a/b"], [], []]],
  [['{f = sprintf("%s/.bashrc", h); print > f}'], [["${_}/.bashrc"], [], []]],
  [['{print > $1 ".txt"}'], [["${_}.txt"], [], []]],
  [["{print > ARGV[1]}"], [["${_}"], [], []]],
  [["{print ($1 > 3 ? 1 : 2)}"], [[], [], []]],
  [["$1 > 5 {print $2}"], [[], [], []]],
  [['{print /a>b/ ? 1 : 2; x = 4 / 2 > 1; print "a > b"}'], [[], [], []]],
  [['BEGIN{while((getline l < "/etc/hosts") > 0) print l}'], [[], ["/etc/hosts"], []]],
  [['BEGIN{ARGV[ARGC++] = "/x" "/y"; ARGV[1] = ""}'], [[], ["/x/y"], []]],
  [
    ["-i", "inplace", "{print}", "file"],
    [[], [], ["file"]],
  ],
  [
    ["--source={print > 1}", "file"],
    [["${_}"], [], []],
  ],
])("the arguments %j", (texts, expected) => {
  expect(opened(...texts)).toEqual(expected)
})

test("any text is read without an exception", () => {
  const unit = fc.constantFrom(
    "print",
    ">",
    '"a"',
    "f",
    "=",
    "$1",
    "/",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ";",
    "getline",
    "<",
  )
  fc.assert(
    fc.property(fc.array(unit, { maxLength: 30 }), (tokens) => {
      opened(tokens.join(" "))
      opened(tokens.join(""))
    }),
  )
})
