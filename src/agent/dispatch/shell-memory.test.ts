import { expect, test } from "vitest"

import { understandCommand } from "../../policy/shell/understand-command.ts"
import { createShellMemory } from "./shell-memory.ts"

function remembered(lines: readonly (readonly [string, "kept" | "unknown"])[]) {
  const memory = createShellMemory("/w")
  for (const [line, how] of lines)
    memory.ran(understandCommand(line, memory.before(memory.directory), { userHome: "/home/a" }), how)
  return memory.before(memory.directory)
}

test("what a command leaves in the shell is known to the next one", () => {
  const { variables, directory } = remembered([
    ["cd src", "kept"],
    ["x=rm", "kept"],
  ])
  expect([variables.get("x"), directory]).toEqual(["rm", "/w/src"])
})

test.each([
  ["the shell did not keep it", "x=ls", "unknown"],
  ["the line may have ended early", "exit; x=ls", "kept"],
  ["errors end the shell", "set -e; false; x=ls", "kept"],
] as const)("a value is unknown where %s", (_case, line, how) => {
  const { variables } = remembered([
    ["x=rm", "kept"],
    [line, how],
  ])
  expect([variables.has("x"), variables.get("x")]).toEqual([true, undefined])
})
