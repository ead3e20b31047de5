import fc from "fast-check"
import { expect, test } from "vitest"
import { readSedProgram, sedArguments } from "./sed-program.ts"

const word = (text: string, known = true): { text: string; known: boolean; pattern: false } => ({
  text,
  known,
  pattern: false,
})

test.each([
  ["s/a\\/b/c/;1e id", ["id"], [], []],
  ["s/[/]/x/;1e id", ["id"], [], []],
  ["y/abc/def/;$!e id", ["id"], [], []],
  ["1s/.*/id/;1e", [undefined], [], []],
  ["s,x,id \\1,2e", ["id "], [], []],
  ["/h/w/tmp/out", [], [], ["/tmp/out"]],
  ["s|a|b|gw out;x", [], [], ["out;x"]],
  ["\\,x,R/etc/hosts", [], ["/etc/hosts"], []],
  ["a\\\ntext e\\\nmore\n2,+3{p;e id\n}", ["id"], [], []],
  [":a;N;$!ba;s/\\n/ e /g", [], [], []],
  ["/[]/e]/d # e id", [], [], []],
])("the program %j", (script, executes, reads, writes) => {
  expect(readSedProgram(word(script))).toEqual({ executes, reads, writes, isValid: true })
})

test("a part that the shell computes may be an address or a command", () => {
  expect(readSedProgram(word("${x};1e id", false)).executes).toContain("id")
  expect(readSedProgram(word("$x s/a/b/e", false)).executes).toContain("b")
})

test("the program, the files and the options of a command", () => {
  const words = ["-n", "-i.bak", "-e", "p", "--expression=d", "-l", "5", "--", "-f"].map((text) => word(text))
  expect(sedArguments(words)).toEqual({ script: word("p\nd"), files: [word("-f")] })
  expect(sedArguments([word("-ne1e"), word("f")]).script?.text).toBe("1e")
  expect(sedArguments([word("-f"), word("x.sed"), word("f")])).toEqual({ script: undefined, files: [word("f")] })
})

test("any text is read without an exception", () => {
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom(...Array.from("sye/\\[]{};,$1!~+wrRa \n&")), maxLength: 60 }),
      (script) => {
        readSedProgram(word(script, script.length % 2 === 0))
      },
    ),
  )
})
