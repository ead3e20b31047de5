import { PassThrough } from "node:stream"

import { afterEach, describe, expect, test } from "vitest"

import { recordedTerminal } from "../../../test/support/command-run.ts"
import { openTypedLines } from "./typed-lines.ts"
import type { TypedLines } from "./typed-lines.ts"

const opened: TypedLines[] = []
afterEach(() => {
  for (const lines of opened.splice(0)) lines.close()
})

const CTRL_C = "\u0003"
const CTRL_D = "\u0004"
const UP = "\u001B[A"
const MARK_PASTES = "\u001B[?2004h"
const LEAVE_PASTES = "\u001B[?2004l"

/** As a terminal sends it that was asked to mark pastes. */
const pasted = (text: string): string => `\u001B[200~${text}\u001B[201~`

function keyboard({ onTerminal = true } = {}) {
  const input = new PassThrough()
  const terminal = { ...recordedTerminal(["-"]), stdoutIsTty: onTerminal }
  const stop = new AbortController()
  const lines = openTypedLines({ input, terminal, signal: stop.signal })
  opened.push(lines)
  return {
    lines,
    stop,
    shown: () => terminal.output().out,
    /** Keys as they arrive in one go; gives the program time to take them. */
    press: async (keys: string): Promise<void> => {
      input.write(keys)
      for (let turn = 0; turn < 4; turn += 1) await new Promise((resolve) => setImmediate(resolve))
    },
  }
}

const never = new AbortController().signal

describe("at the prompt", () => {
  test("a line is read, and one that was typed before waits", async () => {
    const { lines, press, shown } = keyboard()
    await press("early\r")
    expect(await lines.next("you> ")).toBe("early")
    const next = lines.next("\nyou> ")
    await press("now\r")
    expect(await next).toBe("now")
    expect(shown()).toContain("you> ")
  })

  test("lines that arrive together are one message; commands stand for themselves", async () => {
    const { lines, press } = keyboard()
    await press("one\rtwo\r\rthree\r/help\r/usr/lib\rend\r")
    expect([await lines.next(""), await lines.next(""), await lines.next("")]).toEqual([
      "one\ntwo\n\nthree",
      "/help",
      "/usr/lib\nend",
    ])
  })

  test("what the terminal marks as pasted waits for Enter and is one message", async () => {
    const { lines, press, shown } = keyboard()
    expect(shown()).toContain(MARK_PASTES)
    const first = lines.next("you> ")
    await press(`look: ${pasted("one\r/help\r\rlast")}`)
    const early = await Promise.race([first, Promise.resolve("nothing yet")])
    await press(" line\r")
    expect([early, await first]).toEqual(["nothing yet", "look: one\n/help\n\nlast line"])
    lines.close()
    expect(shown()).toContain(LEAVE_PASTES)
  })

  test("Ctrl+C drops a paste that was not sent", async () => {
    const { lines, press } = keyboard()
    const first = lines.next("you> ")
    await press(pasted("one\rtwo"))
    await press(CTRL_C)
    await press("other\r")
    expect(await first).toBe("other")
  })

  test("Ctrl+C empties the draft first, then leaves", async () => {
    const { lines, press } = keyboard()
    const first = lines.next("you> ")
    await press("half a tho")
    await press(CTRL_C)
    await press("whole\r")
    expect(await first).toBe("whole")
    const second = lines.next("you> ")
    await press(CTRL_C)
    expect(await second).toBe(undefined)
  })

  test("a line right before the end of input counts", async () => {
    const { lines, press } = keyboard()
    const first = lines.next("")
    await press(`last\r${CTRL_D}`)
    expect([await first, await lines.next("")]).toEqual(["last", undefined])
  })

  test("a signal ends the wait", async () => {
    const { lines, stop } = keyboard()
    const next = lines.next("you> ")
    stop.abort()
    expect(await next).toBe(undefined)
  })
})

describe("while something runs", () => {
  test("lines and Ctrl+C go to it, and the rest comes back afterwards", async () => {
    const { lines, press } = keyboard()
    const seen: string[] = []
    lines.whileBusy({ line: (text) => seen.push(text), interrupt: () => seen.push("^C") })
    await press("a\r")
    await press(CTRL_C)
    await press("b\r")
    lines.whileBusy(undefined)
    await press("c\r")
    lines.putBack(["b"])
    expect([seen, await lines.next(""), await lines.next("")]).toEqual([["a", "^C", "b"], "b", "c"])
  })

  test("what stands half typed is known", async () => {
    const { lines, press } = keyboard()
    const seen = [lines.hasDraft()]
    await press("half")
    seen.push(lines.hasDraft())
    await press(" done\r")
    seen.push(lines.hasDraft())
    expect(seen).toEqual([false, true, false])
  })

  test("a question takes the next line, and the draft comes back", async () => {
    const { lines, press } = keyboard()
    const seen: string[] = []
    lines.whileBusy({ line: (text) => seen.push(text), interrupt: () => seen.push("^C") })
    await press("half")
    const answer = lines.answer("\nReally? ", { secret: false, signal: never })
    await press("yes\r")
    expect(await answer).toBe("yes")
    await press(" done\r")
    expect(seen).toEqual(["half done"])
  })

  test("a pasted line answers a question at once", async () => {
    const { lines, press } = keyboard()
    const answer = lines.answer("Key? ", { secret: true, signal: never })
    await press(pasted("s3cret\r"))
    expect(await answer).toBe("s3cret")
  })

  test("Ctrl+C cancels a question, not the work", async () => {
    const { lines, press } = keyboard()
    const seen: string[] = []
    lines.whileBusy({ line: (text) => seen.push(text), interrupt: () => seen.push("^C") })
    const answer = lines.answer("Really? ", { secret: false, signal: never })
    await press("ye")
    await press(CTRL_C)
    expect(await answer).toBe(undefined)
    await press("x\r")
    expect(seen).toEqual(["x"])
  })

  test("a question that is taken back ends without an answer", async () => {
    const { lines, press } = keyboard()
    const takenBack = new AbortController()
    const seen: string[] = []
    lines.whileBusy({ line: (text) => seen.push(text), interrupt: () => seen.push("^C") })
    const answer = lines.answer("Really? ", { secret: false, signal: takenBack.signal })
    await press("hal")
    takenBack.abort()
    expect(await answer).toBe(undefined)
    await press("fresh\r")
    expect(seen).toEqual(["fresh"])
    expect(await lines.answer("Again? ", { secret: false, signal: takenBack.signal })).toBe(undefined)
  })
})

describe("a secret", () => {
  test("is neither shown nor kept among the lines typed before", async () => {
    const { lines, press, shown } = keyboard()
    const answer = lines.answer("Key: ", { secret: true, signal: never })
    await press("hunter2\r")
    expect(await answer).toBe("hunter2")
    const next = lines.next("you> ")
    await press(`${UP}x\r`)
    expect(await next).toBe("x")
    expect(shown()).toContain("Key: ")
    expect(shown()).not.toContain("hunter2")
  })

  test("is not asked for where it would be seen", async () => {
    const { lines } = keyboard({ onTerminal: false })
    expect(await lines.answer("Key: ", { secret: true, signal: never })).toBe(undefined)
  })
})
