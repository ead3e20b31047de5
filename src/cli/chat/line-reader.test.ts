import { PassThrough } from "node:stream"

import { afterEach, describe, expect, test } from "vitest"

import { recordingTerminal } from "../../../test/support/cli-home.ts"
import { openLineReader } from "./line-reader.ts"
import type { LineReader } from "./line-reader.ts"

const opened: LineReader[] = []
afterEach(() => {
  for (const lines of opened.splice(0)) lines.close()
})

const CTRL_C = "\u0003"
const CTRL_D = "\u0004"
const UP = "\u001B[A"
const ENABLE_BRACKETED_PASTE = "\u001B[?2004h"
const DISABLE_BRACKETED_PASTE = "\u001B[?2004l"

/** Pasted text as a terminal with bracketed paste sends it. */
const pasted = (text: string): string => `\u001B[200~${text}\u001B[201~`

function keyboard({ onTerminal = true } = {}) {
  const input = new PassThrough()
  const terminal = { ...recordingTerminal(["-"]), stdoutIsTty: onTerminal }
  const stop = new AbortController()
  const lines = openLineReader({ input, terminal, signal: stop.signal })
  opened.push(lines)
  return {
    lines,
    stop,
    shown: () => terminal.output().out,
    /** Sends keys together and lets the reader handle them. */
    press: async (keys: string): Promise<void> => {
      input.write(keys)
      for (let turn = 0; turn < 4; turn += 1) await new Promise((resolve) => setImmediate(resolve))
    },
  }
}

const never = new AbortController().signal

describe("at the prompt", () => {
  test("returns lines, including one typed before the prompt", async () => {
    const { lines, press, shown } = keyboard()
    await press("early\r")
    expect(await lines.next("you> ", never)).toBe("early")
    const next = lines.next("\nyou> ", never)
    await press("now\r")
    expect(await next).toBe("now")
    expect(shown()).toContain("you> ")
  })

  test("joins lines that arrive together; commands stay separate", async () => {
    const { lines, press } = keyboard()
    await press("one\rtwo\r\rthree\r/help\r/usr/lib\rend\r")
    expect([await lines.next("", never), await lines.next("", never), await lines.next("", never)]).toEqual([
      "one\ntwo\n\nthree",
      "/help",
      "/usr/lib\nend",
    ])
  })

  test("keeps pasted lines until Enter and joins them to one message", async () => {
    const { lines, press, shown } = keyboard()
    expect(shown()).toContain(ENABLE_BRACKETED_PASTE)
    const first = lines.next("you> ", never)
    await press(`look: ${pasted("one\r/help\r\rlast")}`)
    const early = await Promise.race([first, Promise.resolve("nothing yet")])
    await press(" line\r")
    expect([early, await first]).toEqual(["nothing yet", "look: one\n/help\n\nlast line"])
    lines.close()
    expect(shown()).toContain(DISABLE_BRACKETED_PASTE)
  })

  test("Ctrl+C drops pasted lines", async () => {
    const { lines, press } = keyboard()
    const first = lines.next("you> ", never)
    await press(pasted("one\rtwo"))
    await press(CTRL_C)
    await press("other\r")
    expect(await first).toBe("other")
  })

  test("Ctrl+C clears the draft first, then ends the input", async () => {
    const { lines, press } = keyboard()
    const first = lines.next("you> ", never)
    await press("half a tho")
    await press(CTRL_C)
    await press("whole\r")
    expect(await first).toBe("whole")
    const second = lines.next("you> ", never)
    await press(CTRL_C)
    expect(await second).toBe(undefined)
  })

  test("returns a line right before the end of input", async () => {
    const { lines, press } = keyboard()
    const first = lines.next("", never)
    await press(`last\r${CTRL_D}`)
    expect([await first, await lines.next("", never)]).toEqual(["last", undefined])
  })

  test("a signal ends the wait", async () => {
    const { lines, stop } = keyboard()
    const next = lines.next("you> ", never)
    stop.abort()
    expect(await next).toBe(undefined)
  })
})

describe("while a turn runs", () => {
  test("sends lines and Ctrl+C to the listener; unused lines can be put back", async () => {
    const { lines, press } = keyboard()
    const seen: string[] = []
    lines.whileBusy({ line: (text) => seen.push(text), interrupt: () => seen.push("^C") })
    await press("a\r")
    await press(CTRL_C)
    await press("b\r")
    lines.whileBusy(undefined)
    await press("c\r")
    lines.putBack(["b"])
    expect([seen, await lines.next("", never), await lines.next("", never)]).toEqual([["a", "^C", "b"], "b", "c"])
  })

  test("knows whether there is a draft", async () => {
    const { lines, press } = keyboard()
    const seen = [lines.hasDraft()]
    await press("half")
    seen.push(lines.hasDraft())
    await press(" done\r")
    seen.push(lines.hasDraft())
    expect(seen).toEqual([false, true, false])
  })

  test("a question takes the next line and restores the draft", async () => {
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

  test("Ctrl+C cancels only the question", async () => {
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

  test("a cancelled question returns undefined", async () => {
    const { lines, press } = keyboard()
    const cancellation = new AbortController()
    const seen: string[] = []
    lines.whileBusy({ line: (text) => seen.push(text), interrupt: () => seen.push("^C") })
    const answer = lines.answer("Really? ", { secret: false, signal: cancellation.signal })
    await press("hal")
    cancellation.abort()
    expect(await answer).toBe(undefined)
    await press("fresh\r")
    expect(seen).toEqual(["fresh"])
    expect(await lines.answer("Again? ", { secret: false, signal: cancellation.signal })).toBe(undefined)
  })
})

describe("a secret", () => {
  test("is neither shown nor kept in the history", async () => {
    const { lines, press, shown } = keyboard()
    const answer = lines.answer("Key: ", { secret: true, signal: never })
    await press("hunter2\r")
    expect(await answer).toBe("hunter2")
    const next = lines.next("you> ", never)
    await press(`${UP}x\r`)
    expect(await next).toBe("x")
    expect(shown()).toContain("Key: ")
    expect(shown()).not.toContain("hunter2")
  })

  test("is not asked for when the output is not a terminal", async () => {
    const { lines } = keyboard({ onTerminal: false })
    expect(await lines.answer("Key: ", { secret: true, signal: never })).toBe(undefined)
  })
})
