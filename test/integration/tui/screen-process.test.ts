import { execFileSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect, test } from "vitest"

import { findProgram } from "../../../src/base/find-program.ts"
import { seededRandom } from "../../support/seeded-random.ts"
import { titleWithReason } from "../../support/skip-reason.ts"
import { openTerminal } from "../../support/virtual-terminal.ts"

const PROGRAM = join(import.meta.dirname, "../../fixtures/tui/screen-program.ts")

let directory = ""
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "screen-"))
})
afterEach(() => {
  rmSync(directory, { recursive: true })
})

const log = (): string => join(directory, "printed")
const logged = (): readonly string[] => readFileSync(log(), "utf8").trimEnd().split("\n")
const environment = { PATH: process.env["PATH"] ?? "", HOME: "/nonexistent", TERM_PROGRAM: "vscode", PS1: "shell> " }

test("Ctrl+Z, fg and the exit leave a usable terminal and no second live area", async () => {
  await using terminal = await openTerminal({
    command: ["bash", "--norc", "--noprofile"],
    args: ["-i"],
    env: environment,
    rows: 30,
  })
  await terminal.waitFor("shell> ")
  terminal.type(`${process.execPath} ${PROGRAM} ${log()}\r`)
  await terminal.waitFor("> draft")
  terminal.type("p")
  await terminal.waitFor("#1 words")
  terminal.press("ctrl+z")
  await terminal.waitFor("Stopped")
  // The shell echoes what is typed, so the modes are those of before.
  terminal.type("echo $((40+2))\r")
  await terminal.waitFor(/^42$/m)
  expect(terminal.screen().filter((row) => row.includes("STATUS"))).toEqual([])
  terminal.type("fg\r")
  await terminal.waitFor("> draft")
  terminal.type("p")
  await terminal.waitFor("#2 words")
  expect(terminal.screen().filter((row) => row.includes("STATUS")).length).toBe(1)
  terminal.type("x")
  await terminal.waitFor(/shell> $/)
  terminal.type("echo $((50+1))\r")
  await terminal.waitFor(/^51$/m)
  expect(terminal.screen().filter((row) => row.includes("STATUS"))).toEqual([])
  expect(terminal.screen().filter((row) => row.startsWith("#")).length).toBe(2)
})

test("a program that was stopped from outside draws in place when it continues", async () => {
  await using terminal = await openTerminal({ command: [process.execPath, PROGRAM], args: [log()], env: environment })
  await terminal.waitFor("> draft")
  terminal.type("p")
  await terminal.waitFor("#1 words")
  terminal.signal("SIGSTOP")
  terminal.signal("SIGCONT")
  terminal.type("p")
  await terminal.waitFor("#2 words")
  expect(terminal.screen().map((row) => row.slice(0, 6))).toEqual([
    "#1 wor",
    "#2 wor",
    "",
    "======",
    "STATUS",
    "> draf",
  ])
  terminal.type("x")
  expect(await terminal.exit).toEqual({ code: 0, signal: 0 })
  expect(terminal.screen().map((row) => row.slice(0, 6))).toEqual(["#1 wor", "#2 wor"])
})

test("a window that closes ends the program without an exception", async () => {
  await using terminal = await openTerminal({ command: [process.execPath, PROGRAM], args: [log()], env: environment })
  await terminal.waitFor("> draft")
  terminal.type("p")
  await terminal.waitFor("#1 words")
  terminal.closeWindow()
  expect(await terminal.exit).toEqual({ code: 3, signal: 0 })
  expect(logged().filter((row) => row === "ended").length).toBe(1)
})

const missing = findProgram("tmux", process.env["PATH"] ?? "") === undefined ? "tmux is not installed" : undefined
test.skipIf(missing !== undefined)(
  titleWithReason("in tmux no printed row is lost or repeated by resizes while rows are printed", missing),
  async () => {
    const socket = join(directory, "tmux")
    const tmux = (...args: readonly string[]): string =>
      execFileSync("tmux", ["-S", socket, "-f", "/dev/null", ...args], { encoding: "utf8", env: environment })
    const random = seededRandom(7)
    const pane = (): string => tmux("capture-pane", "-p", "-J", "-S", "-")
    const until = async (shows: () => boolean): Promise<void> => {
      for (let attempt = 0; attempt < 300 && !shows(); attempt += 1)
        await new Promise((resolve) => setTimeout(resolve, 20))
    }
    tmux("new-session", "-d", "-x", "80", "-y", "24", `exec '${process.execPath}' '${PROGRAM}' '${log()}'`)
    try {
      await until(() => pane().includes("> draft"))
      tmux("send-keys", "s")
      for (let step = 0; step < 60; step += 1)
        tmux("resize-window", "-x", `${40 + Math.floor(random() * 100)}`, "-y", `${16 + Math.floor(random() * 20)}`)
      tmux("send-keys", "q")
      await until(() => pane().includes(`\n${logged().at(-1)}\n`) && /STATUS\.+\n> draft\n*$/.test(pane()))
      const rows = pane()
        .split("\n")
        .map((row) => row.trimEnd())
      expect(rows.filter((row) => row.startsWith("#"))).toEqual(logged())
      expect(
        rows
          .filter((row) => row !== "")
          .slice(-2)
          .map((row) => row.slice(0, 7)),
      ).toEqual(["STATUS.", "> draft"])
    } finally {
      tmux("kill-server")
    }
  },
)
