import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

import { expect, onTestFinished, test } from "vitest"

import { findClientProgram } from "./client-program.ts"

const SHELL = { names: ["sh"], variable: "HERMES_SHELL_BINARY", missing: "sh is not installed" }

/** A directory that commands can write, with a program in it. */
function writableDirectory(name: string): string {
  const directory = mkdtempSync(join(tmpdir(), "client-"))
  onTestFinished(() => {
    rmSync(directory, { recursive: true })
  })
  mkdirSync(directory, { recursive: true })
  writeFileSync(join(directory, name), "#!/bin/sh\n")
  chmodSync(join(directory, name), 0o755)
  return directory
}

test("a program in a directory that commands can write is passed over for that of the system", () => {
  const directory = writableDirectory("sh")
  const found = findClientProgram(SHELL, { PATH: `${directory}:/usr/bin:/bin` })
  expect(found.ok && found.value.startsWith(directory)).toBe(false)
  expect(found.ok && found.value).toMatch(/^\/(?:usr\/)?bin\//u)
})

test("one that is only there is not used, and the error says how to use it", () => {
  const directory = writableDirectory("sh")
  expect(findClientProgram(SHELL, { PATH: `relative:${directory}` })).toEqual({
    ok: false,
    error: `${join(directory, "sh")} is not used, because commands could have put it there; if you trust it, set HERMES_SHELL_BINARY=${join(directory, "sh")}`,
  })
  expect(findClientProgram(SHELL, { PATH: "/nowhere" })).toEqual({ ok: false, error: "sh is not installed" })
})

test("the user may name any program by its absolute path", () => {
  const program = join(writableDirectory("my-sh"), "my-sh")
  expect(findClientProgram(SHELL, { HERMES_SHELL_BINARY: program })).toEqual({ ok: true, value: program })
  expect(findClientProgram(SHELL, { HERMES_SHELL_BINARY: "my-sh", PATH: "/usr/bin:/bin" })).toEqual({
    ok: false,
    error: "HERMES_SHELL_BINARY must be an absolute path",
  })
})
