import { expect, test } from "vitest"

import { openTerminal } from "./virtual-terminal.ts"

const ENV = { PATH: process.env["PATH"] ?? "" }

function shell(script: string) {
  return { command: ["sh", "-c"] as const, args: [script], env: ENV }
}

/** Prints the bytes of each key. */
const KEY_PRINTER = `
  process.stdin.setRawMode(true)
  process.stdout.write("ready\\r\\n")
  process.stdin.on("data", (data) => {
    process.stdout.write("<" + data.toString("hex") + ">\\r\\n")
    if (String(data) === "q") process.exit(0)
  })`

test("a program sees a terminal of the given size, and its output is rendered to a screen", async () => {
  await using term = await openTerminal({
    ...shell("test -t 0 && test -t 1 && stty size && echo $TERM && printf 'abc\\rX\\033[1;31m red\\033[0m'; exit 4"),
    columns: 90,
    rows: 12,
  })
  expect(await term.exit).toEqual({ code: 4, signal: 0 })
  expect(term.screen()).toEqual(["12 90", "xterm-256color", "X red"])
  expect(term.cursor()).toEqual({ column: 5, row: 2 })
  expect(term.output).toContain("\u001B[1;31m red")
})

test("typing and pressing reach the program", async () => {
  await using term = await openTerminal(shell("printf 'name? '; read name; echo hello $name"))
  await term.waitFor("name?")
  term.type("Ada")
  term.press("enter")
  await term.waitFor(/hello Ada/)
  expect(await term.exit).toEqual({ code: 0, signal: 0 })
})

test("keys are sent as escape sequences", async () => {
  await using term = await openTerminal({ command: process.execPath, args: ["-e", KEY_PRINTER], env: ENV })
  await term.waitFor("ready")
  const keys = {
    up: "1b5b41",
    "ctrl+d": "04",
    "alt+b": "1b62",
    escape: "1b",
    backspace: "7f",
    "shift+tab": "1b5b5a",
  } as const
  for (const [key, bytes] of Object.entries(keys)) {
    term.press(key as keyof typeof keys)
    await term.waitFor(`<${bytes}>`)
  }
  term.paste("a\nb")
  await term.waitFor("<1b5b3230307e610a621b5b3230317e>")
  expect(() => term.press("ctrl+enter")).toThrow("there is no key called ctrl+enter")
  term.type("q")
  expect(await term.exit).toEqual({ code: 0, signal: 0 })
})

test("ctrl+c interrupts the program in the foreground", async () => {
  await using term = await openTerminal(
    shell("trap 'echo caught; exit 9' INT; echo ready; while :; do sleep 0.01; done"),
  )
  await term.waitFor("ready")
  term.press("ctrl+c")
  expect(await term.exit).toEqual({ code: 9, signal: 0 })
  expect(term.screen().join("\n")).toContain("caught")
})

test("lines that scroll off the screen are in the scrollback", async () => {
  await using term = await openTerminal({ ...shell("seq 1 20"), rows: 5 })
  await term.exit
  expect(term.screen()).toEqual(["17", "18", "19", "20"])
  expect(term.scrollback()).toEqual(Array.from({ length: 16 }, (_, index) => String(index + 1)))
  await term.waitFor("3")
})

test("the terminal responds to a cursor position query", async () => {
  const script = `
    process.stdin.setRawMode(true)
    process.stdin.once("data", (data) => { console.log(JSON.stringify(String(data))); process.exit(0) })
    process.stdout.write("ab\\u001B[6n")`
  await using term = await openTerminal({ command: process.execPath, args: ["-e", script], env: ENV })
  await term.waitFor(JSON.stringify("\u001B[1;3R"))
})

test("a resize reaches the program", async () => {
  const script = `process.stdout.on("resize", () => console.log("now", process.stdout.columns, process.stdout.rows)); console.log("ready"); process.stdin.resume()`
  await using term = await openTerminal({ command: process.execPath, args: ["-e", script], env: ENV })
  await term.waitFor("ready")
  term.resize(60, 20)
  await term.waitFor("now 60 20")
})

test("waiting for text that never appears fails with the screen, at exit or at the time limit", async () => {
  await using ended = await openTerminal(shell("echo something else"))
  await expect(ended.waitFor("hello")).rejects.toThrow(
    "the program exited without showing hello. The screen:\nsomething else",
  )
  await using silent = await openTerminal(shell("echo waiting; exec cat"))
  await silent.waitFor("waiting")
  await expect(silent.waitFor("hello", { timeoutMs: 50 })).rejects.toThrow(
    "the screen does not show hello. The screen:\nwaiting",
  )
})

test("disposing kills the program", async () => {
  const term = await openTerminal(shell("trap '' HUP INT TERM; echo ready; while :; do sleep 0.01; done"))
  await term.waitFor("ready")
  await term[Symbol.asyncDispose]()
  expect(await term.exit).toEqual({ code: 0, signal: 9 })
})
