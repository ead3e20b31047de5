import { expect, test } from "vitest"

import type { CommandFinding, Effect, Walls } from "../commands/command-verdict.ts"
import { isRestorable } from "./restorable.ts"
import { withoutPrevented } from "./walls.ts"

const paths = {
  workspaceRoot: "/w/build",
  expendable: ["/tmp"],
  hasCheckpoints: true,
  isExcluded: (name: string) => name === "big.zip",
}
const sandbox: Walls = {
  kind: "sandbox",
  network: "on",
  hosts: [],
  writable: ["/w/build", "/tmp", "/home/alice/notes"],
  isRestorable: (path) => isRestorable(path, paths),
}

function finding(effects: readonly Effect[], level: CommandFinding["level"] = "ask"): CommandFinding {
  return { level, key: "key", description: "", view: "argv", effects }
}

const isAsked = (effects: readonly Effect[], walls: Walls = sandbox): boolean =>
  withoutPrevented([finding(effects)], walls).length > 0

test.each([
  ["a file of the project", [{ kind: "delete", path: "/w/build/src" }], false],
  ["the repository", [{ kind: "delete", path: "/w/build/.git" }], true],
  ["the workspace itself", [{ kind: "delete", path: "/w/build" }], true],
  ["a directory above the workspace", [{ kind: "delete", path: "/w" }], true],
  ["what a snapshot leaves out", [{ kind: "delete", path: "/w/build/big.zip" }], true],
  ["what a build creates", [{ kind: "delete", path: "/w/build/node_modules/x" }], false],
  ["a temporary file", [{ kind: "delete", path: "/tmp/x" }], false],
  ["all temporary files", [{ kind: "delete", path: "/tmp" }], true],
  ["a directory that the user opened", [{ kind: "delete", path: "/home/alice/notes/a" }], true],
  ["a path that commands cannot write", [{ kind: "write", path: "/home/alice/.bashrc" }], false],
  ["an unknown path", [{ kind: "delete", path: undefined }], true],
  ["the network", [{ kind: "network", host: "x" }], true],
  ["credentials", [{ kind: "credentials", path: "/home/alice/.npmrc" }], true],
  ["other processes", [{ kind: "system" }], false],
  ["root", [{ kind: "privileges" }], false],
  ["code", [{ kind: "code" }], false],
  ["code that reaches the network", [{ kind: "code" }, { kind: "network", host: undefined }], true],
  ["a remote history", [{ kind: "person" }], true],
  ["another machine", [{ kind: "outside" }], true],
  ["what a compiler creates", [{ kind: "delete", path: "/w/build/*.pyc" }], false],
  ["what a compiler creates, in the repository", [{ kind: "delete", path: "/w/build/.git/x.o" }], true],
  ["nothing that is known", [], true],
] as const)("in the sandbox, %s: asked %s", (_case, effects, expected) => {
  expect(isAsked(effects)).toBe(expected)
})

test("without network, or with a list of hosts, the network is not asked about", () => {
  const effects: readonly Effect[] = [{ kind: "network", host: "x" }]
  expect([isAsked(effects, { ...sandbox, network: "off" }), isAsked(effects, { ...sandbox, network: "list" })]).toEqual(
    [false, false],
  )
})

test("the floor stays in the sandbox and goes in a container", () => {
  const hard = [finding([{ kind: "system" }], "hardline"), finding([{ kind: "privileges" }], "sudo_guard")]
  expect([withoutPrevented(hard, sandbox).length, withoutPrevented(hard, { kind: "container" }).length]).toEqual([2, 0])
})

test("without walls every finding stays", () => {
  expect(isAsked([{ kind: "code" }], { kind: "none" })).toBe(true)
})

test("without checkpoints only what a build creates can be restored", () => {
  const without = { ...paths, hasCheckpoints: false }
  expect(["/w/build/src", "/w/build/dist"].map((path) => isRestorable(path, without))).toEqual([false, true])
})
