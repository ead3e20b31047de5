import { expect, test } from "vitest"
import { isLongOption, withFullOptions } from "./long-options.ts"

const full = (line: string): string => {
  const argv = line.split(" ").map((text) => ({ text, known: true, pattern: false }))
  return withFullOptions(argv[0]?.text ?? "", argv)
    .map(({ text }) => text)
    .join(" ")
}

test.each([
  ["sed --in 1d f", "sed --in-place 1d f"],
  ["tar --use=x -cf a f", "tar --use-compress-program=x -cf a f"],
  ["git -C dir push --forc up", "git -C dir push --force up"],
  ["git push --force-w", "git push --force-with-lease"],
  // Another option of the same program, and words behind the options.
  ["git apply --index p", "git apply --index p"],
  ["git log --graph", "git log --graph"],
  ["git push --no-force", "git push --no-force"],
  ["sed -n -- --in", "sed -n -- --in"],
  // A program that accepts no abbreviations.
  ["docker run --priv", "docker run --priv"],
])("%s", (line, expected) => {
  expect(full(line)).toBe(expected)
})

test("options of wrappers are compared by their beginning", () => {
  expect(isLongOption("--us", "--user")).toBe(true)
  expect(isLongOption("--username", "--user")).toBe(false)
  expect(isLongOption("--", "--user")).toBe(false)
})
