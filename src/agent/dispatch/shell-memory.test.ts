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

test("what was written to files stays known where the shell did not keep the rest", () => {
  const { files, links, remotes } = remembered([
    ["printf 'rm -rf ~' > /tmp/x.sh; ln -s / here; git remote add x https://x.example/y", "kept"],
    ["set -e; ls", "kept"],
    ["sleep 1", "unknown"],
  ])
  expect(files?.get("/tmp/x.sh")).toBe("rm -rf ~")
  expect(links?.get("/w/here")).toBe("/")
  expect(remotes?.has("x")).toBe(true)
})

test("a text that may not have been written makes the earlier one uncertain", () => {
  const { files } = remembered([
    ["printf 'rm -rf ~' > x.sh", "kept"],
    ["exit; printf true > x.sh", "kept"],
  ])
  expect(files?.has("/w/x.sh")).toBe(true)
  expect(files?.get("/w/x.sh")).toBeUndefined()
})

test("sub-agents and other shells share what was done to files, in both directions, but no variables", () => {
  const parent = createShellMemory("/w")
  const child = parent.child()
  const understood = (line: string) => understandCommand(line, child.before("/w"), { userHome: "/home/a" })
  child.ran(understood("git remote add x https://x.example/y; y=1"), "kept")
  parent.ranElsewhere(understood("printf true > x.sh; z=1").after)
  expect([...(parent.before("/w").remotes ?? [])]).toEqual(["x"])
  expect(child.before("/w").files?.get("/w/x.sh")).toBe("true")
  expect([...parent.before("/w").variables.keys()]).toEqual([])
})
